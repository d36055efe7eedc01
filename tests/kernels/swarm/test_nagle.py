"""Nagle's rule and delayed ACKs: against Linux's own variables event by event, and what its kernel was seen to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain
import pytest
from nagle_naive import last_departures
from states import wire

UNIT, BLOCK, WRITES = 1380, 16397, 12
"""A write of the mainline client, a block with its header [B], and writes of a block."""


def held(rtt: float, gap: float, blocks: int = 60, **transport: Any) -> np.ndarray:
    """Return how long the last bytes of each block are held back, once the receiver's first ACKs are over [s]."""
    s, w = wire(rtt=rtt, **transport)
    ends = [((b + 1) * WRITES - 1) * gap for b in range(blocks)]
    arrivals = [plain.tcp.block_arrival(s, w, end, gap, WRITES, True)[0] for end in ends]
    found: np.ndarray = np.array(arrivals)[5:] - np.array(ends)[5:] - rtt / 2
    return found


def held_by_oracle(rtt: float, gap: float, blocks: int = 60) -> np.ndarray:
    """Return the same, segment by segment."""
    ends = [((b + 1) * WRITES - 1) * gap for b in range(blocks)]
    return (np.array(last_departures(rtt, gap, UNIT, BLOCK, blocks)) - ends)[5:-1]


SLOTS = {0.1348: "10 kB/s by one slot", 0.2022: "three", 0.2695: "20 kB/s by four", 0.4043: "10 kB/s by three"}


@pytest.mark.parametrize("gap", SLOTS)
@pytest.mark.parametrize("share", [0.25, 0.45, 0.49])
def test_below_half_the_time_between_writes_nothing_is_held_back(gap: float, share: float) -> None:
    for found in (held(share * gap, gap), held_by_oracle(share * gap, gap)):
        assert found.max() < 0.005


@pytest.mark.parametrize("gap", [gap for gap in SLOTS if gap < 0.4])
def test_from_half_the_time_between_writes_on_they_are(gap: float) -> None:
    # The last bytes of a block leave somewhere in a rhythm of the connection's own: seldom all of them at once.
    for of in (held, held_by_oracle):
        found = [of(share * gap, gap)[:-1] for share in (0.55, 0.65, 0.75, 0.85, 0.95, 1.5, 2.5, 4.0)]
        assert np.mean([waits.mean() for waits in found]) > 0.3 * gap
        assert np.sum([waits.mean() < 0.1 * gap for waits in found]) <= 2
        assert max(waits.max() for waits in found) < 1.06 * gap  # the next write pushes all but a rest of them out


def test_above_400_ms_between_writes_the_timeout_keeps_the_receiver_quick() -> None:
    # A gap above the receiver's own timeout, the round trip and 200 ms, makes it acknowledge at once.
    gap = 0.4043
    for rtt, waits in ((0.19, False), (0.203, False), (0.4, True)):
        for found in (held(rtt, gap), held_by_oracle(rtt, gap)):
            assert (found.mean() > 0.1 * gap) == waits


def test_the_last_bytes_wait_about_as_long_as_segment_by_segment() -> None:
    # Where a rhythm begins decides what it holds back of a block, so single settings differ; most are near.
    rtts = (0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6, 0.8, 1.0)
    grid = [(rtt, gap) for gap in SLOTS for rtt in rtts]
    ours = np.array([held(rtt, gap)[:-1].mean() / gap for rtt, gap in grid])
    oracle = np.array([held_by_oracle(rtt, gap).mean() / gap for rtt, gap in grid])
    apart = np.abs(ours - oracle)
    assert apart.mean() < 0.05
    assert np.sum(apart > 0.15) <= 2
    assert apart.max() < 0.5
    assert ours.mean() == pytest.approx(oracle.mean(), rel=0.05)


