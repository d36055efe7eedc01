"""Links at flow fidelity: windows and queues of one link experiment move in steps, without packets."""

from btflow.kernels.compiler import cache

with cache.kept_for(__file__):
    from btflow.kernels.fluid import engine  # noqa: F401  # kept while it is imported
