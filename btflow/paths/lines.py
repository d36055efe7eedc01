"""Reads text files that people measured, line by line, and puts together what was measured between two peers."""

from __future__ import annotations

import hashlib
import math
import os
import re
from array import array
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError, shorten
from btflow.files import as_utf8, read_file
from btflow.units.formatting import counted

LARGEST = 2**28
"""Bytes of a file, unpacked."""

MOST_LINES = 5_000_000
"""Lines of a file, each of which takes 150 B of memory: all pairs of 2500 peers are 3 million."""

LONGEST_LINE = 2**16
"""Characters of a line."""

_END = r"\r\n|\n|\r"
"""Of a line: of Windows, of Unix, and of old Macs."""


def read(field: str, path: str | PathLike[str], checksum: str | None = None) -> bytes:
    """Return what is in a text file, unpacked if gzip, xz or bzip2 packed it.

    Args:
        field: What the file is called in errors.
        path: The file.
        checksum: SHA-256 of the file as it is, in hexadecimal digits; None if it is not known.

    Raises:
        InputError: There is no such file, it is too large or not whole, or has another checksum.
    """
    name = path_name(field, path)
    _check_digits(checksum)
    try:
        content = read_file(name, LARGEST)
        found = None if checksum is None else hashlib.sha256(content and Path(name).read_bytes()).hexdigest()
    except OSError as error:
        allowed = "a whole file, plain or packed by gzip, xz or bzip2"
        raise InputError(field, Path(name).name or name, f"cannot be read: {error.strerror}", allowed) from None
    if checksum is not None and found != checksum.strip().lower():
        raise InputError("checksum", checksum, f"is not the SHA-256 of {Path(name).name}, which is {found}")
    return content


def split(field: str, path: str | PathLike[str], content: bytes) -> list[str]:
    """Return the lines of a file's content, without their ends; an InputError if it is empty or no text."""
    name = path_name(field, path)
    content = as_utf8(content)
    if max(content.count(b"\n"), content.count(b"\r")) > MOST_LINES:
        raise InputError(field, Path(name).name, "has too many lines", f"at most {MOST_LINES:,}")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        before = re.findall(_END.encode(), error.object[: error.start])
        raise wrong(field, name, 1 + len(before), "is not text in UTF-8") from None
    for number, line in enumerate(lines := re.split(_END, text), 1):
        if "\0" in line:
            raise wrong(field, name, number, "is not text: it has a zero byte")
        if len(line) > LONGEST_LINE:
            raise wrong(field, name, number, "is too long", f"at most {LONGEST_LINE:,} characters")
    if not any(line.strip() for line in lines):
        raise InputError(field, Path(name).name, "is empty", "a file with measurements")
    return lines


def unended(lines: list[str]) -> int | None:
    """Return the number of the last line if no newline ends it: a file that was cut off may end so; else None."""
    return len(lines) if lines[-1].strip() else None


def path_name(field: str, path: object) -> str:
    """Return a path as text; an InputError if it is none."""
    if not isinstance(path, str | PathLike) or isinstance(os.fspath(path), bytes):
        raise InputError(field, path, "is not a path", "that of a file")
    return str(path)


def wrong(field: str, name: str, line: int, reason: str, allowed: str = "") -> InputError:
    """Return the error for a line of a file."""
    return InputError(field, f"{Path(name).name}", f"line {line} {reason}", allowed)


def number(field: str, name: str, line: int, what: str, text: str) -> float:
    """Return the number that a cell is; an InputError if it is empty, no number, or not finite."""
    if not text.strip():
        raise wrong(field, name, line, f"has no {what}", "a number in each line")
    try:
        value = float(text)
    except ValueError:
        allowed = "a number with a decimal point" if "," in text else "a number"
        raise wrong(field, name, line, f"has {shorten(text)} for {what}", allowed) from None
    if not math.isfinite(value) or "_" in text or not text.isascii():
        raise wrong(field, name, line, f"has {shorten(text)} for {what}", "a finite number, in the digits 0 to 9")
    return value


def _check_digits(checksum: object) -> None:
    if checksum is None or (isinstance(checksum, str) and re.fullmatch(r"\s*[0-9a-fA-F]{64}\s*", checksum)):
        return
    raise InputError("checksum", checksum, "is no SHA-256", "64 hexadecimal digits")


Floats = NDArray[np.float64]
Ends = NDArray[np.int64]


class Pairs:
    """The two peers of each row of a file, in its order."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._ends = array("q")

    def add(self, one: str, other: str) -> None:
        """Take the peers of the next row."""
        self._ends.append(self._number.setdefault(one, len(self._number)))
        self._ends.append(self._number.setdefault(other, len(self._number)))

    def together(self) -> Together:
        """Return which rows are of the same two peers, whichever is first; peers are numbered by their names."""
        peers = len(self._number)
        by_name = np.empty(peers, np.int64)
        by_name[[self._number[name] for name in sorted(self._number)]] = np.arange(peers)
        ends = np.sort(by_name[np.array(self._ends, np.int64).reshape(-1, 2)], axis=1)
        apart = ends[:, 0] != ends[:, 1]
        key, pair = np.unique(ends[apart] @ np.array([peers, 1]), return_inverse=True)
        return Together(np.stack(np.divmod(key, max(peers, 1)), axis=1), apart, pair)


@dataclass(frozen=True)
class Together:
    """Which rows are of the same two peers.

    Attributes:
        ends: Numbers of the two peers (pairs, 2), the lower one first; each pair once.
        apart: Whether a row is of two peers, not of one (rows,).
        pair: The pair of each row of two peers.
    """

    ends: Ends
    apart: NDArray[np.bool_]
    pair: NDArray[np.intp]

    def medians(self, values: Floats) -> Floats:
        """Return the median of the rows of each pair."""
        kept = values[self.apart]
        ordered = kept[np.lexsort((kept, self.pair))]
        count = np.bincount(self.pair, minlength=len(self.ends))
        start = np.cumsum(count) - count
        return np.asarray(0.5 * (ordered[start + (count - 1) // 2] + ordered[start + count // 2]), np.float64)

    def means(self, values: Floats) -> Floats:
        """Return the mean of the rows of each pair."""
        size = len(self.ends)
        total = np.bincount(self.pair, values[self.apart], minlength=size)
        return np.asarray(total / np.bincount(self.pair, minlength=size), np.float64)

    def unequal(self, values: Floats) -> int:
        """Return the number of pairs whose rows have not all the same value."""
        low, high = np.full((2, len(self.ends)), np.nan)
        np.fmin.at(low, self.pair, values[self.apart])
        np.fmax.at(high, self.pair, values[self.apart])
        return int(np.sum(low < high))

    @property
    def alone(self) -> int:
        """Number of rows of one peer."""
        return int(np.sum(~self.apart))

    @property
    def notes(self) -> list[str]:
        """What was done with rows that are no pair of their own, in words."""
        rows, pairs = len(self.pair), len(self.ends)
        notes = [f"{counted(self.alone, 'row')} of a peer and itself: left out"] if self.alone else []
        once = "each counts once, with its median round-trip time and its mean loss"
        said = f"{counted(rows, 'row')} of {counted(pairs, 'pair of peers')}: {once}"
        return [*notes, said] if rows > pairs else notes
