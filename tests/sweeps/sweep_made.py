"""Small sweeps, and the program as a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from btflow import load, open_sweep
from btflow.swarm.scenario import Scenario
from btflow.sweeps import database
from btflow.sweeps.database import FILE
from btflow.sweeps.dataset import Layout
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.plan import Plan
from btflow.sweeps.results import Part
from btflow.sweeps.store import Store
from validation.served import PATIENCE

REFUSED = tomllib.loads((Path(__file__).parents[1] / "refused.toml").read_text(encoding="utf-8"))
"""What is refused, by table."""

TINY = {"leechers": 3, "file_size": "512 KiB"}
"""A swarm of a millisecond."""


def tiny(model: str = "rao2010", **values: object) -> Scenario:
    """Return a swarm of a millisecond."""
    return load(model, **{**TINY, **values})


VARY: dict[str | tuple[str, ...], object] = {
    "rtt": ["0 ms", "50 ms"],
    "upload_limit": "20 kB/s,50 kB/s",
    "leechers": [2, 3, 4],
}
REPLICAS = 4
UNITS = 12 * REPLICAS
"""Swarms of a sweep as ``planned`` makes it."""


def planned(scenario: Scenario | None = None, **said: Any) -> Plan:
    """Return a sweep of tiny swarms, declared."""
    scenario = scenario or tiny()
    how = {name: said.pop(name) for name in ("keep", "fidelity", "check", "part", "yes") if name in said}
    declared = declaration(said.pop("vary", VARY), {}, "vary", **{"replicas": REPLICAS, **said})
    return declare(scenario.document, scenario.given, declared, **how)


def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand out few units at a time, so that a small sweep has many tasks."""
    monkeypatch.setattr("btflow.sweeps.running.GROWTH", 1.0)


def read(path: Path) -> xr.Dataset:
    """Return a store's content, complete or not, in memory, and be sure that it opens without a warning."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return open_sweep(path).load()


def written(path: Path) -> xr.Dataset:
    """Return what the arrays of a complete store have, as other programs open them."""
    opened: xr.Dataset = xr.open_zarr(path)
    return opened.load()


def finished(path: Path) -> int:
    """Return how many swarms have a row in a store, 0 if there is none yet."""
    if not (path / FILE).exists():
        return 0
    with contextlib.suppress(sqlite3.Error), contextlib.closing(database.connected(path)) as opened:
        return int(opened.execute("SELECT COUNT(*) FROM runs").fetchone()[0])
    return 0


def relabelled(path: Path, **attributes: Any) -> None:
    """Change attributes of a sweep in its store, as if another version had written it."""
    with contextlib.closing(sqlite3.connect(path / FILE)) as connection, connection:
        (content,) = connection.execute("SELECT layout FROM sweep").fetchone()
        layout = Layout.from_content(content)
        content = replace(layout, attributes=layout.attributes | attributes).as_content()
        connection.execute("UPDATE sweep SET layout = ?", (content,))


def bits(found: xr.Dataset) -> xr.Dataset:
    """Return what must be equal to the last bit: all but the CPU time."""
    return found.drop_vars(["cpu_s", "full_cpu_s"], errors="ignore")


@contextmanager
def breaking_off(after: int) -> Iterator[None]:
    """Have a store's transactions end after so many, as those of a process that goes away, and expect that they did."""
    begun, writing = count(), Store.writing

    @contextmanager
    def break_off(self: Store) -> Iterator[None]:
        with writing(self):
            yield
            if next(begun) >= after:
                raise ZeroDivisionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "writing", break_off)
        with pytest.raises(ZeroDivisionError):
            yield


@contextmanager
def interrupted(after: int) -> Iterator[None]:
    """Have Ctrl-C come once a store has kept so many parts, and expect that it ends what runs."""
    kept, keep = count(1), Store.add

    def add(self: Store, part: Part) -> None:
        keep(self, part)
        if next(kept) == after:
            signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "add", add)
        with pytest.raises(KeyboardInterrupt):
            yield


def command(*args: str) -> list[str]:
    """Return the program's command line."""
    return [sys.executable, "-m", "btflow", *args]


def sweep_args(
    out: Path, *more: str, vary: Sequence[str] = ("rtt=0ms,100ms", "upload_limit=20kB/s,50kB/s")
) -> list[str]:
    """Return the arguments of a sweep of tiny swarms."""
    settings = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
    varied = [part for text in vary for part in ("--vary", text)]
    return ["sweep", "rao2010", *settings, *varied, "--out", str(out), *more]


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(command(*args), capture_output=True, text=True, timeout=PATIENCE, **options)


def start(*args: str, environment: Mapping[str, str] = os.environ) -> subprocess.Popen[str]:
    """Start the program as the head of a process group of its own."""
    return subprocess.Popen(
        command(*args),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**environment, "PYTHONUNBUFFERED": "1"},
    )
