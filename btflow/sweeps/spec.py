"""Reads what a parameter is varied over: ``0ms,400ms``, ``lin(10 kB/s, 100 kB/s, 10)``, ``lognormal(80 ms, 0.5)``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from btflow.errors import InputError
from btflow.paths.model import PathModel
from btflow.units.formatting import counted

LONGEST_LIST = 1_000_000
"""Most values of one parameter."""

SPACED = {"lin": "uniform", "log": "loguniform"}
"""Lists of evenly spaced values, and the distribution that each is without a number of values."""

DISTRIBUTIONS = {"uniform": 2, "loguniform": 2, "lognormal": 2, "iplane": 0}
"""Number of arguments of each distribution."""

FORMS = (
    "values separated by commas, lin(a, b, n), log(a, b, n); with a sample also lin(a, b), log(a, b), uniform(a, b), "
    "loguniform(a, b), lognormal(median, sigma), choice(a, b, ...) and iplane"
)
_CALL = re.compile(r"([a-z]+)\s*\((.*)\)", re.DOTALL)


@dataclass(frozen=True)
class Spaced:
    """``count`` values from ``low`` to ``high``, both included, evenly spaced on a linear or a logarithmic scale."""

    scale: str
    low: object
    high: object
    count: int


@dataclass(frozen=True)
class Listed:
    """Values one by one; each item is a value, or several evenly spaced."""

    items: tuple[object, ...]
    drawn: bool = False
    """Whether it was written as ``choice``, which makes sense in a sample alone."""

    @property
    def count(self) -> int:
        """Number of values, without making them."""
        return sum(item.count if isinstance(item, Spaced) else 1 for item in self.items)


@dataclass(frozen=True)
class Drawn:
    """A distribution by name."""

    name: str
    arguments: tuple[object, ...]
    scale: str = ""
    """``lin`` or ``log`` if it was written so, without a number of values."""


@dataclass(frozen=True)
class Zipped:
    """Values of several parameters that vary together, a row for each."""

    rows: tuple[tuple[object, ...], ...]

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)


Spec = Listed | Drawn | Zipped
Names = tuple[str, ...]


def read(vary: Mapping[Names, object]) -> dict[Names, Spec]:
    """Return what each name, or each group of names that vary together, is varied over.

    Args:
        vary: By names: a text, or a list of values; for several names a text such as ``(0ms,0%),(400ms,5%)``, or a
            list of lists.

    Raises:
        InputError: A text cannot be read, or a list is empty.
    """
    return {
        names: _spec(given, names[0]) if len(names) == 1 else _zipped(given, len(names), ",".join(names))
        for names, given in vary.items()
    }


def parse_options(given: Iterable[str]) -> dict[Names, object]:
    """Return ``--vary NAME=SPEC`` by name.

    Raises:
        InputError: One has no ``=`` or no name, or a name is there twice.
    """
    found: dict[Names, object] = {}
    for text in given:
        name, equals, spec = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise InputError("--vary", text, "is not a name and values", "NAME=SPEC, such as rtt=0ms,400ms")
        names = names_of(name, "--vary")
        if names in found:
            raise InputError("--vary", text, f"varies {name} a second time", "one --vary for each name")
        found[names] = spec
    return found


def names_of(key: object, option: str) -> Names:
    """Return the name, or the names that vary together, that a key of ``vary`` stands for."""
    parts = key.split(",") if isinstance(key, str) else key
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise InputError(option, key, "is not a name", "a parameter, or several that vary together")
    names = tuple(part.strip() for part in parts)
    if not names or not all(names):
        raise InputError(option, key, "has an empty name", "a parameter, or several separated by commas")
    return names


def _spec(given: object, name: str) -> Spec:
    """Return what one parameter is varied over."""
    given = _plain(given)
    if isinstance(given, str):
        return _parsed(given, name)
    if isinstance(given, Set):
        raise InputError(name, given, "is a set, which has no order", "a list of values")
    if getattr(given, "ndim", 1) != 1:
        shape = getattr(given, "shape", None)
        raise InputError(name, f"of shape {shape}", "is no list of values", "one dimension")
    if isinstance(given, Iterable) and not isinstance(given, Mapping | bytes | PathModel):
        return _some(Listed(tuple(_plain(value) for value in given)), given, name)
    return Listed((given,))


def _plain(value: object) -> object:
    """Return a NumPy scalar as Python's own."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def _parsed(text: str, name: str) -> Spec:
    items = split(text, name)
    if len(items) == 1 and (call := _call(items[0])) is not None:
        kind, arguments = call
        if kind in SPACED and len(arguments) == 2:
            return Drawn(SPACED[kind], arguments, kind)
        if kind in DISTRIBUTIONS:
            if len(arguments) != DISTRIBUTIONS[kind]:
                reason = f"has {counted(len(arguments), 'argument')}, not {DISTRIBUTIONS[kind]}"
                raise InputError(name, text, reason, FORMS)
            return Drawn(kind, arguments)
        if kind == "choice":
            return _some(Listed(arguments, drawn=True), text, name)
    return _some(Listed(tuple(_item(item, name) for item in items)), text, name)


