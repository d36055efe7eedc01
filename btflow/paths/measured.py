"""Reads a table of round-trip times and losses that a user has measured, from CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import chain, islice
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.paths.columns import FIELD, RTT_UNITS, Column, check_apart, columns_of, ends_of, said, value
from btflow.paths.lines import path_name, read_lines, unended, wrong
from btflow.paths.pairs import Ends, Pairs
from btflow.words import counted

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Progress = Callable[[float], object]
"""Is told from time to time which share of the work is done."""

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}
"""What is between the cells of a row, by its name."""

FEWEST = 20
"""Paths of which quantiles are taken."""

SHORT, SLOW = 1e-3, 1.0
"""If most round-trip times are below the one or above the other [s], they are thought to be in another unit: few paths
stay within a building, and with the other, TCP's first timeout (RFC 6298), connections would begin with one."""

_OFTEN = 10_000
"""Rows between two calls of what shows the progress."""


class Measured(NamedTuple):
    """Measured paths, a value for each."""

    name: str
    """Of the file."""
    rows: int
    """Of the file: one for each path, or more if it names the peers."""
    rtt: Floats | None
    """Round-trip times [s]."""
    loss: Floats | None
    """Losses (fractions)."""
    ends: Ends | None = None
    """Numbers of the two peers (paths, 2), each pair once; None if the file does not name them."""
    notes: tuple[str, ...] = ()
    """What its user should know."""


def read_csv(
    path: str | PathLike[str],
    *,
    rtt: str | None = None,
    loss: str | None = None,
    rtt_unit: str | None = None,
    loss_unit: str | None = None,
    src: str | None = None,
    dst: str | None = None,
    separator: str = "comma",
    progress: Progress | None = None,
) -> Measured:
    """Return the paths in a CSV file, which has a header and a row for each measurement.

    Where it names the two peers of each row, a pair counts once, whichever is first: with the median of its round-trip
    times and the mean of its losses; rows from a peer to itself are left out.

    Args:
        path: The file, CSV in UTF-8, plain or packed by gzip; lines that begin with # are comments.
        rtt: Column of round-trip times.  [the one named rtt, with or without a unit: rtt_ms, "rtt [s]"]
        loss: Column of losses.  [the one named loss]
        rtt_unit: "us", "ms" or "s".  [as the column's name says]
        loss_unit: "fraction" or "%".  [as the column's name says, or fraction]
        src: Column that names one peer.  [src, source, from or peer]
        dst: Column that names the other peer.  [dst, destination, to or other]
        separator: Between the cells of a row: "comma", "semicolon", "tab" or "space" (one or more).
        progress: Is called with the share of the rows that is read.

    Raises:
        InputError: The file cannot be read, has no such column or only one that may be meant (loss_pct) or too few
            rows, or a line of it has no number, a negative one, or one that tells of another unit; the line is named.
    """
    separator = {sign: word for word, sign in SEPARATORS.items()}.get(separator, separator)
    if separator not in SEPARATORS:
        raise InputError("separator", separator, "is unknown", ", ".join(SEPARATORS))
    name = path_name(FIELD, path)
    lines = read_lines(FIELD, path)
    rows = _rows(name, lines, SEPARATORS[separator])
    at, header = next(rows)
    header = [title.strip() for title in header]
    first = list(islice(rows, 1))
    _check_separator(name, at, header, first[0][1] if first else [], separator)
    columns = columns_of(name, at, header, (rtt, rtt_unit), (loss, loss_unit))
    ends = ends_of(name, at, header, src, dst)
    check_apart(header, columns, ends)
    values: list[list[float]] = [[] for _ in columns]
    at_line: list[int] = []
    pairs = Pairs()
    for count, (line, row) in enumerate(chain(first, rows)):
        if len(row) != len(header):
            raise wrong(FIELD, name, line, f"has {counted(len(row), 'cell')}", f"{len(header)}, as in the header")
        at_line.append(line)
        for column, found in zip(columns, values, strict=True):
            found.append(value(name, column, line, row[column.at]))
        if ends is not None:
            pairs.add(*(_peer(name, line, row[end]) for end in ends))
        if progress is not None and count % _OFTEN == 0:
            progress(line / len(lines))
    arrays = [np.array(found) for found in values]
    _check_units(name, columns, arrays, at_line)
    measured = _measured(name, columns, arrays, None if ends is None else pairs)
    last = unended(lines)
    cut = () if last is None else (f"line {last}, the last, has no newline at its end: the file may be cut off in it",)
    return measured._replace(notes=(*measured.notes, *cut))


