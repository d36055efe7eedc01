"""Acknowledgements: what it costs when they are late, and when all of a round are lost."""

from __future__ import annotations

from typing import Any

import plain
import pytest
import states

RTT, RTO_MIN = 0.1, 0.2


def wire(window: int = 3, loss: float = 0.0, **transport: Any) -> tuple[Any, Any]:
    """Return a swarm of two peers, and the transport of what the seed sends, whose receiver delays ACKs at once."""
    made = states.program(
        leechers=1,
        rtt=f"{RTT} s",
        loss=loss,
        transport={"initial_window": window, "quick_acks": 0, **transport},
        rules={"ideal": 0},
    )
    s = states.connected(made)
    return s, s.wire[states.end(s, 0, 1)]


@pytest.mark.parametrize(("window", "odd"), [(3, True), (4, False)])
@pytest.mark.parametrize("delay", [0.0, 0.04, 0.2])
def test_the_odd_segment_of_a_round_is_acknowledged_late(
    window: int, odd: bool, delay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve segments take four rounds of three, of which three end with a delayed ACK, or three rounds of four."""
    s, w = wire(window, delayed_ack=f"{delay} s")
    monkeypatch.setattr(plain.tcp_window, "grow", lambda *_: None)
    arrival, _, _ = plain.tcp.block_arrival(s, w, 0.0, 0.0, 12, False)
    rounds = 12 // window
    assert arrival == pytest.approx((rounds - 1) * (RTT + delay * odd) + RTT / 2)


@pytest.mark.parametrize(("loss", "lost"), [(0.05, True), (0.05, False), (0.0, True)])
def test_a_round_whose_acks_are_all_lost_costs_a_timeout(
    loss: float, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain.tcp, "lost", lambda *_: False)  # no data is
    times = []
    for all_lost in (False, lost):
        s, w = wire(4, loss)
        monkeypatch.setattr(plain.tcp_window, "acks_lost", lambda *_, all_lost=all_lost: all_lost)
        times.append(plain.tcp.block_arrival(s, w, 0.0, 0.0, 12, False)[0])
    late = times[1] - times[0]
    assert late >= RTO_MIN if lost and loss > 0 else late == 0.0


@pytest.mark.parametrize(("segments", "acks"), [(1, 1), (2, 1), (4, 2), (8, 4)])
def test_all_acks_of_a_round_are_lost_as_often_as_each_of_them_is(segments: int, acks: int) -> None:
    s, w = wire(loss=0.4)
    w.cwnd = w.in_round = segments
    tries, expected = 4000, 4000 * 0.4**acks
    count = sum(bool(plain.tcp_window.acks_lost(s, w)) for _ in range(tries))
    assert abs(count - expected) < 5 * expected**0.5
