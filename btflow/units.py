"""The only parser and formatter of quantities such as ``"20 kB/s"``, ``"50 MB"`` or ``"400 ms"``.

Prefixes. Bits are SI: 1 kbit = 1000 bit, 1 Mbit = 10**6 bit. ``KiB``, ``MiB``, ``GiB``, ``TiB`` are
always powers of 1024. ``kB``, ``MB``, ``GB``, ``TB`` are powers of 1000, unless a model declares
``byte_prefix = "binary"`` because the client it describes multiplies by 1024: in that model, and in
its parameters, 1 kB = 1024 B and 1 MB = 2**20 B.

A bare number is an error for sizes, rates, times and packet queues. Case matters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Integral, Real
from typing import Literal, assert_never

from btflow.errors import UnitError

__all__ = [
    "KINDS",
    "UNITS",
    "Buffer",
    "BytePrefix",
    "Kind",
    "UnitError",
    "Value",
    "format_quantity",
    "parse_quantity",
    "pattern",
]

Kind = Literal[
    "size", "rate", "time", "fraction", "count", "packets", "buffer", "flag", "choice", "text", "names", "file"
]
BytePrefix = Literal["decimal", "binary"]
BufferKind = Literal["packets", "size", "time", "bdp"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Room of a queue, in the terms it was given.

    Attributes:
        amount: How much: packets, bytes, seconds at the link's rate, or bandwidth-delay products.
        kind: Which of these it is.
    """

    amount: float
    kind: BufferKind


Value = float | int | bool | str | tuple[str, ...] | Buffer

UNLIMITED = "unlimited"
_BUFFER_LIMITS: dict[BufferKind, tuple[float, float]] = {
    "packets": (1, 10**6),
    "size": (1, 2**30),
    "time": (1e-5, 100),
    "bdp": (0.001, 1000),
}
_LONGEST_TEXT = 200
_MOST_KEPT = 4096
_REAL: tuple[Kind, ...] = ("rate", "time", "fraction")
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?(\d+))?)\s*(.*)", re.ASCII | re.DOTALL)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf(inity)?)\b", re.ASCII | re.IGNORECASE)
_FLAGS = {"true": True, "on": True, "false": False, "off": False}

_DECIMAL = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_IEC = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_BITS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
_SECONDS = {
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}


UNITS: tuple[str, ...] = (
    *(f"{unit}/s" for unit in (*_DECIMAL, *_IEC, *_BITS)),
    *(*_DECIMAL, *_IEC, *_SECONDS, "packets", "BDP", "%"),
)
"""Names of all units."""

_PARSED_ONLY = {f"{unit}/s" for unit in _BITS} | {"µs", "d"}


@dataclass(frozen=True, slots=True)
class _KindInfo:
    """SI unit, default range and examples of one kind of quantity."""

    noun: str
    unit: str
    minimum: float
    maximum: float
    examples: tuple[str, ...]


KINDS: Mapping[Kind, _KindInfo] = {
    "size": _KindInfo("a size", "B", 0, 2**50, ('"50 MB"', '"256 KiB"', '"1448 B"')),
    "rate": _KindInfo("a rate", "B/s", 0, 2**40, ('"20 kB/s"', '"1 Mbit/s"')),
    "time": _KindInfo("a time", "s", 0, 1e9, ('"400 ms"', '"10 s"')),
    "fraction": _KindInfo("a fraction", "", 0, 1, ('"5%"', "0.05", '"70%"')),
    "count": _KindInfo("a whole number", "", 0, 10**9, ("300", "10", "1")),
    "packets": _KindInfo("a number of packets", "packets", 0, 10**9, ('"200 packets"',)),
    "buffer": _KindInfo("a buffer", "", 0, 0, ('"100 packets"', '"150 kB"', '"200 ms"', '"1.5 BDP"')),
    "flag": _KindInfo("true or false", "", 0, 1, ()),
    "choice": _KindInfo("one of the listed words", "", 0, 0, ()),
    "text": _KindInfo("a text", "", 0, 0, ()),
    "names": _KindInfo("names separated by commas, or none", "", 0, 0, ()),
    "file": _KindInfo("the name or path of a file, a table, or none", "", 0, 0, ()),
}


