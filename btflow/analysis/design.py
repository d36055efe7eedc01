"""Reads a sweep's Dataset: its varied names, their values in SI units and as texts, and which swarms have a result."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.errors import InputError, UnitError, unknown
from btflow.sweeps.results import CORRELATED, DONE, FAILED, OWN_SEEDS, PENDING
from btflow.units import BytePrefix, Kind, parse_quantity

_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class Scale(NamedTuple):
    """What SI values are divided by, and the unit they then are in."""

    divisor: float
    unit: str


def scale_of(values: Iterable[float], units: str, *, share: bool = False, binary: bool = False) -> Scale:
    """Return the largest unit in which no value but zero is below one, or that keeps the greatest below 10,000.

    Args:
        values: In SI units; what is not finite does not count.
        units: Their SI unit, empty or "1" for none; "bit/s" for B/s that are shown in bits.
        share: Whether values without a unit are shares, to be shown in percent.
        binary: Whether 1 kB is 1024 B, as the client of the model has it.
    """
    known = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if units in ("", "1"):
        return Scale(0.01, "%") if share else Scale(1.0, "")
    if units == "bit/s":
        scales = {prefix + units: 1000.0**power / 8 for power, prefix in enumerate(("", "k", "M", "G"))}
    elif units in ("B", "B/s"):
        step = 1024 if binary else 1000
        scales = {prefix + units: float(step**power) for power, prefix in enumerate(("", "k", "M", "G"))}
    else:
        scales = _TIMES if units == "s" else {units: 1.0}
    if not known:
        return Scale(scales.get(units, 1.0), units)
    *_, best = [(unit, d) for unit, d in scales.items() if d <= min(known) * (1 + 1e-9)] or list(scales.items())[:1]
    for unit, divisor in scales.items():  # from the least up
        if best[1] < divisor <= max(known) and max(known) / best[1] >= 10_000:
            best = unit, divisor
    return Scale(best[1], best[0])


def value_text(value: Any, units: str = "", *, share: bool = False, binary: bool = False) -> str:
    """Return one value in three digits with a handy unit: ``400 ms``, ``20 kB/s``, ``cubic``."""
    if isinstance(value, bool | np.bool_):
        return "on" if value else "off"
    if not isinstance(value, int | float | np.number):
        return str(value)
    if not math.isfinite(value):
        return "unlimited" if math.isinf(value) else "none"
    divisor, unit = scale_of([float(value)], units, share=share, binary=binary)
    number = rounded(float(value) / divisor)
    return f"{number}%" if unit == "%" else f"{number} {unit}".rstrip()


def range_text(low: float, high: float, units: str = "", *, share: bool = False, binary: bool = False) -> str:
    """Return the ends of a bin in three digits with one unit: ``10 to 20 kB/s``."""
    divisor, unit = scale_of([low, high], units, share=share, binary=binary)
    text = f"{rounded(low / divisor)} to {rounded(high / divisor)}"
    return f"{text}%" if unit == "%" else f"{text} {unit}".rstrip()


def rounded(number: float) -> str:
    """Return a number in three digits, whole numbers below a million in full, without an exponent if it is short."""
    if float(number).is_integer() and abs(number) < 1e6:
        return str(int(number))
    text = f"{number:.3g}"
    return f"{float(text):.0f}" if "e+" in text and abs(number) < 1e6 else text


def short_names(names: Iterable[str], others: Iterable[str] = ()) -> dict[str, str]:
    """Return names without the first part of dotted field paths: ``seed.upload_limit``, which says whose limit it is.

    It stays where two names would be alike, or a name one of the `others`, such as a parameter of the model.
    """
    found = list(names)
    short = {name: name.partition(".")[2] or name for name in found}
    taken = [*short.values(), *{*found, *others}]
    return {name: name if name != tail and taken.count(tail) > 1 else tail for name, tail in short.items()}


def parameters(sweep: xr.Dataset) -> list[str]:
    """Return the names of the parameters of a sweep's model."""
    return list(json.loads(sweep.attrs.get("parameters", "{}")))


def title(name: str, attrs: Mapping[str, Any], unit: str, longest: int = 70) -> str:
    """Return the title of an axis with its unit: the long name, its first clause if that is too long, or the name."""
    meaning = str(attrs.get("long_name", "")) or name
    first = meaning.split(";")[0]
    texts = (first, first.split(",")[0], name.replace("_", " "))
    text = next((text for text in texts if len(text) <= longest), texts[-1])
    return f"{text} [{unit}]" if unit else text


_KINDS: dict[str, Kind] = {"s": "time", "B/s": "rate", "B": "size", "packets": "packets"}


@dataclass(frozen=True)
class Varied:
    """One varied name: its values along one dimension of the sweep, SI units, or texts or flags."""

    name: str
    dim: str
    values: NDArray[Any]
    attrs: dict[str, Any]
    byte_prefix: BytePrefix = "decimal"
    bits: bool = False
    """Whether rates are shown in bit/s, as those of links are."""

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
        return value_text(value, self.shown_in, share=self.share, binary=self.byte_prefix == "binary")

    def range_text(self, low: float, high: float) -> str:
        """Return the ends of a bin with a handy unit."""
        return range_text(low, high, self.shown_in, share=self.share, binary=self.byte_prefix == "binary")

    @property
    def shown_in(self) -> str:
        """The unit that it is shown in, but for its multiples."""
        return "bit/s" if self.bits and self.units == "B/s" else self.units

    @property
    def units(self) -> str:
        """SI unit, empty where there is none."""
        units = str(self.attrs.get("units", ""))
        return "" if units == "1" else units


