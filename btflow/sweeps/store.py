"""The store of a sweep: a folder with an SQLite database of what was run, and the arrays made of it in the end.

Each task that comes back is one transaction: whenever the process, the machine or the disk gives up, SQLite goes back
to the last whole one, and what is missing runs again. The database stays when the sweep is complete: the arrays are a
copy for whoever opens the folder as zarr, which ``--resume`` makes again where they are not whole, and
``--retry-failed`` goes on with the rows. It has no write-ahead log but a rollback journal, SQLite's default: a log
would want shared memory, which network drives have not, and could not be read where nothing can be written.

SQLite's lock of a database ends with each transaction, and one held for the whole sweep would keep readers out. So a
database beside it, in which there is nothing, is held by a transaction that lasts as long as the sweep.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from btflow.errors import InputError
from btflow.files import scratch
from btflow.sweeps.results import FAILED

if TYPE_CHECKING:
    import xarray as xr

    from btflow.sweeps.dataset import Layout
    from btflow.sweeps.plan import Plan
    from btflow.sweeps.results import Part
from btflow.sweeps import database

LOCK = "lock.sqlite"
"""Name of the database that is held by who writes."""

LONGEST_NAME = 255
"""Bytes of a file's name that file systems take."""


def check_path(path: Path, resume: bool) -> None:
    """Raise an InputError if a sweep cannot be stored at a path, or gone on with there."""
    allowed = "a path ending in .zarr, in a folder that exists and is writable"
    if path == Path():
        raise InputError("out", "", "is empty", allowed)
    if "\0" in str(path):
        raise InputError("out", str(path), "has a NUL in it", allowed)
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise InputError("out", str(path), "has too long a name", f"at most {LONGEST_NAME} bytes")
    if path.suffix != ".zarr":
        raise InputError("out", str(path), "has the wrong ending", allowed)
    if not os.path.lexists(path):
        try:
            os.rmdir(tempfile.mkdtemp(prefix=".btflow-", dir=path.parent))  # root may write anywhere, but for /proc
        except OSError as error:
            raise InputError("out", str(path), f"cannot be written: {error.strerror}", allowed) from None
    elif not (is_store(path) or (resume and path.is_dir() and {file.name for file in path.iterdir()} <= {LOCK})):
        # the last is what a process leaves that is killed in the moment in which it makes a store
        reason = f"exists and is something else than a sweep with its {database.FILE}"
        raise InputError("out", str(path), reason, "another path")
    elif not resume:
        raise InputError("out", str(path), "exists", "resume=True to go on with it, or another path")
    elif not os.access(path, os.W_OK | os.X_OK):
        raise InputError("out", str(path), "cannot be written", "a store that can, such as a copy of it (cp -r)")


def is_store(path: Path) -> bool:
    """Return whether something is the store of a sweep: all that SQLite opens is a file, where there is something."""
    others = (path / name for name in (LOCK, f"{database.FILE}-journal", f"{database.FILE}-wal"))
    return os.path.isfile(path / database.FILE) and all(os.path.isfile(x) or not os.path.lexists(x) for x in others)


class Store(database.Database):
    """The store of one sweep, open for writing by the process that holds it.

    Attributes:
        new: Whether there was nothing.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, layout: Layout, durable: bool = True) -> None:
        from btflow.sweeps.dataset import SUMS
        from btflow.sweeps.plan import check_same

        self.durable = durable
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
        made = layout.as_content()
        with database.transaction(connection):
            self.new = not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
            if self.new and path is not None and os.path.lexists(path / SUMS):
                raise database.damaged(path, "out", f"{database.FILE} is empty, and the arrays are there")
            if self.new:
                for statement in database.SCHEMA:
                    connection.execute(statement)
                connection.execute("INSERT INTO sweep VALUES (?)", (made,))
        super().__init__(connection, path)
        check_same(path, self.layout.attributes, layout.attributes)
        if self._content != made:
            raise self.damaged(f"the layout in {database.FILE} is not what was written")
        self.check()
        (self._task,) = self._one("SELECT COALESCE(MAX(task), 0) FROM runs")

    def add(self, part: Part) -> None:
        """Keep a part for good.

        Raises:
            OSError: It cannot be written; what was there is.
        """
        if part.count == 0:
            return
        self._task += 1
        units = range(part.first, part.first + part.count)
        columns = (units, part.status.tolist(), part.reasons, part.cpu.tolist(), part.seed.tolist(), part.values)
        rows = (
            (row[0], self._task, *row[1:-1], database.sealed(row[:-1], row[-1].tobytes()))
            for row in zip(*columns, strict=True)
        )
        kept = ((unit, *swarm) for unit, swarm in zip(units, part.swarms, strict=True) if swarm is not None)
        with self.writing():
            self.connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            self.connection.executemany("INSERT INTO swarms VALUES (?, ?, ?)", kept)

    def take(self, other: database.Database) -> None:
        """Keep all that another store of the sweep has."""
        with self.writing():
            for table, marks in (("runs", "?, ?, ?, ?, ?, ?, ?"), ("swarms", "?, ?, ?")):
                rows = other.connection.execute(f"SELECT * FROM {table}")
                self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def forget_failures(self) -> None:
        """Make every failed run one that has not been run: there may be more memory now, say."""
        from btflow.sweeps.dataset import SUMS, sync

        with self.writing():
            if self.connection.execute("DELETE FROM runs WHERE status = ?", (FAILED,)).rowcount and self.path:
                (self.path / SUMS).unlink(missing_ok=True)  # the arrays are complete no more
                if self.durable:
                    sync(self.path)

    def write_arrays(self) -> None:
        """Write the arrays of a complete sweep, unless they are there and whole; a part of a sweep gets none.

        Raises:
            OSError: They cannot be written; the database has all that was run.
        """
        from btflow.sweeps import dataset

        assert self.path is not None
        if self.layout.part or dataset.bad_file(self.path) is None:
            return
        with database.of_store(self.path), scratch(self.path, ".arrays-") as folder:
            made = folder / "arrays"
            made.mkdir()
            dataset.write_zarr(self.layout, self.dataset(), made)
            dataset.replace(made, self.path, self.durable)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Have what is written be one transaction, all or nothing."""
        self._window.cache_clear()
        with database.of_store(self.path), database.transaction(self.connection):
            yield


