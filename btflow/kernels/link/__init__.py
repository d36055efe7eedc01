"""Numba kernels of links: queues, senders and receivers, window laws; seconds, bytes and bytes per second."""

from btflow.kernels.compiler import cache

with cache.kept_for(__file__):
    from btflow.kernels.link import engine  # noqa: F401  # kept while it is imported
