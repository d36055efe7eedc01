"""RACK and tail loss probes, one rule at a time: chosen segments are lost, and what follows is known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import link_made as made
import numpy as np
import plain
import pytest
from hypothesis import given, settings, strategies as st
from link_made import PACKET, PAYLOAD, control, flow

from btflow import InputError, load, simulate, simulate_link
from btflow.kernels.link import state as k

RTT = 0.1
FAST = 125e6  # [B/s]
SERVICE = PACKET / FAST
TIMER = 2e-3  # what a timer of Linux takes longer [s]
LINK: dict[str, Any] = {"rate": "1 Gbit/s", "rtt": "100 ms", "buffer": "1000 packets", "warmup": "0 s"}
DATA, ACK = int(k.DATA) + 1, int(k.ACKS)  # pipes that lead to the receiver, and back to the sender


class Lossy:
    """A run of one flow that loses chosen segments, in the order of their arrival, and chosen ACKs."""

    def __init__(self, cc: made.Table | str, *lost: int, acks: Iterable[int] = (), **fields: Any) -> None:
        """Lose each number in `lost` once, as often as it is there; of ACKs those of so many arrivals."""
        options = {**LINK, "duration": fields.pop("duration", "10 s"), "rtt": fields.pop("rtt", "100 ms")}
        self.steps = made.Steps(made.program(flow(cc, **fields), **options))
        self.lost, self.acks = list(lost), list(acks)
        self.state, self.flow = self.steps.state, self.steps.state.flow[0]
        self.left: list[tuple[float, int]] = []  # what left, and when
        self.sent = 0.0

    def step(self) -> bool:
        """One event."""
        s = self.state
        source = int(s.heap[0].source)
        s.flow.data_loss[0] = s.flow.ack_loss[0] = 0.0
        for pipe, numbers, field in ((DATA, self.lost, "data_loss"), (ACK, self.acks, "ack_loss")):
            if source == pipe:
                number = int(s.parcel[int(s.pipe[pipe].first)].number)
                if number in numbers:
                    numbers.remove(number)
                    s.flow[field][0] = 1.0
        more = self.steps.step()
        if self.flow["sent"] > self.sent:
            self.sent = float(self.flow["sent"])
            self.left.append((self.steps.now, int(self.sent)))
        return more

    def __iter__(self) -> Iterator[float]:
        """Go on event by event; the time of each."""
        while self.step():
            yield self.steps.now

    def end(self) -> Any:
        """Go on to the end of the experiment; the flow."""
        for _ in self:
            pass
        return self.flow

    def until(self, field: str, least: float) -> float:
        """Go on until a field of the flow has reached a value; when that was."""
        return next(now for now in self if self.flow[field] >= least)


def size(segments: int) -> str:
    return f"{segments * PAYLOAD} B"


def test_a_lost_tail_is_found_by_a_probe_after_two_round_trips() -> None:
    """Of ten segments the last two are lost: the tenth goes again two round trips after the last ACK."""
    run = Lossy("cubic-6", 8, 9, size=size(10))
    acked = run.until("una", 8)
    srtt = float(run.flow["srtt"])
    probed = run.until("sent", 11)
    assert probed == pytest.approx(acked + 2 * srtt + TIMER)
    assert srtt == pytest.approx(RTT, rel=0.01)
    repaired = run.until("sent", 12)  # the probe's ACK shows that the ninth is missing: it left long before
    assert repaired == pytest.approx(probed + RTT + SERVICE, rel=1e-4)
    f = run.end()
    assert f["finish"] == pytest.approx(repaired + RTT / 2 + SERVICE, rel=1e-4)
    assert (f["timeouts"], f["losses"], f["resent"]) == (0, 1, 2)


def test_without_a_probe_a_lost_tail_waits_for_the_timer() -> None:
    run = Lossy(control("cubic-6", tail_probe=False), 8, 9, size=size(10))
    acked = run.until("una", 8)
    rto = float(run.flow["rto"])
    assert run.until("timeouts", 1) == pytest.approx(acked + rto)
    assert rto > 2 * RTT + TIMER


def test_the_probe_of_a_segment_alone_waits_for_a_delayed_ack() -> None:
    """400 ms: SRTT 400 ms, RTTVAR 200 ms, RTO 1.2 s; the probe goes after 2 x 400 + 200 ms."""
    run = Lossy("cubic-6", 0, size=size(1), rtt="400 ms")
    sent = run.until("sent", 1)
    assert run.until("sent", 2) - sent == pytest.approx(1.0, rel=1e-3)
    f = run.end()
    assert (f["timeouts"], f["losses"]) == (0, 0)


def test_a_probe_is_never_later_than_the_timer() -> None:
    """With 100 ms the RTO is 300 ms, and 2 x 100 + 200 ms are more: the probe goes in its place, and it starts anew."""
    run = Lossy("cubic-6", 0, 0, size=size(1))
    sent = run.until("sent", 1)
    rto = float(run.flow["rto"])
    assert rto == pytest.approx(0.3, rel=1e-3)
    probed = run.until("sent", 2)
    assert probed == pytest.approx(sent + rto)
    assert run.flow["timeouts"] == 0
    assert run.until("timeouts", 1) == pytest.approx(probed + rto)


def test_a_probe_is_something_new_if_there_is_such() -> None:
    """A window of 4 segments is lost as a whole: the fifth goes, whatever the window."""
    cc = control("cubic-6", initial_window=4, quick_acks=1000)
    run = Lossy(cc, 0, 1, 2, 3, size=size(20))
    first = run.until("sent", 4)
    probed = run.until("sent", 5)
    assert probed == pytest.approx(first + 2 * float(run.flow["srtt"]) + TIMER)
    assert run.flow["nxt"] == 5
    assert run.flow["probed"] == k.NONE
    f = run.end()
    assert (f["timeouts"], f["losses"]) == (0, 1)
    assert f["finish"] > 0.0


def test_one_later_arrival_shows_a_loss_after_a_quarter_of_a_round_trip() -> None:
    run = Lossy("cubic-6", 0, size=size(2))
    told = run.until("acks", 1)
    found = run.until("losses", 1)
    assert found == pytest.approx(told + float(run.flow["min_rtt"]) / 4 + TIMER)
    f = run.end()
    assert (f["timeouts"], f["resent"]) == (0, 1)
    waits = Lossy(control("cubic-6", detection="dupacks", tail_probe=False), 0, size=size(2))
    assert (waits.end()["timeouts"], waits.flow["losses"]) == (1, 0)


def test_three_later_arrivals_show_a_loss_at_once() -> None:
    run = Lossy("cubic-6", 0, size=size(4))
    assert run.until("acks", 3) == run.steps.now
    assert run.flow["losses"] == 1
    assert run.end()["resent"] == 1


def test_a_segment_that_left_a_quarter_of_a_round_trip_earlier_is_lost_at_once() -> None:
    """The application writes a segment each 40 ms: the next one's arrival is enough."""
    run = Lossy(control("cubic-6", quick_acks=1000), 5, rate="289.6 kbit/s", duration="2 s")
    while run.flow["delivered"] < 6:
        run.step()
    assert run.flow["losses"] == 1
    assert run.flow["una"] == 5
    assert run.flow["phase"] == k.RECOVERY


