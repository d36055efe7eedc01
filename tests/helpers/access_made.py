"""Swarms on access links made in a line, and runs of them that a test can look into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btflow.config.catalog import parse
from btflow.kernels.access import engine
from btflow.kernels.access.engine import CRAMPED
from btflow.kernels.access.state import Access
from btflow.kernels.link import state as k
from btflow.kernels.swarm.engine import FINISHED, FULL, STUCK
from btflow.kernels.swarm.state import OPEN, Swarm
from btflow.swarm.access import widen
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.run import start
from btflow.swarm.scenario import Scenario
from btflow.swarm.state import grow

Table = Mapping[str, Any]
Ints = NDArray[np.int64]

CLIENT: Table = {"base": "mainline-4.0", "max_allow_in": 16}
"""Sixteen connections are enough for a small swarm, and make its arrays small."""


def way(rate: str = "unlimited", buffer: str = "40 packets", **queue: Any) -> Table:
    """Return one direction of an access link."""
    return {"rate": rate} if rate == "unlimited" else {"rate": rate, "buffer": buffer, **queue}


def leechers(count: int | None = 4, **fields: Any) -> Table:
    """Return a class of leechers."""
    return {"role": "leecher", **({} if count is None else {"count": count}), **fields}


def tree(*classes: Table, seed: Table | None = None, common: Table | None = None, **top: Any) -> dict[str, Any]:
    """Return the content of a model file: a seed and some classes of leechers, called a, b...

    Args:
        classes: What the leechers have.
        seed: What the seed has, if anything but what all have.
        common: What all classes have, unless they say something else.
        top: Tables of the scenario that replace the usual ones, field by field.
    """
    usual: dict[str, Any] = {
        "client": CLIENT,
        "upload_limit": "unlimited",
        "tcp": "newreno",
        "access": {"uplink": way("1 Mbit/s"), "downlink": way("8 Mbit/s")},
        **(common or {}),
    }
    named = {"seed": {"role": "seed", "count": 1, **(seed or {})}}
    named |= {"abcdefgh"[i]: dict(table) for i, table in enumerate(classes)}
    made: dict[str, Any] = {
        "name": "made",
        "title": "made by a test",
        "source": "made by a test",
        "sockets": "linux-2.6",
        "swarm": {"file_size": "512 KiB", "piece_size": "64 KiB", "block_size": "16 KiB"},
        "classes": {name: {**usual, **table} for name, table in named.items()},
        "paths": {"rtt": "20 ms", "loss": 0.0},
        "arrivals": {"kind": "flash", "spread": "1 s"},
        "tracker": {"reply_peers": 50, "announce_interval": "30 min"},
    }
    for name, value in top.items():
        merges = isinstance(value, Mapping) and name in ("swarm", "paths", "tracker")
        made[name] = {**made[name], **value} if merges else value
    return {name: value for name, value in made.items() if value is not None}


def scenario(*classes: Table, **options: Any) -> Scenario:
    """Return the scenario of `tree(...)`."""
    return parse(tree(*classes, **options)).build({})


def program(*classes: Table, **options: Any) -> Program:
    """Return the arrays of `tree(...)`."""
    return compile_scenario(scenario(*classes, **options))


def steps(made: Program, events: int, seed: int = 0, replica: int = 0) -> Iterator[tuple[Swarm, Access, int]]:
    """Run a swarm, a number of events at a time; give its state and why the kernel stopped, up to the end."""
    s, x = start(made, seed, replica)
    assert x is not None
    while True:
        outcome = int(engine.run(x, events))
        if outcome == FULL:
            s = grow(s)
            x = x._replace(swarm=s)
        elif outcome == CRAMPED:
            x = widen(x)
        yield s, x, outcome
        if outcome in (FINISHED, STUCK):
            return


def run(made: Program, seed: int = 0, replica: int = 0) -> tuple[Swarm, Access]:
    """Return the state in which a swarm ends; it must come to its end."""
    for s, x, outcome in steps(made, 1 << 20, seed, replica):
        last = s, x, outcome
    assert last[2] == FINISHED
    return last[0], last[1]


def ends_of(s: Swarm, p: int) -> range:
    """Return the ends of peer `p`."""
    return range(p << s.rules.slot_bits, (p + 1) << s.rules.slot_bits)


def end(s: Swarm, p: int, q: int) -> int:
    """Return the end of peer `p` of its open connection to `q`."""
    return next(h for h in ends_of(s, p) if s.conn.state[h] == OPEN and s.mate[h] >> s.rules.slot_bits == q)


def live(x: Access) -> Ints:
    """Return the flows that are in use."""
    return np.flatnonzero(x.net.flow["ring_mask"] > 0)


def served(x: Access, queue: int) -> float:
    """Return the bytes that have begun to leave a queue: what lines up is taken off the count only now and then."""
    n, q = x.net, x.net.queue[queue]
    late = (
        [n.service[q.offset + (i & q.mask)] for i in range(q.first, q.last)] if q.kind in (k.DROP_TAIL, k.PIE) else []
    )
    return float(q.served) + sum(float(parcel.bytes) for parcel in late if parcel.at <= x.swarm.clock[0].now)
