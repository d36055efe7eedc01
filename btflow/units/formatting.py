"""Quantities in SI units to the shortest texts that are read back as the same.

Numbers of things in texts.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, assert_never

from btflow.units.kinds import BIT_RATES, IEC, KINDS, PARSED_ONLY, UNLIMITED, Buffer, BytePrefix, Kind, Value, units_of

_MOST_KEPT = 4096


def format_quantity(value: Value, kind: Kind, *, byte_prefix: BytePrefix = "decimal") -> str:
    """Return a text that ``parse_quantity`` turns back into exactly ``value`` (in SI units).

    The unit is the one that gives the shortest number not below one: ``"256 KiB"``, ``"400 ms"``.
    """
    match kind:
        case "choice" | "text" | "file":
            return str(value)
        case "names":
            assert isinstance(value, tuple)
            return ",".join(value) or "none"
        case "flag":
            return "true" if value else "false"
        case "count":
            return str(value)
        case "packets":
            return f"{value} packets"
        case "buffer":
            assert isinstance(value, Buffer)
            if value.kind == "bdp":
                return f"{_plain(value.amount)} BDP"
            whole = value.kind in ("packets", "size")
            return format_quantity(int(value.amount) if whole else value.amount, value.kind, byte_prefix=byte_prefix)
        case "fraction" | "size" | "rate" | "bitrate" | "time" | "length":
            assert isinstance(value, int | float)
            if math.isinf(value):
                return UNLIMITED
            if hasattr(value, "text"):  # it changes: a btflow.units.course.Course
                return str(value.text)
            return _format_scaled(value, kind, byte_prefix)
        case _:
            assert_never(kind)


def as_in_file(value: Value, kind: Kind, byte_prefix: BytePrefix) -> float | bool | str | list[str]:
    """Return a value (in SI units) as a model file has it: a number, a flag, a list of names, else a text."""
    if isinstance(value, tuple):
        return list(value)
    if kind in ("count", "flag") and isinstance(value, int):
        return value
    return format_quantity(value, kind, byte_prefix=byte_prefix)


@lru_cache(_MOST_KEPT, typed=True)
def _format_scaled(value: float, kind: Kind, byte_prefix: BytePrefix) -> str:
    """Return ``value`` in the unit that gives the shortest number, not below one, that is exact."""
    best = f"{_plain(value)} {KINDS[kind].unit}".rstrip()
    best_key: tuple[int, bool, Fraction] | None = None
    for unit, scale in units_of(kind, byte_prefix).items():
        if kind in ("rate", "bitrate") and (unit in BIT_RATES) != (kind == "bitrate"):
            continue
        number = _plain(float(Fraction(repr(value)) / scale))
        if unit in PARSED_ONLY or not _is_exact(number, scale, value):
            continue
        if kind == "fraction":
            return f"{number}%"
        key = (len(number), unit.startswith(tuple(IEC)), -scale)
        if value >= scale and (best_key is None or key < best_key):
            best, best_key = f"{number} {unit}", key
    return best


def _is_exact(number: str, scale: Fraction, value: float) -> bool:
    """Return whether ``number`` in units of ``scale`` is read back as ``value``."""
    read = Fraction(number) * scale
    return (read if isinstance(value, int) else float(read)) == value


def _plain(number: float) -> str:
    """Return the shortest text of a number, without a trailing ``.0``."""
    return repr(number).removesuffix(".0")


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number of things in words: ``1 link``, ``2,000 links``, ``2 pairs of peers``, ``2 losses``.

    Args:
        number: How many.
        one: The thing.
        many: Its plural.  [with an s after the first word]
    """
    first, *rest = one.split(" ")
    return f"{number:,} {one if number == 1 else many or ' '.join([f'{first}s', *rest])}"


_TIMES = ("", "", "twice", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_PARTS = ("", "", "half", "a third", "a quarter", "a fifth", "a sixth", "a seventh", "an eighth", "a ninth", "a tenth")


class _Change(NamedTuple):
    """How a ratio is said, in two parts."""

    amount: str
    """How much: ``12%``, ``ten times``, ``a third``."""
    of: str
    """What of it: ``longer``, ``as long``."""
    link: str
    """The word before what it is compared with."""


def _change(ratio: float, more: str, less: str, same: str, digits: int, figures: bool = False) -> _Change:
    """Return how a ratio is said; in `figures` alone, ``10 times``, where it is one end of an interval."""
    if not 0.0 <= ratio < math.inf:
        raise ValueError(f"ratio = {ratio!r}: is not a finite number from 0")
    times, parts = (float(f"{value:.{digits}g}") for value in (ratio, 1 / ratio if ratio else math.inf))
    if times == 2 and not figures:
        return _Change(_TIMES[2], same, "as")
    if times >= 2:
        known = not figures and times in range(len(_TIMES))
        return _Change(f"{_TIMES[int(times)] if known else f'{times:,g}'} times", same, "as")
    if not figures and parts in range(2, len(_PARTS)):
        return _Change(_PARTS[int(parts)], same, "as")
    if len(_PARTS) <= parts < math.inf:
        return _Change(f"1/{parts:,g}", same, "as")
    percent = 100 * abs(ratio - 1)
    percent = round(percent, digits - 2 + (percent < 9.95))
    return _Change(f"{percent:g}%", more if ratio > 1 else less, "than") if percent else _Change("just", same, "as")


def ratio_in_words(
    ratio: float, more: str = "more", less: str = "less", same: str = "as much", *, to: str = "", digits: int = 2
) -> str:
    """Return a ratio as people say it: ``12% longer``, ``twice as long``, ``ten times as long``, ``a third as long``.

    Args:
        ratio: What is told over what it is compared with, finite and not negative.
        more: What is said of a greater one after a percentage: ``longer``, ``more delay``.
        less: What is said of a smaller one: ``shorter``, ``less time``.
        same: What is said after a multiple or a part: ``as long``, ``as much delay``.
        to: What it is compared with; then the words end in ``than A`` or ``as A``.
        digits: Significant digits of a multiple, and of a percentage of 10% and more.

    Raises:
        ValueError: The ratio is negative or not finite.
    """
    said = _change(ratio, more, less, same, digits)
    return f"{said.amount} {said.of}" + (f" {said.link} {to}" if to else "")


def interval_in_words(low: float, high: float, more: str = "more", less: str = "less", same: str = "as much") -> str:
    """Return an interval of a ratio as people say it: ``8.1% to 15% longer``, ``80% longer to 2.1 times as long``.

    Args and errors are those of `ratio_in_words`. Of two decreases the smaller comes first, and both ends have another
    digit if they would be said alike.
    """
    ends = (high, low) if high < 1 else (low, high)
    for digits in (2, 3):
        one, other = (_change(end, more, less, same, digits, figures=True) for end in ends)
        if one != other:
            break
    else:
        return f"{one.amount} {one.of}"
    alike = one.of == other.of
    first = one.amount.removesuffix(" times") if alike else f"{one.amount} {one.of}"
    return f"{first} to {other.amount} {other.of}"
