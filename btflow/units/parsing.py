"""Texts with units to quantities in SI units; each refusal says what is wrong and what is allowed."""

import math
import re
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Integral, Real

from btflow.errors import UnitError
from btflow.units import kinds
from btflow.units.formatting import format_quantity

_LONGEST_TEXT = 200
_MOST_KEPT = 4096
_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?([0-9]+))?)\s*(.*)", re.DOTALL)
"""Between number and unit may be any space: texts from web pages have one there that breaks no line."""

_NOT_FINITE = re.compile(r"[+-]?(nan|inf(inity)?)\b", re.ASCII | re.IGNORECASE)
_FLAGS = {"true": True, "on": True, "false": False, "off": False}


def parse_quantity(
    value: object,
    kind: kinds.Kind,
    *,
    field: str = "value",
    byte_prefix: kinds.BytePrefix = "decimal",
    minimum: float | None = None,
    maximum: float | None = None,
    unlimited: bool = False,
) -> kinds.Value:
    """Return ``value`` in SI units: bytes, bytes/s, seconds, a fraction, a count, a flag, text or a ``Buffer``.

    Sizes are rounded to whole bytes.

    Args:
        value: A text with a unit; counts and fractions may be bare numbers, flags bools.
        kind: What the field holds.
        field: Name used in the error.
        byte_prefix: What ``kB``, ``MB``, ``GB`` and ``TB`` mean; see the module's docstring.
        minimum: Smallest allowed value in SI units, default by kind.
        maximum: Largest allowed value in SI units, default by kind.
        unlimited: Whether the words ``unlimited`` and ``none`` are taken too; they are read as infinity.

    Raises:
        UnitError: The value has no unit, an unknown one, is not finite or is out of range.
    """
    if type(value) is not str:
        return _parse(value, kind, field, byte_prefix, minimum, maximum, unlimited)
    try:
        return _parse_text(value, kind, "value", byte_prefix, minimum, maximum, unlimited)
    except UnitError as error:
        raise UnitError(field, value, error.reason, error.allowed) from None


def _parse(
    value: object,
    kind: kinds.Kind,
    field: str,
    byte_prefix: kinds.BytePrefix,
    minimum: float | None,
    maximum: float | None,
    unlimited: bool,
) -> kinds.Value:
    info = kinds.KINDS[kind]
    low = info.minimum if minimum is None else minimum
    high = info.maximum if maximum is None else maximum

    def fail(reason: str) -> UnitError:
        words = ', or "unlimited" or "none"' if unlimited else ""
        return UnitError(field, value, reason, _allowed(kind, low, high, byte_prefix) + words)

    if unlimited and kinds.is_unlimited(value):
        return math.inf
    if kind == "buffer":
        return _parse_buffer(value, field, byte_prefix)
    if kind in ("choice", "text", "file"):
        if not isinstance(value, str) or not value.strip():
            raise fail("is not a text")
        return value.strip()
    if kind == "names":
        return _parse_names(value, fail)
    if kind == "flag":
        return _parse_flag(value, fail)
    exact = _to_fraction(value, kind, byte_prefix, fail)
    if exact < 0:
        raise fail("is negative")
    if kind in ("count", "packets") and exact.denominator != 1:
        raise fail("is not a whole number")
    number = exact if kind in kinds.REAL else round(exact)
    if not _as_written(low) <= number <= _as_written(high):
        percent = kind == "fraction" and 1 < number <= 100 and "%" not in str(value)
        bare = percent and _as_written(low) <= number / 100 <= _as_written(high)
        raise fail("is out of range" + f" (did you mean {str(value).strip()}%?)" * bare)
    return float(number) if kind in kinds.REAL else int(number)


_parse_text = lru_cache(_MOST_KEPT)(_parse)
"""The same for a text, kept: most texts of a model file are read again and again."""


@cache
def _as_written(bound: float) -> Fraction:
    """Return a limit exactly as it is written: 0.1 is a tenth, not a binary number."""
    return Fraction(str(bound))


def _parse_buffer(value: object, field: str, byte_prefix: kinds.BytePrefix) -> kinds.Buffer:
    """Return the room of a queue; its unit says what it is."""

    def fail(reason: str) -> UnitError:
        return UnitError(field, value, reason, f"a buffer such as {', '.join(kinds.KINDS['buffer'].examples)}")

    if not isinstance(value, str):
        raise fail("is not a text with a unit")
    matched = _NUMBER.fullmatch(value.strip())
    if matched is None or not matched[3]:
        raise fail("does not start with a number" if matched is None else "has no unit")
    for kind, (low, high) in kinds.BUFFER_LIMITS.items():
        if matched[3] in kinds.buffer_units(kind, byte_prefix):
            if kind == "bdp":
                try:
                    number = parse_quantity(matched[1], "fraction", field=field, minimum=low, maximum=high)
                except UnitError as error:
                    raise UnitError(field, value, error.reason, f"a buffer from {low} BDP to {high} BDP") from None
            else:
                number = parse_quantity(value, kind, field=field, byte_prefix=byte_prefix, minimum=low, maximum=high)
            assert isinstance(number, int | float)
            return kinds.Buffer(float(number), kind)
    raise fail(
        _unknown_unit(
            matched[3], [unit for kind in kinds.BUFFER_LIMITS for unit in kinds.buffer_units(kind, byte_prefix)]
        )
    )


