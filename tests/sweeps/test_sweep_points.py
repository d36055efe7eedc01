"""A point of a sweep is the single run of its scenario and seed: figures, peers, and common random numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st
from sweep_made import tiny

from btflow import InputError, analysis, load, simulate, sweep
from btflow.options import FIDELITIES, Fidelity
from btflow.sweeps.declare import declaration, declare

Vary = dict[str | tuple[str, ...], object]

WAYS: dict[str, list[dict[str | tuple[str, ...], object]]] = {
    "rao2010": [
        {"classes.*.client": ["mainline-4.0", "libtorrent-2"], "rtt": ["0 ms", "30 ms"]},
        {("rtt", "loss"): [("10 ms", "0%"), ("80 ms", "2%")], "transport.initial_window": [2, 10]},
        {"tso": "true,false", "leechers": [2, 4]},
    ],
    "flashcrowd": [
        {"client": ["mainline-4.0", "libtorrent-2"], "classes.*.access.uplink.discipline": ["drop-tail", "codel"]},
        {"classes.tcp.tcp": ["newreno", "cubic"], "utp_share": ["25%", "50%"]},
    ],
}

SAMPLES: dict[str, dict[str | tuple[str, ...], object]] = {
    "rao2010": {"rtt": "uniform(0 ms, 200 ms)", "loss": "iplane", "leechers": "lin(2, 5)", "tso": "true,false"},
    "flashcrowd": {"rtt": "iplane", "buffer": "50 ms,200 ms", "client": "mainline-4.0,libtorrent-2"},
}

PEERS = {f"peer_{name}": name for name in ("completion_time", "bytes_sent", "bytes_received", "start_time")}


def figures(run: xr.Dataset, replica: int) -> dict[str, float]:
    """Return statistics of a replica of a single run, from its peers, in the plainest way."""
    alone = run.isel(replica=replica)
    leechers = alone.isel(peer=(alone.role == "leecher").values)
    times = leechers.completion_time.values[leechers.counted.values]
    last = (leechers.completion_time + leechers.start_time).values
    again = float(alone.duplicate_blocks.sum()) * 16384
    return {
        "completion_mean": float(times.mean()),
        "completion_min": float(times.min()),
        "completion_median": float(np.median(times)),
        "completion_p90": float(np.percentile(times, 90)),
        "completion_max": float(times.max()),
        "completion_last": float(np.nanmax(last)),
        "seed_copies": float(alone.seed_copies),
        "unchokes": float(leechers.unchokes.sum()),
        "upload_utilisation_mean": float(leechers.upload_utilisation.mean()),
        "limited_limiter": float(leechers.limited_share.sel(cause="limiter").mean()),
        "duplicate_share": again / float(alone.bytes_received.sum()),
    }


@pytest.mark.slow
@settings(max_examples=8)
@given(
    seed=st.integers(0, 2**63 - 1),
    common=st.booleans(),
    rtt=st.lists(st.integers(0, 300), min_size=1, max_size=2, unique=True),
    limit=st.lists(st.integers(10, 100), min_size=1, max_size=2, unique=True),
    loss=st.sampled_from(["0%", "3%"]),
    replicas=st.integers(1, 2),
)
def test_a_point_of_a_sweep_is_the_single_run_of_its_scenario_and_seed(
    seed: int, common: bool, rtt: list[int], limit: list[int], loss: str, replicas: int
) -> None:
    base = tiny(loss=loss)
    delays, limits = [f"{t} ms" for t in rtt], [f"{u} kB/s" for u in limit]
    vary: dict[str | tuple[str, ...], object] = {"rtt": delays, "upload_limit": limits}
    found = sweep(base, vary, seed=seed, replicas=replicas, common=common, jobs=1, progress=False)
    for i, t in enumerate(delays):
        for j, u in enumerate(limits):
            at = found.isel(rtt=i, upload_limit=j)
            run = simulate(base.set(rtt=t, upload_limit=u), seed=int(at.seed), replicas=replicas)
            for replica in range(replicas):
                expected = figures(run, replica)
                got = {name: float(at[name][replica]) for name in expected}
                exact = {"completion_min", "completion_max", "completion_mean", "seed_copies", "unchokes"}
                assert {name: got[name] for name in exact} == {name: expected[name] for name in exact}
                assert got == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_on_access_links_too_and_by_class(fidelity: Fidelity) -> None:
    base = load("flashcrowd", leechers=4, file_size="512 KiB")
    found = sweep(base, {"buffer": ["100 ms", "1 s"]}, seed=5, fidelity=fidelity, jobs=1, progress=False)
    for i, buffer in enumerate(("100 ms", "1 s")):
        at = found.isel(buffer=i, replica=0)
        run = simulate(base.set(buffer=buffer), seed=int(at.seed), fidelity=fidelity).isel(replica=0)
        for name in ("tcp", "utp"):
            mine, own = at.sel(peer_class=name), run.isel(peer=(run.peer_class == name).values)
            assert float(mine.class_completion_mean) == float(own.completion_time.values.mean())
            np.testing.assert_equal(float(mine.class_block_latency), float(run.block_latency.sel(sender_class=name)))
            request = run.message_delay.sel(sender_class=name, message="request")
            assert float(mine.class_request_delay) == float(request)
            assert float(mine.class_uplink_drops) == float(own.uplink_drops.sum())
        moved = run.uplink_bytes.isel(peer=(run.role == "leecher").values).sum("peer")
        assert float(at.utp_byte_share) == pytest.approx(float(moved.sel(traffic="uTP data") / moved.sum()))


def test_common_random_numbers_are_the_same_at_every_point() -> None:
    vary: Vary = {"tso": [True, False], "arrival_spread": ["10 s", "20 s"]}
    found = sweep(tiny(), vary, seed=4, replicas=2, common=True, jobs=1, keep=["peers"], progress=False)
    assert (found.seed == 4).all()
    starts = found.peer_start_time
    assert np.array_equal(starts.sel(tso=True), starts.sel(tso=False), equal_nan=True)
    assert starts.isel(arrival_spread=1).values[..., 1:] == pytest.approx(
        2 * starts.isel(arrival_spread=0).values[..., 1:]
    )
    apart = sweep(tiny(), vary, seed=4, replicas=2, jobs=1, keep=["peers"], progress=False).peer_start_time
    assert not np.isclose(apart.sel(tso=True).values[..., 1:], apart.sel(tso=False).values[..., 1:]).any()


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.data(), st.integers(0, 2**63 - 1), st.booleans())
def test_what_each_peer_did_at_a_point_is_what_it_did_in_the_single_run(
    data: st.DataObject, seed: int, common: bool
) -> None:
    model = data.draw(st.sampled_from(["rao2010", "rao2010", "flashcrowd"]))
    sample = data.draw(st.sampled_from([None, "sobol:2", "lhs:3", "random:2", "saltelli:1"]))
    vary = data.draw(st.sampled_from(WAYS[model])) if sample is None else SAMPLES[model]
    base = tiny(model)
    said = declaration(vary, {}, "vary", sample=sample, seed=seed, common=common)
    found = sweep(base, vary, sample=sample, seed=seed, common=common, keep=["peers"], jobs=1, progress=False)
    plan = declare(base.document, base.given, said)
    for point in range(plan.units):
        at = {name: found[name].values.reshape(plan.units, -1)[point] for name in PEERS}
        run = simulate(base.set(**plan.settings(point)), seed=plan.seed_of(point)).isel(replica=0)
        for name, own in PEERS.items():
            expected = run[own].values.astype(float)
            np.testing.assert_array_equal(at[name][: expected.size], expected)
            assert np.isnan(at[name][expected.size :].astype(float)).all()


def test_seeds_can_be_varied_like_any_name(tmp_path: Path) -> None:
    """A point is the single run with its seed: along a dimension of its own, with others, and in a sample."""
    base, largest = tiny(), 2**63 - 1
    rows = [("20 kB/s", "0 ms", 5), ("50 kB/s", "30 ms", largest), ("50 kB/s", "30 ms", 0)]
    found = sweep(base, {("upload_limit", "rtt", "seed"): rows}, replicas=2, jobs=1, progress=False)
    assert found.seed.values.tolist() == [5, largest, 0]
    assert found.seed.dims == ("upload_limit+rtt+seed",)
    for number, (limit, rtt, seed) in enumerate(rows):
        run = simulate(base.set(upload_limit=limit, rtt=rtt), seed=seed, replicas=2)
        times = run.completion_time.where(run.role == "leecher").mean("peer")
        assert found.completion_mean.values[number] == pytest.approx(times.values, rel=1e-12)
    path = tmp_path / "a.zarr"
    along = sweep(base, {"seed": [7, "8", 9]}, out=path, jobs=1, progress=False)
    assert along.seed.values.tolist() == [7, 8, 9]
    assert along.completion_mean.dims == ("seed", "replica")
    again = sweep(base, {"seed": "7,8,9"}, out=path, resume=True, jobs=1, progress=False)
    assert again.identical(along)
    with pytest.raises(InputError, match="other values of seed"):
        sweep(base, {"seed": "7,8,10"}, out=path, resume=True, jobs=1, progress=False)
    assert analysis.write_table(path, tmp_path / "a.csv") == 3
    with (tmp_path / "a.csv").open(encoding="utf-8") as file:
        assert [row["seed"] for row in csv.DictReader(file)] == ["7", "8", "9"]
    drawn = sweep(base, {"seed": [1, 2], "rtt": "uniform(0 ms, 9 ms)"}, sample="lhs:4", seed=3, jobs=1, progress=False)
    assert sorted(drawn.seed.values.tolist()) == [1, 1, 2, 2]
    flow = sweep(base, {"seed": [4, 5]}, fidelity="flow", check=1, jobs=1, progress=False)
    assert int(flow["check_seed"][0]) in (4, 5)
    kept = sweep(base, {"seed": [4], "leechers": [2, 3]}, keep="peers", jobs=1, progress=False)
    assert kept.sizes["peer"] == 4
