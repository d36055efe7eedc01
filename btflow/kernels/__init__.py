"""Numba kernels: bare arrays, seconds, bytes and bytes per second; no units, no Python objects."""

from btflow import cache

with cache.kept_for(__file__):
    from btflow.kernels import engine  # noqa: F401  # kept while it is imported