@pytest.mark.parametrize("times", [2, 3, 4])
def test_a_lost_retransmission_is_found_by_what_left_after_it(times: int) -> None:
    """Each time a round trip after it went; nothing waits for the timer."""
    run = Lossy("cubic-6", *[20] * times, size=size(200))
    f = run.end()
    assert (f["timeouts"], f["losses"], f["resent"]) == (0, 1, times)
    assert not run.lost
    without = control("cubic-6", detection="dupacks", tail_probe=False, lost_retransmit=False)
    old = Lossy(without, *[20] * times, size=size(200))
    assert old.end()["timeouts"] > 0
    assert f["finish"] < old.flow["finish"]


def test_a_probe_that_repairs_the_last_segment_costs_a_part_of_the_window() -> None:
    """Nobody else saw the loss (RFC 8985, section 7.4.2); it shows when what is behind the probe has come."""
    run = Lossy("cubic-6", 9, message=size(10), period="2 s", duration="5 s")
    run.until("una", 10)
    assert (run.flow["losses"], run.flow["timeouts"]) == (0, 0)
    run.until("losses", 1)
    assert float(run.flow["ssthresh"]) == pytest.approx(0.7 * 10)  # the initial window, after two seconds of idleness
    f = run.end()
    assert (f["timeouts"], f["losses"]) == (0, 1)


