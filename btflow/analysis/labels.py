"""Short texts for values, names and axes of a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

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