def position(given: Sequence[tuple[Varied, object, str]]) -> int:
    """Return where along their dimension names that vary together have some values, in SI units or as texts.

    Args:
        given: Each name, its value and what errors call that.

    Raises:
        InputError: They have them nowhere or more than once.
    """
    found = np.ones(len(given[0][0].values), bool)
    for parameter, value, field in given:
        here = matches(parameter, value, field)
        if not here.any():
            raise InputError(field, value, f"is not a value of {parameter.name}", shown(parameter.values, parameter))
        found &= here
    if found.sum() != 1:
        allowed = "values that go together at one point"
        raise InputError(field, value, f"is the value of {parameter.name} at {found.sum()} points", allowed)
    return int(np.flatnonzero(found)[0])


def matches(parameter: Varied, value: object, field: str) -> NDArray[np.bool_]:
    """Return which values of a varied name are `value`, numbers up to rounding."""
    if not parameter.numeric:
        wanted = {str(value).lower(), _room(value, parameter)}
        texts = ({str(known).lower(), parameter.text(known), _room(known, parameter)} for known in parameter.values)
        return np.asarray([bool(wanted & text - {None}) for text in texts])
    number = si_number(parameter, value, field)
    return np.asarray(np.isclose(parameter.values.astype(float), number, rtol=1e-9, atol=0.0))


def _room(text: object, parameter: Varied) -> object:
    """Return the buffer that a text stands for, which has several spellings; None if it is none."""
    try:
        return parse_quantity(str(text), "buffer", byte_prefix=parameter.byte_prefix)
    except UnitError:
        return None


def si_number(parameter: Varied, value: object, field: str) -> float:
    """Return a number given in SI units or as text with a unit; InputError if it is none."""
    if isinstance(value, str):
        try:
            kind = "count" if parameter.values.dtype.kind in "iu" else _KINDS.get(parameter.units, "fraction")
            value = parse_quantity(value, kind, field=field, byte_prefix=parameter.byte_prefix, unlimited=True)
        except UnitError as error:
            raise InputError(field, value, error.reason, shown(parameter.values, parameter)) from None
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputError(field, value, "is not a number", shown(parameter.values, parameter))
    return float(value)


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
    if shared := shared_seeds(ds):
        allowed = f"{OWN_SEEDS}; of those that are paired on purpose, ds.drop_vars('seed')"
        raise InputError(field, None, f"has {shared} points with the seed of another point: {CORRELATED}", allowed)
    return ds.assign(status=(ds["status"].dims, swarm_status(ds["status"].values)))


def shared_seeds(ds: xr.Dataset) -> int:
    """Return how many points have the seed of a point of other values, as two sweeps of one seed that were joined.

    Where that is by design, or seeds are among what is varied, it is none.
    """
    if "seed" not in ds.data_vars or not ds["seed"].ndim or ds.attrs.get("common_random_numbers") != 0:
        return 0
    seeds = ds["seed"].drop_vars([SAMPLE, REPLICA], errors="ignore")
    points = seeds.to_dataframe().reset_index()[[*map(str, seeds.coords), "seed"]].drop_duplicates()
    return int(points["seed"][points["seed"] >= 0].duplicated(keep=False).sum())


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
    return {name: labelled(sweep, name) for name in names}


def factors(sweep: xr.Dataset) -> dict[str, list[str]]:
    """Return the varied names by what they were varied in: those that vary together are one factor, ``rtt+loss``."""
    found: dict[str, list[str]] = {}
    for name in varied(sweep):
        factor = next((key for key in _declaration(sweep) if name in key.split("+")), name)
        found.setdefault(factor, []).append(name)
    return found


def labelled(sweep: xr.Dataset, name: str) -> Varied:
    """Return a coordinate of one dimension, or of one value, with what its values are."""
    coordinate = sweep[name]
    values = np.atleast_1d(coordinate.values)
    if values.dtype.kind not in "biuf":  # a store gives texts in a dtype of their own
        values = np.array([str(value) for value in values.tolist()])
    prefix: BytePrefix = "binary" if sweep.attrs.get("byte_prefix") == "binary" else "decimal"
    return Varied(name, str((*coordinate.dims, "")[0]), values, dict(coordinate.attrs), prefix, of_links(sweep))


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


def of_links(found: xr.Dataset) -> bool:
    """Return whether a sweep is one of link experiments."""
    return runs(found) != "swarms"


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
        reasons = ((self.failed, "failed"), (self.not_run, "not run"), (self.no_value, "without a value"))
        return [f"{number:,} {reason}" for number, reason in reasons if number]

    def text(self) -> str:
        """Return them as text."""
        return f"of {self.swarms:,} {self.noun} " + (", ".join(self.lost()) or "all have a value")