@contextmanager
def in_memory(plan: Plan) -> Iterator[Store]:
    """Give the store of a sweep whose results nobody keeps."""
    from btflow.sweeps.dataset import layout_of

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield Store(connection, None, layout_of(plan), durable=False)


@contextmanager
def opened(path: Path, sweep: Plan | Layout, *, resume: bool = False, durable: bool = True) -> Iterator[Store]:
    """Give the store of a sweep: a new one, or one to go on with. No other process writes to it meanwhile.

    Raises:
        InputError: There is something else, a sweep that is not to be gone on with, another sweep, one that another
            process writes to, or one that is damaged.
        OSError: It cannot be written; of one that was not there nothing is left.
    """
    check_path(path, resume)
    from btflow.sweeps import dataset  # takes a second, in which there would be a folder with nothing

    with ExitStack() as held:
        with database.of_store(path):
            made = True
            try:
                path.mkdir()
            except FileExistsError:
                made = False
                if not resume:  # a process has come in between
                    raise TakenError(path) from None
        try:
            with database.of_store(path):
                held.enter_context(_held(path))
                connection = held.enter_context(
                    closing(sqlite3.connect(path / database.FILE, database.PATIENCE, isolation_level=None))
                )
                layout = sweep if isinstance(sweep, dataset.Layout) else dataset.layout_of(sweep)
                store = Store(connection, path, layout, durable)
                if made and durable:
                    dataset.sync(path.parent)  # the folder's name; SQLite sees to all that is in it
        except TakenError:
            raise
        except BaseException:
            if made:
                shutil.rmtree(path, ignore_errors=True)
            raise
        for left in path.glob(".arrays-*"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        yield store


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a store; SQLite gives it back when the process ends, however that comes."""
    with closing(sqlite3.connect(path / LOCK, timeout=0.0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA journal_mode = OFF")  # nothing is written
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname == "SQLITE_BUSY":
                raise TakenError(path) from None
            allowed = f"storage that can be written and has file locks; {LOCK} may be deleted if it is damaged"
            raise InputError("out", str(path), f"cannot be locked: {LOCK}: {error}", allowed) from None
        yield


class TakenError(InputError):
    """Another process holds the store."""

    def __init__(self, path: Path) -> None:
        super().__init__("out", str(path), "is being written by another process", "one sweep at a time")


def open_store(path: Path, field: str) -> xr.Dataset:
    """Return the dataset of a store, also while the sweep runs; its arrays are read when they are used.

    Raises:
        InputError: It is no store, or it is damaged.
    """
    from btflow.sweeps import dataset

    if os.path.lexists(path / dataset.SUMS):
        bad = dataset.bad_file(path)
        if bad is None:
            return database.open_arrays(path, field)
        again = "the same sweep with resume=True, which writes it again"
        allowed = again if is_store(path) else "a copy of the store that is whole"
        reason = f"is damaged: {bad.relative_to(path)} is missing or is not what was written"
        raise InputError(field, str(path), reason, allowed)
    if not is_store(path):
        reason = "is not the store of a sweep, or of a version before sweep.sqlite and SHA256SUMS"
        allowed = "the store that a sweep wrote; the version that wrote a former one exports it"
        raise InputError(field, str(path), reason, allowed)
    with database.of_store(path, field):
        return database.Database(database.connected(path), path, field).dataset()
