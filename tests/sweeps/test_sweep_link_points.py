"""A point of a sweep of link experiments is ``simulate_link`` to the last bit."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from sweep_links_made import FILE, Vary, check_point, same, short

from btflow import load_link, schema, simulate_link, sweep


@pytest.mark.slow
@settings(max_examples=25)
@example(0, False, [3], [5], "bbr", "4 Mbit/s", "2%", 1)  # a flow without a round-trip time
@given(
    seed=st.integers(0, 2**63 - 1),
    common=st.booleans(),
    high=st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True),
    buffer=st.lists(st.integers(5, 80), min_size=1, max_size=2, unique=True),
    cc=st.sampled_from(["cubic", "newreno", "bbr"]),
    down=st.sampled_from(["4 Mbit/s", "unlimited"]),
    loss=st.sampled_from(["0%", "2%"]),
    replicas=st.integers(1, 2),
)
def test_a_point_of_a_sweep_is_the_single_run_of_its_scenario_and_seed(
    seed: int, common: bool, high: list[int], buffer: list[int], cc: str, down: str, loss: str, replicas: int
) -> None:
    base = short(**{"paths.loss": loss})
    vary: Vary = {
        "high": high,
        "buffer": [f"{n} packets" for n in buffer],
        "flows.high.cc": [cc],
        "access.home.downlink": ['{ rate = "' + down + '"' + (', buffer = "50 packets" }' if down[0] == "4" else " }")],
    }
    found = sweep(base, vary, seed=seed, replicas=replicas, common=common, jobs=1, progress=False)
    for i, number in enumerate(high):
        for j, packets in enumerate(buffer):
            at = found.isel({"high": i, "buffer": j, "flows.high.cc": 0, "access.home.downlink": 0})
            link = at["access.home.downlink"].item()
            alone = base.set(**{"high": number, "buffer": f"{packets} packets", "flows.high.cc": cc})
            alone = alone.set(**{"access.home.downlink": link})
            assert int(at.seed) == seed or not common
            for replica in range(replicas):
                run = simulate_link(alone, seed=(int(at.seed) + replica) % 2**63)
                check_point(at.isel(replica=replica), run, run.sizes["flow"])


def test_calls_probes_and_flows_of_a_size(tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(FILE)
    model = load_link(tmp_path / "mixed.toml")
    found = sweep(model, {"flows.short.size": ["40 kB", "1 GB"]}, jobs=1, progress=False)
    assert found["flow_group"].values.tolist() == ["long", "short", "call", "probe"]
    for size in (40e3, 1e9):
        for calls in (0, 1, 2):
            at = found.isel({"replica": 0, "access.home.uplink.buffer": 1}).sel(
                {"flows.short.size": size, "flows.call.count": calls}
            )
            settings = {"flows.short.size": f"{size / 1e3:.0f} kB", "flows.call.count": calls, "flows.short.count": 1}
            run = simulate_link(model.set(**settings, **{"access.home.uplink.buffer": "60 packets"}), seed=int(at.seed))
            check_point(at, run, 2)
            call, probe, short_ = (at.sel(flow_group=name) for name in ("call", "probe", "short"))
            assert same(short_.group_completion_max, run.completion_time[1])
            assert same(at.completion_max, run.completion_time[1])
            assert np.isnan(float(short_.group_completion_mean)) == (size == 1e9)
            assert same(probe.group_delay_mean, run.probe_delay_mean[0])
            assert same(probe.group_delay_p95, run.probe_delay_quantile.sel(quantile=0.95)[0])
            assert same(probe.group_delivered_share, (run.probe_delivered / run.probe_sent)[0])
            assert np.isnan(float(probe.group_share))
            assert same(at.mos, run.voip_mos.values.mean() if calls else np.nan)
            if calls:
                assert same(call.group_mos, run.voip_mos.values.mean())
                assert same(call.group_voice_loss, run.voip_loss.values.mean())
                assert same(call.group_jitter, run.voip_jitter.values.mean())
                assert same(call.group_delay_mean, run.voip_delay_mean.values.mean())
            assert np.isnan(float(short_.group_mos))
            assert float(at.group_share.sum()) == pytest.approx(1.0)


def test_the_schema_of_link_models_knows_sweeps() -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema("link"))
    tree = tomllib.loads(FILE)
    assert not list(validator.iter_errors(tree))
    tree["sweep"]["replicas"] = "many"
    assert list(validator.iter_errors(tree))
