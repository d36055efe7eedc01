"""Swarms at flow fidelity: each peer's uploads advance in one go from one look at it to the next.

Modules import those below them alone: engine, uploads, peer_set, choking, superseeding, choking_ranked, lanes,
downloading, requests, picking_whole, picking, transport, mail, links, windows, queues, limiter, ends, state. What bears
the name of a module of `kernels/swarm` holds the same rules.
"""

from btflow.kernels.compiler import cache

with cache.kept_for(__file__):
    from btflow.kernels.flow import engine  # noqa: F401  # kept while it is imported