def _some(listed: Listed, given: object, name: str) -> Listed:
    if not listed.items or any(isinstance(item, str) and item == "" for item in listed.items):
        raise InputError(name, given, "has no values" if not listed.items else "has an empty value", FORMS)
    return listed


def _call(item: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the name and the arguments of ``name(a, b)``; None if an item is a plain value."""
    if item in DISTRIBUTIONS and DISTRIBUTIONS[item] == 0:
        return item, ()
    matched = _CALL.fullmatch(item)
    if matched is None:
        return None
    return matched[1], tuple(split(matched[2], item)) if matched[2].strip() else ()


def _item(item: str, name: str) -> object:
    """Return an item of a list: evenly spaced values, or one value, its parentheses taken off."""
    call = None if item in DISTRIBUTIONS else _call(item)  # iplane is a path model among values of `internet`
    if call is None:
        return item[1:-1].strip() if item.startswith("(") and item.endswith(")") else item
    kind, arguments = call
    if kind not in SPACED:
        known = kind in DISTRIBUTIONS or kind == "choice"
        raise InputError(name, item, "cannot be one of several" if known else f"has the unknown {kind}()", FORMS)
    if len(arguments) != 3:
        raise InputError(name, item, f"has {counted(len(arguments), 'argument')}", f"{kind}(first, last, number)")
    number = arguments[2]
    if not re.fullmatch(r"[0-9]{1,12}", number) or not 1 <= int(number) <= LONGEST_LIST:
        raise InputError(name, item, f"has {number} values", f"a whole number from 1 to {LONGEST_LIST:,}")
    return Spaced(kind, arguments[0], arguments[1], int(number))


def _zipped(given: object, width: int, name: str) -> Zipped:
    """Return values of several parameters that vary together."""
    if isinstance(given, str):
        texts = split(given, name)
        for text in texts:
            if not (text.startswith("(") and text.endswith(")")):
                raise InputError(name, text, "is not a group of values", f"groups of {width}, such as (a, b),(c, d)")
        given = [split(text[1:-1], name) for text in texts]
    if not isinstance(given, Iterable) or isinstance(given, Mapping | Set) or getattr(given, "ndim", 2) == 0:
        raise InputError(name, given, "is not a list of groups", f"groups of {width} values")
    rows = [_row(row, width, name) for row in given]
    if not rows:
        raise InputError(name, [], "has no values", f"groups of {width} values")
    return Zipped(tuple(rows))


def _row(row: object, width: int, name: str) -> tuple[object, ...]:
    values: tuple[object, ...] = ()
    if isinstance(row, Iterable) and not isinstance(row, str | Set | Mapping) and getattr(row, "ndim", 1) == 1:
        values = tuple(_plain(value) for value in row)
    if len(values) != width or any(isinstance(value, str) and value == "" for value in values):
        raise InputError(name, row, f"is not a group of {width} values", f"a value for each of {name}")
    return values


def split(text: str, name: str) -> list[str]:
    """Return the parts of a text between the commas that are outside parentheses; none for an empty text.

    Raises:
        InputError: The parentheses do not match.
    """
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if depth != 0:
        raise InputError(name, text, "has parentheses that do not match", FORMS)
    stripped = [part.strip() for part in parts]
    return [] if stripped == [""] else stripped
