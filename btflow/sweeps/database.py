"""The database of a sweep, as whoever reads it needs it: a row for each run, and the errors of SQLite as ours."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from btflow.errors import InputError
from btflow.options import Fidelity
from btflow.sweeps.results import DONE, FAILED

if TYPE_CHECKING:
    import xarray as xr

    from btflow.sweeps.dataset import Layout
    from btflow.sweeps.results import Rows

FILE = "sweep.sqlite"
"""Name of the database in the folder of a store."""

WINDOW = 4096
"""Units whose rows are read at once."""

PATIENCE = 30.0
"""Longest time that a reader or the writer waits for the other [s]; each has the database for a moment."""

SCHEMA = (
    "CREATE TABLE sweep (layout BLOB NOT NULL)",  # Layout.as_content
    """CREATE TABLE runs (
        unit INTEGER PRIMARY KEY,  -- number of the run, in C order over points and replicas, then those that check
        task INTEGER NOT NULL,     -- number of the transaction that it came with
        status INTEGER NOT NULL,   -- 1 done, 2 failed
        failure TEXT NOT NULL,     -- why it failed
        cpu REAL NOT NULL,         -- CPU time [s]
        seed INTEGER NOT NULL,     -- of its point
        numbers BLOB NOT NULL      -- float64, as many as the layout says
    )""",
    """CREATE TABLE swarms (
        unit INTEGER PRIMARY KEY,
        scenario TEXT NOT NULL,    -- digest of its scenario
        content BLOB NOT NULL      -- all that was found of it (Replica.packed)
    )""",  # if they are kept
    "CREATE INDEX swarms_by_scenario ON swarms (scenario)",
)


class Database:
    """What was run of a sweep, to be read.

    Args:
        connection: Of the database.
        path: The store that errors name; None for a sweep in memory.
        field: What errors call the store.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, field: str = "out") -> None:
        self.path, self.field, self.connection = path, field, connection
        read = partial(_window, connection, path, field)  # nothing of itself, so that it goes at once
        self._window = lru_cache(maxsize=16)(read)

    @cached_property
    def layout(self) -> Layout:
        """What the sweep is."""
        from btflow.sweeps.dataset import Layout

        try:
            with of_store(self.path, self.field):
                (content,) = self._one("SELECT layout FROM sweep")
            return Layout.from_content(content)
        except (TypeError, zlib.error):
            raise damaged(self.path, self.field, f"{FILE} is not what this version writes") from None

    def counts(self) -> tuple[int, int]:
        """Return how many runs are done and how many failed."""
        found = dict(self.connection.execute("SELECT status, COUNT(*) FROM runs GROUP BY status"))
        return found.get(DONE, 0), found.get(FAILED, 0)

    def check(self) -> None:
        """Raise an InputError if SQLite finds that the database is damaged, or if it ends within a page."""
        (said,), (page,) = self._one("PRAGMA integrity_check(1)"), self._one("PRAGMA page_size")
        if self.path is not None and (self.path / FILE).stat().st_size % page:
            said = "it is cut off"
        if said != "ok":
            raise damaged(self.path, self.field, f"{FILE}: {str(said).splitlines()[-1]}")

    def dataset(self) -> xr.Dataset:
        """Return the dataset of what was run until now; its arrays are read when they are used."""
        from btflow.sweeps.dataset import dataset_of

        (task,) = self._one("SELECT COALESCE(MAX(task), 0) FROM runs")
        return dataset_of(self.layout, partial(self.rows, task=task), sum(self.counts()))

    def rows(self, first: int, last: int, task: int = 2**62) -> Iterator[Rows]:
        """Give what was found of the units from a first to a last one by tasks up to some number."""
        windows = "SELECT DISTINCT unit / ? FROM runs WHERE unit BETWEEN ? AND ? AND task <= ?"
        with of_store(self.path, self.field):
            numbers = self.connection.execute(windows, (WINDOW, first, last, task)).fetchall()
        for (number,) in numbers:
            yield _between(self._window(number, task), first, last)

    def pending(self) -> Iterator[range]:
        """Give the units that are to be run, block by block.

        Those that check the sweep come first: they take longest, and long tasks are not left to the end.
        """
        of = "SELECT unit FROM runs WHERE unit >= ? AND unit < ? ORDER BY unit"
        for span in (span for block in reversed(range(len(self.layout.blocks))) for span in self.layout.spans(block)):
            found = self.connection.execute(of, (span.start, span.stop))
            there = np.fromiter((unit for (unit,) in found), np.int64)
            edges = np.concatenate([[span.start - 1], there, [span.stop]])
            for before in np.flatnonzero(np.diff(edges) > 1):
                yield range(int(edges[before]) + 1, int(edges[before + 1]))

    def swarms(self, scenario: str, fidelity: Fidelity) -> list[tuple[int, int, bytes]]:
        """Return unit, seed and content of the kept swarms of a scenario that were run at a fidelity.

        Args:
            scenario: Digest of the scenario.
            fidelity: How they were run: the sweep's own, or full for those that check it.
        """
        checked, designed = self.layout.attributes["fidelity"] != fidelity, self.layout.first(1)
        first, end = (designed, self.layout.units) if checked else (0, designed)
        of = "SELECT unit, seed, content FROM runs JOIN swarms USING (unit) WHERE status = ? AND scenario = ?"
        with of_store(self.path, self.field):
            return sorted(self.connection.execute(f"{of} AND unit >= ? AND unit < ?", (DONE, scenario, first, end)))

    def own_seeds(self) -> set[int]:
        """Return the seeds of the points that were run, unless points are meant to share them or were given theirs."""
        about = self.layout.attributes
        varied = {name for names in json.loads(about["varied"]) for name in names.split("+")}
        if about["common_random_numbers"] or "seed" in varied:
            return set()
        with of_store(self.path, self.field):
            return {seed for (seed,) in self.connection.execute("SELECT DISTINCT seed FROM runs")}

    def kept(self) -> dict[tuple[str, int], int]:
        """Return how many first replicas of a point are kept, by digest of its scenario and by its seed."""
        of = "SELECT scenario, seed, unit FROM runs JOIN swarms USING (unit) WHERE unit < ? ORDER BY unit"
        found: dict[tuple[str, int], int] = {}
        with of_store(self.path, self.field):
            for scenario, seed, unit in self.connection.execute(of, (self.layout.first(1),)):
                number = found.get((scenario, seed), 0)
                found[scenario, seed] = number + (unit % self.layout.attributes["replicas"] == number)
        return found

    def _one(self, query: str) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self.connection.execute(query).fetchone()
        return found