def test_a_probe_for_nothing_costs_nothing() -> None:
    """The last ACK is lost, not the last segment: that it came twice says so."""
    run = Lossy("cubic-6", acks=[10], message=size(10), period="2 s", duration="5 s")
    f = run.end()
    assert f["resent"] == 1
    assert (f["timeouts"], f["losses"]) == (0, 0)
    assert f["probe_end"] == k.NONE
    assert f["ssthresh"] == k.FOREVER


def test_a_source_that_goes_on_does_not_put_the_timer_off_by_probes() -> None:
    """Nothing comes back any more: a probe goes in place of the first timeout, and none in place of the next."""
    cc = control("cubic-6", quick_acks=1000, initial_window=1000)
    run = Lossy(cc, *[*range(20, 1000)] * 9, rate="289.6 kbit/s", duration="6 s")
    acked = run.until("una", 20)
    rto = float(run.flow["rto"])
    assert run.until("timeouts", 1) == pytest.approx(acked + 2 * rto)


def test_at_a_timeout_what_left_less_than_a_round_trip_ago_is_not_lost() -> None:
    """A segment each 40 ms, and the path is cut: the two or three of the last 100 ms may still come."""
    cc = control("cubic-6", quick_acks=1000, initial_window=100)
    run = Lossy(cc, *[*range(20, 45)] * 2, rate="289.6 kbit/s", duration="9 s")
    timed_out = run.until("timeouts", 1)
    f = run.flow
    ring = run.state.segment[int(f["ring_at"]) :]
    recent = [n for n in range(int(f["una"]) + 1, int(f["nxt"])) if ring[n].sent > timed_out - float(f["rack_rtt"])]
    assert len(recent) in (2, 3)
    assert f["flight"] == len(recent) + 1  # and the first, which went again
    assert f["cwnd"] == f["flight"]
    f = run.end()
    assert f["una"] > 100


# -- proportional rate reduction


def recovering(recovery: np.int64, **values: float) -> Any:
    """Return a flow in a recovery."""
    fields: dict[str, Any] = {"recovery": recovery, "prr_delivered": 0.0, "prr_out": 1.0, "prr_flight": 20.0}
    return SimpleNamespace(**{**fields, "ssthresh": 14.0, "train": 1, "flight": 19, "cwnd": 0.0, **values})


@pytest.mark.parametrize(
    ("flight", "safe", "window"),
    [
        (19, 1.0, 19 + 2),  # above ssthresh: 14/20 of the four delivered, rounded up, less the one that went
        (19, 0.0, 19 + 2),
        (10, 1.0, 10 + 4),  # below it: the three more that were delivered than sent, or all of an ACK's, and one
        (10, 0.0, 10 + 3),
        (13, 1.0, 14),  # never above it
    ],
)
def test_a_recovery_grows_only_while_nothing_more_is_lost(flight: int, safe: float, window: float) -> None:
    f = recovering(k.PRR_SAFE, flight=flight, prr_delivered=1.0)
    plain.link_module("recovery").go_on(f, 3, safe)
    assert f.cwnd == window
    old = recovering(k.PRR, flight=flight, prr_delivered=1.0)
    plain.link_module("recovery").go_on(old, 3, safe)
    assert old.cwnd == (window if safe or flight > 14 else window + 1)


def test_the_first_segment_of_a_recovery_goes_whatever_comes_of_it() -> None:
    f = recovering(k.PRR_SAFE, prr_out=0.0, ssthresh=2.0, flight=3, prr_flight=100.0)
    plain.link_module("recovery").go_on(f, 0, 0.0)
    assert f.cwnd == 4.0


# -- what goes together


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"detection": "dupacks"}, "tail_probe"),
        ({"sack": False}, "sack"),
        ({"lost_retransmit": False}, "lost_retransmit"),
    ],
)
def test_what_does_not_go_with_the_detection_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        made.scenario(flow(control("cubic-6", **changes)))
    assert any(field in problem.field for problem in caught.value.problems)


