"""Reads a table of round-trip times and losses that a user has measured, from CSV."""

import csv
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError, brief
from btflow.paths.lines import Ends, Pairs, number, path_name, read, split, unended, wrong
from btflow.paths.model import LONGEST
from btflow.units.formatting import counted

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

FAILED = ("", "-", "*", "-1", "-1.0", "nan", "na", "n/a", "null", "none", "timeout")
"""Cells, in small letters, of measurements that failed."""

_ATLAS = "jq -rs 'flatten[]|[.prb_id,.dst_addr,.min]|@csv' FILE"
"""Gives CSV of https://atlas.ripe.net/docs/apis/result-format/, where the least round-trip time is -1 if none came."""

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
        shown = brief(", ".join(header))
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
    pattern = re.compile(rf"{what}[\W_]*+({'|'.join(units)})?\W*", re.IGNORECASE)
    found = [i for i, title in enumerate(header) if (pattern.fullmatch(title) if wanted is None else title == wanted)]
    if not found and wanted is None:
        return None
    if len(found) != 1:
        shown, times = brief(", ".join(header)), "no" if not found else "more than one"
        raise wrong(FIELD, name, line, f"has {times} column {brief(wanted or what)} among {shown}", "one such column")
    title = header[found[0]]
    shown_unit = unit or _named_unit(title, units) or ("fraction" if what == "loss" else None)
    if shown_unit is None:
        reason = f"is needed: the column {brief(title)} does not say its unit"
        raise InputError(f"{what}_unit", None, reason, ", ".join(units))
    return Column(what, found[0], title, shown_unit, units[shown_unit], most, unit is not None)


def _check_none_meant(name: str, line: int, titles: list[str], what: str) -> None:
    """Refuse titles that mention a quantity of which there is no column: it would be taken from elsewhere unnoticed."""
    meant = [title for title in titles if _MENTIONED[what].search(title)]
    if not meant:
        return
    title, units = brief(meant[0]), RTT_UNITS if what == "rtt" else LOSS_UNITS
    percent = re.search("%|pct|percent", title, re.IGNORECASE)
    likely = ["%"] if percent else [unit for unit in units if unit != "percent"]
    unit = "" if _named_unit(title, units) else ", " + " or ".join(f'{what}_unit="{unit}"' for unit in likely)
    allowed = f'the column named, as by {what}="{title}"{unit}; or none with {what} in its name'
    raise wrong(FIELD, name, line, f"has no column {what}, but {brief(', '.join(meant))}", allowed)


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
        raise wrong(FIELD, name, line, f"has no columns {brief(src)} and {brief(str(dst))}", brief(", ".join(header)))
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
        yield f"the column {brief(column.title)} is read in {column.unit}, as {column.what}_unit says"
    if not column.given and named is None:
        fractions = "is read as fractions, of which 0.01 is 1%"
        yield f'the column {brief(column.title)} names no unit and {fractions}; loss_unit="%" reads percent'


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
        path: The file, CSV in UTF-8 or UTF-16, plain or packed by gzip, xz or bzip2; lines that begin with # are
            comments, and rows with a value that is empty, -1 or such as nan are left out: their measurement failed.
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
    if re.match(rb"\s*(\[\s*)?\{", content := read(FIELD, path)):
        allowed = f"CSV; of pings of RIPE Atlas (echo src,dst,rtt_ms; {_ATLAS}) > FILE.csv"
        raise wrong(FIELD, name, 1, "is JSON", allowed)
    lines = split(FIELD, path, content)
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
    failed = 0
    pairs = Pairs()
    for count, (line, row) in enumerate(chain(first, rows)):
        if len(row) != len(header):
            raise wrong(FIELD, name, line, f"has {counted(len(row), 'cell')}", f"{len(header)}, as in the header")
        if any(row[column.at].strip().lower() in FAILED for column in columns):
            failed += 1
            continue
        at_line.append(line)
        for column, found in zip(columns, values, strict=True):
            found.append(value(name, column, line, row[column.at]))
        if ends is not None:
            pairs.add(*(_peer(name, line, row[end]) for end in ends))
        if progress is not None and count % _OFTEN == 0:
            progress(line / len(lines))
    arrays = [np.array(found) for found in values]
    _check_units(name, columns, arrays, at_line)
    measured = _measured(name, columns, arrays, None if ends is None else pairs, failed)
    left = (f"{counted(failed, 'row')} without a value, of measurements that failed: left out",) * bool(failed)
    last = unended(lines)
    cut = () if last is None else (f"line {last}, the last, has no newline at its end: the file may be cut off in it",)
    return measured._replace(notes=(*measured.notes, *left, *cut))


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


def _measured(name: str, columns: list[Column], values: list[Floats], pairs: Pairs | None, failed: int) -> Measured:
    """Return what was read, each pair of peers once."""
    rows = len(values[0])
    if rows < FEWEST:
        beside = f" beside {failed} of measurements that failed" * bool(failed)
        raise InputError(FIELD, name, f"has {counted(rows, 'row')}{beside}", f"{FEWEST} rows or more, for quantiles")
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
