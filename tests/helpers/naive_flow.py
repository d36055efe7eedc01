"""A whole swarm of BitTorrent 4.0.2 in plain Python: uploads are a fluid, messages take no time, all know each other.

The rules are those of `naive.py`; what is added here is who holds, asks and sends what. One heap of times, sets for
pieces and blocks, interest found by intersecting them whenever somebody asks. Nothing is shared with the engines.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Hashable
from dataclasses import dataclass, field

from naive import (
    BLOCK,
    FORCED,
    Peer,
    RateMeasure,
    admissible_pieces,
    leecher_unchokes,
    optimistic_rotation,
    refill,
    request_floor,
    seed_rechoke,
)

HEADER = 13
TICK = 10.0
SNUBBED = 30.0

Block = tuple[int, int]
"""Piece, number in it."""


@dataclass
class Sending:
    """What a peer serves to one neighbour."""

    asked: list[Block] = field(default_factory=list)
    left: float | None = None
    """Bytes of the first block that are not sent, None before it is begun."""
    choked: bool = False
    """Choked while the first block is under way."""
    unwanted: bool = False
    """The first block came from someone else."""
    round: int = 0
    """Tick at which it was unchoked."""


@dataclass
class Client:
    """One peer."""

    cap: float
    start: float
    slots: int
    seed: bool
    order: list[int] = field(default_factory=list)
    """Neighbours in the order of the choker."""
    unchoked: set[int] = field(default_factory=set)
    sends: dict[int, Sending] = field(default_factory=dict)
    rates: dict[int, RateMeasure] = field(default_factory=dict)
    last_block: dict[int, float] = field(default_factory=dict)
    """When a block last came from a neighbour."""
    missing: dict[int, set[int]] = field(default_factory=dict)
    """Blocks of each piece that is not complete."""
    free: dict[int, set[int]] = field(default_factory=dict)
    """Those of them that nobody was asked for."""
    on_seeds: set[int] = field(default_factory=set)
    """Pieces of which a block was asked of a seed."""
    endgame: bool = False
    ticks: int = 0
    opened: int = 0
    random_order: list[int] = field(default_factory=list)
    now: float = 0.0
    version: int = 0
    sent: int = 0
    done: float = -1.0
    have: list[float] = field(default_factory=list)
    """When each piece was complete."""


class NaiveSwarm:
    """A flash crowd: one seed and leechers, all with one cap."""

    def __init__(self, leechers: int, cap: float, slots: int, blocks: list[int], spread: float, seed: int) -> None:
        """Set up a swarm.

        Args:
            leechers: How many.
            cap: Upload limit of all [B/s].
            slots: Upload slots of all.
            blocks: Blocks of each piece.
            spread: Time over which the leechers start [s].
            seed: Of the random numbers.
        """
        self.random = random.Random(seed)
        self.blocks = blocks
        self.heap: list[tuple[float, int, str, int, int]] = []
        self.count = 0
        self.present: list[int] = []
        self.rechokes: list[int] = []
        self.peers = [Client(cap, 0.0, slots, True)]
        for _ in range(leechers):
            peer = Client(cap, self.random.uniform(0.0, spread), slots, False)
            peer.missing = {piece: set(range(n)) for piece, n in enumerate(blocks)}
            peer.free = {piece: set(range(n)) for piece, n in enumerate(blocks)}
            peer.random_order = self.random.sample(range(len(blocks)), len(blocks))
            self.peers.append(peer)
        for p, peer in enumerate(self.peers):
            self.post(peer.start, "start", p)

    def run(self) -> NaiveSwarm:
        """Run until all have the file."""
        while any(not peer.seed for peer in self.peers):
            t, _, kind, p, version = heapq.heappop(self.heap)
            if kind == "start":
                self.start(p, t)
            elif kind == "tick":
                self.tick(p, t)
            elif version == self.peers[p].version:
                self.block_sent(p, t)
            while self.rechokes:
                self.rechoke(self.rechokes.pop(0), t)
        return self

    def post(self, t: float, kind: str, p: int, version: int = 0) -> None:
        self.count += 1
        heapq.heappush(self.heap, (t, self.count, kind, p, version))

    # -- who holds and wants what --

    def holds(self, p: int) -> set[int]:
        return set(range(len(self.blocks))) - set(self.peers[p].missing)

    def wanted(self, q: int, p: int) -> set[int]:
        """Pieces of p of which q would ask for a block."""
        peer = self.peers[q]
        some = peer.missing if peer.endgame else {piece for piece, blocks in peer.free.items() if blocks}
        return set(some) & self.holds(p)

    def interested(self, q: int, p: int) -> bool:
        return bool(self.wanted(q, p)) or self.outstanding(q, p) > 0

    def outstanding(self, q: int, p: int) -> int:
        sending = self.peers[p].sends.get(q)
        return 0 if sending is None else len(sending.asked) - sending.unwanted

    # -- uploads: a fluid --

    def pass_time(self, p: int, t: float) -> None:
        """Let those whom p sends to get their shares until t."""
        peer = self.peers[p]
        active = [sending for sending in peer.sends.values() if sending.left is not None]
        for sending in active:
            assert sending.left is not None
            sending.left -= (t - peer.now) * peer.cap / len(active)
        peer.now = t

    def plan(self, p: int) -> None:
        """Find when the next block of p is sent."""
        peer = self.peers[p]
        for sending in peer.sends.values():
            if sending.left is None and sending.asked:
                sending.left = float(BLOCK + HEADER)
        active = [sending.left for sending in peer.sends.values() if sending.left is not None]
        peer.version += 1
        if active:
            self.post(peer.now + max(0.0, min(active)) * len(active) / peer.cap, "sent", p, peer.version)

    def block_sent(self, p: int, t: float) -> None:
        self.pass_time(p, t)
        peer = self.peers[p]
        q = min((q for q in peer.sends if peer.sends[q].left is not None), key=lambda q: peer.sends[q].left or 0.0)
        sending = peer.sends[q]
        block = sending.asked.pop(0)
        unwanted, sending.unwanted, sending.left = sending.unwanted, False, None
        peer.sent += BLOCK
        if sending.choked:
            self.close(p, q, t)
        if not unwanted:
            self.got_block(q, p, block, t)
        self.plan(p)

    def close(self, p: int, q: int, t: float) -> None:
        """P serves q no more: q asks others for what it asked of p."""
        sending = self.peers[p].sends.pop(q)
        if self.peers[q].endgame or not sending.asked:
            return
        lost = {piece for piece, _ in sending.asked}
        for piece, b in sending.asked:
            self.peers[q].free[piece].add(b)
        others = [x for x in self.peers if q in x.sends and not x.sends[q].choked]
        for other in self.random.sample(others, len(others)):
            self.request(q, self.peers.index(other), t, lost)

    # -- downloads --

    def got_block(self, q: int, p: int, block: Block, t: float) -> None:
        peer, (piece, b) = self.peers[q], block
        peer.rates[p].update(BLOCK, t)
        peer.last_block[p] = t
        peer.missing[piece].discard(b)
        if peer.endgame:
            self.cancel(q, block, t)
        if not peer.missing[piece]:
            self.got_piece(q, piece, t)
        if q in self.peers[p].sends and not self.peers[p].sends[q].choked:
            self.request(q, p, t)

    def cancel(self, q: int, block: Block, t: float) -> None:
        """What came is not wanted of others any more; a block under way is sent to its end."""
        for x, other in enumerate(self.peers):
            sending = other.sends.get(q)
            if sending is None or block not in sending.asked:
                continue
            if sending.asked[0] == block and sending.left is not None:
                sending.unwanted = True
            else:
                sending.asked.remove(block)
            if not sending.choked:
                self.request(q, x, t)

    def got_piece(self, q: int, piece: int, t: float) -> None:
        peer = self.peers[q]
        del peer.missing[piece]
        peer.free.pop(piece)
        peer.have.append(t)
        if not peer.missing:
            peer.seed, peer.done = True, t
        for other in peer.order:
            if other in peer.unchoked and piece in self.wanted(other, q) and other not in peer.sends:
                self.rechokes.append(q)
            if other in peer.sends and not peer.sends[other].choked:
                self.request(other, q, t)
        if peer.seed:
            for other in [x for x in peer.order if self.peers[x].seed]:
                for a, b in ((q, other), (other, q)):
                    self.pass_time(a, t)
                    self.peers[a].sends.pop(b, None)
                    self.peers[a].order.remove(b)
                    if b in self.peers[a].unchoked:
                        self.peers[a].unchoked.remove(b)
                        self.rechokes.append(a)
                    self.plan(a)

    def request(self, q: int, p: int, t: float, only: set[int] | None = None) -> None:
        """Q asks p for more, if few of its requests are left there."""
        peer = self.peers[q]
        sending = self.peers[p].sends.get(q)
        if sending is None or sending.choked or p not in peer.rates:
            return
        rate = peer.rates[p].update(0, t)
        self.pass_time(p, t)
        if peer.endgame:
            self.request_missing(q, p, request_floor(rate))
        while not peer.endgame and self.outstanding(q, p) < request_floor(rate):
            usable = self.wanted(q, p) & only if only is not None else self.wanted(q, p)
            if not usable:
                break
            self.ask(q, p, self.pick(q, p, usable), rate)
        self.plan(p)
        if self.outstanding(q, p) == 0 and p in peer.order:
            self.rechokes.append(p)

    def pick(self, q: int, p: int, usable: set[int]) -> int:
        peer = self.peers[q]
        begun = {piece for piece, free in peer.free.items() if len(free) < self.blocks[piece]}
        copies = {piece: sum(piece in self.holds(x) for x in peer.order) for piece in usable}
        complete = len(self.blocks) - len(peer.missing)
        from_seed = self.peers[p].seed
        order = peer.random_order
        found = admissible_pieces(usable, begun, begun & peer.on_seeds, copies, order, complete, from_seed)
        return self.random.choice(sorted(found))

    def ask(self, q: int, p: int, piece: int, rate: float) -> None:
        peer = self.peers[q]
        n = refill(self.outstanding(q, p), rate, [len(peer.free[piece])])[0]
        blocks = sorted(peer.free[piece])[:n]
        peer.free[piece] -= set(blocks)
        self.peers[p].sends[q].asked += [(piece, b) for b in blocks]
        if self.peers[p].seed:
            peer.on_seeds.add(piece)
        if not any(peer.free.values()):
            peer.endgame = True
            for x, other in enumerate(self.peers):
                if q in other.sends and not other.sends[q].choked and x in peer.rates:
                    self.pass_time(x, peer.rates[p].last)
                    self.request_missing(q, x, request_floor(peer.rates[x].update(0, peer.rates[p].last)))
                    self.plan(x)

    def request_missing(self, q: int, p: int, most: int) -> None:
        """Endgame: ask for what is missing and not asked for here."""
        peer, sending = self.peers[q], self.peers[p].sends[q]
        held = self.holds(p)
        blocks = [(piece, b) for piece in sorted(peer.missing) if piece in held for b in sorted(peer.missing[piece])]
        fresh = [block for block in blocks if block not in sending.asked]
        room = max(0, most - self.outstanding(q, p))
        sending.asked += self.random.sample(fresh, min(room, len(fresh)))

    # -- the choker --

    def start(self, p: int, t: float) -> None:
        peer = self.peers[p]
        peer.now = t
        for q in self.present:
            if peer.seed and self.peers[q].seed:
                continue
            for a, b in ((p, q), (q, p)):
                client = self.peers[a]
                client.order.insert(self.random.randint(0, len(client.order)), b)
                client.rates[b] = RateMeasure(t)
        self.present.append(p)
        self.post(t + TICK, "tick", p)

    def tick(self, p: int, t: float) -> None:
        peer = self.peers[p]
        peer.ticks += 1
        self.post(t + TICK, "tick", p)
        if peer.seed:
            forced = max(0, FORCED[peer.slots][peer.ticks % 3] - peer.opened)
            self.rechoke_seed(p, t, forced)
            peer.opened = 0
        else:
            if peer.ticks % 3 == 0:
                peer.order = [q for q in optimistic_rotation(peer.order, self.neighbours(p, t)) if isinstance(q, int)]
            self.rechoke(p, t)

    def neighbours(self, p: int, t: float) -> dict[Hashable, Peer]:
        """What the choker of p knows."""
        peer = self.peers[p]
        found: dict[Hashable, Peer] = {}
        for q in peer.order:
            sending = peer.sends.get(q)
            measure = self.peers[q].rates[p] if peer.seed else peer.rates[q]
            found[q] = Peer(
                interested=self.interested(q, p),
                unchoked=q in peer.unchoked,
                snubbed=t - peer.last_block.get(q, -1e9) > SNUBBED,
                rate=measure.update(0, t),
                round=sending.round if sending else 0,
                pending=sending is not None and len(sending.asked) > (sending.left is not None),
            )
        return found

    def rechoke(self, p: int, t: float) -> None:
        peer = self.peers[p]
        if peer.seed:
            peer.opened += self.rechoke_seed(p, t, 0)
        else:
            self.serve(p, set(leecher_unchokes(peer.order, self.neighbours(p, t), peer.slots)), t)

    def rechoke_seed(self, p: int, t: float, forced: int) -> int:
        peer = self.peers[p]
        unchoked, order, free = seed_rechoke(peer.order, self.neighbours(p, t), peer.slots, forced, peer.ticks)
        peer.order = [q for q in order if isinstance(q, int)]
        self.serve(p, unchoked, t)
        return free

    def serve(self, p: int, unchoked: object, t: float) -> None:
        """Choke and unchoke as the choker says."""
        assert isinstance(unchoked, set)
        peer = self.peers[p]
        self.pass_time(p, t)
        peer.unchoked = unchoked
        for q in [q for q in peer.order if q not in unchoked and q in peer.sends]:
            if peer.sends[q].left is None:
                self.close(p, q, t)
            else:
                peer.sends[q].choked = True
        for q in [q for q in peer.order if q in unchoked and self.interested(q, p)]:
            sending = peer.sends.get(q)
            if sending is None:
                peer.sends[q] = Sending(round=peer.ticks)
                self.request(q, p, t)
            elif sending.choked:
                sending.choked, sending.round = False, peer.ticks
        for q in [q for q in peer.sends if not peer.sends[q].asked]:
            del peer.sends[q]
        self.plan(p)
