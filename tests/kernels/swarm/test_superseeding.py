"""A super-seed: what it shows to whom, when the next piece, and what it saves."""

from __future__ import annotations

from typing import Any

import access_checks as checks
import access_made as made
import numpy as np
import plain
from access_idle import access, connected, idle

from btflow.kernels.access.state import Access
from btflow.kernels.swarm.engine import FINISHED
from btflow.kernels.swarm.state import OPEN, Swarm


def super_seeded(leechers: int, seeding: bool = True, **options: Any) -> Any:
    """Return a swarm whose seed shows its pieces one by one."""
    client = {**made.CLIENT, "super_seeding": seeding, "endgame": "none"}
    return made.program(made.leechers(leechers), common={"client": client}, **options)


def offered(s: Swarm, h: int) -> list[int]:
    """Return the pieces that the super-seed has told the other side of end `h` of."""
    return np.flatnonzero(checks.unpacked(s.offered[h], 64).ravel()[: s.rules.pieces]).tolist()


def test_a_super_seed_shows_each_peer_another_piece() -> None:
    """Until somebody passes a piece on, each peer knows of one, the one shown least; the seed sends no other."""
    program = super_seeded(5, swarm={"file_size": "1 MiB", "piece_size": "64 KiB"})
    first: dict[int, list[int]] = {}
    for s, _, last in made.steps(program, 7, 3):
        outcome = last
        for h in made.ends_of(s, 0):
            if s.conn.state[h] == OPEN and s.conn.state[s.mate[h]] == OPEN:
                pieces = offered(s, h)
                if pieces:
                    first.setdefault(h, pieces)
                assert {b // s.rules.blocks for b in checks.outstanding(s, int(s.mate[h]))} <= set(pieces)
    assert outcome == FINISHED
    assert sorted(first.values()) == [[piece] for piece in range(5)]
    assert s.offers.sum() >= s.rules.pieces


def test_a_super_seed_shows_the_next_piece_when_the_last_was_passed_on() -> None:
    """With more peers than upload slots, who was shown a piece gets the next when another one reports it."""
    s, x = idle(common={"client": {**made.CLIENT, "super_seeding": True, "unlimited_slots": 1}})
    ends = []
    for p in (1, 2, 3):
        h = connected(s, x, p, 0)
        for e in (int(s.mate[h]), h):
            plain.peer_set.ready(s, e, 0.0)
        ends.append(int(s.mate[h]))
    assert [int(s.conn.offer[e]) for e in ends] == [0, 1, 2]
    for piece in (0, 1, 2):
        s.has[1 + piece, 0] |= np.uint64(1 << piece)  # each has what it was shown
        s.have_log[1 + piece, 0] = piece
        s.have_at[1 + piece, piece] = 0
    superseed = access.engine.superseeding
    s.told[s.mate[ends[0]]] = 1
    superseed.watch(s, int(s.mate[ends[0]]), ends[0], 0, 1.0)
    assert [int(s.conn.offer[e]) for e in ends] == [0, 1, 2]  # it has its piece, and nobody got it from there yet
    s.has[2, 0] |= np.uint64(1)
    s.have_log[2, 1] = 0
    superseed.watch(s, int(s.mate[ends[1]]), ends[1], 0, 2.0)
    assert [int(s.conn.offer[e]) for e in ends] == [3, 1, 2]
    assert s.offers[:4].tolist() == [1, 1, 1, 1]


def test_a_super_seed_sends_less_than_an_ordinary_one() -> None:
    """What BEP 16 promises: the first full copy is out before anything is sent twice, so the seed sends less in all."""
    sent = {}
    for seeding in (True, False):
        program = super_seeded(8, seeding, swarm={"file_size": "2 MB"}, seed={"upload_limit": "100 kB/s"})
        runs: list[tuple[Swarm, Access]] = [made.run(program, 5, replica) for replica in range(4)]
        sent[seeding] = np.mean([s.peer.bytes_up[0] for s, _ in runs]) / 2e6
    assert 1.0 <= sent[True] < sent[False]
