"""Swarms whose peers have access links: the client's rules above, the flows of `kernels/link` below."""

from btflow.kernels.compiler import cache

with cache.kept_for(__file__):
    from btflow.kernels.access import engine  # noqa: F401  # kept while it is imported
