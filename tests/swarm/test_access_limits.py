"""Swarms that are something simpler: one flow on a link, and peers whose links never matter."""

from __future__ import annotations

import access_made as made
import link_made
import numpy as np
import pytest
from link_made import Floats

from btflow.kernels.link import state as k

BEGIN = 50.0
"""Time from which on is looked at [s]: after slow start."""

SPAN = 500.0
"""Time that is looked at, at 1 Mbit/s [s]: some sixty cycles of a Reno window."""

DEEP: made.Table = {
    **made.CLIENT,
    "pipeline_floor": 45,
    "pipeline_cap": 50,
    "choke_interval": "10 s",
}
"""A client that always has enough requests under way."""

SOCKET = {"nagle": "small", "buffer": "1 MB", "windows": 2, "free": 0.1, "counts": "unacknowledged"}
SOCKETS = {"name": "large", "title": "large", "source": "made by a test", "tcp": SOCKET, "utp": SOCKET}
"""Sockets that always hold more than the window takes."""

RTT = "63.7 ms"
"""Not a multiple of a packet's 12 ms: else which of two things at one instant comes first would matter."""

BUFFER = "100 packets"
"""Room in the uplink's queue: more than any delay that is aimed at."""

HANDSHAKE = 68
"""First thing on a connection [B]."""


def figures(net: k.State, flow: int, queue: int, now: float) -> Floats:
    """Return time, bytes delivered in order, payload that came [B], and byte seconds in a queue, so far."""
    q, f = net.queue[queue], net.flow[flow]
    return np.array([now, f["in_order"], f["goodput"], q["byte_seconds"] + q["bytes"] * (now - q["counted_to"])])


def on_a_link(cc: str, queue: made.Table, mbit: int) -> Floats:
    """Return goodput [B/s] and mean queue [B] of one flow without end."""
    end = f"{BEGIN + SPAN / mbit} s"
    link = {"rate": f"{mbit} Mbit/s", "buffer": BUFFER, "queue": queue}
    steps = link_made.Steps(link_made.program(cc, rtt=RTT, duration=end, warmup="0 s", **link))
    while steps.now < BEGIN:
        steps.step(20)
    before = figures(steps.state, 0, 0, steps.now)
    while steps.step(20):
        after = figures(steps.state, 0, 0, steps.now)
    change = after - before
    return np.asarray(change[[2, 3]] / change[0])


def in_a_swarm(cc: str, queue: made.Table, mbit: int) -> Floats:
    """Return the same of a seed that has one leecher, which it never chokes."""
    program = made.program(
        made.leechers(1),
        seed={"access": {"uplink": made.way(f"{mbit} Mbit/s", BUFFER, **queue)}},
        common={"client": DEEP, "tcp": cc, "access": {}},
        sockets=SOCKETS,
        swarm={"file_size": "140 MB", "piece_size": "1 MiB"},
        paths={"rtt": RTT},
        arrivals={"kind": "flash", "spread": "0 s"},
    )
    before = None
    for s, x, _ in made.steps(program, 20):
        now = float(s.clock[0].now)
        if before is None and now >= BEGIN:
            h = made.end(s, 0, 1)
            before = figures(x.net, h, 0, now)
        if now >= BEGIN + SPAN / mbit:
            break
    assert before is not None
    after = figures(x.net, h, 0, now)
    assert s.peer.bytes_down[1] == pytest.approx(after[1] * 16384 / 16397, abs=17000)  # the last block is on its way
    change = after - before
    return np.asarray(change[[1, 3]] / change[0])


@pytest.mark.parametrize(
    ("cc", "queue", "mbit"),
    [
        ("newreno", {}, 1),
        ("cubic", {}, 1),
        ("vegas", {}, 1),
        ("ledbat", {}, 1),
        ("utp", {}, 8),  # on a slower link one packet more or less in the queue is 10 %
        ("cubic", {"discipline": "codel"}, 1),
        ("newreno", {"discipline": "pie"}, 1),
    ],
)
def test_one_long_download_is_one_flow_on_a_link(cc: str, queue: made.Table, mbit: int) -> None:
    """A seed with one leecher has the goodput and the queue of the link experiment with the same flow.

    Who aims at a queueing delay aims at less here: the least delay it saw is that of the handshake, a small packet,
    which takes less time to send than a full one.
    """
    link, swarm = on_a_link(cc, queue, mbit), in_a_swarm(cc, queue, mbit)
    if cc in ("ledbat", "utp"):
        packet = link_made.scenario(cc).flows[0].cc
        assert packet is not None
        swarm[1] += packet.mss - HANDSHAKE
    assert swarm == pytest.approx(link, rel=0.01)


def test_transports_do_not_matter_where_clients_limit_themselves() -> None:
    """On unlimited links there is no queue that uTP could yield to: with upload limits it is as fast as TCP."""
    mean = {}
    for way in ("tcp", "utp"):
        program = made.program(
            made.leechers(10, opens=[way], accepts=[way], utp="utp"),
            seed={"opens": [way], "accepts": [way], "utp": "utp"},
            common={"access": {}, "upload_limit": "40 kB/s"},
            swarm={"file_size": "3 MB"},
            paths={"rtt": "30 ms"},
        )
        runs = [made.run(program, 3, replica)[0] for replica in range(12)]
        mean[way] = np.mean([(s.peer.done - s.peer.start)[1:] for s in runs])
    assert mean["utp"] == pytest.approx(mean["tcp"], rel=0.02)
