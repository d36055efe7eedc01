"""Tiny hand-made swarms for tests of single rules: everybody connected, nothing under way, nobody told of anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import plain

from btflow.config.catalog import parse
from btflow.config.files import read_toml
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.scenario import Scenario

INTERESTED = plain.state.INTERESTED_IN_US
UNCHOKED, TOLD = plain.state.UNCHOKED, plain.state.TOLD


def scenario(
    *,
    seeds: int = 1,
    client: Mapping[str, Any] | None = None,
    transport: Mapping[str, Any] | None = None,
    block_size: str = "16 KiB",
    **values: object,
) -> Scenario:
    """Return the 2010 experiment with some of it changed: constants as in the model files, parameters as `values`."""
    tree = read_toml(files("btflow.models") / "swarms" / "rao2010.toml")
    tree["swarm"]["block_size"] = block_size
    tree["classes"]["seed"]["count"] = seeds
    for peer_class in tree["classes"].values():
        peer_class["client"] = {"base": peer_class["client"], **(client or {})}
    tree["transport"] = {"base": tree["transport"]} | dict(transport or {})
    return parse(tree).build(values)


def program(rules: Mapping[str, Any] | None = None, **values: Any) -> Program:
    """Return a compiled scenario with some of its rules changed, those of its clients among them."""
    made = compile_scenario(scenario(**values))
    client = made.client.copy()
    of_clients = {name: value for name, value in (rules or {}).items() if name in (client.dtype.names or ())}
    for name, value in of_clients.items():
        client[name] = value
    others = {name: value for name, value in (rules or {}).items() if name not in of_clients}
    return replace(made, rules=made.rules._replace(**others), client=client)


def connected(made: Program, seed: int = 1) -> Any:
    """Return a swarm in which every peer, seeds apart, is connected to every other since time 0."""
    s = plain.swarm.build(made, seed, 0)
    for p in range(made.rules.peers):
        for q in range(p + 1, made.rules.peers):
            if not (made.is_seed[p] and made.is_seed[q]):
                link(s, p, q)
    return s


def link(s: Any, p: int, q: int, t: float = 0.0) -> None:
    """Connect two peers at `t`, with no message under way."""
    h, g = plain.peer_set.take_slot(s, p), plain.peer_set.take_slot(s, q)
    plain.peer_set.set_up(s, h, g, t)
    plain.peer_set.set_up(s, g, h, t)
    for e in (h, g):
        own = s.peer[e >> s.rules.slot_bits]
        s.conn[e].state = plain.state.OPEN
        s.dn[e] = plain.state.LINKED
        own.complete += 1
        own.degree += 1
        s.conn[e].up_since = s.conn[e].up_last = plain.rates.measured_from(
            plain.ends.client_of(s, e >> s.rules.slot_bits), t
        )
        s.conn[e].dn_since = s.conn[e].dn_last = plain.rates.measured_from(
            plain.ends.client_of(s, e >> s.rules.slot_bits), t
        )
        plain.choking.enlist(s, e)


def other(s: Any, h: int) -> int:
    """Return the peer on the other side of end `h`, -1 if the connection is not open."""
    return int(plain.ends.neighbour(s, h)) if plain.ends.linked(s, h) else -1


def end(s: Any, p: int, q: int) -> int:
    """Return peer p's end of its connection to q."""
    base = p << s.rules.slot_bits
    return next(h for h in range(base, base + s.peer[p].top) if other(s, h) == q)


def order(s: Any, p: int) -> list[int]:
    """Return the peers in the order of the choker's list of `p`."""
    return [other(s, plain.choking.listed(s, p, i)) for i in range(s.peer[p].n_order)]


def unchoked(s: Any, p: int) -> set[int]:
    """Return the peers that `p` has unchoked."""
    base = p << s.rules.slot_bits
    return {other(s, h) for h in range(base, base + s.peer[p].top) if s.up[h] & UNCHOKED and other(s, h) >= 0}


def give(s: Any, p: int, pieces: Iterable[int], t: float = 0.0) -> None:
    """Let `p` have pieces that nobody was told of yet."""
    for piece in pieces:
        s.blocks[p, piece] = 0
        s.peer[p].unrequested -= blocks_of(s, piece)
        plain.bits.drop_piece(s.want, p, piece)
        plain.picking.complete(s, p, piece, t)
    if s.n_log[p] == s.rules.pieces:
        plain.ends.raise_flag(s.mode, p, plain.state.SEEDING)


def tell(s: Any, p: int, q: int, count: int | None = None) -> None:
    """Let `q` know the first `count` pieces that `p` has, or all of them."""
    h = end(s, p, q)
    for i in range(int(s.told[h]), int(s.n_log[p]) if count is None else count):
        s.copies[s.have_log[p, i], q] += 1
        s.told[h] += 1


def requests(s: Any, h: int) -> Any:
    """Return the list of requests of end `h`, which gets one if it has none."""
    plain.ends.take_row(s, h)
    return s.requests[s.conn[h].row]


def blocks_of(s: Any, piece: int) -> int:
    """Return the number of blocks of a piece."""
    return int(s.rules.last_piece_blocks if piece == s.rules.pieces - 1 else s.rules.blocks)


def requested(s: Any, p: int, q: int) -> list[int]:
    """Return the blocks that `p` has outstanding at `q`, in the order they were requested."""
    h = end(s, p, q)
    c = s.conn[h]
    entries = (int(plain.limiter.entry(s, s.mate[h], seq)) for seq in range(c.dn_next, c.dn_tail))
    return [block for block in entries if block >= 0]


def pending(s: Any) -> list[tuple[float, int, int, int]]:
    """Return the messages under way as (time, kind, receiving end, argument), by time."""
    timers = 2 * s.rules.peers
    filed = [n for n in range(timers, s.node.size) if s.node[n].bucket != plain.calendar.NONE]
    times = {n: float(s.node[n].time) for n in filed}
    n = s.clock[0].lane_first
    while n != plain.calendar.NONE:
        times[n] = float(s.node[n].time)
        n = s.node[n].next
    order = sorted(times, key=lambda n: times[n])
    return [(times[n], int(s.node[n].kind), int(s.node[n].target), int(s.node[n].arg)) for n in order]


def run_until(s: Any, t: float) -> None:
    """Handle the events up to time `t`."""
    while (n := plain.calendar.pop(s)) != plain.calendar.NONE:
        if s.clock[0].now > t:
            plain.calendar.insert(s, n, s.clock[0].now)
            break
        plain.engine.handle(s, n, s.clock[0].now)
    set_clock(s, t)


def set_clock(s: Any, t: float) -> None:
    """Let it be time `t`, with no event pending before."""
    s.clock[0].now = t
    s.clock[0].lap = int(t / s.clock[0].width)


def wire(rtt: float = 0.1, loss: float = 0.0, seed: int = 1, **transport: Any) -> tuple[Any, Any]:
    """Return a swarm of two peers and the transport of what the seed sends."""
    made = program(leechers=1, rtt=f"{rtt * 1000} ms", loss=loss, transport=transport, rules={"ideal": 0})
    s = connected(made, seed)
    return s, s.wire[end(s, 0, 1)]
