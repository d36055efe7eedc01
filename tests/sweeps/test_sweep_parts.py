"""Parts of a sweep, each run by itself, and the whole that they are merged to, of the same bits; or a refusal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr
from sweep_links_made import short
from sweep_made import bits, planned, read, relabelled, tiny, written

import btflow
from btflow import InputError, analysis
from btflow.analysis.table import write_table
from btflow.sweeps import api, dataset, runs
from btflow.sweeps.database import FILE
from btflow.sweeps.dataset import layout_of
from btflow.sweeps.plan import versions
from btflow.sweeps.running import Running
from btflow.sweeps.store import opened

RTT: dict[str | tuple[str, ...], object] = {"rtt": ["0 ms", "50 ms", "100 ms", "150 ms"]}
FAILING: dict[str | tuple[str, ...], object] = {"rtt": "0ms,50ms,100ms", "seed_as": "none,AS1"}
DRAWN: dict[str | tuple[str, ...], object] = {"rtt": "uniform(0 ms, 1 s)", "upload_limit": "20kB/s,50kB/s"}
SWEEPS: dict[str, tuple[Any, dict[str, Any]]] = {
    "failures, swarms kept": (tiny, {"vary": FAILING, "keep": "swarms,peers,series", "replicas": 3}),
    "flow with a check": (tiny, {"vary": DRAWN, "sample": "sobol:8", "fidelity": "flow", "check": 4}),
    "one seed for all": (tiny, {"vary": RTT, "common": True}),
    "saltelli, links": (short, {"vary": {"rate": "lin(1 Mbit/s, 9 Mbit/s)"}, "sample": "saltelli:4"}),
}


def table(path: Path) -> pd.DataFrame:
    """Return what is exported of a store, but for the CPU time."""
    write_table(path, path.with_suffix(".csv"))
    return pd.read_csv(path.with_suffix(".csv"), dtype=str).drop(columns="cpu_s [s]")


@pytest.mark.parametrize("name", SWEEPS)
def test_parts_that_are_merged_have_the_bits_of_the_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the swarms that are kept; and one part is interrupted and goes on, two stretches of swarms at a time."""
    scenario, said = SWEEPS[name]
    monkeypatch.setattr(dataset, "STRETCHES", 2)
    whole, paths = tmp_path / "whole.zarr", [tmp_path / f"{number}.zarr" for number in (1, 2, 3)]
    done = api.execute(planned(scenario(), **said), whole, Running(jobs=1))
    for number, path in enumerate(paths, 1):
        part = planned(scenario(), part=(number, 3), **said)
        with opened(path, part) as store:
            store.add(runs.run(part.job, part.task(next(store.pending()).start, 1), lambda: False))
        assert not (path / "zarr.json").exists()
        if number == 2:
            with pytest.raises(InputError, match=r"is not complete: \d+ of the \d+ runs of part 2/3 are left"):
                btflow.merge(tmp_path / "merged.zarr", paths[1:2])
        api.execute(part, path, Running(jobs=1), resume=True)
    merged = btflow.merge(tmp_path / "merged.zarr", paths[::-1], progress=False)
    assert bits(merged.load()).identical(bits(read(whole)))
    assert bits(written(tmp_path / "merged.zarr")).identical(bits(written(whole)))
    assert table(tmp_path / "merged.zarr").equals(table(whole))
    assert Counter(merged.status.values.ravel().tolist())[2] == done[1] == (9 if name.startswith("fail") else 0)
    if "keep" in said:
        point = tiny(rtt="50 ms")
        kept = [btflow.open_swarms(path, point).assign_attrs(cpu_s=0) for path in (tmp_path / "merged.zarr", whole)]
        assert kept[0].identical(kept[1])


