"""Sweeps of link experiments in flow, checked: to the bits of single runs; what flow does not have is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from program import Run
from sweep_links_made import Vary, check_point, planned as links_planned, short
from sweep_made import bits, read

from btflow import analysis, load_link, plots, simulate_link, sweep
from btflow.analysis.against_full import OF_LINKS, in_full
from btflow.sweeps import api
from btflow.sweeps.link_figures import RECORDS
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running

CHECK = 3
UNITS = 3 * 8 + CHECK


def planned(**said: Any) -> Plan:
    """Return a sweep of 24 short experiments in flow, and of three in full, declared."""
    return links_planned(**{"fidelity": "flow", "check": CHECK, **said})


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of the sweep, run by one thread without a break."""
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    assert api.execute(planned(), path, Running(jobs=1)) == (UNITS, 0)
    return path


@pytest.fixture(scope="module")
def whole(whole_store: Path) -> xr.Dataset:
    return bits(read(whole_store))


def values(at: xr.Dataset, prefix: str = "") -> dict[str, Any]:
    """Return what makes a point."""
    return {name: at[prefix + name].item() for name in ("buffer", "low_cc", "high")}


def test_each_experiment_is_the_single_run_of_its_fidelity(whole: xr.Dataset) -> None:
    """Of a point with one flow and of one with three, both replicas; and all that are checked."""
    for high in (0, 2):
        for replica in (0, 1):
            at = whole.sel(buffer="40 packets", low_cc="utp", high=high, replica=replica)
            check_point(at, simulate_link(short(**values(at)), seed=int(at.seed) + replica, fidelity="flow"), 1 + high)
    full = in_full(whole)
    for number in range(CHECK):
        at = full.isel(check=number).assign_coords({"flow_group": whole.flow_group, "queue": whole["queue"]})
        point = values(whole.isel(check=number), "check_")
        seed = int(whole.check_seed[number])
        check_point(at, simulate_link(short(**point), seed=seed), 1 + point["high"])


def test_what_flow_does_not_know_is_told_of_no_experiment() -> None:
    """Nor of those in full that check it: the delays of single packets, and what is made of them."""
    scenario = load_link("bufferbloat").set(duration="5 s")
    vary: Vary = {"rtt": ["20 ms"]}
    full = sweep(scenario, vary, jobs=1, progress=False)
    flow = sweep(scenario, vary, fidelity="flow", check=1, jobs=1, progress=False)
    unknown = {"mos", *(f"group_{s.name}" for s in RECORDS)}
    assert {name for name in full if name not in flow} == unknown
    assert not unknown & set(in_full(flow))
    assert np.isfinite(flow.full_goodput.values).all()


def test_the_program_says_what_flow_is_off_by(run: Run) -> None:
    model = ("sweep", "coexistence", "--set", "duration=10 s", "--vary", "buffer=10 packets,40 packets")
    args = (*model, "--fidelity", "flow", "--check", "2", "--jobs", "1", "--out", "a.zarr")
    code, out, err = run(*args)
    first, title, *lines = out.replace("\n    ", " ").splitlines()  # what goes on below itself
    assert (code, "swarm" in err) == (0, False)
    assert first == "a.zarr: 4 of 4 experiments (2 of them in full, the others at flow fidelity) done, 0 failed"
    assert title == "flow against full, at 2 checked points:"
    assert [line.split(":")[0].strip() for line in lines] == list(OF_LINKS)
    code, out, _ = run(*args, "--resume", "--json", "--statistics", "bottleneck_delay_mean")
    said = json.loads(out)
    assert (code, said["experiments"], said["fidelity"]) == (0, 4, "flow")
    found = read(Path("a.zarr"))
    both = found.bottleneck_delay_mean.values.ravel() / found.full_bottleneck_delay_mean.values - 1
    assert said["check"]["statistics"]["bottleneck_delay_mean"]["bias"] == pytest.approx(float(both.mean()), rel=1e-12)
    error = analysis.flow_error(found)
    assert error["statistic"].values.tolist() == list(OF_LINKS)
    drawn = plots.full_against_flow(found, "bottleneck_delay_mean")
    assert np.isfinite(np.concatenate([trace.y for trace in drawn.data if trace.mode == "markers"])).all()
