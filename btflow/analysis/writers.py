"""Writes tables part by part: CSV, with units in the columns' names, and Parquet, with units in the schema."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray


class Column(NamedTuple):
    """One column of some rows."""

    values: NDArray[Any]
    """A value for each row (rows,)."""
    attrs: Mapping[str, str]
    """Unit and meaning."""

    @property
    def units(self) -> str:
        """Unit, empty for none."""
        units = self.attrs.get("units", "")
        return "" if units == "1" else units


Table = dict[str, Column]
Write = Callable[[Table], None]


def writer(path: Path, ds: xr.Dataset) -> AbstractContextManager[Write]:
    """Return what writes parts of a table of a sweep to a file, by its ending."""
    return _csv(path) if path.suffix == ".csv" else _parquet(path, ds)


@contextmanager
def _csv(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)

        def write(table: Table) -> None:
            if out.tell() == 0:
                rows.writerow(f"{name} [{c.units}]" if c.units else name for name, c in table.items())
            rows.writerows(zip(*(_cells(c.values) for c in table.values()), strict=True))

        yield write


def _cells(values: NDArray[Any]) -> list[Any]:
    """Return values as they are written: each number with all its digits, nothing for what is missing."""
    if values.dtype.kind != "f":
        return list(values.tolist())
    return ["" if value != value else value for value in values.tolist()]


@contextmanager
def _parquet(path: Path, ds: xr.Dataset) -> Iterator[Write]:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    about = {"btflow": json.dumps({str(key): _plain(value) for key, value in ds.attrs.items()})}
    writer: Any = None

    def write(table: Table) -> None:
        nonlocal writer
        arrays = [arrow.array(c.values, from_pandas=True) for c in table.values()]  # NaN is null: unknown, not a number
        pairs = zip(table.items(), arrays, strict=True)
        fields = [arrow.field(name, array.type, metadata=dict(c.attrs)) for (name, c), array in pairs]
        schema = arrow.schema(fields, metadata=about)
        if writer is None:
            writer = parquet.ParquetWriter(path, schema)
        writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
