"""The Dataset: hand-made replicas give figures worked out by hand, and a real swarm gives consistent ones."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import made
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st

from btflow import load, simulate
from btflow.kernels.swarm.state import CAUSES
from btflow.swarm import replica
from btflow.swarm.program import compile_scenario
from btflow.swarm.replica import CAUSE_NAMES, GRID_POINTS, pieces_held, time_step
from btflow.swarm.results import segments, to_dataset
from btflow.swarm.run import run_swarm


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return made.dataset()


@pytest.fixture(scope="module")
def simulated() -> xr.Dataset:
    scenario = load("rao2010").set(leechers=8, file_size="2 MB")
    return simulate(scenario, seed=3, replicas=2)


def test_every_variable_and_coordinate_has_a_name_and_a_unit(result: xr.Dataset) -> None:
    for name, variable in result.variables.items():
        assert set(variable.attrs) == {"long_name", "units"}, name
    units = {str(name): variable.attrs["units"] for name, variable in result.variables.items()}
    assert {units[name] for name in ("completion_time", "start_time", "time", "send_gap")} == {"s"}
    assert {units[name] for name in ("bytes_sent", "bytes_received", "payload")} == {"B"}
    assert (units["upload_limit"], units["pieces_held"], units["limited_share"]) == ("B/s", "pieces", "1")


def test_peers_are_labelled(result: xr.Dataset) -> None:
    assert result.role.values.tolist() == ["seed", "leecher", "leecher", "leecher"]
    assert result.peer_class.values.tolist() == ["seed", "leechers", "leechers", "leechers"]
    assert result.upload_limit.values.tolist() == [20 * 1024] * 4


def test_labels_follow_the_program_where_the_scenario_has_another_order() -> None:
    scenario = made.scenario(seed_upload_limit="50 kB/s")
    turned = scenario.model_copy(update={"classes": scenario.classes[::-1]})
    assert [c.name for c in turned.classes] == ["leechers", "seed"]
    result = to_dataset(turned, compile_scenario(turned), [made.replica()], 0)
    assert result.role.values.tolist() == ["seed", "leecher", "leecher", "leecher"]
    assert result.upload_limit.values.tolist() == [50 * 1024, *[20 * 1024] * 3]
    assert result.sender_class.values.tolist() == ["seed", "leechers"]
    assert result.send_gap.sel(sender_class="seed", active=1) == pytest.approx(1380 / (50 * 1024))


def test_completion_times(result: xr.Dataset) -> None:
    np.testing.assert_array_equal(result.completion_time, [[np.nan, 40, 80, 100], [np.nan, 50, 90, 200]])


def test_utilisation_is_over_the_time_until_the_last_completion() -> None:
    start = np.array([0.0, 0.0, 50.0, 0.0])
    result = made.dataset(made.replica(start=start))
    per_second = np.array([1.25, 1.0, 0.5, 0.25]) * 2**20 / (20 * 1024)
    np.testing.assert_allclose(result.upload_utilisation[0], per_second / [100, 100, 50, 100])


def test_copies_uploaded_by_the_seed(result: xr.Dataset) -> None:
    np.testing.assert_allclose(result.seed_copies, [1.25, 1.25])


def test_shares_add_up_and_are_missing_for_who_unchoked_nobody(result: xr.Dataset) -> None:
    share = result.limited_share.isel(replica=0)
    assert share["cause"].values.tolist() == list(CAUSE_NAMES)
    assert len(CAUSE_NAMES) == CAUSES
    np.testing.assert_allclose(share.isel(peer=0), [0.6, 0.2, 0.1, 0.1, 0.0])
    np.testing.assert_allclose(share.isel(peer=1), [0.25, 0, 0, 0.25, 0.5])
    np.testing.assert_allclose(share.isel(peer=[0, 1, 2]).sum("cause"), 1.0)
    assert np.isnan(share.isel(peer=3)).all()


def test_time_between_sends(result: xr.Dataset) -> None:
    count = result.send_gap_count.isel(replica=0)
    assert result.active.values.tolist() == [1, 2, 3, 4]
    assert count.sel(sender_class="seed").values.tolist() == [0, 0, 0, 60]
    assert count.sel(sender_class="leechers").values.tolist() == [10, 30, 0, 0]
    # four connections share 20 KiB/s: each sends 1380 B every 4 * 1380 / 20480 s
    assert result.send_gap.sel(sender_class="seed", active=4) == pytest.approx(0.26953125)


def test_control_messages_are_counted_by_the_time_since_the_last_send(result: xr.Dataset) -> None:
    count = result.control_gap_count.isel(replica=0).sel(sender_class="leechers")
    assert count.sel(control_gap=0.0005) == 7
    found = count.control_gap.values[count.values == 3]
    assert 0.001 * 2**4 < found < 0.001 * 2**4.5  # the ninth half octave from 1 ms on


def test_a_seeds_slots_are_labelled_by_peer(result: xr.Dataset) -> None:
    assert result.slots_seen.isel(replica=0).values.tolist() == [40, 0, 0, 0]
    assert result.slots_dry.isel(replica=0).values.tolist() == [6, 0, 0, 0]


@pytest.mark.parametrize(
    ("tso", "expected"),
    # 10 bursts of 1380 B; 4 of 2760 = 1448 + 1312 B; 1 of 4140 = 2 * 1448 + 1244 B
    [(False, {1244: 1, 1312: 4, 1380: 10, 1448: 6}), (True, {1380: 10, 2760: 4, 4140: 1})],
)
def test_segments_are_full_ones_and_a_remainder_or_with_offload_bursts(tso: bool, expected: dict[int, int]) -> None:
    found = made.dataset(tso=tso)
    assert dict(zip(found.payload.values.tolist(), found.segment_payload_count[0].values, strict=True)) == expected


@given(
    st.lists(st.lists(st.integers(0, 20), min_size=12, max_size=12), min_size=1, max_size=3),
    st.integers(1, 3000),
    st.integers(1, 9000),
)
def test_segments_carry_every_byte_and_none_is_too_large(bursts: list[list[int]], unit: int, largest: int) -> None:
    counted = np.array(bursts, float)
    payloads, counts = segments(counted, unit, largest)
    np.testing.assert_allclose(counts @ payloads, counted @ (unit * np.arange(12)))
    assert len(set(payloads.tolist())) == len(payloads)
    assert (payloads > 0).all()
    assert (payloads <= largest).all()


def test_pieces_held_at_times_worked_out_by_hand() -> None:
    times = np.array([[1.0, 2.0, 4.0], [2.0, 3.0, 3.5]])
    # at 0, 1, 2, 3, 4 s: none; one; one and two; two and two... of two leechers
    np.testing.assert_array_equal(pieces_held(times, 1.0, 4.0, np.arange(2)), [0, 0.5, 1.5, 2, 3])


def test_pieces_held_do_not_depend_on_how_many_are_sorted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = np.random.default_rng(1).uniform(0.0, 50.0, (40, 7))
    who = np.arange(1, 40, 3)
    whole = pieces_held(times, 1.0, 50.0, who)
    np.testing.assert_array_equal(whole, [(times[who] <= t).sum() / who.size for t in range(51)])
    monkeypatch.setattr(replica, "SORTED_AT_ONCE", 10)
    np.testing.assert_array_equal(pieces_held(times, 1.0, 50.0, who), whole)


@given(st.floats(1e-3, 1e7))
def test_the_time_grid_is_a_power_of_two_and_fine_enough(last: float) -> None:
    step = time_step(last)
    assert np.log2(step) == np.round(np.log2(step))
    assert GRID_POINTS / 2 < last / step <= GRID_POINTS


@given(st.lists(st.lists(st.floats(0.01, 1e5), min_size=12, max_size=12), min_size=1, max_size=4))
def test_replicas_of_any_length_share_one_grid_exactly(times: list[list[float]]) -> None:
    have = [np.sort(np.array(t).reshape(3, 4), axis=1) for t in times]
    held = made.dataset(*(made.replica(h.tolist()) for h in have)).pieces_held
    time = held["time"].values
    assert time[0] == 0.0
    assert time[-2] < max(h.max() for h in have) <= time[-1]
    for row, h in zip(held.values, have, strict=True):
        np.testing.assert_array_equal(row, [(h <= t).sum() / 3 for t in time])


def test_where_it_came_from(result: xr.Dataset) -> None:
    scenario = made.scenario()
    assert result.attrs["model"] == "rao2010"
    assert json.loads(result.attrs["parameters"])["file_size"] == "1 MB"
    assert (result.attrs["seed"], result.attrs["replicas"]) == (7, 2)
    assert result.attrs["scenario_hash"] == scenario.digest()
    assert result.attrs["cpu_s"] == 0.5
    assert (result.attrs["byte_prefix"], result.attrs["file_size"], result.attrs["pieces"]) == ("binary", 2**20, 4)


def test_netcdf_reads_back_as_it_was(result: xr.Dataset, tmp_path: Path) -> None:
    result.to_netcdf(tmp_path / "result.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "result.nc", engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load(), result)


def test_results_do_not_need_plotly() -> None:
    script = "import btflow.swarm.results, sys; print('plotly' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_replica_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.replica().cpu = 0.0  # type: ignore[misc]  # wrong on purpose


def test_a_real_swarm_sends_twelve_units_a_block(simulated: xr.Dataset) -> None:
    # 16384 + 13 B in units of 1380 B; a block that is part-sent at the end has units but no bytes yet
    blocks = simulated.bytes_sent.sum("peer") / made.BLOCK
    whole = 12 * blocks
    np.testing.assert_allclose(simulated.segment_payload_count.sum("payload"), whole)
    units = simulated.send_gap_count.sum(("sender_class", "active"))
    assert (units >= whole).all()
    assert (units <= whole + 12 * 9 * 10).all()


def test_a_replica_does_not_depend_on_how_many_are_run(simulated: xr.Dataset) -> None:
    alone = simulate(load("rao2010").set(leechers=8, file_size="2 MB"), seed=3, replicas=1)
    for name in ("completion_time", "bytes_sent", "limited_share", "seed_copies", "unchokes"):
        np.testing.assert_array_equal(alone[name][0], simulated[name][0], err_msg=name)


def test_without_the_series_all_else_is_the_same() -> None:
    program = compile_scenario(load("rao2010").set(leechers=8, file_size="2 MB"))
    state = run_swarm(program, 3, 0)
    whole, without = (dataclasses.asdict(replica.collect(program, state, 0.0, series=asked)) for asked in (True, False))
    assert whole.pop("held").size > 100
    assert without.pop("held").size == 0
    np.testing.assert_equal(without, whole)
