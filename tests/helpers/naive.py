"""Brute-force oracles: the rules of BitTorrent 4.0.2 in plain Python, from their description, as slow as they like.

Nothing here is shared with the engine. Connections are opaque, hashable names; times are seconds, sizes bytes.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

BLOCK = 16384

FORCED = {
    2: (0, 0, 1),
    3: (0, 0, 1),
    4: (0, 1, 1),
    5: (0, 1, 1),
    6: (0, 1, 1),
    7: (1, 1, 1),
    8: (1, 1, 1),
    9: (1, 1, 1),
    10: (1, 1, 2),
    11: (1, 1, 2),
    12: (1, 1, 2),
}
"""New unchokes a seed forces, by its upload slots and its round modulo 3."""


class RateMeasure:
    """A rate as the client estimates it (CurrentRateMeasure): created at `now`, with a window begun 5 s before."""

    def __init__(self, now: float, fudge: float = 5.0, window: float = 20.0) -> None:
        self.rate = 0.0
        self.last = self.start = now - fudge
        self.window = window

    def update(self, amount: float, t: float) -> float:
        """Count `amount` at `t` and return the rate."""
        seen = self.rate * (self.last - self.start) + amount
        self.rate = seen / (t - self.start)
        self.last = t
        self.start = max(self.start, t - self.window)
        return self.rate


@dataclass
class Peer:
    """What a choker knows of one connection."""

    interested: bool = False
    unchoked: bool = False
    snubbed: bool = True
    rate: float = 0.0
    round: int = 0
    pending: bool = False
    flushed: bool = True


def leecher_unchokes(
    order: Sequence[Hashable], peers: Mapping[Hashable, Peer], max_uploads: int, min_uploads: int = 2
) -> set[Hashable]:
    """Return whom a leecher unchokes: by download rate, then by the order of the list."""
    candidates = [c for c in order if peers[c].interested and not peers[c].snubbed]
    fastest_first = sorted(candidates, key=lambda c: (-peers[c].rate, order.index(c)))
    reciprocal = fastest_first[: max_uploads - 1]
    optimistic = max(1, min_uploads - len(reciprocal))
    unchoked = set(reciprocal)
    for c in order:
        if c not in reciprocal and optimistic > 0:
            unchoked.add(c)
            if peers[c].interested:
                optimistic -= 1
    return unchoked


def optimistic_rotation(order: Sequence[Hashable], peers: Mapping[Hashable, Peer]) -> list[Hashable]:
    """Return the list begun at the first connection that is choked and interested, if there is one."""
    for i, c in enumerate(order):
        if peers[c].interested and not peers[c].unchoked:
            return [*order[i:], *order[:i]]
    return list(order)


def seed_rechoke(
    order: Sequence[Hashable], peers: Mapping[Hashable, Peer], max_uploads: int, forced: int, count: int
) -> tuple[set[Hashable], list[Hashable], int]:
    """Return (whom a seed unchokes, its list afterwards, the slots it could give anew)."""
    served = [c for c in order if peers[c].unchoked and peers[c].interested]
    first = [c for c in served if peers[c].round > count - 3 or (peers[c].pending and peers[c].flushed)]
    first.sort(key=lambda c: (-peers[c].round, -peers[c].rate, order.index(c)))
    others = sorted((c for c in served if c not in first), key=lambda c: (-peers[c].rate, order.index(c)))
    kept = (first + others)[: max_uploads - forced]
    free = open_slots = max_uploads - len(kept)
    unchoked, head = set(kept), 0
    for i, c in enumerate(order):
        if c in kept or not peers[c].interested or free == 0:
            continue
        if peers[c].unchoked or peers[c].flushed:
            unchoked.add(c)
            free -= 1
            if free == 0:
                head = i + 1
    return unchoked, [*order[head:], *order[:head]], open_slots


def admissible_pieces(
    usable: Collection[int],
    begun: Collection[int],
    begun_on_seeds: Collection[int],
    copies: Mapping[int, int],
    random_order: Iterable[int],
    complete: int,
    from_seed: bool,
) -> set[int]:
    """Return the pieces that may be requested next from a peer.

    Args:
        usable: Pieces the peer has and of which some block was not requested.
        begun: Pieces of which some block was requested.
        begun_on_seeds: Those of them of which some block was requested from a seed.
        copies: Known copies of each piece among the connected peers.
        random_order: The client's order of its first pieces.
        complete: Pieces the client has.
        from_seed: Whether the peer is a seed.
    """
    preferred = set(usable) & set(begun_on_seeds if from_seed else begun)
    if not preferred and complete < 4:
        return {next(piece for piece in random_order if piece in usable)} if usable else set()
    among = preferred or set(usable)
    fewest = min((copies[piece] for piece in among), default=0)
    return {piece for piece in among if copies[piece] == fewest}


def request_floor(rate: float) -> int:
    """Return the outstanding requests below which more are made, at a download rate [B/s]."""
    wanted = 2 + math.floor(4 * rate / BLOCK)
    return wanted if wanted <= 50 else max(50, math.floor(0.075 * wanted))


def refill(outstanding: int, rate: float, blocks: Iterable[int]) -> list[int]:
    """Return how many blocks of each piece picked are requested, `blocks` being what is left of those to be picked."""
    floor, made = request_floor(rate), []
    for left in blocks:
        if outstanding >= floor:
            break
        n = min(left, 5 * (floor - 2) + 2 - outstanding)
        made.append(n)
        outstanding += n
    return made


@dataclass
class Upload:
    """One connection of a `UnitLimiter`."""

    buffer: deque[tuple[int, int]] = field(default_factory=deque)
    """Requested blocks not begun: name, bytes of the PIECE message."""
    sending: tuple[int, int] | None = None
    """The block being sent: name, bytes of its message that are left."""
    waiting: int = 0
    """Bytes of control messages behind it."""
    choked: bool = False
    """What the choker decided."""
    choke_sent: bool = False
    """What the other side was told."""


class UnitLimiter:
    """The upload limiter, turn by turn and in exact arithmetic (RateLimiter, Connecter.send_partial).

    A ring of connections; a debt that falls at the cap; while it is not above zero, the connection at the head sends
    one unit and goes to the tail, or leaves if it has nothing to send. Nothing is saved up while the ring is empty.
    """

    def __init__(self, cap: Fraction, connections: int, unit: int = 1380) -> None:
        self.cap, self.unit = cap, unit
        self.uploads = [Upload() for _ in range(connections)]
        self.ring: deque[int] = deque()
        self.blocked: dict[int, Fraction] = {}
        self.debt, self.now = Fraction(0), Fraction(0)
        self.stalls: dict[int, Fraction] = {}
        """By name of a block, how long its socket takes no more data once it is written."""
        self.written: list[tuple[Fraction, int, int]] = []
        """(time, connection, block) of all that is fully written."""
        self.turns: list[Fraction] = []

    def advance(self, t: Fraction) -> None:
        """Do everything that is due before `t`."""
        while True:
            turn = self.now + max(self.debt, Fraction(0)) / self.cap if self.ring else None
            flush = min(self.blocked.values(), default=None)
            times = [x for x in (turn, flush) if x is not None and x < t]
            if not times:
                return
            if turn is not None and turn == min(times):
                self._take_turns(turn)
            else:
                c = min(self.blocked, key=lambda c: self.blocked[c])
                self._enter(c, self.blocked.pop(c))

    def request(self, c: int, name: int, size: int, t: Fraction) -> None:
        """A request arrives."""
        self.advance(t)
        if self.uploads[c].choke_sent:
            return
        self.uploads[c].buffer.append((name, size))
        if c not in self.ring and c not in self.blocked:
            self._enter(c, t)

    def cancel(self, c: int, name: int, t: Fraction) -> None:
        """CANCEL arrives: the block is not sent unless it was begun."""
        self.advance(t)
        self.uploads[c].buffer = deque(item for item in self.uploads[c].buffer if item[0] != name)

    def choke(self, c: int, t: Fraction) -> None:
        """The choker chokes a connection: at once, or when the part-sent block is through."""
        self.advance(t)
        upload = self.uploads[c]
        upload.choked = True
        if upload.sending is None:
            self._tell(upload)

    def unchoke(self, c: int, t: Fraction) -> None:
        """The choker unchokes a connection: at once, or when the part-sent block is through."""
        self.advance(t)
        self.uploads[c].choked = False
        if self.uploads[c].sending is None:
            self._tell(self.uploads[c])

    def control(self, c: int, size: int, t: Fraction) -> None:
        """Write a control message of `size` bytes: it is not limited unless it waits behind a part-sent block."""
        self.advance(t)
        if self.uploads[c].sending is not None:
            self.uploads[c].waiting += size

    def _tell(self, upload: Upload) -> int:
        """Send CHOKE or UNCHOKE if the other side was told otherwise; return its length."""
        if upload.choke_sent == upload.choked:
            return 0
        upload.choke_sent = upload.choked
        if upload.choked:
            upload.buffer.clear()
        return 5

    def _enter(self, c: int, t: Fraction) -> None:
        """Put a connection at the tail of the ring."""
        if not self.uploads[c].buffer:
            return
        self.ring.append(c)
        if len(self.ring) == 1:
            self._pass(t)
            self.debt = max(self.debt, Fraction(0))
            self._take_turns(t)

    def _pass(self, t: Fraction) -> None:
        self.debt -= (t - self.now) * self.cap
        self.now = t

    def _take_turns(self, t: Fraction) -> None:
        self._pass(t)
        while self.ring and self.debt <= 0:
            c = self.ring.popleft()
            sent = self._send(c)
            self.debt += sent
            if sent > 0 and c not in self.blocked:
                self.ring.append(c)
            if sent > 0:
                self.turns.append(t)

    def _send(self, c: int) -> int:
        """Let a connection write one unit; return what it wrote."""
        upload = self.uploads[c]
        if upload.sending is None:
            if not upload.buffer:
                return 0
            upload.sending = upload.buffer.popleft()
        name, left = upload.sending
        if self.unit < left:
            upload.sending = (name, left - self.unit)
            return self.unit
        upload.sending = None
        sent = left + upload.waiting + self._tell(upload)
        upload.waiting = 0
        self.written.append((self.now, c, name))
        if name in self.stalls:
            self.blocked[c] = self.now + self.stalls[name]
        return sent
