"""Reads a sweep's Dataset: which names were varied, along which dimensions, and which swarms have a result."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis.varied import Varied
from btflow.errors import InputError
from btflow.parameters import unknown
from btflow.units import BytePrefix

Floats = NDArray[np.float64]

SAMPLE = "sample"
REPLICA = "replica"
DONE, FAILED = 1, 2


def checked(sweep: object, field: str = "ds") -> xr.Dataset:
    """Return a sweep; InputError if it is something else."""
    if not isinstance(sweep, xr.Dataset) or "status" not in sweep or REPLICA not in sweep["status"].dims:
        raise InputError(
            field, None if isinstance(sweep, xr.Dataset) else sweep, "is not a sweep", "what btflow.sweep returns"
        )
    return sweep


def point_dims(sweep: xr.Dataset) -> tuple[str, ...]:
    """Return the dimensions over which the points of a sweep lie."""
    return tuple(str(dim) for dim in sweep["status"].dims if dim != REPLICA)


def is_sample(sweep: xr.Dataset) -> bool:
    """Return whether the points are samples of a design instead of a grid."""
    return SAMPLE in sweep["status"].dims


def common_numbers(sweep: xr.Dataset) -> bool:
    """Return whether a replica has the same random numbers at every point."""
    return bool(sweep.attrs.get("common_random_numbers", False))


def independent(sweep: xr.Dataset) -> NDArray[np.bool_]:
    """Return which samples are draws of their own (samples,): of a Saltelli design the rest mixes those of A and B.

    They are told by their numbers, so that it holds for a part of the design, in any order.
    """
    kind, _, size = str(sweep.attrs.get("design", "")).partition(":")
    if kind != "saltelli" or not size.isdecimal():
        return np.ones(sweep.sizes[SAMPLE], bool)
    return np.asarray(sweep[SAMPLE].values < 2 * int(size))


def varied(sweep: xr.Dataset) -> dict[str, Varied]:
    """Return the varied names by name, in the order of the sweep; those fixed by ``sel`` are left out."""
    dims = point_dims(sweep)
    along = [str(name) for name, c in sweep.coords.items() if len(c.dims) == 1 and c.dims[0] in dims and name != SAMPLE]
    keys = json.loads(sweep.attrs["varied"]) if "varied" in sweep.attrs else along
    declared = [name for key in keys for name in dict.fromkeys((key, *str(key).split("+")))]  # a+b: a and b together
    names = [name for name in declared if name in along and "+" not in name]  # the order of coordinates is by chance
    return {name: _varied(sweep, name) for name in names}


def _varied(sweep: xr.Dataset, name: str) -> Varied:
    coordinate = sweep[name]
    values = np.asarray(coordinate.values)
    if values.dtype.kind not in "biuf":  # a store gives texts in a dtype of their own
        values = np.array([str(value) for value in values.tolist()])
    prefix: BytePrefix = "binary" if sweep.attrs.get("byte_prefix") == "binary" else "decimal"
    return Varied(name, str(coordinate.dims[0]), values, dict(coordinate.attrs), prefix)


def find(sweep: xr.Dataset, name: str, field: str) -> Varied:
    """Return one varied name.

    Raises:
        InputError: It was not varied; with those that were.
    """
    known = varied(sweep)
    if name not in known:
        raise unknown(str(name), known, "varied parameter of the sweep", field)
    return known[name]


def statistic(sweep: object, variable: str) -> xr.DataArray:
    """Return a statistic (points..., replica) as float, NaN for every swarm without a result.

    Raises:
        InputError: `sweep` is not one, the statistic is unknown or has other dimensions, or no swarm has a value.
    """
    ds = checked(sweep)
    dims = ds["status"].dims
    known = [str(name) for name, v in ds.data_vars.items() if set(dims) <= set(v.dims) and v.dtype.kind in "iufb"]
    known = [name for name in known if name not in ("status", "seed")]
    if variable not in known:
        raise unknown(str(variable), known, "statistic of the sweep", "variable")
    found = ds[variable]
    rest = [str(dim) for dim in found.dims if dim not in dims]
    if rest:
        first = ", ".join(str(value) for value in found[rest[0]].values[:5])
        raise InputError(
            "variable",
            variable,
            f"has a value for each {rest[0]}",
            f"choose one first: ds.sel({rest[0]}=...) of {first}",
        )
    found = found.astype(float).where(ds["status"] == DONE).transpose(*dims)
    if not np.isfinite(found.values).any():
        raise InputError("variable", variable, f"has no value: {lost_text(ds)}")
    return found.where(np.isfinite(found))


def lost_text(sweep: xr.Dataset) -> str:
    """Return how many swarms failed and how many were not run, as text."""
    status = sweep["status"].values
    failed = int((status == FAILED).sum())
    pending = int(((status != DONE) & (status != FAILED)).sum())
    return f"of {status.size} swarms {failed} failed and {pending} were not run"
