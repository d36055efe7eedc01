"""Reads a sweep's Dataset: which names were varied, along which dimensions, and which swarms have a result."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis.varied import Varied
from btflow.errors import InputError, unknown
from btflow.sweeps.results import DONE, FAILED, PENDING
from btflow.units import BytePrefix

Floats = NDArray[np.float64]

SAMPLE = "sample"
REPLICA = "replica"
_OWN = (SAMPLE, REPLICA, "status", "failure", "seed")
"""What may be a coordinate and was not varied."""
_SWEEP = "what btflow.sweep returns, or a part of it"


def a_sweep(sweep: object, field: str = "ds") -> xr.Dataset:
    """Return a sweep, or what was selected of one; InputError if it is something else."""
    if not isinstance(sweep, xr.Dataset):
        raise InputError(field, sweep, "is not a sweep", _SWEEP)
    if "status" not in sweep or REPLICA not in sweep.coords.keys() | set(sweep["status"].dims):
        what = "is not a sweep but the result of one scenario" if "completion_time" in sweep else "is not a sweep"
        raise InputError(field, None, f"{what}: it has no status of each replica", _SWEEP)
    _declaration(sweep, field)
    return sweep


def checked(sweep: object, field: str = "ds") -> xr.Dataset:
    """Return a sweep with a status for each swarm, and the replicas as a dimension even if one of them was selected.

    Raises:
        InputError: It is something else, or has no swarm at all.
    """
    ds = a_sweep(sweep, field)
    if REPLICA not in ds["status"].dims:
        ds = ds.expand_dims(REPLICA)
    if ds["status"].size == 0:
        raise InputError(field, None, "has no swarm: one of its dimensions is empty", _SWEEP)
    return ds.assign(status=(ds["status"].dims, swarm_status(ds["status"].values)))


def swarm_status(found: NDArray[Any]) -> NDArray[np.int8]:
    """Return status numbers; a swarm that xarray added with NaN (``concat``, ``where``) was not run."""
    return np.where(np.isfinite(found), found, PENDING).astype(np.int8)


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


def declared(sweep: xr.Dataset) -> list[str]:
    """Return the names that the sweep was declared over, in its order; also those of which one value was selected."""
    dims = point_dims(sweep)
    along = [str(name) for name, c in sweep.coords.items() if len(c.dims) == 1 and c.dims[0] in dims]
    keys = _declaration(sweep) or along
    names = dict.fromkeys(name for key in keys for name in (key, *key.split("+")))  # a+b: a and b together
    return [name for name in names if name in sweep.coords and name not in _OWN and "+" not in name]


def _declaration(sweep: xr.Dataset, field: str = "ds") -> list[str]:
    """Return the names that attrs say the sweep was declared over; InputError if they say no such thing."""
    try:
        return list(map(str, dict(json.loads(sweep.attrs.get("varied", "{}")))))
    except (TypeError, ValueError):
        reason = "is not what a sweep was varied over"
        raise InputError(f"{field}.attrs['varied']", sweep.attrs["varied"], reason, _SWEEP) from None


def varied(sweep: xr.Dataset) -> dict[str, Varied]:
    """Return the varied names by name, in the order of the sweep; those fixed by ``sel`` are left out."""
    dims = set(point_dims(sweep))
    names = [name for name in declared(sweep) if len(sweep[name].dims) == 1 and dims.issuperset(sweep[name].dims)]
    return {name: _varied(sweep, name) for name in names}


def factors(sweep: xr.Dataset) -> dict[str, list[str]]:
    """Return the varied names by what they were varied in: those that vary together are one factor, ``rtt+loss``."""
    found: dict[str, list[str]] = {}
    for name in varied(sweep):
        factor = next((key for key in _declaration(sweep) if name in key.split("+")), name)
        found.setdefault(factor, []).append(name)
    return found


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
    return known[_one_of(name, known, "varied parameter of the sweep", field)]


def _one_of(name: object, known: Iterable[str], what: str, field: str) -> str:
    """Return a name that is known; InputError for another one, or for what is no name."""
    if not isinstance(name, str):
        raise InputError(field, name, f"is not the name of a {what}", ", ".join(known))
    if name not in known:
        raise unknown(name, known, what, field)
    return name


def statistic(sweep: object, variable: str) -> xr.DataArray:
    """Return a statistic (points..., replica) as float, NaN for every swarm without a result.

    Its dimensions are in the order in which they were declared, whatever their order in the sweep.

    Raises:
        InputError: `sweep` is not one, the statistic is unknown or has other dimensions, or no swarm has a value.
    """
    ds = checked(sweep)
    declared_first = [*(parameter.dim for parameter in varied(ds).values()), *point_dims(ds)]
    dims = (*dict.fromkeys(declared_first), REPLICA)
    known = [str(name) for name, v in ds.data_vars.items() if set(dims) <= set(v.dims) and v.dtype.kind in "iufb"]
    known = [name for name in known if name not in _OWN]
    found = ds[_one_of(variable, known, "statistic of the sweep", "variable")]
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
    found = found.where(np.isfinite(found))
    if found.isnull().all():
        raise InputError("variable", variable, f"has no value: {counts(ds, found).text()}")
    return found


def counts(sweep: xr.Dataset, values: xr.DataArray) -> Counts:
    """Return how many swarms of a sweep have no value of a statistic, as ``statistic`` returned it."""
    status = swarm_status(sweep["status"].values)
    done, failed = (int((status == code).sum()) for code in (DONE, FAILED))
    return Counts(status.size, failed, status.size - done - failed, done - int(values.notnull().sum()), runs(sweep))


def runs(found: xr.Dataset) -> str:
    """Return what a sweep, or what was found of it, is of: ``swarms`` unless its attrs say something else."""
    return str(found.attrs.get("runs", "swarms"))


def source(sweep: xr.Dataset, variable: str) -> dict[str, Any]:
    """Return where a result is from, as attrs: the sweep, the statistic, and its swarms with and without a value."""
    names = ("model", "scenario_hash", "version", "byte_prefix", "runs")
    kept = {name: sweep.attrs[name] for name in names if name in sweep.attrs}
    numbers = counts(sweep, statistic(sweep, variable))._asdict()
    del numbers["noun"]
    return kept | {"variable": variable} | numbers


class Counts(NamedTuple):
    """How many swarms there are, and how many of them have no value of a statistic, by reason."""

    swarms: int
    failed: int
    not_run: int
    no_value: int
    """Done, but the statistic has no value, such as a delay of messages of which none was sent."""
    noun: str = "swarms"
    """What they are."""

    def lost(self) -> list[str]:
        """Return a text for each reason that some have no value for."""
        texts = {f"{self.failed:,} failed": self.failed, f"{self.not_run:,} not run": self.not_run}
        return [
            text for text, number in (texts | {f"{self.no_value:,} without a value": self.no_value}).items() if number
        ]

    def text(self) -> str:
        """Return them as text."""
        return f"of {self.swarms:,} {self.noun} " + (", ".join(self.lost()) or "all have a value")
