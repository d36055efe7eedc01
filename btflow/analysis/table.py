"""Writes tables part by part: CSV, with units in the columns' names, and Parquet, with units in the schema.

Writes a sweep as a long table, block by block, so that memory is bounded by a block whatever the sweep's size.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis.against_full import has_check, in_full, matched
from btflow.analysis.design import REPLICA, SAMPLE, a_sweep, declared, point_dims, swarm_status
from btflow.errors import InputError
from btflow.files import extra, replacing
from btflow.options import output_file
from btflow.sweeps.results import CHECK, FIRST, STATUSES
from btflow.sweeps.store import open_store


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
    return _csv(path) if path.suffix.lower() == ".csv" else _parquet(path, ds)


@contextmanager
def _csv(path: Path) -> Iterator[Write]:
    """Numbers have all their digits, and what is missing is empty."""
    with path.open("w", encoding="utf-8", newline="") as out:

        def write(table: Table) -> None:
            titles = {f"{name} [{c.units}]" if c.units else name: c.values for name, c in table.items()}
            pd.DataFrame(titles).to_csv(out, index=False, header=out.tell() == 0, lineterminator="\r\n")

        yield write


@contextmanager
def _parquet(path: Path, ds: xr.Dataset) -> Iterator[Write]:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    numpy = (np.generic, np.ndarray)
    plain = {str(key): value.tolist() if isinstance(value, numpy) else value for key, value in ds.attrs.items()}
    about = {"btflow": json.dumps(plain)}
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


PEER, PEER_CLASS, CLASS_NUMBER = "peer", "peer_class", "class_number"

PARTS = (PEER_CLASS, "flow_group", "queue")
"""Dimensions of what a swarm or a link experiment has several of, each with statistics of its own."""

ENDINGS = (".csv", ".parquet")

MOST_ROWS = 20_000
"""Rows read at a time, unless a chunk of the store has more."""

Per = Literal["swarm", "peer"]


def write_table(
    sweep: xr.Dataset | str | Path,
    path: str | Path,
    *,
    per: Per = "swarm",
    progress: Callable[[float], None] | None = None,
) -> int:
    """Write a sweep as a table, one row for each swarm or each peer of each swarm, and return the number of rows.

    Columns: varied values in SI units, replica, seed, status (done, failed or pending), the reason of a failure, and
    every statistic; those by class of peers are named ``statistic[class]``, those by group of flows or by queue of link
    experiments likewise. What is missing is empty. In CSV the unit is part of the column's name, ``rtt [s]``; in
    Parquet it is in the column's metadata, as is its meaning, and the sweep's attrs are in the schema's. The swarms
    that were run in full to check a sweep in flow, replica 0 of each checked point, come after the others; the column
    ``fidelity`` tells them apart.

    Args:
        sweep: A sweep, or the path of its Zarr store, which is read chunk by chunk.
        path: File ending in .csv or .parquet; it appears when it is complete.
        per: "peer" for a row for each peer, if the sweep kept per-peer arrays; peers that never started are left out.
        progress: Called with the share that is done.

    Raises:
        InputError: The store is missing or no sweep, it kept nothing per peer, the ending is another one, or pyarrow,
            which Parquet needs, is not installed.
        OSError: The file cannot be written.
    """
    if per not in ("swarm", "peer"):
        raise InputError("per", per, "is unknown", "swarm, peer")
    file = table_path("path", path)
    if not isinstance(sweep, xr.Dataset | str | Path):
        raise InputError("sweep", sweep, "is not a sweep", "what btflow.sweep returns, or the path of its store")
    ds = a_sweep(sweep if isinstance(sweep, xr.Dataset) else open_store(sweep, "sweep"), "sweep")
    names = _columns(ds, per)
    rows = 0
    parts = [(each, part) for each in _fidelities(ds) for part in _blocks(each, per)]
    with replacing(file) as partial, writer(partial, ds) as write:
        for number, (each, part) in enumerate(parts):
            table = _table(each.isel(part).load(), names, per)
            write(table)
            rows += len(table["status"].values)
            if progress is not None:
                progress((number + 1) / len(parts))
    return rows


def _fidelities(ds: xr.Dataset) -> list[xr.Dataset]:
    """Return a sweep, and the swarms of it that were run in full besides as another one, if there are any."""
    if not has_check(ds):
        return [ds]
    full, (rows, _) = in_full(ds), matched(ds, point_dims(ds))
    names = {str(c): str(c).removeprefix(f"{CHECK}_") for c in full.coords if str(c).startswith(f"{CHECK}_")}
    if not rows.size:
        return [ds.assign_coords(fidelity="flow")]
    names |= {CHECK: SAMPLE} if SAMPLE in ds.coords else {}
    full = full.isel({CHECK: rows}).drop_vars([*names.values()], errors="ignore").rename(names)
    full = full.reset_coords("seed").drop_vars(CHECK, errors="ignore")
    return [ds.assign_coords(fidelity="flow"), full.assign_coords({REPLICA: FIRST, "fidelity": "full"})]


def table_path(field: str, name: str | Path) -> Path:
    """Return the file to write; InputError if it has another ending, cannot be written, or pyarrow is missing."""
    path = output_file(field, name, *ENDINGS)
    if path.suffix.lower() == ".parquet":
        try:
            import_module("pyarrow.parquet")
        except ImportError:
            raise InputError(field, str(name), "needs pyarrow", f"{extra('parquet')}, or a .csv") from None
    return path


def _columns(ds: xr.Dataset, per: Per) -> list[str]:
    """Return the variables of the table, in the order of its columns."""
    rows = set(ds["status"].dims)
    part = {str(name): _part(v, rows) for name, v in ds.data_vars.items() if set(v.dims) <= rows | set(PARTS)}
    own = sorted(part, key=lambda name: (part[name], name))  # a store keeps no order
    first = [name for name in ("seed", "status", "failure") if name in ds.variables]
    if per == "swarm":
        return first + [name for name in own if name not in first]
    kept = [str(name) for name, v in ds.variables.items() if PEER in v.dims and set(v.dims) <= rows | {PEER}]
    kept = sorted(name for name in kept if name != PEER)
    if not any(rows <= set(ds[name].dims) for name in kept):
        raise InputError("per", per, "was not kept by the sweep", 'a sweep with keep=["peers"]')
    return first + kept


def _blocks(ds: xr.Dataset, per: Per) -> Iterator[dict[str, slice]]:
    """Yield parts of the sweep: whole chunks of its store, as many as make up to `MOST_ROWS` rows."""
    dims = [str(dim) for dim in ds["status"].dims]
    sizes = [max(1, ds.sizes[dim]) for dim in dims]
    chunks = ds["status"].encoding.get("preferred_chunks", {})  # by name: a selection may lack some
    shape = [min(chunks.get(dim, 1), size) for dim, size in zip(dims, sizes, strict=True)]
    most = MOST_ROWS // (ds.sizes.get(PEER, 1) if per == "peer" else 1)
    for place in reversed(range(len(dims))):
        others = math.prod(shape) // shape[place]
        fit = most // (others * shape[place]) * shape[place]
        shape[place] = min(sizes[place], max(shape[place], fit))
    starts = (range(0, size, step) for size, step in zip(sizes, shape, strict=True))
    for corner in product(*starts):
        yield {dim: slice(at, at + step) for dim, at, step in zip(dims, corner, shape, strict=True)}


def _table(part: xr.Dataset, names: list[str], per: Per) -> Table:
    """Return a part of a sweep as rows."""
    dims = [str(dim) for dim in part["status"].dims] + ([PEER] if per == "peer" else [])
    chosen = [str(name) for name, c in part.coords.items() if c.ndim == 0 and name not in names]
    keys = [*(n for n in (SAMPLE, *declared(part), REPLICA) if n in part.coords or n in dims), *chosen]
    arrays = {name: part[name] for name in dict.fromkeys([*keys, *dims[len(part["status"].dims) :]])}
    for name in names:
        arrays |= _by_part(name, part[name], dims)
    table = {name: _column(array, dims, part.sizes) for name, array in arrays.items()}
    if CLASS_NUMBER in names and PEER_CLASS in part.dims:
        named = {CLASS_NUMBER: (PEER_CLASS, _class_names(table[CLASS_NUMBER], part[PEER_CLASS]))}
        table = dict(named.get(name, (name, column)) for name, column in table.items())
    table["status"] = Column(np.array(STATUSES, object)[swarm_status(table["status"].values)], {})
    return _started(table, part, names) if per == "peer" else table


def _part(array: xr.DataArray, rows: Iterable[object]) -> str:
    """Return along which of ``PARTS`` a statistic lies besides the dimensions of the rows, empty for none."""
    return next((dim for dim in PARTS if dim in set(array.dims) - set(rows)), "")


def _by_part(name: str, array: xr.DataArray, rows: Iterable[object]) -> dict[str, xr.DataArray]:
    """Return a statistic as one array, or as one for each class of peers, group of flows or queue."""
    dim = _part(array, rows)
    if not dim:
        return {name: array}
    return {f"{name}[{value}]": array.isel({dim: number}) for number, value in enumerate(array[dim].values)}


def _column(array: xr.DataArray, dims: list[str], sizes: Mapping[Any, int]) -> Column:
    """Return an array's values for each row."""
    own = array.transpose(*[dim for dim in dims if dim in array.dims]).values
    place = [sizes[dim] if dim in array.dims else 1 for dim in dims]
    values = np.broadcast_to(own.reshape(place), [sizes[dim] for dim in dims]).ravel()
    attrs = {key: str(array.attrs[key]) for key in ("units", "long_name") if key in array.attrs}
    return Column(values if values.dtype.kind in "biuf" else values.astype(object), attrs)


def _class_names(numbers: Column, classes: xr.DataArray) -> Column:
    """Return the names of classes given by number, empty where there is no peer."""
    found = np.array([*(str(name) for name in classes.values), ""], object)
    known = np.isfinite(numbers.values)
    if (numbers.values[known] >= len(classes)).any():
        raise InputError("per", "peer", "needs every class of peers", "a sweep with the whole of peer_class")
    return Column(found[np.where(known, numbers.values, -1).astype(int)], {"long_name": "class of the peer"})


def _started(table: Table, part: xr.Dataset, names: list[str]) -> Table:
    """Return the rows of peers that have a figure."""
    rows = {PEER, *part["status"].dims}
    figures = [n for n in names if rows <= set(part[n].dims) and n in table]
    known = [~np.isnan(table[name].values) for name in figures if table[name].values.dtype.kind == "f"]
    if not known:
        return table
    kept = np.logical_or.reduce(known)
    return {name: Column(column.values[kept], column.attrs) for name, column in table.items()}