def parse_quantity(
    value: object,
    kind: Kind,
    *,
    field: str = "value",
    byte_prefix: BytePrefix = "decimal",
    minimum: float | None = None,
    maximum: float | None = None,
    unlimited: bool = False,
) -> Value:
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
    kind: Kind,
    field: str,
    byte_prefix: BytePrefix,
    minimum: float | None,
    maximum: float | None,
    unlimited: bool,
) -> Value:
    info = KINDS[kind]
    low = info.minimum if minimum is None else minimum
    high = info.maximum if maximum is None else maximum

    def fail(reason: str) -> UnitError:
        words = ', or "unlimited" or "none"' if unlimited else ""
        return UnitError(field, value, reason, _allowed(kind, low, high, byte_prefix) + words)

    if unlimited and is_unlimited(value):
        return math.inf
    if kind == "buffer":
        return _parse_buffer(value, field, byte_prefix)
    if kind in ("choice", "text", "file"):
        if not isinstance(value, str) or not value.strip():
            raise fail("is not a text")
        return value.strip()
    if kind == "names":
        return _parse_names(value, fail("is not a list of names"))
    if kind == "flag":
        return _parse_flag(value, fail("is neither true nor false"))
    exact = _to_fraction(value, kind, byte_prefix, fail)
    if exact < 0:
        raise fail("is negative")
    if kind in ("count", "packets") and exact.denominator != 1:
        raise fail("is not a whole number")
    number = exact if kind in _REAL else round(exact)
    if not _as_written(low) <= number <= _as_written(high):
        raise fail("is out of range")
    return float(number) if kind in _REAL else int(number)


_parse_text = lru_cache(_MOST_KEPT)(_parse)
"""The same for a text, kept: most texts of a model file are read again and again."""


@cache
def _as_written(bound: float) -> Fraction:
    """Return a limit exactly as it is written: 0.1 is a tenth, not a binary number."""
    return Fraction(str(bound))


def is_unlimited(value: object) -> bool:
    """Return whether a value is one of the words for no limit: ``unlimited`` or ``none``."""
    return isinstance(value, str) and value.strip() in (UNLIMITED, "none")


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


def _parse_buffer(value: object, field: str, byte_prefix: BytePrefix) -> Buffer:
    """Return the room of a queue; its unit says what it is."""

    def fail(reason: str) -> UnitError:
        return UnitError(field, value, reason, f"a buffer such as {', '.join(KINDS['buffer'].examples)}")

    if not isinstance(value, str):
        raise fail("is not a text with a unit")
    matched = _NUMBER.fullmatch(value.strip())
    if matched is None or not matched[3]:
        raise fail("does not start with a number" if matched is None else "has no unit")
    for kind, (low, high) in _BUFFER_LIMITS.items():
        if matched[3] in _buffer_units(kind, byte_prefix):
            if kind == "bdp":
                text = f"{value.strip().removesuffix('BDP')}"
                number = parse_quantity(text, "fraction", field=field, minimum=low, maximum=high)
            else:
                number = parse_quantity(value, kind, field=field, byte_prefix=byte_prefix, minimum=low, maximum=high)
            assert isinstance(number, int | float)
            return Buffer(float(number), kind)
    raise fail(f"has the unknown unit {matched[3][:20]!r}")


def _buffer_units(kind: BufferKind, byte_prefix: BytePrefix) -> Iterable[str]:
    return ("BDP",) if kind == "bdp" else _units(kind, byte_prefix)


@cache
def _units(kind: Kind, byte_prefix: BytePrefix) -> Mapping[str, Fraction]:
    """Return the units of a kind and the SI value of each, preferred spelling first."""
    if kind == "time":
        return _SECONDS
    if kind == "packets":
        return {"packets": Fraction(1), "packet": Fraction(1)}
    if kind == "fraction":
        return {"%": Fraction(1, 100)}
    step = 1000 if byte_prefix == "decimal" else 1024
    sizes = {unit: Fraction(step**power) for power, unit in enumerate(_DECIMAL)}
    sizes |= {unit: Fraction(scale) for unit, scale in _IEC.items()}
    if kind == "size":
        return sizes
    bits = {f"{unit}/s": Fraction(scale, 8) for unit, scale in _BITS.items()}
    return {f"{unit}/s": scale for unit, scale in sizes.items()} | bits


