"""The database of a sweep, as whoever reads it needs it: a row for each run, and the errors of SQLite as ours."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
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
        numbers BLOB NOT NULL      -- float64, as many as the layout says; then a checksum of the row (sealed)
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
        from btflow.sweeps.dataset import Layout

        self.path, self.field, self.connection = path, field, connection
        connection.text_factory = lambda text: text.decode(errors="replace")  # damaged text is no error of its own
        made = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")}
        try:
            if made != {*SCHEMA}:  # a view may have no end
                raise ValueError
            (self._content,) = self._one("SELECT layout FROM sweep")
            self.layout: Layout = Layout.from_content(self._content)
        except sqlite3.Error:
            raise
        except Exception:  # json, NumPy and zipfile raise anything for what they did not write
            raise self.damaged(f"{FILE} is not what this version writes") from None
        read = partial(_window, connection, self.layout.row, path, field)  # nothing of itself, so that it goes at once
        self._window = lru_cache(maxsize=16)(read)

    def counts(self) -> tuple[int, int]:
        """Return how many runs are done and how many failed."""
        found = dict(self.connection.execute("SELECT status, COUNT(*) FROM runs GROUP BY status"))
        return found.get(DONE, 0), found.get(FAILED, 0)

    def check(self) -> None:
        """Raise an InputError for damage of pages and of their order, which SQLite finds, and of rows."""
        (said,) = self._one("PRAGMA integrity_check(1)")
        if said != "ok":
            raise self.damaged(f"{FILE}: {str(said).splitlines()[-1]}")
        for _ in self.rows(0, self.layout.units):
            pass

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

    def damaged(self, reason: str) -> InputError:
        """Return the error for a database that cannot be gone on with."""
        return damaged(self.path, self.field, reason)

    def _one(self, query: str, *values: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self.connection.execute(query, values).fetchone()
        return found


def damaged(path: Path | None, field: str, reason: str) -> InputError:
    """Return the error for a store whose database cannot be used."""
    allowed = "a copy of the store that is whole, the version that wrote it, or to run the sweep to another path"
    return InputError(field, str(path), f"is damaged: {reason}", allowed)


def sealed(others: tuple[Any, ...], numbers: bytes) -> bytes:
    """Return the numbers of a run with a checksum after them: of unit, status, failure, cpu, seed and numbers."""
    return numbers + zlib.crc32(numbers + repr(others).encode()).to_bytes(4)


def _window(connection: sqlite3.Connection, width: int, path: Path | None, field: str, number: int, task: int) -> Rows:
    """Return the rows of a window of units, but for those of later tasks; an InputError for a damaged one."""
    from btflow.sweeps.results import Rows

    columns = "unit, status, failure, cpu, seed, numbers"
    between = f"SELECT {columns} FROM runs WHERE unit BETWEEN ? AND ? AND task <= ? ORDER BY unit"
    first = number * WINDOW
    with of_store(path, field):
        found = connection.execute(between, (first, first + WINDOW - 1, task)).fetchall()
    unit, status, failure, cpu, seed, numbers = zip(*found, strict=True)
    try:
        if any(row[-1] != sealed(row[:-1], row[-1][:-4]) for row in found):
            raise ValueError
        return Rows(
            np.array(unit, np.int64),
            np.array(status, np.int8),
            list(failure),
            np.array(cpu, np.float64),
            np.array(seed, np.int64),
            np.frombuffer(b"".join(each[:-4] for each in numbers), np.float64).reshape(-1, width),
        )
    except (TypeError, ValueError, OverflowError):  # SQLite keeps any type in any column
        raise damaged(path, field, f"a row of {FILE} is not what was written") from None


def _between(rows: Rows, first: int, last: int) -> Rows:
    """Return those of some rows whose units lie between two."""
    low, high = np.searchsorted(rows.units, [first, last + 1])
    return rows._replace(**{name: column[low:high] for name, column in rows._asdict().items()})


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Have what is written within be all there in the end, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # after some errors SQLite has done so itself
            connection.execute("ROLLBACK")
        raise


@contextmanager
def of_store(path: Path | None, field: str = "out") -> Iterator[None]:
    """Have errors of SQLite and of the disk be those of a store: an OSError that names it; an InputError for damage."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_sqlite(error, path, field) from None
    except UnicodeDecodeError:  # sqlite3's own, for a message that quotes a damaged schema
        raise damaged(path, field, f"the schema in {FILE} is not what was written") from None
    except OSError as error:
        gone = path is not None and not path.exists()
        text = "was removed while the sweep ran" if gone else error.strerror or str(error)
        raise OSError(error.errno, text, str(path)) from None


def _of_sqlite(error: sqlite3.Error, path: Path | None, field: str) -> Exception:
    name = getattr(error, "sqlite_errorname", "")
    if path is not None and not path.exists():
        return OSError(errno.ENOENT, "was removed while the sweep ran", str(path))
    if name == "SQLITE_FULL":
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    if name == "SQLITE_READONLY_DBMOVED":
        text = f"{FILE} was deleted while the sweep ran; resume=True runs what is lost again"
        return OSError(errno.EIO, text, str(path))
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return OSError(errno.EACCES, f"cannot be written or read: {error}", str(path))
    if name.startswith(("SQLITE_BUSY", "SQLITE_IOERR")):
        return OSError(errno.EIO, f"{FILE}: {error}", str(path))
    return damaged(path, field, f"{FILE}: {' '.join(str(error).split())}")  # it may quote a schema of several lines


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


def connected(path: Path) -> sqlite3.Connection:
    """Return a connection to read with; one that may write is needed to take back what a killed process left undone."""
    writable = os.access(path, os.W_OK | os.X_OK) and os.access(path / FILE, os.W_OK)
    mode = "rw" if writable else "ro"
    address = f"{(path / FILE).absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, PATIENCE, uri=True, check_same_thread=False, isolation_level=None)
