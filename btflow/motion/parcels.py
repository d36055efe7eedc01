"""Every packet and ACK of a stretch of a link experiment, found by looking at the engine's state between its events.

What is in a pipe says when it leaves its queue and when it arrives, and stays there until then. So nothing is missed by
who looks more often than the shortest way takes, and times are exact however far the looks are apart, but for those
of ACKs that come to a queue, and of what an AQM drops from one: they are known to the distance of two looks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from btflow.kernels.link import state as k

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from btflow.kernels.link.state import State

PASSES, REFUSED, DROPPED, LOST = range(4)
"""What becomes of a parcel: it goes on; the queue has no room for it or an AQM refuses it; an AQM drops it after it has
waited; the path loses it behind the queue."""

UNKNOWN = 65535
"""Flow of what was dropped before it was seen: an ACK, or a SYN."""

NO_QUEUE = 255

PARCEL = np.dtype(
    [
        ("flow", "u2"),
        ("ack", "u1"),
        ("queue", "u1"),  # NO_QUEUE: it passes none
        ("fate", "u1"),
        ("bytes", "u4"),  # headers and framing included [B]
        ("came", "f8"),  # to the queue [s]
        ("begins", "f8"),  # to be sent
        ("leaves", "f8"),  # the queue; when it is dropped
        ("arrives", "f8"),
    ]
)
"""A parcel on its way through a queue and to what follows. Times that it does not reach are NaN."""

Key = tuple[int, int, float]
"""Owner, number and stamp: of one flow no two parcels under way have the same."""


class _Found(NamedTuple):
    """A parcel in a pipe or a queue."""

    key: Key
    at: float
    bytes: float
    packets: int


class Parcels:
    """Collects what passes.

    Args:
        s: State of the experiment, to be looked at after all events up to a time.
        now: That time [s].

    Attributes:
        shortest: What a parcel stays at least where it can be seen [s].
        rows: What was found: fields of ``PARCEL``.
    """

    def __init__(self, s: State, now: float) -> None:
        self._s = s
        self._delay = s.pipe.delay.tolist()
        self._queues = [
            [(int(f.data_queue0), int(f.data_queue1)), (int(f.ack_queue0), int(f.ack_queue1))] for f in s.flow
        ]
        self._byte_times = (1.0 / s.queue.rate).tolist()
        self._framing = s.queue.framing.tolist()
        self._held = [q for q in range(s.rules.queues) if s.queue.kind[q] in k.BY_EVENT]
        self._second = [
            (i * int(k.PIPES) + int(way) + 2)
            for i, ways in enumerate(self._queues)
            for way, (_, second) in zip((k.DATA, k.ACKS), ways, strict=True)
            if second != k.NONE
        ]
        self._behind: dict[int, set[int]] = {q: set() for q in range(s.rules.queues)}  # pipes that lead on from each
        for i, ways in enumerate(self._queues):
            for ack, queues in enumerate(ways):
                for hop, q in enumerate((q for q in queues if q != k.NONE), 1):
                    self._behind[q].add(i * int(k.PIPES) + 3 * ack + hop)
        self._known = np.zeros(s.parcel.size, [("at", "f8"), ("number", "i8"), ("owner", "i8")])
        self._waiting: dict[Key, tuple[int, _Found]] = {}
        self._next: dict[Key, float] = {}
        self._arriving: list[tuple[float, int, Key]] = []
        self._lossy = bool(np.any(s.flow.data_loss > 0.0) or np.any(s.flow.ack_loss > 0.0))
        self._drops = s.queue.drops.copy()
        self._said = s.flow.message.copy()
        self._log = s.flow.log.copy()
        self._before = -math.inf
        self.shortest = self._shortest()
        self.rows: list[list[Any]] = []
        self.look(now)

    def look(self, now: float) -> None:
        """Take down what has come since the last look; all events up to `now` [s] were handled."""
        fresh = self._fresh(now)
        found = dict.fromkeys(range(self._s.rules.queues), 0)
        for parcel, second in fresh:
            self._leaves(parcel, second, now)
        if self._held:
            self._look_at_held(found, {parcel.key for parcel, _ in fresh}, now)
        for key in [key for key, at in self._next.items() if at <= now]:
            self._drop(key, self._queues[key[0] >> 1][key[0] & 1][1], self._next.pop(key), REFUSED, found)
        drops = self._s.queue.drops
        for q in np.flatnonzero(drops > self._drops).tolist():
            missing = int(drops[q] - self._drops[q]) - found[q]
            if missing > 0 and self._before > -math.inf:
                self._refused(q, missing, [parcel.key for parcel, _ in fresh], now)
        if self._lossy:
            self._look_for_losses(now)
        self._drops[:], self._said[:] = drops, self._s.flow.message
        self._before = now

    def table(self) -> NDArray[np.void]:
        """Return all that was found, in the order of coming, with what still waits (parcels,), dtype ``PARCEL``."""
        rows = [tuple(row) for row in self.rows]
        for q, found in self._waiting.values():
            rows.append((found.key[0] >> 1, found.key[0] & 1, q, PASSES, found.bytes, found.at, *3 * (math.nan,)))
        table = np.array(rows, PARCEL)
        return table[np.lexsort((table["begins"], table["came"]))]  # what comes at once, in the order of leaving

    def _shortest(self) -> float:
        """Least time that a parcel is in a queue or a pipe, the propagation of the queues that follow not included."""
        least = math.inf
        for i, ways in enumerate(self._queues):
            f = self._s.flow[i]
            for way, size, queues in zip((k.DATA, k.ACKS), (f.mss + f.header, f.ack_size), ways, strict=True):
                first = i * int(k.PIPES) + int(way)
                passed = [q for q in queues if q != k.NONE]
                for hop, q in enumerate(passed, 1):
                    least = min(least, self._delay[first + hop] + size * self._byte_times[q])
                if not passed:
                    least = min(least, self._delay[first])
        return float(least)

    def _fresh(self, now: float) -> list[tuple[_Found, bool]]:
        """Parcels in pipes that were not there before, and whether each is behind a second queue."""
        p = self._s.parcel[: int(self._s.clock[0].used_parcels)]
        known = self._known[: len(p)]
        same = (p["at"] == known["at"]) & (p["number"] == known["number"]) & (p["owner"] == known["owner"])
        places = np.flatnonzero((p["at"] > now) & ~same)
        if not len(places):
            return []
        for name in ("at", "number", "owner"):
            known[name][places] = p[name][places]
        behind = self._behind_second() if self._second else frozenset()
        columns = (p[name][places].tolist() for name in ("owner", "number", "stamp", "at", "bytes", "packets"))
        rows = zip(places.tolist(), *columns, strict=True)
        return [
            (_Found((owner, number, stamp), at, size, packets), place in behind)
            for place, owner, number, stamp, at, size, packets in rows
        ]

    def _behind_second(self) -> frozenset[int]:
        """Places of the parcels that are in the pipe behind the second queue of their way."""
        following, found = self._s.parcel["next"], []
        for pipe in self._second:
            place = int(self._s.pipe["first"][pipe])
            for _ in range(int(self._s.pipe["count"][pipe])):
                found.append(place)
                place = int(following[place])
        return frozenset(found)

    def _leaves(self, parcel: _Found, second: bool, now: float) -> None:
        """A parcel is in a pipe: when it leaves its queue is known."""
        owner, _, stamp = parcel.key
        i, ack = owner >> 1, owner & 1
        queues = self._queues[i][ack]
        hop = 2 if second else int(queues[0] != k.NONE)
        leaves = parcel.at - self._delay[i * int(k.PIPES) + 3 * ack + hop]
        if hop == 0:
            self.rows.append([i, ack, NO_QUEUE, PASSES, parcel.bytes, leaves, leaves, leaves, parcel.at])
        else:
            q = queues[hop - 1]
            size = parcel.bytes + self._framing[q] * parcel.packets
            begins = leaves - size * self._byte_times[q]
            waited = self._waiting.pop(parcel.key, None)
            if waited is not None:
                came = waited[1].at
            elif second:
                came = self._next.pop(parcel.key, min(begins, now))
            else:
                came = min(max(begins, self._before), now) if ack else stamp
            self.rows.append([i, ack, q, PASSES, size, min(came, begins), begins, leaves, parcel.at])
        if hop == 1 and queues[1] != k.NONE:
            self._next[parcel.key] = parcel.at
        elif self._lossy:
            self._arriving.append((parcel.at, len(self.rows) - 1, parcel.key))

    def _look_at_held(self, found: dict[int, int], left: set[Key], now: float) -> None:
        """Queues that choose when they serve: what came into them, and what is gone without having left."""
        there = {parcel.key: (q, parcel) for q in self._held for parcel in self._in_queue(q)}
        for key in [key for key in self._waiting if key not in there]:
            q, parcel = self._waiting.pop(key)
            self._drop(key, q, now, DROPPED, found, parcel)
        for key, waits in there.items():
            if key not in self._waiting:
                self._waiting[key] = waits
                self._next.pop(key, None)
        left |= there.keys()

    def _in_queue(self, q: int) -> list[_Found]:
        """What waits in a CoDel, FQ-CoDel or CAKE queue."""
        s = self._s
        found: list[_Found] = []
        heads = [int(s.queue["head"][q])] if s.queue["kind"][q] == k.CODEL else s.subqueue["head"].tolist()
        for n in heads:
            while n != k.NONE and int(s.waiting["pipe"][n]) in self._behind[q]:
                w = s.waiting[n]
                found.append(_Found((int(w.owner), int(w.number), float(w.stamp)), w.at, w.bytes, int(w.packets)))
                n = int(w.next)
        return found

    def _drop(
        self, key: Key, q: int, at: float, fate: int, found: dict[int, int], parcel: _Found | None = None
    ) -> None:
        """A parcel did not leave queue `q`."""
        came, size = (parcel.at, parcel.bytes) if parcel else (at, 0.0)
        self.rows.append([key[0] >> 1, key[0] & 1, q, fate, size, came, math.nan, at, math.nan])
        found[q] += parcel.packets if parcel else 1

    def _refused(self, q: int, missing: int, there: list[Key], now: float) -> None:
        """Packets were dropped as they came: those sent since the last look that are nowhere; if that is not all, ACKs.

        A packet comes to its first queue when it is sent.
        """
        present = {*there, *self._waiting}
        left = missing
        for i, ways in enumerate(self._queues):
            if ways[0][0] != q:
                continue
            f = self._s.flow[i]
            for number, sent in self._sent_since(i, now):
                heard = f.law == k.CBR and any(key[:2] == (2 * i, number) for key in present)
                if left > 0 and not heard and (2 * i, number, sent) not in present:
                    self.rows.append([i, 0, q, REFUSED, f.mss + f.header, sent, math.nan, sent, math.nan])
                    left -= int(f.train)
        for _ in range(left):
            self.rows.append([UNKNOWN, 1, q, REFUSED, 0, now, math.nan, now, math.nan])

    def _sent_since(self, i: int, now: float) -> list[tuple[int, float]]:
        """Number and time of what a flow has sent since the last look and does not know to have arrived."""
        s, f = self._s, self._s.flow[i]
        if f.law == k.CBR:
            said = range(int(self._said[i]), int(f.message))
            return [(n, float(f.start + n / f.app_rate)) for n in said]
        numbers = np.arange(int(f.una), int(f.nxt))
        sent = s.segment["sent"][int(f.ring_at) + (numbers & int(f.ring_mask))]
        recent = (sent > self._before) & (sent <= now)
        return list(zip(numbers[recent].tolist(), sent[recent].tolist(), strict=True))

    def _look_for_losses(self, now: float) -> None:
        """What should have arrived and did not was lost by the path."""
        s, logged = self._s, {}
        for i, f in enumerate(s.flow):
            places = np.arange(int(self._log[i]), int(f.log)) & int(f.ring_mask)
            logged[i] = s.log[int(f.ring_at) + places].tolist()
        self._log[:] = s.flow.log
        still = []
        for at, row, (owner, number, stamp) in self._arriving:
            i, ack = owner >> 1, owner & 1
            if at > now:
                still.append((at, row, (owner, number, stamp)))
            elif ack:
                self.rows[row][3] = LOST if number > s.flow.seen[i] else PASSES
            elif s.flow.law[i] == k.CBR:
                self.rows[row][3] = LOST if np.isnan(s.record_delay[i, number]) else PASSES
            elif number in logged[i]:
                logged[i].remove(number)
            elif number >= 0:
                self.rows[row][3] = LOST
        self._arriving = still
