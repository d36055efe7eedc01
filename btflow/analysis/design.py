"""Reads a sweep's Dataset: which names were varied, along which dimensions, and which swarms have a result."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis.labels import range_text, value_text
from btflow.errors import InputError, UnitError
from btflow.parameters import unknown
from btflow.units import BytePrefix, Kind, parse_quantity

Floats = NDArray[np.float64]

SAMPLE = "sample"
REPLICA = "replica"
DONE, FAILED = 1, 2

_KINDS: dict[str, Kind] = {"s": "time", "B/s": "rate", "B": "size", "packets": "packets"}


@dataclass(frozen=True)
class Varied:
    """One varied name: its values along one dimension of the sweep, SI units, or texts or flags."""

    name: str
    dim: str
    values: NDArray[Any]
    attrs: dict[str, Any]
    byte_prefix: BytePrefix = "decimal"

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, which have an order."""
        return self.values.dtype.kind in "iuf"

    @property
    def share(self) -> bool:
        """Whether it is a fraction, such as a loss: numbers without a unit from 0 to 1 that are not counts."""
        if self.units or self.values.dtype.kind != "f" or not self.values.size:
            return False
        return bool(np.nanmin(self.values) >= 0 and np.nanmax(self.values) <= 1)

    def text(self, value: Any) -> str:
        """Return one of its values with a handy unit."""
        return value_text(value, self.units, share=self.share, binary=self.byte_prefix == "binary")

    def range_text(self, low: float, high: float) -> str:
        """Return the ends of a bin with a handy unit."""
        return range_text(low, high, self.units, share=self.share, binary=self.byte_prefix == "binary")

    @property
    def units(self) -> str:
        """SI unit, empty where there is none."""
        units = str(self.attrs.get("units", ""))
        return "" if units == "1" else units


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
    """Return which samples are draws of their own (samples,): of a Saltelli design the rest mixes those of A and B."""
    size = sweep.sizes[SAMPLE]
    n, rest = divmod(size, len(varied(sweep)) + 2)
    saltelli = str(sweep.attrs.get("design", "")).startswith("saltelli") and not rest
    return np.arange(size) < (2 * n if saltelli else size)


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


def position(parameter: Varied, value: object, field: str) -> int:
    """Return where along its dimension a varied name has a value, given in SI units or as text with a unit.

    Raises:
        InputError: It has it nowhere or more than once.
    """
    found = np.flatnonzero(matches(parameter, value, field))
    if found.size == 1:
        return int(found[0])
    if found.size == 0:
        raise InputError(field, value, f"is not a value of {parameter.name}", shown(parameter.values, parameter))
    raise InputError(
        field, value, f"is the value of {parameter.name} at {found.size} points", "a value that it has once"
    )


def matches(parameter: Varied, value: object, field: str) -> NDArray[np.bool_]:
    """Return which values of a varied name are `value`, numbers up to rounding."""
    if not parameter.numeric:
        return np.asarray([str(known).lower() == str(value).lower() for known in parameter.values])
    if isinstance(value, str):
        try:
            kind = _KINDS.get(parameter.units, "fraction")
            value = parse_quantity(value, kind, field=field, byte_prefix=parameter.byte_prefix)
        except UnitError as error:
            raise InputError(field, value, error.reason, shown(parameter.values, parameter)) from None
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputError(field, value, "is not a number", shown(parameter.values, parameter))
    return np.asarray(np.isclose(parameter.values.astype(float), float(value), rtol=1e-9, atol=0.0))


def shown(values: Iterable[Any], parameter: Varied, most: int = 8) -> str:
    """Return distinct values as text with their unit, the first few of them."""
    found = list(dict.fromkeys(np.asarray(values).tolist()))
    return ", ".join(parameter.text(value) for value in found[:most]) + (", ..." if len(found) > most else "")


def log_spaced(values: NDArray[Any]) -> bool:
    """Return whether numbers are positive and nearer to even steps of their logarithm than to even steps."""
    if values.dtype.kind not in "iuf":
        return False
    found = np.unique(values[np.isfinite(values)].astype(float))
    if found.size < 3 or found[0] <= 0 or found[-1] / found[0] < 8:
        return False
    ranks = np.arange(found.size)
    return bool(_straight(ranks, np.log(found)) > _straight(ranks, found))


def _straight(x: NDArray[Any], y: NDArray[Any]) -> float:
    return float(np.corrcoef(x, y)[0, 1])
