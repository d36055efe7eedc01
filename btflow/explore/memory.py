"""A bound on the memory of one visitor's process."""

from __future__ import annotations


def bound_memory(megabytes: str) -> None:
    """Let this process have so many MB of data at most; a larger request fails with a MemoryError.

    Where the system cannot bound it, or nothing is asked for, nothing happens.
    """
    if not megabytes:
        return
    try:
        import resource
    except ImportError:  # not on Windows
        return
    most = int(megabytes) * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
