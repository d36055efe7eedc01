"""The arrays of a sweep's store: names, dimensions, units, and what part of what was found goes where."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import ZstdCodec

from btflow.swarm.replica import PER_PEER
from btflow.sweeps.cells import Division
from btflow.sweeps.check import DIM, FULL
from btflow.sweeps.design import Coordinate
from btflow.sweeps.figures import Table
from btflow.sweeps.parts import Part
from btflow.sweeps.plan import Plan

PER_SWARM = {
    "status": ("i1", 0, "1", "0 not run yet, 1 done, 2 failed"),
    "failure": ("str", "", "", "why the swarm failed, empty if it did not"),
    "cpu_s": ("f8", np.nan, "s", "CPU time"),
}
"""Dtype, value before the swarm is run, unit and meaning."""


@dataclass(frozen=True)
class Array:
    """An array with a value for each swarm, or several."""

    name: str
    units: str
    meaning: str
    values: Callable[[Part], Any]
    """Its values in a part (units, ...)."""
    dtype: str = "f8"
    fill: Any = np.nan
    extra: tuple[str, ...] = ()
    """Dimensions besides those of the sweep and the replicas."""


def arrays(plan: Plan) -> list[Array]:
    """Return the arrays of a sweep, the status last: what it says is written by then."""
    found, shape, start = [], plan.job.shape, 0
    for table in plan.job.tables:
        found += _of_table(table, start)
        start += table.width
    if shape.peers:
        meanings = {f"peer_{name}": (units, meaning) for name, (_, units, meaning) in PER_PEER.items()}
        meanings["class_number"] = ("1", "place of the peer's class along peer_class")
        for i, (name, (units, meaning)) in enumerate(meanings.items()):
            if plan.job.fidelity == "full" or name != "peer_unchokes":  # which flow does not know
                found.append(Array(name, units, meaning, _peers(i), extra=("peer",)))
    if shape.times:
        text = "mean number of pieces held by a leecher at time_step times the step's number"
        found.append(Array("pieces_held", "pieces", text, lambda part: part.held, extra=("step",)))
        found.append(Array("time_step", "s", "time between two steps of pieces_held", lambda part: part.step))
    sources: dict[str, Callable[[Part], Any]] = {
        "cpu_s": lambda part: part.cpu,
        "failure": lambda part: np.array(part.reasons, object),
        "status": lambda part: part.status,
    }
    return found + [Array(n, PER_SWARM[n][2], PER_SWARM[n][3], of, *PER_SWARM[n][:2]) for n, of in sources.items()]


def _of_table(table: Table, start: int) -> list[Array]:
    """Return the arrays of a table whose figures begin at some place among all of a run."""
    end, step = start + table.width, len(table.statistics)
    if not table.dimension:
        return [Array(s.name, s.units, s.meaning, _column(start + i)) for i, s in enumerate(table.statistics)]
    return [
        Array(s.name, s.units, s.meaning, _columns(start + i, end, step), extra=(table.dimension,))
        for i, s in enumerate(table.statistics)
    ]


def _column(i: int) -> Callable[[Part], Any]:
    return lambda part: part.values[:, i]


def _columns(start: int, end: int, step: int) -> Callable[[Part], Any]:
    return lambda part: part.values[:, start:end:step]


def _peers(i: int) -> Callable[[Part], Any]:
    return lambda part: part.peers[:, i]


def lengths(plan: Plan) -> dict[str, int]:
    """Return the length of each dimension."""
    extra = {table.dimension: len(table.parts) for table in plan.job.tables if table.dimension}
    extra |= {"peer": plan.job.shape.peers, "step": plan.job.shape.times}
    return {dim: length for block in plan.blocks for dim, length in zip(block.dims, block.shape, strict=True)} | extra


CHECKED: Any = ZstdCodec(level=0, checksum=True)
"""How chunks are stored: with a checksum, so that a change is found."""

ALL: Any = {"write_empty_chunks": True}
"""Every chunk that is written has a file, so that a missing one is found."""


def create(plan: Plan, division: Division, folder: Path) -> None:
    """Write the store of a sweep, complete but for the swarms, to an empty folder."""
    # As xarray knows them by; with the texts of failures among them, `where` works on the dataset.
    failures = (f"{block.prefix}failure" for block in plan.blocks)
    names = " ".join([*(coordinate.name for coordinate in coordinates(plan)), *failures])
    attributes = plan.attributes() | {"complete": 0, "coordinates": names}
    group = zarr.create_group(folder, attributes=attributes)
    size = lengths(plan)
    for block, cells in zip(division.blocks, division.cells, strict=True):
        meant = ", in full, of replica 0" if block.prefix == FULL else ""
        for array in arrays(plan):
            group.create_array(
                block.prefix + array.name,
                shape=(*block.shape, *(size[d] for d in array.extra)),
                chunks=(*cells.chunk, *(size[d] for d in array.extra)),
                dtype=array.dtype,
                compressors=CHECKED,
                fill_value=array.fill,
                dimension_names=(*block.dims, *array.extra),
                attributes=_described(array.units, array.meaning + meant),
            )
    group.create_array(
        "seed",
        shape=plan.shape[:-1],
        chunks=division.cells[0].chunk[:-1],
        dtype="i8",
        compressors=CHECKED,
        fill_value=-1,
        dimension_names=plan.design.dims,
        attributes=_described("1", f"{plan.job.kind.seed}; -1 before one is run"),
    )
    for coordinate in coordinates(plan):
        _write(group, coordinate)
    _consolidate(folder)


def _consolidate(folder: Path) -> None:
    """Write the metadata of all arrays into the store's own, without which opening is slow.

    As ``zarr.consolidate_metadata`` does, which warns that this is no part of the third format yet, and of the lock;
    and a warning cannot be ignored here alone while other threads, as of a what-if in a notebook, ignore theirs.
    """
    root, arrays = folder / "zarr.json", sorted(folder.glob("*/zarr.json"))
    found = {"kind": "inline", "must_understand": False}
    metadata = {array.parent.name: json.loads(array.read_bytes()) for array in arrays}
    whole = json.loads(root.read_bytes()) | {"consolidated_metadata": found | {"metadata": metadata}}
    root.write_text(json.dumps(whole, indent=2), encoding="utf-8")


def opened(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """Return an array to write to."""
    found = group[name]
    assert isinstance(found, zarr.Array)
    return found.with_config(ALL)


def coordinates(plan: Plan) -> list[Coordinate]:
    """Return every coordinate of the dataset."""
    size = lengths(plan)
    found = plan.design.coordinates()
    if "sample" in plan.design.dims:
        found.append(Coordinate("sample", "sample", np.arange(size["sample"]), "1", "number of the sample's point"))
    for table in plan.job.tables:
        if table.dimension:
            names = np.array(table.parts, object)
            found.append(Coordinate(table.dimension, table.dimension, names, "", table.meaning))
    found.append(Coordinate("replica", "replica", np.arange(plan.replicas), "1", "number of the replica"))
    if plan.checked:
        found += _of_check(plan)
    if size["peer"]:
        found.append(Coordinate("peer", "peer", np.arange(size["peer"]), "1", "number of the peer"))
    return found


def _of_check(plan: Plan) -> list[Coordinate]:
    """Return the coordinates of the points that are run in full besides: their numbers, seeds and varied values."""
    points = np.array(plan.checked, np.int64)
    index = dict(zip(plan.design.dims, np.unravel_index(points, plan.design.shape), strict=True))
    seeds = np.array([plan.seed_of(point) for point in plan.checked], np.int64)
    return [
        Coordinate(DIM, DIM, points, "1", "number of the point whose replica 0 is run in full, too, in C order"),
        Coordinate(f"{DIM}_seed", DIM, seeds, "1", plan.job.kind.seed),
        *(
            Coordinate(f"{DIM}_{c.name}", DIM, c.values[index[c.dimension]], c.units, f"{c.meaning}, of the check")
            for c in plan.design.coordinates()
        ),
    ]


def rewrite(group: zarr.Group, plan: Plan, name: str) -> None:
    """Write a coordinate anew."""
    for coordinate in coordinates(plan):
        if coordinate.name == name:
            opened(group, name)[...] = coordinate.values


def _write(group: zarr.Group, coordinate: Coordinate) -> None:
    text = coordinate.values.dtype == object
    group.create_array(
        coordinate.name,
        shape=coordinate.values.shape,
        chunks=(max(1, len(coordinate.values)),),
        dtype="str" if text else coordinate.values.dtype,
        compressors=CHECKED,
        fill_value="" if text else 0,
        dimension_names=(coordinate.dimension,),
        attributes=_described(coordinate.units, coordinate.meaning),
    )
    opened(group, coordinate.name)[...] = coordinate.values


def _described(units: str, meaning: str) -> dict[str, Any]:
    return {"long_name": meaning} | ({"units": units} if units else {})
