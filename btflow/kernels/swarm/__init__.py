"""Swarms in full: every block and message an event, by the rules of the clients."""

from btflow.kernels.compiler import cache

with cache.kept_for(__file__):
    from btflow.kernels.swarm import engine  # noqa: F401  # kept while it is imported
