"""Nagle's rule and delayed ACKs: against Linux's own variables event by event, and against what its kernel was seen to do."""

from __future__ import annotations

import numpy as np
import plain
import pytest
from nagle_naive import last_departures
from states import wire

UNIT, BLOCK, WRITES = 1380, 16397, 12
"""A write of the mainline client, a block with its header [B], and writes of a block."""


def held(rtt: float, gap: float, blocks: int = 60, **transport: object) -> np.ndarray:
    """Return how long the last bytes of each block are held back, once the receiver's first ACKs are over [s]."""
    s, w = wire(rtt=rtt, **transport)
    ends = [((b + 1) * WRITES - 1) * gap for b in range(blocks)]
    arrivals = [plain.tcp.block_arrival(s, w, end, gap, WRITES, True)[0] for end in ends]
    return (np.array(arrivals) - np.array(ends) - w.rtt / 2)[5:]


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


def test_in_the_mean_the_last_bytes_wait_as_long_as_segment_by_segment() -> None:
    rtts = (0.15, 0.2, 0.25, 0.3, 0.4, 0.6, 0.8, 1.0)
    ours = [held(rtt, gap).mean() / gap for gap in SLOTS for rtt in rtts]
    oracle = [held_by_oracle(rtt, gap).mean() / gap for gap in SLOTS for rtt in rtts]
    assert np.mean(ours) == pytest.approx(np.mean(oracle), rel=0.05)
    assert np.corrcoef(ours, oracle)[0, 1] > 0.8


def test_acks_wait_as_those_of_a_kernel_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captured at the seed of the cell mainline-20k-200ms-old: waits of four ACKs after a REQUEST, timers of 4 ms."""
    s, w = wire(rtt=0.2)
    waits, small_leaves = [], plain.nagle.small_leaves

    def watched(s: object, w: object, t: float) -> None:
        small_leaves(s, w, t)
        waits.append(float(w.small_acked) - t - float(w.rtt))  # type: ignore[attr-defined]

    monkeypatch.setattr(plain.nagle, "small_leaves", watched)
    gap = 0.2695
    for b in range(20):
        plain.tcp.block_arrival(s, w, ((b + 1) * WRITES - 1) * gap, gap, WRITES, True)
    seen = pytest.approx([0.204, 0.044, 0.088, 0.164], abs=0.009)
    assert any(waits[i : i + 4] == seen for i in range(len(waits)))


def test_since_linux_6_7_only_the_ack_after_a_request_waits() -> None:
    assert held(0.2, 0.2695, push_acks=True).max() < 0.005
    assert held(0.25, 0.2695, push_acks=True).mean() < 0.05  # 40 ms, which the next round trips make up for
    assert held(0.4, 0.4043, push_acks=True).max() > 0.0


def test_messages_leave_one_per_round_trip() -> None:
    s, w = wire(rtt=0.1)
    departures = [plain.nagle.departure(s, w, t) for t in (5.0, 5.02, 5.07, 5.15, 5.31)]
    # The first leaves; the next two leave together with its ACK at 5.1, acknowledged at 5.2; so the fourth waits
    # until then and is acknowledged at 5.3; the fifth finds nothing in flight.
    assert departures == pytest.approx([5.0, 5.1, 5.1, 5.2, 5.31])


def test_without_nagle_messages_leave_at_once() -> None:
    s, w = wire(rtt=0.1, nagle=False)
    assert [plain.nagle.departure(s, w, t) for t in (5.0, 5.02)] == [5.0, 5.02]