@pytest.mark.parametrize(("values", "replicas", "parts"), [(7, 1, 7), (100, 10, 10), (128, 1, 4), (100_000, 10, 37)])
def test_parts_are_alike(values: int, replicas: int, parts: int) -> None:
    """Each unit is in one part; parts have as many, but for a stretch, and about as many of each leecher count."""
    vary: Any = {"rtt": f"lin(0 ms, 1 s, {max(1, values // 10)})", "leechers": list(range(1, 1 + min(values, 10)))}
    one = layout_of(planned(vary=vary, replicas=replicas, yes=True, part=(1, parts)))
    share = [
        [unit for span in one.spans(0) for unit in span]
        for part in range(1, parts + 1)
        if one.attributes.update(part=f"{part}/{parts}") is None
    ]
    assert sorted(unit for units in share for unit in units) == list(range(one.units))
    stretch = max(1, one.units // (dataset.STRETCHES * parts))
    assert max(map(len, share)) - min(map(len, share)) <= 2 * stretch
    if values >= 100:
        for units in share:
            last = Counter(unit // replicas % 10 for unit in units)
            assert max(last.values()) - min(last.values()) <= 0.3 * len(units) / 10 + 3


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return stores: parts of a sweep, and of others."""
    folder, seed = tmp_path_factory.mktemp("parts"), {"seed": 1, "vary": RTT}
    made: dict[str, dict[str, Any]] = {
        "1": seed | {"part": "1/2"},
        "2": seed | {"part": "2/2"},
        "third": seed | {"part": "2/3"},
        "whole": seed,
        "low": {"seed": 1, "vary": {"rtt": "0ms,50ms"}},
        "high": {"seed": 1, "vary": {"rtt": "100ms,150ms"}},
        "seed": {"seed": 2, "vary": RTT, "part": "2/2"},
        "other": {"seed": 1, "vary": RTT, "part": "2/2", "scenario": tiny(file_size="256 KiB")},
        "version": seed | {"part": "2/2"},
        "damaged": seed | {"part": "2/2"},
    }
    for name, said in made.items():
        api.execute(planned(said.pop("scenario", None), **said), folder / f"{name}.zarr", Running(jobs=1))
    relabelled(folder / "version.zarr", versions=json.dumps(versions() | {"code": "other"}))
    with (folder / "damaged.zarr" / FILE).open("r+b") as file:
        file.truncate(2 * 4096)
    return {name: folder / f"{name}.zarr" for name in made}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("1", "parts: without 2/2; allowed: all 2 parts of the sweep"),
        ("1 2 1", "is part 1/2, as .*1.zarr is; allowed: each part once"),
        ("1 third", "is part 2/3, and .*1.zarr is 1/2"),
        ("1 whole", "whole.zarr'.*: is a whole sweep"),
        ("1 seed", "is of another sweep than .*1.zarr: seed 1 there, 2 here; allowed"),
        ("1 other", "is of another sweep than .*: another scenario.* Both have 4 of their points' seeds: a replica"),
        ("1 version", "is of another sweep than .*: code .* there, other here; allowed"),
        ("1 damaged", r"is damaged: sweep.sqlite.*; allowed: a copy of the store that is whole"),
        ("low high", "other values of rtt. Both have 2 of their points' seeds: a replica has the same random numbers"),
        ("1 nothing", "is not the store of a sweep"),
    ],
)
def test_what_is_no_whole_is_refused_in_one_line_and_leaves_nothing(
    given: str, said: str, parts: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        btflow.merge(tmp_path / "a.zarr", [parts.get(name, tmp_path / name) for name in given.split()], progress=False)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_whole_is_not_put_over_something(parts: dict[str, Path], tmp_path: Path) -> None:
    both = [parts["1"], parts["2"]]
    for out, said in ((parts["whole"], "exists"), (tmp_path / "a", "ending")):
        with pytest.raises(InputError, match=said):
            btflow.merge(out, both)
    with pytest.raises(InputError, match="was made by another sweep: part 1/2 there, 2/2 here"):
        api.execute(planned(seed=1, vary=RTT, part="2/2"), parts["1"], Running(jobs=1), resume=True)
    copied = shutil.copytree(parts["1"], tmp_path / "copy.zarr")
    assert bits(btflow.merge(tmp_path / "a.zarr", [copied, parts["2"]], progress=False).load()).identical(
        bits(read(parts["whole"]))
    )


def test_points_that_share_a_seed_by_mistake_are_found_where_a_sweep_is_read(parts: dict[str, Path]) -> None:
    """Halves of one seed that were joined by xarray; not those of two seeds, nor a point that is there twice."""
    whole, low, high = (read(parts[name]) for name in ("whole", "low", "high"))
    joined = xr.concat([low, high], "rtt")
    assert "warning     4 points have the seed of another point: their replicas" in repr(joined.btflow)
    with pytest.raises(InputError, match=r"4 points with the seed of another point.*drop_vars\('seed'\)"):
        analysis.response(joined, "completion_mean", "rtt")
    for fine in (
        whole,
        joined.drop_vars("seed"),
        whole.isel(rtt=[0, 0, 1]),
        joined.assign_attrs(common_random_numbers=1),
    ):
        assert "warning" not in repr(fine.btflow)
        assert analysis.response(fine.isel(rtt=[0, -1]), "completion_mean", "rtt").sizes["rtt"] == 2


@pytest.mark.slow
def test_the_script_of_the_docs_runs_a_part(tmp_path: Path) -> None:
    """With small swarms in place of its own."""
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    script = page.split("```bash\n")[1].split("```")[0].replace("--replicas 1000", "--replicas 10 --set leechers=3")
    environment = {
        **os.environ,
        "SLURM_ARRAY_TASK_ID": "3",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout) == (0, "part3.zarr: 2 of 2 swarms of part 3/10 done, 0 failed\n")
