"""Keeps what has been run, so that an interrupted validation goes on from there.

A result is used again only for the same scenario, seed, sources and numerical libraries: what it would be run again
for is the same to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numba
import numpy
import xarray

import btflow
from btflow.digest import digest
from btflow.files import replacing
from btflow.options import Fidelity
from validation.measured import Measured
from validation.runs import Task

VERSION = 1
"""Form of the file."""

OURS = ("cases.py", "measured.py", "runs.py")
"""Files of validation/ that set up a case or take its figures."""

FLOW = ("swarm/flow.py", "kernels/flow")
"""What of btflow/ full runs nothing of."""


@cache
def code_digest(fidelity: Fidelity = "full") -> str:
    """Return a digest of everything but the scenario that a result depends on."""
    return digest_of(Path(btflow.__file__).parent, files("btflow.models"), Path(__file__).parent, fidelity)


def digest_of(package: Path, models: Traversable, validation: Path, fidelity: Fidelity = "full") -> str:
    """Return the digest of what lies in these folders, and of what runs it."""
    ours = [hashlib.sha256((validation / name).read_bytes()).hexdigest() for name in OURS]
    libraries = (platform.python_version(), numpy.__version__, numba.__version__, xarray.__version__)
    code = digest(package, models, () if fidelity == "flow" else FLOW)
    return hashlib.sha256(repr((VERSION, libraries, code, ours)).encode()).hexdigest()


class Store:
    """Measured cases on disk."""

    def __init__(self, path: Path, fresh: bool = False, fidelity: Fidelity = "full") -> None:
        """Read what is there, unless `fresh`; a damaged or outdated file counts as empty."""
        self.path, self.code = path, code_digest(fidelity)
        self._entries: dict[str, dict[str, Any]] = {} if fresh else _read(path, self.code)

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
            content = {"version": VERSION, "code": self.code, "cases": self._entries}
            partial.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")


def _key(task: Task) -> str:
    return f"{task.scenario().digest()}:{task.case.seed}"


def _read(path: Path, code: str) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        same = content["version"] == VERSION and content["code"] == code
        return dict(content["cases"]) if same else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
