"""The labelled dataset of a sweep: what each array is, how it is read from the rows of runs, and how it is written.

A layout says what every array is and where its numbers lie in the row of a run (``results.Shape``). It is kept with the
rows, so that whoever opens them needs neither the model nor this version's code.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing
from zarr.codecs import ZstdCodec

import btflow.accessor  # noqa: F401  # for ds.btflow
from btflow.swarm.replica import PER_PEER
from btflow.sweeps.design import Coordinate
from btflow.sweeps.plan import Plan, golden_step
from btflow.sweeps.results import CHECK, FULL, Rows

TEXT = np.dtypes.StringDType()
"""As zarr has texts."""

PER_RUN = {
    "cpu_s": ("s", "CPU time", "f8"),
    "failure": ("", "why the swarm failed, empty if it did not", "text"),
    "status": ("1", "0 not run yet, 1 done, 2 failed", "i1"),
}
FILLS: dict[str, Any] = {"f8": np.nan, "i8": -1, "i1": 0, "text": ""}
"""What stands where nothing was run, by type."""

STRETCHES = 64
"""About how many stretches of units a part of a sweep has: many, so that all parts cost about the same."""

CHUNK_RUNS, CHUNK_BYTES = 16384, 16 * 2**20
"""About the most runs whose numbers are in one chunk of each array, and the most memory that these take [B]."""

GROUP = "zarr.json"
"""File with the metadata of an array or a group."""

SUMS = "SHA256SUMS"
"""File with the SHA-256 of each file of the arrays, as ``sha256sum`` has it, the group's metadata last.

