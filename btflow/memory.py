"""Memory: how much a process may still take, and a simulation's arrays in one block of it."""

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

UNKNOWN = 2**62

_granted = UNKNOWN


def grant(limit: int) -> None:
    """Set the most bytes that this process may take: what ends it otherwise, such as a nanny of Dask, says how many."""
    global _granted
    _granted = max(0, limit)


def available() -> int:
    """Return the bytes that this process can still take: what the machine has left and what its limits allow."""
    return min(_of_the_machine(), _of_the_limits(), _of_the_control_groups(), _granted)


def _of_the_machine() -> int:
    """Return the available memory; where the system does not say, all memory."""
    try:
        return 1024 * int(re.findall(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[0])
    except (OSError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def _of_the_limits() -> int:
    """Return what `ulimit -v` leaves of the address space, and `ulimit -d` of the data."""
    try:
        import resource

        pages = Path("/proc/self/statm").read_text().split()
        limits = (resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])
        soft = [(resource.getrlimit(limit)[0], int(used) * resource.getpagesize()) for limit, used in limits]
        return min(max(0, most - used) if most != resource.RLIM_INFINITY else UNKNOWN for most, used in soft)
    except (ImportError, OSError):
        return UNKNOWN


def _of_the_control_groups() -> int:
    """Return what the limits of a job, a service or a container leave, all groups that this process is in (Linux).

    A container with version 1 does not see the groups above its own, but the least of their limits.
    """
    import proclimits

    budget, source = proclimits.get_memory_budget(), proclimits.describe().memory_source
    left = UNKNOWN if budget is None else budget.available
    if source is None:
        return left
    try:
        own = Path(source.levels[0])
        stat = dict(re.findall(r"^(\w+) (\d+)$", (own / "memory.stat").read_text(), re.MULTILINE))
        used = int((own / "memory.usage_in_bytes").read_text()) - int(stat["total_inactive_file"])
        return min(left, max(0, int(stat["hierarchical_memory_limit"]) - used))
    except (OSError, LookupError):
        return left


CACHE_LINE = 64

Layout = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Shape and dtype of arrays by name."""


def size_of(layout: Layout) -> int:
    """Memory that arrays take [B], without the rests of their cache lines."""
    return int(sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in layout.values()))


def arrays(layout: Layout) -> dict[str, Any]:
    """Zeroed arrays of the given shapes and dtypes, each on a cache line of its own, in one block of memory.

    One block lets the system back it with huge pages: a swarm touches its arrays at random, and with ordinary pages
    most of the time goes into address translation. Structured dtypes give records addressed as `a[i].field`.
    """
    sizes = {name: math.prod(shape) * np.dtype(dtype).itemsize for name, (shape, dtype) in layout.items()}
    block = np.zeros(sum(size + CACHE_LINE for size in sizes.values()) + CACHE_LINE, np.uint8)
    at = -block.ctypes.data % CACHE_LINE
    out: dict[str, Any] = {}
    for name, (shape, dtype) in layout.items():
        array = block[at : at + sizes[name]].view(dtype).reshape(shape)
        out[name] = array.view(np.recarray) if array.dtype.names else array
        at += -(-sizes[name] // CACHE_LINE) * CACHE_LINE
    return out