def test_cubic_6_differs_from_cubic_by_how_it_finds_and_repairs_losses() -> None:
    ours, old = (made.scenario(cc).flows[0].cc for cc in ("cubic-6", "cubic"))
    assert ours is not None
    assert old is not None
    differ = {n for n in type(old).model_fields if getattr(ours, n) != getattr(old, n)} - {"name", "title", "source"}
    assert differ == {"recovery", "detection", "tail_probe", "recalls_use"}


# -- together


LAWS = ("newreno", "cubic", "cubic-6", "vegas", "lp", "nice", "ledbat", "ledbatpp", "utp-2013", "bbr")
SETTINGS = st.fixed_dictionaries({"tail_probe": st.booleans(), "quick_acks": st.sampled_from([0, 16])})


@given(
    st.sampled_from(LAWS),
    SETTINGS,
    st.sampled_from(["20 kB", "200 kB", "20 MB"]),
    st.sampled_from([0.0, 0.02, 0.1, 0.3]),
    st.integers(0, 2**32),
)
@settings(max_examples=80)
def test_what_is_out_is_on_the_way_or_lost_or_there(
    law: str, changes: dict[str, Any], size: str, loss: float, seed: int
) -> None:
    """With every law: the sender's counts are those of its segments, and each byte comes once."""
    cc = control(law, detection="rack", sack=True, lost_retransmit=True, **changes)
    short: dict[str, Any] = {"rate": "2 Mbit/s", "rtt": "80 ms", "buffer": "12 packets", "loss": loss, "ack_loss": loss}
    steps = made.Steps(made.program(flow(cc, size=size), duration="20 s", warmup="0 s", **short), seed)
    f = steps.state.flow[0]
    while steps.step(97):
        out = range(int(f["una"]), int(f["nxt"]))
        bits = [int(steps.state.segment[int(f["ring_at"]) + (n & int(f["ring_mask"]))].bits) for n in out]
        lost = sum(b == k.LOST for b in bits)
        there = sum(bool(b & k.SACKED) for b in bits)
        assert f["waiting_retransmit"] == lost
        assert f["flight"] == len(bits) - lost - there
        assert f["una"] <= f["expected"] <= f["nxt"]
        assert f["rto_at"] < k.FOREVER or f["una"] == f["nxt"] or f["running"] != k.CONNECTED
    assert f["arrived"] <= f["sent"] - f["resent"]
    assert f["goodput"] > 0.0 or loss > 0.0


@pytest.mark.parametrize("seed", range(3))
def test_with_small_windows_and_losses_it_waits_for_fewer_timeouts(seed: int) -> None:
    """5% of loss, 200 ms: at most as many."""
    lossy: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "200 ms", "loss": 0.05, "duration": "300 s", "warmup": "0 s"}
    ours, old = (made.results(cc, seed=seed, **lossy) for cc in ("cubic-6", "cubic"))
    assert int(ours.timeouts[0]) <= int(old.timeouts[0])


@pytest.mark.parametrize("fidelity", ["full", "flow"])
def test_a_swarm_of_it_gets_every_file_through_losses(fidelity: Any) -> None:
    """Each leecher receives the whole file, and what is sent again besides."""
    classes = {f"classes.{c}.tcp": "cubic-6" for c in ("seed", "tcp", "utp")}
    scenario = load("flashcrowd", leechers=6, file_size="2 MB", loss="5%", rtt="200 ms", utp_share="0%").set(**classes)
    result = simulate(scenario, seed=2, fidelity=fidelity)
    leechers = result.isel(peer=slice(1, None), replica=0)
    assert np.all(leechers.completion_time > 0.0)
    assert np.all(leechers.bytes_received >= 2_000_000)


def test_a_timeout_for_nothing_is_undone() -> None:
    """The round trip grows from 50 ms to 4 s: the timer fires twice, and what comes then was sent before it did."""
    run = simulate_link(
        flows=["cubic-6:1"],
        rate="10 Mbit/s",
        rtt="50 ms, 4 s@5s",
        rtt_spread="0 ms",
        buffer="1000 packets",
        duration="14 s",
        warmup="0 s",
    )
    window = run["window"].squeeze()
    before, silent, after = (float(window.sel(time=t, method="nearest")) for t in (4.9, 6.5, 8.0))
    assert (run["timeouts"].item(), run["resent"].item(), run["window_falls"].item()) == (2, 2, 0)
    assert silent < 3 < before < after