def _check_units(name: str, columns: list[Column], values: list[Floats], lines: list[int]) -> None:
    """Refuse round-trip times most of which tell of another unit than the column's title, which nobody confirmed."""
    for column, found in zip(columns, values, strict=True):
        if column.what == "rtt" and not column.given and found.size:
            _check_unit(name, column, found, lines, found < SHORT, f"below {SHORT / column.scale:g} {column.unit}")
            _check_unit(name, column, found, lines, found > SLOW, f"above {SLOW / column.scale:g} {column.unit}")


def _check_unit(name: str, column: Column, found: Floats, lines: list[int], odd: Flags, bound: str) -> None:
    """Refuse times most of which are beyond a bound, if another unit would bring them back."""
    short = bound.startswith("below")
    units = [unit for unit, scale in RTT_UNITS.items() if (scale > column.scale if short else scale < column.scale)]
    if not units or np.mean(odd) <= 0.5:
        return
    first = int(np.argmax(odd))
    likely = " or ".join(f'rtt_unit="{unit}"' for unit in units)
    allowed = f'{likely} if they are in {" or ".join(units)}, rtt_unit="{column.unit}" if they are so'
    reason = f"has rtt = {found[first] / column.scale:g} {column.unit}, and most of the file is {bound}"
    raise wrong(FIELD, name, lines[first], reason, f"{allowed} {'short' if short else 'long'}")


def _measured(name: str, columns: list[Column], values: list[Floats], pairs: Pairs | None) -> Measured:
    """Return what was read, each pair of peers once."""
    rows = len(values[0])
    if rows < FEWEST:
        raise InputError(FIELD, name, f"has {counted(rows, 'row')}", f"{FEWEST} rows or more, for quantiles")
    by_name = {column.what: found for column, found in zip(columns, values, strict=True)}
    rtt, loss = by_name.get("rtt"), by_name.get("loss")
    notes = [note for column in columns for note in said(column)]
    if pairs is None:
        return Measured(name, rows, rtt, loss, None, tuple(notes))
    together = pairs.together()
    if len(together.ends) < FEWEST:
        pairs_of = counted(len(together.ends), "pair of peers")
        raise InputError(FIELD, name, f"has {pairs_of}", f"{FEWEST} or more, for quantiles")
    rtt = None if rtt is None else together.medians(rtt)
    loss = None if loss is None else together.means(loss)
    return Measured(name, rows, rtt, loss, together.ends, (*notes, *together.notes))


def _rows(name: str, lines: list[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Give the rows with their line numbers, the header first; empty lines and comments are passed over."""
    first = True
    for n, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            cells = line.strip() if separator == " " else line
            yield n, next(csv.reader([cells], delimiter=separator, skipinitialspace=separator == " ", strict=True))
        except csv.Error as error:
            raise wrong(FIELD, name, n, f"is no row of CSV: {error}") from None
        first = False
    if first:
        raise InputError(FIELD, name, "has only comments", "a header and rows")


def _check_separator(name: str, line: int, header: list[str], row: list[str], separator: str) -> None:
    """Refuse a header that is one cell with other separators in it; with spaces if the first row has as many."""
    for other, sign in SEPARATORS.items():
        if len(header) == 1 and sign in header[0] and (other != "space" or _apart(header[0], row)):
            reason = f"has no {separator} between cells, but {counted(header[0].count(sign), 'time')} a {other}"
            raise wrong(FIELD, name, line, reason, f'cells with a {separator} between them, or separator="{other}"')


def _apart(title: str, row: list[str]) -> bool:
    """Return whether spaces part words of a title, and of the one cell of a row: not so of "rtt [ms]"."""
    cells = row[0].split() if len(row) == 1 else []
    return len(cells) == len(title.split()) and all(word[0].isalnum() for word in (*title.split(), *cells))


def _peer(name: str, line: int, text: str) -> str:
    if not text.strip():
        raise wrong(FIELD, name, line, "does not name both peers", "a name in each cell")
    return text.strip()
