"""How many swarms fit into the memory at once."""

from __future__ import annotations

import sys

from btflow import memory

MARGIN = 1.2
"""What a swarm may take in the end, over what it is known to take when it begins."""


def fitting(need: int, jobs: int, *, show: bool, noun: str = "swarms") -> int:
    """Return how many swarms or experiments to run at once, one at least.

    Args:
        need: Memory of the largest [B].
        jobs: How many there may be.
        show: Whether to say so if there are fewer.
        noun: What runs, as a plural.
    """
    free = memory.available()
    fit = max(1, min(jobs, int(free / (MARGIN * max(need, 1)))))
    if fit < jobs and show:
        one = "a swarm" if noun == "swarms" else "an experiment"
        text = f"{one} takes up to {MARGIN * need / 1e9:,.1f} GB and {free / 1e9:,.1f} GB of memory are free"
        print(f"btflow: {fit} at once instead of {jobs}: {text}", file=sys.stderr, flush=True)
    return fit
