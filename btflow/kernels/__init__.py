"""Numba kernels: bare arrays, seconds, bytes and bytes per second; no units, no Python objects.

The kernels call each other across files, and Numba's on-disk cache only watches the file of the cached function, so an
edited callee would silently keep its old behaviour in a cached caller (numba/numba#8851). All kernels therefore share
one cache folder named by a hash of all their sources: an edit anywhere makes a fresh cache.
"""

import hashlib
import os
import pathlib
import sys

import numba


def _cache_dir() -> str:
    """Folder of the compiled kernels: `NUMBA_CACHE_DIR` or the user's cache, then a hash of every kernel source."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for source in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "btflow"
    )
    return os.path.join(base, f"kernels-{digest.hexdigest()[:16]}")


def _load() -> None:
    """Import the kernels while Numba's cache points at our folder, then give the user's setting back."""
    users_cache = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _cache_dir()
    try:
        from btflow.kernels import engine  # noqa: F401
    finally:
        numba.config.CACHE_DIR = users_cache


_load()
