"""The columns of a table of measured paths: which they are, in which unit, and the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from btflow.errors import InputError
from btflow.paths.lines import number, wrong
from btflow.paths.model import LONGEST

FIELD = "csv"
RTT_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
LOSS_UNITS = {"fraction": 1.0, "%": 1e-2, "percent": 1e-2}
ENDS = (("src", "dst"), ("source", "destination"), ("from", "to"), ("peer", "other"))
"""Names of the columns with the two peers of a path."""

_MENTIONED = {
    "rtt": re.compile("(?<!sta)(?<!po)rtt", re.IGNORECASE),  # not in starttime and porttype
    "loss": re.compile("loss", re.IGNORECASE),
}
"""Where a title has this, its column may be the one that was meant."""

LEAST = 1e-6
"""Round-trip time [s] below which there is none."""


class Column(NamedTuple):
    """A column of numbers."""

    what: str
    at: int
    title: str
    unit: str
    scale: float
    most: float
    """In SI units."""
    given: bool
    """Whether the unit was given, not read in the title."""


def columns_of(
    name: str, line: int, header: list[str], rtt: tuple[str | None, str | None], loss: tuple[str | None, str | None]
) -> list[Column]:
    """Return the columns of numbers; for each quantity the title and the unit that were given, if they were."""
    given = (rtt[0], loss[0])
    found = (
        _column(name, line, header, "rtt", *rtt, RTT_UNITS, LONGEST),
        _column(name, line, header, "loss", *loss, LOSS_UNITS, 1.0),
    )
    columns = [column for column in found if column is not None]
    for what in ("rtt", "loss"):
        if what not in [column.what for column in columns]:
            _check_none_meant(name, line, [title for title in header if title not in given], what)
    if not columns:
        shown = ", ".join(header)
        raise wrong(FIELD, name, line, f"has the columns {shown}: none is rtt or loss", "a header with rtt_ms or loss")
    return columns


def _column(
    name: str,
    line: int,
    header: list[str],
    what: str,
    wanted: str | None,
    unit: str | None,
    units: dict[str, float],
    most: float,
) -> Column | None:
    """Return the column of a quantity, None if there is none and none is asked for."""
    if unit is not None and unit not in units:
        raise InputError(f"{what}_unit", unit, "is unknown", ", ".join(units))
    pattern = re.compile(rf"{what}[\W_]*({'|'.join(units)})?\W*", re.IGNORECASE)
    found = [i for i, title in enumerate(header) if (title == wanted if wanted else pattern.fullmatch(title))]
    if not found and wanted is None:
        return None
    if len(found) != 1:
        shown, times = ", ".join(header), "no" if not found else "more than one"
        raise wrong(FIELD, name, line, f"has {times} column {wanted or what} among {shown}", "one such column")
    title = header[found[0]]
    shown_unit = unit or _named_unit(title, units) or ("fraction" if what == "loss" else None)
    if shown_unit is None:
        raise InputError(f"{what}_unit", None, f"is needed: the column {title} does not say its unit", ", ".join(units))
    return Column(what, found[0], title, shown_unit, units[shown_unit], most, unit is not None)


def _check_none_meant(name: str, line: int, titles: list[str], what: str) -> None:
    """Refuse titles that mention a quantity of which there is no column: it would be taken from elsewhere unnoticed."""
    meant = [title for title in titles if _MENTIONED[what].search(title)]
    if not meant:
        return
    title, units = meant[0], RTT_UNITS if what == "rtt" else LOSS_UNITS
    percent = re.search("%|pct|percent", title, re.IGNORECASE)
    likely = ["%"] if percent else [unit for unit in units if unit != "percent"]
    unit = "" if _named_unit(title, units) else ", " + " or ".join(f'{what}_unit="{unit}"' for unit in likely)
    allowed = f'the column named, as by {what}="{title}"{unit}; or none with {what} in its name'
    raise wrong(FIELD, name, line, f"has no column {what}, but {', '.join(meant)}", allowed)


def _named_unit(title: str, units: dict[str, float]) -> str | None:
    """Return the unit that a column's title ends in."""
    last = re.split(r"[\W_]+", title.lower().rstrip(")] "))[-1] if "%" not in title else "%"
    return last if last in units else None


def value(name: str, column: Column, line: int, text: str) -> float:
    """Return a number of a column in SI units."""
    shown = number(FIELD, name, line, column.what, text)
    value = shown * column.scale
    if shown < 0.0 or (column.what == "rtt" and value < LEAST):
        least = f"at least {LEAST / column.scale:g} {column.unit}"
        hint = '; rtt_unit="s" if it is in seconds' if shown > 0.0 and column.unit != "s" else ""
        allowed = "not negative" if shown < 0.0 else least + hint
        raise wrong(FIELD, name, line, f"has {column.what} = {shown:g} {column.unit}", allowed)
    if value > column.most:
        percent = "" if column.scale < 1.0 else '; loss_unit="%" if it is in percent'
        hint = "; another rtt_unit?" if column.what == "rtt" else percent
        limit = f"{column.most / column.scale:g} {column.unit}"
        reason = f"has {column.what} = {shown:g} {column.unit}"
        raise wrong(FIELD, name, line, reason, f"at most {limit}{hint}")
    return value


def ends_of(name: str, line: int, header: list[str], src: str | None, dst: str | None) -> tuple[int, int] | None:
    """Return the columns with the two peers; None if there are none and none are asked for."""
    if (src is None) != (dst is None):
        raise InputError("src" if dst is None else "dst", src or dst, "is given alone", "src and dst")
    known = ((src, dst),) if src is not None and dst is not None else ENDS
    lower = header if src is not None else [title.lower() for title in header]
    for one, other in known:
        if one in lower and other in lower:
            return lower.index(one), lower.index(other)
    if src is not None:
        raise wrong(FIELD, name, line, f"has no columns {src} and {dst}", ", ".join(header))
    return None


def check_apart(header: list[str], columns: list[Column], ends: tuple[int, int] | None) -> None:
    """Refuse one column for two things."""
    used: dict[int, str] = {}
    for what, at in [*((column.what, column.at) for column in columns), *zip(("src", "dst"), ends or (), strict=False)]:
        if at in used:
            raise InputError(what, header[at], f"is the column of {used[at]} already", "a column for each")
        used[at] = what


def said(column: Column) -> Iterator[str]:
    """Give a note if a column is read in another unit than its title says, or says none."""
    units = RTT_UNITS if column.what == "rtt" else LOSS_UNITS
    named = _named_unit(column.title, units)
    if column.given and named is not None and units[named] != column.scale:
        yield f"the column {column.title} is read in {column.unit}, as {column.what}_unit says"
    if not column.given and named is None:
        fractions = "is read as fractions, of which 0.01 is 1%"
        yield f'the column {column.title} names no unit and {fractions}; loss_unit="%" reads percent'
