"""The trace of a link: nothing that is decided depends on being watched, and every packet is accounted for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import btflow
from btflow import InputError, motion, simulate_link
from btflow.link.options import scenario_from
from btflow.link.program import compile_link
from btflow.link.run import run_link
from btflow.link.scenario import LinkScenario
from btflow.link.state import build
from btflow.motion import link
from btflow.motion.parcels import DROPPED, LOST, NO_QUEUE, PASSES, REFUSED, UNKNOWN
from btflow.motion.trace import MOST_BYTES

DISCIPLINES = ("drop-tail", "codel", "fq-codel", "pie", "cake")
MBIT = 125_000.0


def scenario(**options: Any) -> LinkScenario:
    """Return an uplink of 1 Mbit/s with a short buffer."""
    fixed = {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "20 packets", "flows": ["cubic:2"], "warmup": "0 s"}
    return scenario_from(**fixed | {"duration": "10 s"} | options)


@pytest.mark.parametrize("aqm", DISCIPLINES)
def test_being_watched_changes_no_bit_of_what_is_decided(aqm: str) -> None:
    made = scenario(aqm=aqm, flows=["cubic:2", "ledbat:1"], voip=["g729:1"], loss="1%", warmup="3 s")
    program = compile_link(made)
    alone, watched = run_link(program, 5), build(program, 5)
    for time in np.linspace(0.0, made.duration, 777):
        link.run_to(watched, float(time))
    added_up = ("counted_to", "byte_seconds", "served")  # times in a state, added up in other parts
    for name in (name for name in alone.queue.dtype.names if name not in added_up):
        assert np.array_equal(alone.queue[name], watched.queue[name]), name
    for name in ("flow", "segment", "flow_series", "queue_series", "record_delay", "rtt_bins", "clock"):
        assert getattr(alone, name).tobytes() == getattr(watched, name).tobytes(), name


@pytest.mark.parametrize("aqm", DISCIPLINES)
def test_windows_and_counts_are_those_of_the_result(aqm: str) -> None:
    made = scenario(aqm=aqm, flows=["cubic:2"])
    result, trace = simulate_link(made, seed=3), motion.record(made, seed=3, length=10)
    assert trace.columns["dropped"][-1].tolist() == result["drops"].values.tolist()
    assert trace.columns["arrived"][-1].tolist() == result["arrivals"].values.tolist()
    at_samples = np.searchsorted(result["time"].values, trace.columns["time"], side="right") - 1
    off = np.abs(trace.columns["window"] - result["window"].values[at_samples])
    assert np.median(off) < 0.5  # looks and samples are at other times


def check_conservation(trace: motion.Trace) -> None:
    """What came has left, was dropped, or waits: at each look, by the kernel's counts."""
    c = trace.columns  # times may be equal as rounded: hence two bounds
    for queue in range(len(trace.about["queues"])):
        inside = (c["queue"] == queue) & (c["fate"] != REFUSED)
        came = np.sort(c["came"][inside])
        gone = np.sort(np.where(c["fate"] == DROPPED, c["leaves"], c["begins"])[inside])
        least = np.searchsorted(came, c["time"], "left") - np.searchsorted(gone, c["time"], "right")
        most = np.searchsorted(came, c["time"], "right") - np.searchsorted(gone, c["time"], "left")
        assert np.all(least <= c["waiting"][:, queue])
        assert np.all(c["waiting"][:, queue] <= most)
        dropped = (c["queue"] == queue) & np.isin(c["fate"], (REFUSED, DROPPED))
        assert dropped.sum() == c["dropped"][-1, queue] - c["dropped"][0, queue]


@pytest.mark.parametrize("aqm", DISCIPLINES)
def test_what_came_has_left_was_dropped_or_waits(aqm: str) -> None:
    made = scenario(aqm=aqm, flows=["cubic:3", "ledbat:1@2s", "cubic:1,direction=down"], voip=["g729:1"])
    trace = motion.record(made, seed=1, length="10 s")
    check_conservation(trace)
    c = trace.columns  # times may be equal as rounded: hence two bounds
    for queue in range(2):
        assert (c["queue"] == queue).sum() == c["arrived"][-1, queue]
    assert c["dropped"][-1].sum() > 20
    assert np.all(c["ack"][c["flow"] == UNKNOWN] == 1)  # ACKs of the download that were not let in
    assert np.mean(c["flow"] == UNKNOWN) < 0.02
    check_conservation(motion.record(made, seed=1, start="4 s", length="2 s"))


def test_two_queues_in_a_row() -> None:
    trace = motion.record(btflow.load_link("geni"), seed=1, start=60, length=2)
    check_conservation(trace)
    c = trace.columns
    flow = [f["name"] for f in trace.about["flows"]].index("seed-a")
    queues = [trace.about["queues"].index(name) for name in ("seed-a.uplink", "downloader.downlink")]
    first, second = ((c["queue"] == q) & (c["flow"] == flow) & (c["fate"] == PASSES) for q in queues)
    came = c["came"][second]
    assert len(came) > 50
    assert np.isin(came[(came > 0.5) & (came < 1.9)], c["arrives"][first]).all()  # as it leaves the path between them


