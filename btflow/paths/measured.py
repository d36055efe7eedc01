"""Reads a table of round-trip times and losses that a user has measured, from CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.paths.lines import number, path_name, read_lines, wrong
from btflow.paths.model import LONGEST

Floats = NDArray[np.float64]
FIELD = "csv"

RTT_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
LOSS_UNITS = {"fraction": 1.0, "%": 1e-2, "percent": 1e-2}
ENDS = (("src", "dst"), ("source", "destination"), ("from", "to"), ("peer", "other"))
"""Names of the columns with the two peers of a path."""

FEWEST = 20
"""Rows of which quantiles are taken."""

LEAST = 1e-6
"""Round-trip time [s] below which there is none."""

SHORTEST = 1e-3
"""If all round-trip times are below this [s], they are thought to be in seconds where milliseconds are named."""


class Measured(NamedTuple):
    """Measured paths, a value for each row of a file."""

    name: str
    """Of the file."""
    rtt: Floats | None
    """Round-trip times [s]."""
    loss: Floats | None
    """Losses (fractions)."""
    ends: tuple[tuple[str, str], ...]
    """Names of the two peers; empty if the file does not name them."""


class _Column(NamedTuple):
    """A column of numbers."""

    what: str
    at: int
    unit: str
    scale: float
    most: float
    """In SI units."""


def read_csv(
    path: str | PathLike[str],
    *,
    rtt: str | None = None,
    loss: str | None = None,
    rtt_unit: str | None = None,
    loss_unit: str | None = None,
    src: str | None = None,
    dst: str | None = None,
) -> Measured:
    """Return the paths in a CSV file; arguments and errors as of ``btflow.paths.fit``."""
    lines = read_lines(FIELD, path)
    name = path_name(FIELD, path)
    rows = _rows(name, lines)
    at, header = next(rows)
    header = [title.strip() for title in header]
    columns = [
        found
        for found in (
            _column(name, at, header, "rtt", rtt, rtt_unit, RTT_UNITS, LONGEST),
            _column(name, at, header, "loss", loss, loss_unit, LOSS_UNITS, 1.0),
        )
        if found is not None
    ]
    if not columns:
        shown = ", ".join(header)
        raise wrong(FIELD, name, at, f"has the columns {shown}: none is rtt or loss", "a header with rtt_ms or loss")
    ends = _ends(name, at, header, src, dst)
    body = [(line, row) for line, row in rows]
    for line, row in body:
        if len(row) != len(header):
            raise wrong(FIELD, name, line, f"has {len(row)} cells", f"{len(header)}, as in the header")
    if len(body) < FEWEST:
        raise InputError(FIELD, name, f"has {len(body)} rows", f"{FEWEST} rows or more, for quantiles")
    values = {column.what: _values(name, column, body) for column in columns}
    return Measured(name, values.get("rtt"), values.get("loss"), _named(name, ends, body))


def _rows(name: str, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Give the rows with their line numbers, the header first; empty lines and comments are passed over."""
    numbered = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    if not numbered:
        raise InputError(FIELD, name, "has only comments", "a header and rows")
    for n, line in numbered:
        try:
            yield n, next(csv.reader([line], strict=True))
        except csv.Error as error:
            raise wrong(FIELD, name, n, f"is no row of CSV: {error}") from None


def _column(
    name: str,
    line: int,
    header: list[str],
    what: str,
    wanted: str | None,
    unit: str | None,
    units: dict[str, float],
    most: float,
) -> _Column | None:
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
    last = re.split(r"[\W_]+", title.lower().rstrip(")] "))[-1] if "%" not in title else "%"
    shown_unit = unit or (last if last in units else None) or ("fraction" if what == "loss" else None)
    if shown_unit is None:
        raise InputError(f"{what}_unit", None, f"is needed: the column {title} does not say its unit", ", ".join(units))
    if unit and last in units and units[unit] != units[last]:
        raise InputError(f"{what}_unit", unit, f"is not what the column {title} says", last)
    return _Column(what, found[0], shown_unit, units[shown_unit], most)


def _values(name: str, column: _Column, body: list[tuple[int, list[str]]]) -> Floats:
    """Return the numbers of a column in SI units."""
    values = np.empty(len(body))
    for i, (line, row) in enumerate(body):
        value = number(FIELD, name, line, column.what, row[column.at])
        values[i] = value * column.scale
        if value < 0.0 or (column.what == "rtt" and values[i] < LEAST):
            allowed = "not negative" if value < 0.0 else "at least 1 us"
            raise wrong(FIELD, name, line, f"has {column.what} = {value:g}", allowed)
        if values[i] > column.most:
            hint = f"another {column.what}_unit?" if column.what == "rtt" else 'another loss_unit, such as "%"?'
            limit = f"{column.most / column.scale:g} {column.unit}"
            raise wrong(FIELD, name, line, f"has {column.what} = {value:g} {column.unit}", f"at most {limit}; {hint}")
    if column.what == "rtt" and column.unit == "ms" and values.max() < SHORTEST:
        shown = f"has no rtt above {1e3 * values.max():g} ms"
        raise InputError(FIELD, name, shown, 'milliseconds; for seconds, rtt_unit="s"')
    return values


def _ends(name: str, line: int, header: list[str], src: str | None, dst: str | None) -> tuple[int, int] | None:
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


def _named(name: str, ends: tuple[int, int] | None, body: list[tuple[int, list[str]]]) -> tuple[tuple[str, str], ...]:
    """Return the names of the two peers of each row."""
    if ends is None:
        return ()
    for line, row in body:
        if not row[ends[0]].strip() or not row[ends[1]].strip():
            raise wrong(FIELD, name, line, "does not name both peers", "a name in each cell")
    return tuple((row[ends[0]].strip(), row[ends[1]].strip()) for _, row in body)
