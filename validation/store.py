"""Keeps what has been run, so that an interrupted validation goes on from there.

A result is used again only for the same scenario, seed, sources and numerical libraries: what it would be run again
for is the same to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numba
import numpy
import xarray

import btflow
from btflow.files import replacing
from btflow.options import Fidelity
from validation.measured import Measured
from validation.runs import Task

VERSION = 1
"""Form of the file."""

_COMMANDS = {"cli.py", "command.py", "commandline.py", "commands.py"}
_NOT_RUN = _COMMANDS | {"bench.py", "jsonschema.py", "listing.py", "output.py", "report.py"}
"""Files of btflow/ that no result comes from: the command line and what it prints."""
_OURS = ("cases.py", "measured.py", "runs.py")
"""Files of validation/ that set up a case or take its figures."""


def sources(btflow_folder: Path, models: Path, validation: Path) -> list[Path]:
    """Return the files that a result depends on: a new file of btflow/ counts unless it is known not to."""
    own = [
        path
        for where in ("*.py", "link/*.py", "paths/*.py", "units/*.py")
        for path in btflow_folder.glob(where)
        if path.name not in _NOT_RUN
    ]
    kernels = (btflow_folder / "kernels").rglob("*.py")
    return sorted([*own, *kernels, *models.rglob("*.toml"), *(validation / name for name in _OURS)])


def digest_of(paths: Iterable[Path]) -> str:
    """Return a digest of some files, by name and content, and of what runs them."""
    libraries = (platform.python_version(), numpy.__version__, numba.__version__, xarray.__version__)
    found = hashlib.sha256(f"{VERSION} {libraries}".encode())
    for path in paths:
        found.update(f"{path.parent.name}/{path.name} {path.stat().st_size} ".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def run_by(fidelity: Fidelity, paths: Iterable[Path]) -> list[Path]:
    """Return those of some files that are run at a fidelity: full runs nothing of `flow.py` and `kernels/flow`."""
    apart = (("btflow", "flow.py"), ("kernels", "flow"))
    return [path for path in paths if fidelity == "flow" or not {path.parts[-2:], path.parts[-3:-1]} & set(apart)]


@cache
def code_digest(fidelity: Fidelity = "full") -> str:
    """Return a digest of everything but the scenario that a result depends on."""
    with as_file(files("btflow.models")) as models:
        own = sources(Path(btflow.__file__).parent, models, Path(__file__).parent)
        return digest_of(run_by(fidelity, own))


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