It is there once the arrays are complete, and as long as they are those of the rows."""

Read = Callable[[int, int], Iterator[Rows]]
"""Gives what was found of the units from a first to a last one, in order."""


@dataclass(frozen=True)
class Array:
    """An array with a value for each run, or several.

    Attributes:
        block: Number of the block that its runs are in.
        extra: Dimensions besides those of the block, with their lengths.
        place: Where its numbers lie in the row of a run: first, end, step. Empty if they are no part of it.
    """

    name: str
    block: int
    units: str
    meaning: str
    dtype: str = "f8"
    place: tuple[int, ...] = ()
    extra: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """All that there is to a sweep's dataset but the runs.

    Attributes:
        row: Length of the row of a run.
        blocks: Dimensions and lengths of the runs of the design and, if points are checked, of those in full.
    """

    row: int
    attributes: dict[str, Any]
    blocks: list[dict[str, int]]
    arrays: list[Array]
    coordinates: list[Coordinate]

    @property
    def units(self) -> int:
        """Number of runs."""
        return sum(prod(block.values()) for block in self.blocks)

    def first(self, block: int) -> int:
        """Return the number of a block's first unit."""
        return sum(prod(each.values()) for each in self.blocks[:block])

    @property
    def part(self) -> str:
        """The part of the sweep that is run, such as ``3/10``; empty for all."""
        return str(self.attributes.get("part", ""))

    @property
    def own(self) -> int:
        """Number of runs of the part."""
        return sum(len(span) for block in range(len(self.blocks)) for span in self.spans(block))

    def spans(self, block: int) -> list[range]:
        """Return a block's units that are run: all, or those of the part, which the sweep's declaration alone decides.

        Stretches of units are given out in steps of the golden section. So each part has as many as another, but for
        one, from all over the sweep; it has no values more often than others, whatever order the units have.
        """
        units = range(self.first(block), self.first(block + 1))
        part, parts = map(int, (self.part or "1/1").split("/"))
        if parts == 1:
            return [units]
        length = max(1, len(units) // (STRETCHES * parts))
        starts = units[::length]
        step = golden_step(len(starts))
        mine = (n for n in range(len(starts)) if n * step % len(starts) * parts // len(starts) == part - 1)
        return [units[n * length : (n + 1) * length] for n in mine]

    def as_content(self) -> bytes:
        """Return it as JSON, which has each number to the bit, compressed, which adds a checksum."""
        along = [(*c[:2], str(c.values.dtype), c.values.tolist(), *c[3:]) for c in self.coordinates]
        return zlib.compress(json.dumps(asdict(self) | {"coordinates": along}).encode())

    @classmethod
    def from_content(cls, content: bytes) -> Layout:
        """Return the layout that was kept; a zlib.error or TypeError if it is damaged."""
        parts = json.loads(zlib.decompress(content))
        parts["arrays"] = [Array(**{**array, "place": tuple(array["place"])}) for array in parts["arrays"]]
        parts["coordinates"] = [
            Coordinate(name, dim, np.array(values, dtype), units, meaning)
            for name, dim, dtype, values, units, meaning in parts["coordinates"]
        ]
        return cls(**parts)


def layout_of(plan: Plan) -> Layout:
    """Return the layout of a sweep."""
    blocks = [dict(zip(block.dims, block.shape, strict=True)) for block in plan.blocks]
    arrays = [array for number in range(len(blocks)) for array in _arrays(plan, number)]
    arrays.append(Array("seed", 0, "1", f"{plan.job.kind.seed}; -1 before one is run", "i8"))
    coordinates = _coordinates(plan)
    named = {c.name for c in coordinates}  # of which the seeds may be one
    return Layout(
        plan.job.shape.row, plan.attributes(), blocks, [a for a in arrays if a.name not in named], coordinates
    )


def _arrays(plan: Plan, block: int) -> Iterator[Array]:
    """Give the arrays of a block's runs."""
    prefix, full = plan.blocks[block].prefix, ", in full, of replica 0" if block else ""

    def array(name: str, units: str, meaning: str, dtype: str, *place: int, extra: dict[str, int]) -> Array:
        return Array(prefix + name, block, units, meaning + full, dtype, place, extra)

    shape, start = plan.job.shape, 0
    for table in plan.job.tables:
        extra = {table.dimension: len(table.parts)} if table.dimension else {}
        for number, (name, units, meaning) in enumerate(table.statistics, start):
            place = number, start + table.width, len(table.statistics)
            yield array(name, units, meaning, "f8", *place, extra=extra)
        start += table.width
    if shape.peers:
        peers = {f"peer_{name}": (units, meaning) for name, (_, units, meaning) in PER_PEER.items()}
        peers["class_number"] = ("1", "place of the peer's class along peer_class")
        for number, (name, (units, meaning)) in enumerate(peers.items()):
            if plan.job.fidelity == "full" or name != "peer_unchokes":  # which flow does not know
                at = shape.peer(number)
                yield array(name, units, meaning, "f8", at.start, at.stop, 1, extra={"peer": shape.peers})
    if shape.times:
        start, end = shape.held.start, shape.held.stop
        text = "mean number of pieces held by a leecher at time_step times the step's number"
        yield array("pieces_held", "pieces", text, "f8", start, end, 1, extra={"step": shape.times})
        yield array("time_step", "s", "time between two steps of pieces_held", "f8", end, end + 1, 1, extra={})
    for name, (units, meaning, dtype) in PER_RUN.items():
        yield array(name, units, meaning, dtype, extra={})


def _coordinates(plan: Plan) -> list[Coordinate]:
    found = plan.design.coordinates()
    if "sample" in plan.design.dims:
        numbers = np.arange(plan.design.shape[0])
        found.append(Coordinate("sample", "sample", numbers, "1", "number of the sample's point"))
    for table in plan.job.tables:
        if table.dimension:
            names = np.array(table.parts, object)
            found.append(Coordinate(table.dimension, table.dimension, names, "", table.meaning))
    found.append(Coordinate("replica", "replica", np.arange(plan.replicas), "1", "number of the replica"))
    if plan.checked:
        found += _of_check(plan)
    if plan.job.shape.peers:
        found.append(Coordinate("peer", "peer", np.arange(plan.job.shape.peers), "1", "number of the peer"))
    return found


def _of_check(plan: Plan) -> list[Coordinate]:
    """Return the coordinates of the points that are run in full besides: their numbers, seeds and varied values."""
    points = np.array(plan.checked, np.int64)
    index = dict(zip(plan.design.dims, np.unravel_index(points, plan.design.shape), strict=True))
    seeds = np.array([plan.seed_of(point) for point in plan.checked], np.int64)
    about = "number of the point whose replica 0 is run in full, too, in C order"
    return [
        Coordinate(CHECK, CHECK, points, "1", about),
        Coordinate(f"{CHECK}_seed", CHECK, seeds, "1", plan.job.kind.seed),
        *(
            Coordinate(f"{CHECK}_{c.name}", CHECK, c.values[index[c.dimension]], c.units, f"{c.meaning}, of the check")
            for c in plan.design.coordinates()
            if c.name != "seed"
        ),
    ]


def dataset_of(layout: Layout, read: Read, done: int) -> xr.Dataset:
    """Return the dataset of a sweep; its arrays are read when they are used.

    Args:
        layout: What it is.
        read: Gives what was found of runs.
        done: Number of runs that were done or have failed.
    """
    values = {}
    for c in layout.coordinates:
        labels = c.values.astype(TEXT) if c.values.dtype == object else c.values
        values[c.name] = xr.Variable(c.dimension, labels, _described(c.units, c.meaning))
    failures = [f"{FULL * block}failure" for block in range(len(layout.blocks))]
    arrays = {}
    for array in layout.arrays:
        lazy = indexing.LazilyIndexedArray(_Stored(layout, array, read))
        arrays[array.name] = xr.Variable(lazy.array.dims, lazy, _described(array.units, array.meaning))
    attributes = layout.attributes | {"complete": int(done == layout.units)}
    return xr.Dataset(arrays | values, attrs=attributes).set_coords([*values, *failures])


def _described(units: str, meaning: str) -> dict[str, Any]:
    return {"long_name": meaning} | ({"units": units} if units else {})


class _Stored(BackendArray):
    """An array whose values are in the rows of runs; where there is no row it is blank."""

    def __init__(self, layout: Layout, array: Array, read: Read) -> None:
        self._array, self._read, self._first = array, read, layout.first(array.block)
        block = layout.blocks[array.block]
        self._runs = 1  # of each of its values
        if array.name == "seed":
            self._runs, block = block["replica"], {d: n for d, n in block.items() if d != "replica"}
        self._lead = tuple(block.values())
        self.dims = (*block, *array.extra)
        self.shape = (*self._lead, *array.extra.values())
        self.dtype = TEXT if array.dtype == "text" else np.dtype(array.dtype)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._chosen)

    def _chosen(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """Return what indices, slices or arrays of indices choose of each dimension, one after the other."""
        lead = len(self._lead)
        each = [np.unique(np.arange(n)[k], return_inverse=True) for k, n in zip(key, self._lead, strict=False)]
        found = self._dense([index for index, _ in each])
        back = [0 if np.ndim(k) == 0 and not isinstance(k, slice) else i for k, (_, i) in zip(key, each, strict=False)]
        for axis, chosen in reversed(list(enumerate([*back, *key[lead:]]))):
            found = found[(*(slice(None),) * axis, chosen)]
        return found

    def _dense(self, wanted: list[NDArray[np.int64]]) -> NDArray[Any]:
        """Return the values at all combinations of some indices of the block's dimensions, each in order."""
        sizes = [len(index) for index in wanted]
        found = np.full((*sizes, *self._array.extra.values()), FILLS[self._array.dtype], self.dtype)
        if not all(sizes):
            return found
        ends = (np.ravel_multi_index([index[end] for index in wanted], self._lead) for end in (0, -1))
        low, high = (self._first + int(end) * self._runs for end in ends) if wanted else (self._first, self._first)
        for rows in self._read(low, high + self._runs - 1):
            index = np.unravel_index((rows.units - self._first) // self._runs, self._lead)
            at = [np.searchsorted(have, i) for have, i in zip(wanted, index, strict=True)]
            known = [have[np.minimum(a, len(have) - 1)] == i for have, a, i in zip(wanted, at, index, strict=True)]
            inside = np.logical_and.reduce(known) if known else np.ones(len(rows.units), bool)
            found[tuple(a[inside] for a in at)] = self._of(rows)[inside]
        return found

    def _of(self, rows: Rows) -> NDArray[Any]:
        """Return its values of some runs."""
        name, place = self._array.name.removeprefix(FULL), self._array.place
        if place:
            values = rows.values[:, slice(*place)]
            return values if self._array.extra else values[:, 0]
        if name == "failure":
            return np.array(rows.failure, TEXT)
        by_name: dict[str, NDArray[Any]] = {"cpu_s": rows.cpu, "status": rows.status, "seed": rows.seed}
        return by_name[name]


def chunks(shape: tuple[int, ...], run_bytes: int) -> tuple[int, ...]:
    """Return the lengths of a chunk: of consecutive runs in C order, as many as go into one.

    The last dimensions lie whole in a chunk, the one before them in part, those before that one by one.

    Args:
        shape: Lengths of the dimensions.
        run_bytes: Memory of all that is known of a run [B].
    """
    room = max(1, min(CHUNK_RUNS, CHUNK_BYTES // run_bytes))
    found: list[int] = []
    for length in reversed(shape):
        number = -(-length // room)  # of chunks along this dimension, all about as long
        found.insert(0, -(-length // number))
        room = room // length if number == 1 else 1
    return tuple(found)


def write_zarr(layout: Layout, dataset: xr.Dataset, folder: Path) -> None:
    """Write a dataset to a folder as a zarr group, so many runs at a time that its size does not matter.

    ``Dataset.to_zarr`` would take a whole array at a time: of each peer of a million swarms, gigabytes. The group's own
    metadata come last but one: there is a group that can be opened, or none, whenever the process goes away. The
    digests come last: with them the arrays are complete.
    """
    for mark in (SUMS, GROUP):
        (folder / mark).unlink(missing_ok=True)
    run_bytes, arrays = 8 * (layout.row + 4), {array.name: array for array in layout.arrays}
    made: dict[str, zarr.Array[Any]] = {}
    for name, variable in dataset.variables.items():
        array = arrays.get(str(name))
        pieces = tuple(max(1, length) for length in variable.shape)
        if array:  # as many runs as in the others' chunks
            lead = len(pieces) - len(array.extra)
            pieces = (*chunks(tuple(layout.blocks[array.block].values()), run_bytes)[:lead], *pieces[lead:])
        made[str(name)] = zarr.create_array(
            folder / str(name),
            shape=variable.shape,
            chunks=pieces,
            dtype="str" if variable.dtype == TEXT else variable.dtype,
            compressors=ZstdCodec(level=0, checksum=True),
            fill_value=FILLS[array.dtype] if array else "" if variable.dtype == TEXT else 0,
            dimension_names=[str(dim) for dim in variable.dims],
            attributes=variable.attrs,
            overwrite=True,
        )
    for name in dataset.variables.keys() - arrays.keys():
        made[str(name)][...] = dataset[name].values
    for number, block in enumerate(layout.blocks):
        of_block = [a for a in layout.arrays if a.block == number and a.name != "seed"]
        shape = tuple(block.values())
        for region in regions(shape, chunks(shape, run_bytes)):
            for array in of_block:
                made[array.name][region] = dataset[array.name].variable[region].values
            if number == 0 and "seed" in arrays:
                made["seed"][region[:-1]] = dataset["seed"].variable[region[:-1]].values
    # What xarray knows coordinates by; with the texts of failures among them, `where` works on the dataset.
    names = {"coordinates": " ".join(str(name) for name in dataset.coords)}
    _write_group(folder, sorted(made), dataset.attrs | names)
    write_sums(folder, made)


def regions(shape: tuple[int, ...], lengths: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Give what each chunk has of each dimension, in the order of the runs."""
    starts = (range(0, length, step) for length, step in zip(shape, lengths, strict=True))
    for corner in product(*starts):
        yield tuple(slice(at, min(at + step, n)) for at, step, n in zip(corner, lengths, shape, strict=True))


def _write_group(folder: Path, names: Iterable[str], attributes: Mapping[Any, Any]) -> None:
    """Write the metadata of a group, with those of its arrays, without which opening is slow.

    As ``zarr.consolidate_metadata`` does, which warns that this is no part of the third format yet; and a warning
    cannot be ignored here alone while other threads, as of a what-if in a notebook, ignore theirs.
    """
    metadata = {name: json.loads((folder / name / GROUP).read_bytes()) for name in names}
    inline = {"kind": "inline", "must_understand": False, "metadata": metadata}
    whole = {"attributes": attributes, "zarr_format": 3, "node_type": "group", "consolidated_metadata": inline}
    (folder / GROUP).write_text(json.dumps(whole, indent=2), encoding="utf-8")


def write_sums(folder: Path, names: Iterable[object]) -> None:
    """Write the SHA-256 of each file of a zarr group, whose arrays have some names, beside them."""
    files = sorted(file for name in names for file in (folder / str(name)).rglob("*") if file.is_file())
    lines = [f"{_digest(file)}  {file.relative_to(folder).as_posix()}\n" for file in [*files, folder / GROUP]]
    (folder / SUMS).write_text("".join(lines), "utf-8")


def bad_file(folder: Path) -> Path | None:
    """Return the first file of a store's arrays that is missing or was changed, the list of their digests included."""
    try:
        lines = (folder / SUMS).read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    if not lines or not lines[-1].endswith(f"  {GROUP}"):
        return folder / SUMS
    found = (line.partition("  ") for line in lines)
    return next((folder / name for sha256, _, name in found if _digest(folder / name) != sha256), None)


def _digest(file: Path) -> str | None:
    """Return the SHA-256 of a file; None if there is none."""
    if not os.path.isfile(file):
        return None
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
