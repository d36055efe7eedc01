"""The store of a sweep: a folder with an SQLite database of what was run, and the arrays made of it in the end.

Each task that comes back is one transaction: whenever the process, the machine or the disk gives up, SQLite goes back
to the last whole one, and what is missing runs again. The next one begins at once, and by it SQLite keeps other writers
out and lets readers in. The database stays when the sweep is complete: the arrays are a copy for whoever opens the
folder as zarr, and ``--retry-failed`` goes on with the rows. It has no write-ahead log but a rollback journal, SQLite's
default: a log would want shared memory, which network drives have not.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from btflow.errors import InputError
from btflow.sweeps import database
from btflow.sweeps.results import FAILED

if TYPE_CHECKING:
    import xarray as xr

    from btflow.sweeps.dataset import Layout
    from btflow.sweeps.plan import Plan
    from btflow.sweeps.results import Part


def check_path(path: Path, resume: bool) -> None:
    """Raise an InputError if a sweep cannot be stored at a path, or gone on with there."""
    allowed = "a path ending in .zarr, in a folder that exists and is writable"
    if path == Path():
        raise InputError("out", "", "is empty", allowed)
    if path.suffix != ".zarr":
        raise InputError("out", str(path), "has the wrong ending", allowed)
    if not os.path.lexists(path):
        try:
            os.rmdir(tempfile.mkdtemp(prefix=".btflow-", dir=path.parent))  # root may write anywhere, but for /proc
            with suppress(FileNotFoundError):
                path.lstat()
        except (OSError, ValueError) as error:  # also for a name that no file can have
            reason = f"cannot be written: {getattr(error, 'strerror', error)}"
            raise InputError("out", str(path), reason, allowed) from None
    elif not (is_store(path) or (resume and path.is_dir() and not any(path.iterdir()))):
        # nothing is what a process leaves that is killed in the moment in which it makes a store
        reason = f"exists and is something else than a sweep with its {database.FILE}"
        raise InputError("out", str(path), reason, "another path")
    elif not resume:
        raise InputError("out", str(path), "exists", "resume=True to go on with it, or another path")


def is_store(path: Path) -> bool:
    """Return whether something is the store of a sweep."""
    return os.path.isfile(path / database.FILE)


class Store(database.Database):
    """The store of one sweep, open for writing by the process that holds it.

    Attributes:
        new: Whether there was nothing.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, layout: Layout) -> None:
        from btflow.sweeps.plan import check_same

        super().__init__(connection, path)
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA busy_timeout = {1000 * database.PATIENCE:.0f}")
        (tables,) = self._one("SELECT COUNT(*) FROM sqlite_master")
        self.new = not tables
        if self.new:
            with self.writing():
                for statement in database.SCHEMA:
                    connection.execute(statement)
                connection.execute("INSERT INTO sweep VALUES (?)", (layout.as_content(),))
        check_same(path, self.layout.attributes, layout.attributes)
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
        found = part.status.tolist(), part.reasons, part.cpu.tolist(), part.seed.tolist(), part.values
        kept = ((unit, *swarm) for unit, swarm in zip(units, part.swarms, strict=True) if swarm is not None)
        with self.writing():
            self._insert("runs", zip(units, repeat(self._task), *found))
            self._insert("swarms", kept)

    def take(self, other: database.Database) -> None:
        """Keep all that another store of the sweep has."""
        with self.writing():
            for table in _WIDTHS:
                self._insert(table, other.connection.execute(f"SELECT * FROM {table}"))

    def _insert(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * _WIDTHS[table])
        self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def forget_failures(self) -> None:
        """Make every failed run one that has not been run: there may be more memory now, say."""
        from btflow.sweeps.dataset import SUMS

        with self.writing():
            if self.connection.execute("DELETE FROM runs WHERE status = ?", (FAILED,)).rowcount and self.path:
                (self.path / SUMS).unlink(missing_ok=True)  # the arrays are complete no more

    def write_arrays(self) -> None:
        """Write the arrays of a complete sweep, unless they are there and whole; a part of a sweep gets none.

        Raises:
            OSError: They cannot be written; the database has all that was run.
        """
        from btflow.sweeps import dataset

        assert self.path is not None
        if not self.layout.part and dataset.bad_file(self.path) is not None:
            with database.of_store(self.path):
                dataset.write_zarr(self.layout, self.dataset(), self.path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Have what is written be one transaction, all or nothing."""
        with database.of_store(self.path):
            try:
                with self.connection:
                    yield
            finally:
                self.connection.execute("BEGIN IMMEDIATE")


_WIDTHS = {"runs": 7, "swarms": 3}
"""Columns of the tables that rows are added to."""


@contextmanager
def in_memory(plan: Plan) -> Iterator[Store]:
    """Give the store of a sweep whose results nobody keeps."""
    from btflow.sweeps.dataset import layout_of

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield Store(connection, None, layout_of(plan))


@contextmanager
def opened(path: Path, sweep: Plan | Layout, *, resume: bool = False) -> Iterator[Store]:
    """Give the store of a sweep: a new one, or one to go on with. No other process writes to it meanwhile.

    Raises:
        InputError: There is something else, a sweep that is not to be gone on with, another sweep, one that another
            process writes to, or one that is damaged.
        OSError: It cannot be written; of one that was not there nothing is left.
    """
    check_path(path, resume)
    from btflow.sweeps.dataset import Layout, layout_of  # takes a second, in which there would be a folder with nothing

    layout, made = sweep if isinstance(sweep, Layout) else layout_of(sweep), True
    with ExitStack() as held:
        try:
            with database.of_store(path):
                try:
                    path.mkdir()
                except FileExistsError:
                    made = False
                    if not resume:  # a process has come in between
                        raise database.TakenError(path) from None
                connection = held.enter_context(closing(database.connected(path, "rwc")))
                store = Store(connection, path, layout)
        except database.TakenError:
            raise
        except BaseException:
            if made:
                shutil.rmtree(path, ignore_errors=True)
            raise
        yield store


def existing(path: object, field: str) -> Path:
    """Return the path of something that is there; an InputError if it is none."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(field, path, "is not a path", "the store that a sweep wrote")
    if not os.path.exists(path):
        raise InputError(field, str(path), "does not exist", "the store that a sweep wrote")
    return Path(path)


def open_store(given: object, field: str) -> xr.Dataset:
    """Return the dataset of a store, also while the sweep runs; its arrays are read when they are used.

    Raises:
        InputError: There is no store, or it is damaged.
    """
    from btflow.sweeps import dataset

    path = existing(given, field)
    if os.path.isfile(path / dataset.SUMS):
        bad = dataset.bad_file(path)
        if bad is None:
            return database.open_arrays(path, field)
        reason = f"is damaged: {bad.relative_to(path)} is missing or is not what was written"
        raise InputError(field, str(path), reason, "the same sweep with resume=True, which writes it again, or a copy")
    if not is_store(path):
        raise InputError(field, str(path), "is not the store of a sweep", "the store that a sweep wrote")
    with database.of_store(path, field):
        return database.Database(database.connected(path), path, field).dataset()
