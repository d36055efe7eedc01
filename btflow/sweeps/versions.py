"""What must be equal for two processes to find the same bits: btflow, its code, Python, NumPy and Numba."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import numba
import numpy as np

import btflow

Versions = dict[str, str]


@cache
def _code() -> str:
    return digest(Path(btflow.__file__).parent, files("btflow.models"))


def digest(package: Path, models: Traversable) -> str:
    """Digest what figures depend on: the code from a scenario to a run's end, kernels, statistics, and models.

    Args:
        package: The folder of btflow's code.
        models: The folder of its models, which in a checkout lies elsewhere.
    """
    patterns = ("*.py", "kernels/**/*.py", "link/*.py", "paths/*.py", "units/*.py", "analytic/checks.py", "sweeps/*.py")
    code = {file.relative_to(package).as_posix(): file for pattern in patterns for file in package.glob(pattern)}
    found = hashlib.sha256()
    for name, file in sorted([*code.items(), *_models(models, "models")]):
        found.update(name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:16]


def _models(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    """Return the files of models in a folder and below, by their names from there."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _models(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".toml"):
            yield f"{name}/{entry.name}", entry


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