def test_acks_wait_as_those_of_a_kernel_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captured at the seed of the cell mainline-20k-200ms-old: waits of four ACKs after a REQUEST, timers of 4 ms."""
    s, w = wire(rtt=0.2)
    waits, small_leaves = [], plain.nagle.small_leaves

    def watched(s: Any, w: Any, t: float) -> None:
        small_leaves(s, w, t)
        waits.append(float(w.small_acked) - t - float(w.rtt))

    monkeypatch.setattr(plain.nagle, "small_leaves", watched)
    gap = 0.2695
    for b in range(20):
        plain.tcp.block_arrival(s, w, ((b + 1) * WRITES - 1) * gap, gap, WRITES, True)
    seen = pytest.approx([0.204, 0.044, 0.088, 0.164], abs=0.009)
    assert any(waits[i : i + 4] == seen for i in range(len(waits)))


def test_since_linux_6_6_only_the_ack_after_a_request_waits() -> None:
    # 40 ms at the first write of a block; the eleven others make up for a gap less the round trip each.
    assert held(0.2, 0.2695, push_acks=True).max() < 0.005  # 240 ms: before the next write
    assert held(0.25, 0.2695, push_acks=True).max() < 0.005  # 290 ms: 20 late, made up for by the second write after
    assert 0.0 < held(0.4, 0.4043, push_acks=True).max() < 0.045  # 4 ms of 40 each


def test_what_is_held_back_leaves_once_whatever_is_written_then() -> None:
    s, w = wire(rtt=0.4)
    gap, end, bytes_out = 0.2695, 0.0, 0.0
    small_leaves, full_leaves = plain.nagle.small_leaves, plain.nagle.full_leaves

    def small(s: Any, w: Any, t: float) -> None:
        nonlocal bytes_out
        bytes_out += float(w.held)
        small_leaves(s, w, t)

    def full(s: Any, w: Any, t: float) -> None:
        nonlocal bytes_out
        full_leaves(s, w, t)
        bytes_out += 1448.0

    messages, at_once = 0, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain.nagle, "small_leaves", small)
        patch.setattr(plain.nagle, "full_leaves", full)
        for b in range(30):
            end += WRITES * gap
            plain.tcp.block_arrival(s, w, end, gap, WRITES, True)
            if b % 3 == 0:
                messages += 1
                at_once += plain.nagle.departure(s, w, end + 0.1) == end + 0.1
    assert bytes_out + float(w.held) == 30 * BLOCK + 17.0 * (messages - at_once)


def test_a_new_connection_knows_nothing_of_the_one_before() -> None:
    s, w = wire(rtt=0.2)
    fresh = w.copy()
    for b in range(5):
        plain.tcp.block_arrival(s, w, ((b + 1) * WRITES - 1) * 0.2695, 0.2695, WRITES, True)
    plain.tcp.reset(s, w, 100.0)
    ours = [name for name in w.dtype.names if name not in ("until_loss", "last_sent", "last_arrival")]
    assert {name: w[name] for name in ours} == {name: fresh[name] for name in ours}


def test_a_lost_message_is_no_delayed_ack(monkeypatch: pytest.MonkeyPatch) -> None:
    s, w = wire(rtt=0.4, loss=0.05)
    fates = iter([True])
    monkeypatch.setattr(plain.tcp, "lost", lambda *_: next(fates, False))
    plain.tcp.control_arrival(s, w, 1.0)
    repaired = float(w.small_acked)
    plain.nagle.last_wait(s, w, 1.1, 0.1, 1.1 + 0.1 * (WRITES - 1), WRITES, True)
    assert repaired > 1.9  # a timeout and a round trip later
    assert w.small_acked >= repaired  # full segments that come meanwhile do not bring the ACK
    assert w.ack_delay >= s.rules.delayed_ack


def test_a_short_last_block_has_its_own_length() -> None:
    s, w = wire(rtt=0.4)
    s = s._replace(rules=s.rules._replace(last_block_size=3000))
    sent: list[float] = []

    def leaves(length: float | None) -> Any:
        def left(_s: Any, w: Any, _t: float) -> None:
            sent.append(float(w.held) if length is None else length)
            w.held -= sent[-1]

        return left

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain.nagle, "small_leaves", leaves(None))
        patch.setattr(plain.nagle, "full_leaves", leaves(1448.0))
        for units, size in ((WRITES, 16384), (3, 3000)):
            sent.clear()
            plain.nagle.write(s, w, 0.0, 0.01, 0.01 * (units - 1), units)
            assert sum(sent) + float(w.held) == size + 13
            w.held = 0.0


def test_messages_leave_one_per_round_trip() -> None:
    s, w = wire(rtt=0.1)
    departures = [plain.nagle.departure(s, w, t) for t in (5.0, 5.02, 5.07, 5.15, 5.31)]
    # The first leaves; the next two leave together with its ACK at 5.1, acknowledged at 5.2; so the fourth waits
    # until then and is acknowledged at 5.3; the fifth finds nothing in flight.
    assert departures == pytest.approx([5.0, 5.1, 5.1, 5.2, 5.31])


def test_without_nagle_messages_leave_at_once() -> None:
    s, w = wire(rtt=0.1, nagle=False)
    assert [plain.nagle.departure(s, w, t) for t in (5.0, 5.02)] == [5.0, 5.02]
