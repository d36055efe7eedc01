"""Swarms at flow fidelity: each peer's uploads advance in one go from one look at it to the next."""

from btflow.kernels.compiler import cache

with cache.kept_for(__file__):
    from btflow.kernels.flow import engine  # noqa: F401  # kept while it is imported
