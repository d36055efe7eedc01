"""A swarm on access links before its first event, and connections of it that a test opens."""

from __future__ import annotations

from typing import Any

import access_made as made
import plain

from btflow.kernels.swarm.state import FREE

access = plain.simulate.access_engine


def idle(**options: Any) -> tuple[Any, Any]:
    """Return a swarm of a seed and three leechers before its first event, for plain kernels."""
    s, x = plain.simulate.start(made.program(made.leechers(3), **options), 1, 0)
    assert x is not None
    return s, x


def connected(s: Any, x: Any, p: int, q: int) -> int:
    """Let `p` open a connection to `q`; its end."""
    plain.peer_set.connect(s, p, q, 0.0)
    access.do_todo(x, 0.0)
    return next(int(h) for h in made.ends_of(s, p) if s.conn.state[h] != FREE and s.mate[h] >> s.rules.slot_bits == q)
