"""Arrays of a simulation's state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

CACHE_LINE = 64


def arrays(layout: Mapping[str, tuple[tuple[int, ...], DTypeLike]]) -> dict[str, Any]:
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
