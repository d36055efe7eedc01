"""Which source comes next: the heap against the least of a dict, whatever is scheduled, put off or taken out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import plain
from hypothesis import given, strategies as st

from btflow.kernels.link import state as k

SOURCES = 40
FOREVER = float(k.FOREVER)
TIMES = st.sampled_from([0.0, 0.5, 1.0, 1.0 + 2**-52, 2.0, 3.0, FOREVER])  # few, so that many are equal
CHANGES = st.lists(st.tuples(st.integers(0, SOURCES - 1), TIMES, st.booleans()), max_size=120)


def empty() -> Any:
    """Return a state in which no source has anything to do."""
    heap = np.zeros(SOURCES, k.HEAP).view(np.recarray)
    clock = np.zeros(1, k.CLOCK).view(np.recarray)
    return SimpleNamespace(
        heap=heap, clock=clock, key=np.full(SOURCES, FOREVER), pos=np.full(SOURCES, int(k.NONE), np.int64)
    )


@given(CHANGES)
def test_the_next_source_is_the_earliest_and_of_equals_the_first(changes: list[tuple[int, float, bool]]) -> None:
    """After every change; `wake` only brings forward."""
    events, s = plain.link_module("events"), empty()
    times: dict[int, float] = {}
    for a, time, wakes in changes:
        if wakes:
            events.wake(s, a, time)
            time = min(time, times.get(a, FOREVER))
        else:
            events.schedule(s, a, time)
        times[a] = time
        due = sorted((at, source) for source, at in times.items() if at < FOREVER)
        assert s.clock[0].scheduled == len(due)
        assert events.next_time(s) == (due[0][0] if due else FOREVER)
        if due:
            assert s.heap[0].source == due[0][1]


@given(CHANGES)
def test_sources_leave_in_order_of_time_and_number(changes: list[tuple[int, float, bool]]) -> None:
    """Each entry knows its time, each source its place."""
    events, s = plain.link_module("events"), empty()
    for a, time, _ in changes:
        events.schedule(s, a, time)
    entries = s.heap[: int(s.clock[0].scheduled)]
    assert s.pos[entries.source].tolist() == list(range(len(entries)))
    assert s.key[entries.source].tolist() == entries.time.tolist()
    due = sorted((float(at), a) for a, at in enumerate(s.key) if at < FOREVER)
    left = []
    while s.clock[0].scheduled > 0:
        left.append((float(s.heap[0].time), int(s.heap[0].source)))
        events.schedule(s, left[-1][1], FOREVER)
    assert left == due
    assert (s.pos == k.NONE).all()
