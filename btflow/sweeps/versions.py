"""What must be equal for two processes to find the same bits: btflow, its code, Python, NumPy and Numba."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numba
import numpy as np

import btflow

Versions = dict[str, str]


@cache
def _code() -> str:
    """Digest of the code that a swarm's figures depend on: from a scenario to a replica, kernels, and statistics."""
    package = Path(btflow.__file__).parent
    patterns = ("*.py", "kernels/**/*.py", "link/*.py", "sweeps/*.py")
    files = [file for pattern in patterns for file in package.glob(pattern)]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def versions() -> Versions:
    """Return this process's versions by name."""
    return {
        "btflow": btflow.__version__,
        "code": _code(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """Return what differs as a text such as ``numpy 2.4.6 there, 2.3.0 here``; empty if nothing does."""
    names = [name for name in here if here[name] != there.get(name)]
    return ", ".join(f"{name} {there.get(name, 'unknown')} there, {here[name]} here" for name in names)
