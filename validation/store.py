"""Keeps what has been run, so that an interrupted validation goes on from there.

A result is used again only for the same scenario, seed, simulator source and numerical libraries: what it would be
run again for is the same to the last bit.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy

import btflow
from btflow.output import replacing
from validation.measured import Measured
from validation.runs import Task

VERSION = 1
"""Form of the file."""

_SOURCES = ("kernels/*.py", "program.py", "swarm.py", "simulation.py", "replica.py", "results.py")


@cache
def code_digest() -> str:
    """Return a digest of everything but the scenario that a result depends on."""
    folder = Path(btflow.__file__).parent
    found = hashlib.sha256(f"{VERSION} {numpy.__version__} {numba.__version__}".encode())
    for path in sorted(path for pattern in _SOURCES for path in folder.glob(pattern)):
        found.update(path.read_bytes())
    return found.hexdigest()


class Store:
    """Measured cases on disk."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        """Read what is there, unless `fresh`; a damaged or outdated file counts as empty."""
        self.path = path
        self._entries: dict[str, dict[str, Any]] = {} if fresh else _read(path)

    def find(self, task: Task) -> Measured | None:
        """Return the figures of a task that was run before with as many replicas or more, else None."""
        entry = self._entries.get(_key(task))
        if entry is None or len(entry["means"]) < task.replicas:
            return None
        return Measured.from_json(entry)

    def add(self, task: Task, figures: Measured) -> None:
        """Keep the figures of a task, on disk at once."""
        self._entries[_key(task)] = figures.as_json()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as partial:
            content = {"version": VERSION, "code": code_digest(), "cases": self._entries}
            partial.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")


def _key(task: Task) -> str:
    return f"{task.scenario().digest()}:{task.case.seed}"


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        same = content["version"] == VERSION and content["code"] == code_digest()
        return dict(content["cases"]) if same else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