def _to_fraction(
    value: object, kind: kinds.Kind, byte_prefix: kinds.BytePrefix, fail: Callable[[str], UnitError]
) -> Fraction:
    """Return a number, or a number with a unit, exactly and in SI units."""
    if isinstance(value, bool) or not isinstance(value, str | Real):
        raise fail("is not a number" if kind in ("count", "fraction") else "is not a text with a unit")
    if isinstance(value, str):
        text = value.strip()
    else:
        try:
            text = str(int(value)) if isinstance(value, Integral) else repr(float(value))
        except (ValueError, OverflowError):  # of more than 4300 digits, or than a float holds
            raise fail("is too long") from None
    if len(text) > _LONGEST_TEXT:
        raise fail("is too long")
    if _NOT_FINITE.match(text):
        raise fail("is not a finite number")
    matched = _NUMBER.fullmatch(text)
    if matched is None:
        raise fail("does not start with a number")
    if len(matched[2] or "") > 3:
        raise fail("is out of range")
    number, unit = Fraction(matched[1]), matched[3]
    if not unit and kind in ("count", "fraction"):
        return number
    if not unit:
        raise fail("has no unit")
    units: Mapping[str, Fraction] = {} if kind == "count" else kinds.units_of(kind, byte_prefix)
    if unit not in units:
        raise fail(_unknown_unit(unit, units))
    return number * units[unit]


def _unknown_unit(unit: str, units: Collection[str]) -> str:
    """Return why what follows a number is refused, with the units it may have been meant to be, or else with all."""
    if re.match(r",\d", unit):
        return "has a comma: one number is wanted, with a decimal point and nothing between thousands"
    if not units:
        return f"has a unit ({unit[:20]!r}) where none is used"
    same = [u for u in units if u.casefold() == unit.casefold()]
    spelled = re.search("i[bt]", unit.casefold())  # KiB and kbit, not kb, which may be any of three
    close = same if same and spelled else [u for u in units if _plain(u) == _plain(unit)]
    case = "case matters: " * bool(same)
    hint = f"{case}did you mean {' or '.join(close)}?" if close else f"known: {', '.join(units)}"
    return f"has the unknown unit {unit[:20]!r} ({hint})"


def _plain(unit: str) -> str:
    """Return a unit without what people leave out or write otherwise: case, ``bps``, ``KiB`` for ``kB``, ``bit``."""
    return unit.casefold().replace("bps", "b/s").replace("ib", "b").replace("it", "")


def _parse_flag(value: object, fail: Callable[[str], UnitError]) -> bool:
    word = value.strip().lower() if isinstance(value, str) else value
    flag = _FLAGS.get(word) if isinstance(word, str) else word
    if not isinstance(flag, bool):
        raise fail("is neither true nor false")
    return flag


def _parse_names(value: object, fail: Callable[[str], UnitError]) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [] if value.strip() == "none" else value.split(",")
    parts = list(value) if isinstance(value, list | tuple) else [None]
    names = tuple(part.strip() for part in parts if isinstance(part, str))
    if len(names) < len(parts) or not all(names):
        raise fail("is not a list of names")
    return names


def _allowed(kind: kinds.Kind, low: float, high: float, byte_prefix: kinds.BytePrefix) -> str:
    """Return what a field of this kind accepts."""
    info = kinds.KINDS[kind]
    if kind in ("flag", "choice", "text", "names", "file"):
        return info.noun
    limits = [
        format_quantity(bound if kind in kinds.REAL else int(bound), kind, byte_prefix=byte_prefix)
        for bound in (low, high)
    ]
    inside = [text for text in info.examples if low <= _example(text, kind, byte_prefix) <= high]
    return f"{info.noun} from {limits[0]} to {limits[1]}" + (f", such as {' or '.join(inside[:2])}" if inside else "")


def _example(text: str, kind: kinds.Kind, byte_prefix: kinds.BytePrefix) -> float:
    value = parse_quantity(text.strip('"'), kind, byte_prefix=byte_prefix)
    assert isinstance(value, int | float)
    return value
