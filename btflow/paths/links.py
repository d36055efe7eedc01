"""Reads iPlane's links between points of presence (PoPs), for those who have the files.

A line is ``cluster1 AS1 cluster2 AS2 latency``, separated by white space; a cluster is a PoP. The latency is a whole
number of milliseconds. No public text says whether it is one way or both: it is read as one way, which iPlane's
traceroutes in Shadow's topology agree with (read as round trips, New Zealand to Portugal would beat light in fibre).
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.errors import InputError, shorten
from btflow.paths.known import known
from btflow.paths.lines import number, path_name, read, split, unended, wrong
from btflow.words import counted

Floats = NDArray[np.float64]
FIELDS = {"latency": "iplane", "loss": "losses"}
"""What a file is called in errors, by what it has."""

FORM = "cluster AS cluster AS latency"

LONGEST = 10_000.0
"""Of a link, one way [ms]; more is thought to be in another unit."""

SLOW = 500.0
"""Of a link, one way [ms]: there and back takes TCP's first timeout (1 s, RFC 6298)."""

_FRACTION = "a fraction, at most 1, such as 0.05 for 5%"

_CLUSTER, _AS = re.compile("[0-9]+"), re.compile("-?[0-9]+")
"""An AS may be unknown, as -1."""


def read_iplane(
    path: str | PathLike[str],
    checksum: str | None = None,
    *,
    quantity: Literal["latency", "loss"] = "latency",
    unmeasured: Literal["refuse", "drop"] = "refuse",
) -> xr.Dataset:
    """Return the links in one of iPlane's files.

    Args:
        path: ``inter_pop_links.txt`` or a file of losses of the same form, plain or packed by gzip.
        checksum: SHA-256 of the file, in hexadecimal digits; None if it is not known.
        quantity: What the last column has: latency [ms, one way] or loss (a fraction).
        unmeasured: What becomes of links with a negative latency or loss: the file is refused, or they are left out,
            as those are by other readers of these files that iPlane has no value of.

    Returns:
        Along ``link``: the names ``pop_a``, ``as_a``, ``pop_b``, ``as_b``, and ``latency`` [s, one way] or ``loss``; in
        its attributes the file, the number of links that were left out, and which of the known files it is.

    Raises:
        InputError: The file is missing, damaged or not of that form, or may be cut off, as no newline ends its last
            line and no checksum is given; the line is named.
    """
    _one_of("quantity", quantity, ("latency", "loss"))
    _one_of("unmeasured", unmeasured, ("refuse", "drop"))
    field = FIELDS[quantity]
    name = path_name(field, path)
    ends: list[list[str]] = []
    values: list[float] = []
    dropped = 0
    content = read(field, path, checksum)
    lines = split(field, path, content)
    at: list[int] = []
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        *link, shown = _cells(field, name, line, text)
        value = _value(field, name, line, shown, quantity)
        if value < 0.0 and unmeasured == "refuse":
            allowed = 'not negative; unmeasured="drop" leaves such links out'
            raise wrong(field, name, line, f"has {quantity} {shown}", allowed)
        if value < 0.0:
            dropped += 1
        else:
            ends.append(link)
            values.append(value)
            at.append(line)
    last = unended(lines)
    if last is not None and checksum is None:
        allowed = "the whole file; one that is whole with a newline at its end, or with its checksum"
        raise wrong(field, name, last, "has no newline at its end: the file may be cut off in it", allowed)
    if not values:
        raise InputError(field, name, "has no measured link", FORM)
    if quantity == "latency":
        _check_unit(field, name, at, np.array(values))
    origin = known(content) or ("" if checksum is None else "the file that its checksum is of")
    return _dataset(name, ends, np.array(values), quantity, {"dropped": dropped, "origin": origin})


def _cells(field: str, name: str, line: int, text: str) -> list[str]:
    """Return the five cells of a line."""
    cells = text.split()
    if len(cells) != 5:
        raise wrong(field, name, line, f"has {counted(len(cells), 'cell')}: {shorten(text)}", FORM)
    if not (_CLUSTER.fullmatch(cells[0]) and _CLUSTER.fullmatch(cells[2])):
        raise wrong(field, name, line, f"has no numbers of clusters: {shorten(text)}", FORM)
    if not (_AS.fullmatch(cells[1]) and _AS.fullmatch(cells[3])):
        raise wrong(field, name, line, f"has no numbers of AS: {shorten(text)}", FORM)
    return cells


def _value(field: str, name: str, line: int, text: str, quantity: str) -> float:
    """Return the latency [ms] or loss of a line."""
    if quantity == "loss" and text.endswith("%"):
        raise wrong(field, name, line, f"has loss {shorten(text)}", _FRACTION)
    value = number(field, name, line, quantity, text)
    if quantity == "loss" and value > 1.0:
        raise wrong(field, name, line, f"has loss {text}", _FRACTION)
    if value > LONGEST:
        raise wrong(field, name, line, f"has latency {text}", f"milliseconds, at most {LONGEST:g}")
    return value


def _check_unit(field: str, name: str, lines: list[int], latency: Floats) -> None:
    """Refuse latencies [ms] of which most must be in another unit: iPlane's are whole milliseconds."""
    some = latency > 0.0
    for odd, unit in ((some & (latency < 1.0), "seconds"), (latency > SLOW, "microseconds")):
        if np.count_nonzero(odd) > 0.5 * np.count_nonzero(some):
            first = int(np.argmax(odd))
            reason = f"has latency {latency[first]:g}, and most lines have such: {unit}?"
            raise wrong(field, name, lines[first], reason, "milliseconds")


def _dataset(name: str, ends: list[list[str]], values: Floats, quantity: str, told: dict[str, Any]) -> xr.Dataset:
    columns = np.array(ends)
    names = {title: ("link", columns[:, i]) for i, title in enumerate(("pop_a", "as_a", "pop_b", "as_b"))}
    units = {"units": "s", "long_name": "one-way latency"} if quantity == "latency" else {"units": "1"}
    scaled = 1e-3 * values if quantity == "latency" else values
    return xr.Dataset(names | {quantity: ("link", scaled, units)}, attrs={"file": Path(name).name} | told)


def _one_of(field: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(field, value, "is unknown", " or ".join(known))