def test_times_of_packets_are_those_of_the_link() -> None:
    made = scenario(flows=["cubic:1"], rtt_spread="0 s", buffer="300 packets", duration="4 s")
    c = motion.record(made, length=4).columns
    data = (c["queue"] == 0) & (c["fate"] == PASSES)
    begins, leaves = c["begins"][data].astype(float), c["leaves"][data].astype(float)
    assert leaves - begins == pytest.approx(c["bytes"][data] / MBIT, abs=2e-6)
    assert c["arrives"][data] - leaves == pytest.approx(0.025, abs=2e-6)  # half the round trip
    assert np.all(begins >= c["came"][data] - 1e-6)
    order = np.argsort(begins)
    assert np.all(begins[order][1:] >= leaves[order][:-1] - 2e-6)  # one at a time
    assert np.all(np.diff(begins[np.argsort(c["came"][data], kind="stable")]) >= 0)  # first in, first out
    assert {link.PHASES[phase] for phase in np.unique(c["phase"])} == {
        "connecting",
        "slow start",
        "congestion avoidance",
    }


def test_fair_queueing_serves_a_call_between_uploads() -> None:
    made = scenario(aqm="fq-codel", buffer="1000 packets", flows=["cubic:2"], voip=["g729:1"])
    trace = motion.record(made, seed=1, start=5, length=2)
    c = trace.columns
    flow = [f["kind"] for f in trace.about["flows"]].index("voip")
    wait = (c["begins"] - c["came"])[(c["queue"] == 0) & (c["fate"] == PASSES)]
    call = (c["begins"] - c["came"])[(c["queue"] == 0) & (c["flow"] == flow)]
    assert np.nanmax(call) < 0.025 < np.nanmax(wait)  # two packets of others at most


def test_what_the_path_loses_is_told() -> None:
    made = scenario(flows=["cubic:2"], loss="10%", buffer="500 packets")
    result, c = simulate_link(made, seed=2), motion.record(made, seed=2, length=10).columns
    data = (c["ack"] == 0) & (c["arrives"] < 10)
    share = float((c["fate"][data] == LOST).mean())
    assert share == pytest.approx(0.1, abs=0.05)
    arrived = result["sent"].values.sum() - (c["fate"][data] == LOST).sum()
    passed = ((c["fate"] == PASSES) & data & (c["bytes"] > 1000)).sum()
    assert passed == pytest.approx(arrived, abs=20)  # what was under way at the end


def test_without_a_queue_on_the_way_back_acks_travel() -> None:
    c = motion.record(btflow.load_link("latecomer"), length=2).columns
    back = c["queue"] == NO_QUEUE
    assert back.sum() > 10
    assert np.all(c["ack"][back] == 1)
    assert np.all(c["arrives"][back] > c["leaves"][back])


def test_a_trace_ends_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "MOST_PARCELS", 200)
    trace = motion.record(scenario(), length=10)
    assert not trace.about["whole"]
    assert 200 <= len(trace.columns["came"]) < 300
    assert trace.about["length"] < 5
    assert trace.columns["time"][-1] == pytest.approx(trace.about["length"])


def test_how_long_it_is_if_nobody_says() -> None:
    long = motion.record(scenario(duration="100 s"))
    assert long.about["length"] == pytest.approx(link.PACKETS * 1500 / MBIT, rel=0.01)
    assert long.about["whole"]
    fast = motion.record(scenario(rate="1 Gbit/s", rtt="20 ms", buffer="100 packets", duration="10 s"))
    assert fast.about["length"] == pytest.approx(0.4, rel=0.01)  # 20 round trips


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    """Options of a short experiment with anything in it that a link may have."""
    laws = ("newreno", "cubic", "vegas", "lp", "nice", "ledbat", "utp-2013", "ledbatpp", "bbr")
    extras = ("", ",size=60 kB", ",rate=200 kbit/s", ",on=1 s,off=1 s", ",direction=down", ",stop=2 s")
    flows = [
        f"{draw(st.sampled_from(laws))}:{draw(st.integers(1, 3))}@{draw(st.sampled_from(['0s', '1s']))}"
        + draw(st.sampled_from(extras))
        for _ in range(draw(st.integers(1, 3)))
    ]
    options: dict[str, Any] = {
        "rate": f"{draw(st.integers(64, 4000))} kbit/s",
        "reverse_rate": f"{draw(st.integers(64, 4000))} kbit/s",
        "rtt": f"{draw(st.integers(1, 400))} ms",
        "buffer": draw(st.sampled_from(["2 packets", "50 packets", "20 kB", "400 ms"])),
        "aqm": draw(st.sampled_from(DISCIPLINES)),
        "loss": draw(st.sampled_from(["0%", "3%"])),
        "ack_loss": draw(st.sampled_from(["0%", "5%"])),
        "flows": flows,
        "duration": "4 s",
        "warmup": "0 s",
    }
    if draw(st.booleans()):
        options["voip"] = ["g729:1"]
    if draw(st.booleans()):
        options["probes"] = ["100 B@0.3s"]
    return options


@pytest.mark.slow
@given(experiments(), st.integers(0, 2**32), st.sampled_from([0.0, 1.5]))
@settings(max_examples=25)
def test_any_link_is_accounted_for_in_bounded_memory(options: dict[str, Any], seed: int, start: float) -> None:
    trace = motion.record(scenario_from(**options), seed=seed, start=start)
    check_conservation(trace)
    assert trace.nbytes <= MOST_BYTES
    c = trace.columns
    assert np.all(np.diff(c["came"]) >= 0)
    assert len(c["time"]) <= link.MOST_LOOKS + 2
    assert c["phase"].max() < len(link.PHASES)
    sent = c["fate"] == PASSES
    assert not np.any(c["leaves"][sent] < c["begins"][sent])
    assert not np.any(c["begins"][sent] < c["came"][sent] - 1e-6)


def test_a_link_without_a_queue_has_nothing_to_show() -> None:
    with pytest.raises(InputError, match="no queue has a limited rate"):
        motion.record(
            scenario_from(rate="unlimited", reverse_rate="unlimited", flows=["cubic:1,rate=1 Mbit/s"], duration="1 s")
        )
