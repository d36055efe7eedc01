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


_WHOLE = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_PARTS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 6: "a sixth", 8: "an eighth", 10: "a tenth"}
_SAME, _TIMES = 0.005, 1.9  # from this ratio on people count in times, below in percent


def ratio_in_words(ratio: float, more: str = "more", less: str = "less", equal: str = "as much") -> str:
    """Return how something compares with another, in the words of people, up to "than" or "as".

    ``12% longer than``, ``twice as long as``, ``ten times as long as``, ``half as long as``, ``as long as``: in percent
    up to nearly twice or half, beyond that by a factor, rounded as one says it.

    Args:
        ratio: The one over the other, above 0.
        more: The comparative, such as longer.
        less: Its opposite, such as shorter.
        equal: What follows a factor, such as as long.

    Raises:
        ValueError: The ratio is not above 0, or not finite.
    """
    if not 0.0 < ratio < math.inf:
        raise ValueError(f"{ratio} is no ratio of two amounts")
    if abs(ratio - 1.0) < _SAME:
        return f"{equal} as"
    if ratio >= _TIMES:
        return f"{_times(ratio)} {equal} as"
    if ratio <= 1.0 / _TIMES and not 2.25 <= 1.0 / ratio < 2.75:  # there is no word for two fifths
        return f"{_part(1.0 / ratio)} {equal} as"
    return f"{abs(ratio - 1.0):.0%} {more if ratio > 1.0 else less} than"


def _times(ratio: float) -> str:
    """Return a factor in words: twice, two and a half times, ten times, 25 times."""
    if ratio < 2.25:
        return "twice"
    if ratio < 2.75:
        return "two and a half times"
    whole = round(ratio) if ratio < 20 else int(float(f"{ratio:.2g}"))
    return f"{_WHOLE[whole - 1] if whole <= len(_WHOLE) else f'{whole:,}'} times"


def _part(parts: float) -> str:
    """Return a fraction in words: half, a third, a tenth, 1/25."""
    if parts < 2.5:
        return "half"
    whole = round(parts) if parts < 20 else int(float(f"{parts:.2g}"))
    return _PARTS.get(whole, f"1/{whole:,}")
