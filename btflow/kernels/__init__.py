"""Numba kernels: bare arrays, seconds, bytes and bytes per second; no units, no Python objects.

    compiler    how kernels are compiled, called and kept; all that rests on insides of Numba's
    swarm       swarms in full: every block and message an event (state and results: `btflow/swarm`)
    link        links in full: every packet an event (`btflow/link`); `link/laws` has the window laws
    access      joins the two: swarms whose messages are bytes in the flows of `link` (`btflow/swarm/access.py`)
    flow        swarms at flow fidelity: a peer's uploads advance from look to look (`btflow/swarm/flow.py`)
    fluid       links at flow fidelity: windows and queues in steps (`btflow/link/fluid.py`)
    calendar, random, bits: events to come, random numbers, sets; table: records of a state

What a client decides is in `swarm/rules.py` and `rates.py` once, for `swarm` and `flow`; what a window does is in
`link/laws` once, for all five. A module of `flow` that bears the name of one of `swarm` holds the same rules. Rooms and
modules import each other in one direction (pyproject.toml, importlinter).

One name for one thing, everywhere:

    s           state of a swarm, Swarm or Flow, or of links without packets, Fluid
    net         state of links; in those `s.net`
    x           a swarm and its links: `x.swarm`, `x.net` (access)
    r           a client's rules (btflow/swarm/program.py, CLIENT)
    p, q, y     a peer's number; of two: `y` downloads from `p`
    h, g        an end of a connection, and the other one; in swarm and access: what the end's peer sends
    u, v        a lane (flow): `p` serves `y`
    i, f        a flow's number and its record
    k, q        a queue's number and its record
    w, c, e     records of an end: transport (swarm), client, client at flow fidelity
    n           a node of a list, or how many
    t, dt       now, a step [s]
    size        [B]; rate, upload_limit [B/s]
"""
