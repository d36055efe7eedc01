"""Kernels that tests call from Python, which a kernel itself cannot be (btflow/kernels/compiler/jit.py)."""

from __future__ import annotations

from typing import Any

import numba


def entered(kernel: Any) -> Any:
    """Return a function that calls a kernel."""

    def call(*args: Any) -> Any:
        return kernel(*args)

    return numba.njit(call)