def _to_fraction(value: object, kind: Kind, byte_prefix: BytePrefix, fail: Callable[[str], UnitError]) -> Fraction:
    """Return a number, or a number with a unit, exactly and in SI units."""
    if isinstance(value, bool) or not isinstance(value, str | Real):
        raise fail("is not a number" if kind in ("count", "fraction") else "is not a text with a unit")
    if isinstance(value, str):
        text = value.strip()
    else:
        text = str(int(value)) if isinstance(value, Integral) else repr(float(value))
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
    units: Mapping[str, Fraction] = {} if kind == "count" else _units(kind, byte_prefix)
    if unit not in units:
        raise fail(_unknown_unit(unit, units))
    return number * units[unit]


def _unknown_unit(unit: str, units: Mapping[str, Fraction]) -> str:
    """Return why ``unit`` is refused, with the units it may have been meant to be."""
    if not units:
        return f"has a unit ({unit[:20]!r}) where none is used"
    meant = unit.casefold().replace("bps", "b/s").replace("ib", "b")
    close = [u for u in units if u.casefold().replace("ib", "b").replace("it", "") == meant]
    hint = f" (case matters: did you mean {' or '.join(close)}?)" if close else ""
    return f"has the unknown unit {unit[:20]!r}{hint}"


def _parse_flag(value: object, error: UnitError) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    raise error


def _parse_names(value: object, error: UnitError) -> tuple[str, ...]:
    if isinstance(value, str):
        text = value.strip()
        value = [] if text == "none" else text.split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise error
    names = tuple(name.strip() for name in value)
    if not all(names):
        raise error
    return names


@lru_cache(_MOST_KEPT, typed=True)
def _format_scaled(value: float, kind: Kind, byte_prefix: BytePrefix) -> str:
    """Return ``value`` in the unit that gives the shortest number, not below one, that is exact."""
    best = f"{_plain(value)} {KINDS[kind].unit}".rstrip()
    best_key: tuple[int, bool, Fraction] | None = None
    for unit, scale in _units(kind, byte_prefix).items():
        number = _plain(float(Fraction(repr(value)) / scale))
        if unit in _PARSED_ONLY or not _is_exact(number, scale, value):
            continue
        if kind == "fraction":
            return f"{number}%"
        key = (len(number), unit.startswith(tuple(_IEC)), -scale)
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


def _allowed(kind: Kind, low: float, high: float, byte_prefix: BytePrefix) -> str:
    """Return what a field of this kind accepts."""
    info = KINDS[kind]
    if kind in ("flag", "choice", "text", "names", "file"):
        return info.noun
    limits = [
        format_quantity(bound if kind in _REAL else int(bound), kind, byte_prefix=byte_prefix) for bound in (low, high)
    ]
    inside = [text for text in info.examples if low <= _example(text, kind, byte_prefix) <= high]
    return f"{info.noun} from {limits[0]} to {limits[1]}" + (f", such as {' or '.join(inside[:2])}" if inside else "")


def _example(text: str, kind: Kind, byte_prefix: BytePrefix) -> float:
    value = parse_quantity(text.strip('"'), kind, byte_prefix=byte_prefix)
    assert isinstance(value, int | float)
    return value


def pattern(kind: Kind) -> str:
    """Return a regular expression (of JSON Schema) that a text of this kind matches: a number and one of its units."""
    names = (
        [u for k in _BUFFER_LIMITS for u in _buffer_units(k, "decimal")]
        if kind == "buffer"
        else _units(kind, "decimal")
    )
    units = "|".join(sorted(names, key=len, reverse=True))
    unit = f"({units})?" if kind == "fraction" else f"({units})"
    return rf"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{{1,3}})?\s*{unit}\s*$"
