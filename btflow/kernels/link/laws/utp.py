"""Stub."""
from btflow.kernels.link.laws.newreno import grow, reduce, timeout  # noqa
from btflow.kernels.jit import kernel

@kernel
def start(s, i, f, t):
    """Stub."""

@kernel
def sample(s, i, f, t, acked):
    """Stub."""
