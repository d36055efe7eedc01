"""What was measured, with what and on what."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np

from btflow.units.formatting import counted


def machine() -> list[str]:
    """Return versions, processor, cores, memory and how busy the machine is, in two lines."""
    import numba

    from btflow import __version__
    from btflow.sweeps.executor import cores

    versions = (
        f"btflow {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}"
    )
    hardware = f"{processor()}, {counted(cores(), 'core')}, {memory() / 2**30:.0f} GiB of memory"
    return [versions, f"{hardware}; {load()} processes wanted to run in the quarter of an hour before"]


def processor() -> str:
    """Return the processor's name for itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def load() -> str:
    """Return the mean number of processes that ran or waited for a core in the last 15 minutes."""
    try:
        return f"{os.getloadavg()[2]:.1f}"
    except (AttributeError, OSError):
        return "an unknown number of"


def memory() -> int:
    """Return the machine's memory [B]; 0 if it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
