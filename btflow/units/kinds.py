"""The kinds of quantities: their SI units, default ranges, and the units that a text of each may have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

Kind = Literal[
    "size",
    "rate",
    "bitrate",
    "time",
    "fraction",
    "count",
    "packets",
    "buffer",
    "flag",
    "choice",
    "text",
    "names",
    "file",
    "length",
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
BUFFER_LIMITS: dict[BufferKind, tuple[float, float]] = {
    "packets": (1, 10**6),
    "size": (1, 2**30),
    "time": (1e-5, 100),
    "bdp": (0.001, 1000),
}
REAL: tuple[Kind, ...] = ("rate", "bitrate", "time", "fraction", "length")

DECIMAL = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
IEC = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
BITS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
SECONDS = {
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
INCH = Fraction(254, 10_000)
METRES = {
    "mm": Fraction(1, 1000),
    "cm": Fraction(1, 100),
    "in": INCH,
    "pt": INCH / 72,
    "px": INCH / 96,
    "m": Fraction(1),
}
"""Lengths on paper; points of PostScript, pixels of CSS."""


UNITS: tuple[str, ...] = (
    *(f"{unit}/s" for unit in (*DECIMAL, *IEC, *BITS)),
    *(*DECIMAL, *IEC, *SECONDS, "packets", "BDP", "%"),
)
"""Names of all units."""

BIT_RATES = {f"{unit}/s" for unit in BITS}
"""What a link's rate is written in; a client's limit is written in bytes."""
PARSED_ONLY = {"µs", "d"}


@dataclass(frozen=True, slots=True)
class KindInfo:
    """SI unit, default range and examples of one kind of quantity."""

    noun: str
    unit: str
    minimum: float
    maximum: float
    examples: tuple[str, ...]


KINDS: Mapping[Kind, KindInfo] = {
    "size": KindInfo("a size", "B", 0, 2**50, ('"50 MB"', '"256 KiB"', '"1448 B"')),
    "rate": KindInfo("a rate", "B/s", 0, 2**40, ('"20 kB/s"', '"1 Mbit/s"')),
    "bitrate": KindInfo("a rate", "B/s", 0, 2**40, ('"1 Mbit/s"', '"10 Gbit/s"')),
    "time": KindInfo("a time", "s", 0, 1e9, ('"400 ms"', '"10 s"')),
    "fraction": KindInfo("a fraction", "", 0, 1, ('"5%"', "0.05", '"70%"')),
    "count": KindInfo("a whole number", "", 0, 10**9, ("300", "10", "1")),
    "packets": KindInfo("a number of packets", "packets", 0, 10**9, ('"200 packets"',)),
    "buffer": KindInfo("a buffer", "", 0, 0, ('"100 packets"', '"150 kB"', '"200 ms"', '"1.5 BDP"')),
    "flag": KindInfo("true or false", "", 0, 1, ()),
    "choice": KindInfo("one of the listed words", "", 0, 0, ()),
    "text": KindInfo("a text", "", 0, 0, ()),
    "names": KindInfo("names separated by commas, or none", "", 0, 0, ()),
    "file": KindInfo("the name or path of a file, a table, or none", "", 0, 0, ()),
    "length": KindInfo("a length", "m", 0, 10, ('"84 mm"', '"3.3 in"')),
}


def is_unlimited(value: object) -> bool:
    """Return whether a value is one of the words for no limit: ``unlimited`` or ``none``."""
    return isinstance(value, str) and value.strip() in (UNLIMITED, "none")


def buffer_units(kind: BufferKind, byte_prefix: BytePrefix) -> Iterable[str]:
    """Return the units of a buffer of some kind."""
    return ("BDP",) if kind == "bdp" else units_of(kind, byte_prefix)


@cache
def units_of(kind: Kind, byte_prefix: BytePrefix) -> Mapping[str, Fraction]:
    """Return the units of a kind and the SI value of each, preferred spelling first."""
    if kind == "time":
        return SECONDS
    if kind == "length":
        return METRES
    if kind == "packets":
        return {"packets": Fraction(1), "packet": Fraction(1)}
    if kind == "fraction":
        return {"%": Fraction(1, 100)}
    step = 1000 if byte_prefix == "decimal" else 1024
    sizes = {unit: Fraction(step**power) for power, unit in enumerate(DECIMAL)}
    sizes |= {unit: Fraction(scale) for unit, scale in IEC.items()}
    if kind == "size":
        return sizes
    bits = {f"{unit}/s": Fraction(scale, 8) for unit, scale in BITS.items()}
    return {f"{unit}/s": scale for unit, scale in sizes.items()} | bits


def pattern(kind: Kind) -> str:
    """Return a regular expression (of JSON Schema) that a text of this kind matches: a number and one of its units."""
    names = (
        [u for k in BUFFER_LIMITS for u in buffer_units(k, "decimal")]
        if kind == "buffer"
        else units_of(kind, "decimal")
    )
    units = "|".join(sorted(names, key=len, reverse=True))
    unit = f"({units})?" if kind == "fraction" else f"({units})"
    return rf"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{{1,3}})?\s*{unit}\s*$"
