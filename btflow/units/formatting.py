"""Quantities in SI units to the shortest texts that are read back as the same.

Numbers of things in texts.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from btflow.units.kinds import IEC, KINDS, PARSED_ONLY, UNLIMITED, Buffer, BytePrefix, Kind, Value, units_of

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
        case "fraction" | "size" | "rate" | "time":
            assert isinstance(value, int | float)
            if math.isinf(value):
                return UNLIMITED
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
