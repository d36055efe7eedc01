"""How many swarms fit into the memory at once."""

from __future__ import annotations

import sys

from btflow import memory

MARGIN = 1.2
"""What a swarm may take in the end, over what it is known to take when it begins."""


def fitting(need: int, jobs: int, *, show: bool) -> int:
    """Return how many swarms to run at once, one at least.

    Args:
        need: Memory of the largest swarm [B].
        jobs: How many there may be.
        show: Whether to say so if there are fewer.
    """
    free = memory.available()
    fit = max(1, min(jobs, int(free / (MARGIN * max(need, 1)))))
    if fit < jobs and show:
        text = f"a swarm takes up to {MARGIN * need / 1e9:,.1f} GB and {free / 1e9:,.1f} GB of memory are free"
        print(f"btflow: {fit} at once instead of {jobs}: {text}", file=sys.stderr, flush=True)
    return fit