def damaged(path: Path | None, field: str, reason: str) -> InputError:
    """Return the error for a store whose database cannot be used."""
    allowed = "a copy of the store that is whole, the version that wrote it, or to run the sweep to another path"
    return InputError(field, str(path), f"is damaged: {reason}", allowed)


class TakenError(InputError):
    """Another process writes to the store."""

    def __init__(self, path: Path | None) -> None:
        super().__init__("out", str(path), "is being written by another process", "one sweep at a time")


def _window(connection: sqlite3.Connection, path: Path | None, field: str, number: int, task: int) -> Rows:
    """Return the rows of a window of units, but for those of later tasks; an InputError for a damaged one."""
    from btflow.sweeps.results import Rows

    columns = "unit, status, failure, cpu, seed, numbers"
    between = f"SELECT {columns} FROM runs WHERE unit BETWEEN ? AND ? AND task <= ? ORDER BY unit"
    first = number * WINDOW
    with of_store(path, field):
        found = connection.execute(between, (first, first + WINDOW - 1, task)).fetchall()
    unit, status, failure, cpu, seed, numbers = zip(*found, strict=True)
    try:
        return Rows(
            np.array(unit, np.int64),
            np.array(status, np.int8),
            list(failure),
            np.array(cpu, np.float64),
            np.array(seed, np.int64),
            np.frombuffer(b"".join(numbers), np.float64).reshape(len(found), -1),
        )
    except (TypeError, ValueError, OverflowError):  # SQLite keeps any type in any column
        raise damaged(path, field, f"a row of {FILE} is not what was written") from None


def _between(rows: Rows, first: int, last: int) -> Rows:
    """Return those of some rows whose units lie between two."""
    low, high = np.searchsorted(rows.units, [first, last + 1])
    return rows._replace(**{name: column[low:high] for name, column in rows._asdict().items()})


@contextmanager
def of_store(path: Path | None, field: str = "out") -> Iterator[None]:
    """Have errors of SQLite and of the disk be those of a store: an OSError that names it; an InputError for damage."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for a message that quotes a damaged schema
        name, text = getattr(error, "sqlite_errorname", ""), " ".join(str(error).split())
        if name.startswith("SQLITE_BUSY"):
            raise TakenError(path) from None
        if name == "SQLITE_FULL":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None
        if name.startswith(("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
            raise OSError(errno.EIO, f"{FILE}: {text}", str(path)) from None
        raise damaged(path, field, f"{FILE}: {text}") from None
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def failures(path: Path) -> list[tuple[str, int]]:
    """Return each text why runs of a store failed, and of how many; in the order of the first run of each."""
    of = "SELECT failure, COUNT(*) FROM runs WHERE status = ? GROUP BY failure ORDER BY MIN(unit)"
    with of_store(path), closing(connected(path)) as connection:
        return connection.execute(of, (FAILED,)).fetchall()


def open_arrays(path: Path, field: str = "out") -> xr.Dataset:
    """Return the dataset of a complete sweep from its arrays."""
    import xarray as xr

    try:
        dataset: xr.Dataset = xr.open_zarr(path, chunks=None, consolidated=True)
    except Exception as error:  # zarr and xarray raise anything for what they did not write
        raise damaged(path, field, f"its arrays cannot be opened ({type(error).__name__})") from None
    return dataset


def connected(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """Return a connection to the database of a store; to read, too, one that may take back what a kill left undone."""
    address = f"{(path / FILE).absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, PATIENCE, uri=True, check_same_thread=False, isolation_level=None)
