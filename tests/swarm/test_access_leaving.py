"""Who leaves a swarm on access links: it is forgotten, replaced by one of its class, and stays for a time before."""

from __future__ import annotations

from typing import Any

import access_checks as checks
import access_made as made
import numpy as np
import plain
import pytest

from btflow.kernels.swarm.state import LEFT, OPEN, SEEDING, Swarm

LEAVING = {
    "arrivals": {"kind": "poisson", "interval": "3 s"},
    "departures": {"stay": "leave", "replace": True, "discard": 0, "completions": 8},
}


def test_who_leaves_is_forgotten_and_replaced_by_one_of_its_class() -> None:
    """Neighbours no longer count its pieces, the tracker no longer tells of it, and a new leecher starts at once."""
    program = made.program(made.leechers(3), made.leechers(2), swarm={"file_size": "300 kB"}, **LEAVING)
    before: dict[str, Any] = {}
    leavers = []
    for s, x, _ in made.steps(program, 1, 2):
        for p in np.flatnonzero(s.mode & LEFT):
            if p not in leavers:
                leavers.append(int(p))
                checks.check(s, x)
                neighbours_forget(s, int(p), before)
        before = {"copies": s.copies.copy(), "state": s.conn.state.copy(), "told": s.told.copy(), "mate": s.mate.copy()}
    assert len(leavers) >= 7
    for number in (1, 2):
        gone = [float(s.peer.done[p]) for p in leavers if s.peer.klass[p] == number]
        born = np.flatnonzero((program.waits == 1) & (s.peer.klass == number))
        starts = [float(s.peer.start[p]) for p in born[: len(gone)]]
        assert starts == gone
        assert (s.peer.start[born[len(gone) :]] == plain.state.FOREVER).all()
    assert {int(s.peer.klass[p]) for p in leavers} == {1, 2}


def neighbours_forget(s: Swarm, p: int, before: dict[str, Any]) -> None:
    """Check that each leecher `p` was connected to counts a copy less of each piece that `p` had told it of."""
    for h in made.ends_of(s, p):
        q = before["mate"][h] >> s.rules.slot_bits
        if before["state"][h] == OPEN and s.mode[q] & (SEEDING | LEFT) == 0:
            told = s.have_log[p, : before["told"][h]]
            assert (before["copies"][told, q] - s.copies[told, q] == 1).all()
    assert p not in s.registered[1 : 1 + s.registered[0]]


def test_stays_are_exponential_in_the_time_of_the_download() -> None:
    """The time from completion to leaving is on average the given part of one's own download time."""
    program = made.program(
        made.leechers(12),
        swarm={"file_size": "128 KiB"},
        departures={"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 120},
    )
    left: dict[int, float] = {}
    for s, _, _ in made.steps(program, 25, 4):
        for p in np.flatnonzero(s.mode & LEFT):
            left.setdefault(int(p), float(s.clock[0].now))
    parts = np.array([(t - s.peer.done[p]) / (s.peer.done[p] - s.peer.start[p]) for p, t in left.items()])
    assert len(parts) > 90
    assert parts.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(len(parts)))
    assert np.median(parts) == pytest.approx(0.5 * np.log(2), abs=0.1)
