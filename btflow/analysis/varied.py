"""One varied name of a sweep: its values in SI units, how they are found by value, and short texts for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError, UnitError
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
        units: Their SI unit, empty or "1" for none.
        share: Whether values without a unit are shares, to be shown in percent.
        binary: Whether 1 kB is 1024 B, as the client of the model has it.
    """
    known = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if units in ("", "1"):
        return Scale(0.01, "%") if share else Scale(1.0, "")
    if units in ("B", "B/s"):
        step = 1024 if binary else 1000
        scales = {prefix + units: float(step**power) for power, prefix in enumerate(("", "k", "M", "G"))}
    else:
        scales = _TIMES if units == "s" else {units: 1.0}
    if not known:
        return Scale(1.0, units)
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


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return names without the leading parts of dotted field paths that they can do without."""
    found = list(names)
    return {name: _shortest(name, found) for name in found}


def _shortest(name: str, among: list[str]) -> str:
    parts = name.split(".")
    for count in range(1, len(parts)):
        tail = parts[-count:]
        if sum(other.split(".")[-count:] == tail for other in among) == 1:
            return ".".join(tail)
    return name


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
