"""Reads the measured files that the tables are made of; what does not have its checksum is refused."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError

Floats = NDArray[np.float64]
DATA = Path(__file__).parents[2] / "data" / "iplane"

PLANETLAB = "planetlab490_path_rtt.csv.gz"
SLICES = tuple(f"PlanetLabData_{number}" for number in range(1, 19))
"""The same data as published: matrices of round-trip times [ms], one for each of 18 time slices."""
IPLANE = "shadow_iplane2012_paths.csv.gz"

DIGITS = 3
"""After the point, of a time in ms: those of the published matrices."""


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Give the rows of a table, without the comments on top."""
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(line for line in lines if not line.startswith("#"))


def planetlab(folder: Path, data: Path = DATA) -> Floats:
    """Return PlanetLab's round-trip times [ms] (nodes, nodes): the median of the time slices, both ways alike.

    Args:
        folder: Has either the table of all pairs or, there or in a folder PlanetLab, the published matrices.
        data: Has ``raw.csv`` with the checksums.

    Raises:
        InputError: Neither is there, or one is not the file that it should be.
    """
    if (folder / PLANETLAB).is_file():
        return _both_ways(_of_pairs(checked(folder, PLANETLAB, data)), PLANETLAB)
    at = folder / "PlanetLab" if (folder / "PlanetLab").is_dir() else folder
    if (at / SLICES[0]).is_file():
        slices = [np.loadtxt(StringIO(checked(at, name, data).decode())) for name in SLICES]
        return _both_ways(np.round(np.median(slices, axis=0), DIGITS), SLICES[0])
    raise InputError("RAW", str(folder), "has no PlanetLab data", f"a folder with {PLANETLAB} or {SLICES[0]} to _18")


def iplane_samples(folder: Path, data: Path = DATA) -> Floats:
    """Return round-trip times [ms] of iPlane, aggregated by country for Shadow, twice the file's one-way times."""
    text = gzip.decompress(checked(folder, IPLANE, data)).decode()
    return 2.0 * np.array([float(row["median_ms"]) for row in csv.DictReader(StringIO(text))])


def iplane_between(folder: Path, one: str, other: str, data: Path = DATA) -> Floats:
    """Return the times [ms] in the same file between two countries, as they are there."""
    text = gzip.decompress(checked(folder, IPLANE, data)).decode()
    found = [row for row in csv.DictReader(StringIO(text)) if {row["cluster_a"], row["cluster_b"]} == {one, other}]
    return np.array([float(row["median_ms"]) for row in found])


def checked(folder: Path, name: str, data: Path) -> bytes:
    """Return a file's content; an InputError if it is missing or has another checksum than ``raw.csv`` says."""
    file = folder / name
    wanted = {row["file"]: row["sha256"] for row in rows(data / "raw.csv")}
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError("RAW", name, f"cannot be read: {error.strerror}", "the files of data/iplane/raw.csv") from None
    found = hashlib.sha256(content).hexdigest()
    if found != wanted[name]:
        raise InputError("RAW", name, f"has the SHA-256 {found}", wanted[name])
    return content


def _of_pairs(content: bytes) -> Floats:
    """Return the matrix of the medians of all directed pairs."""
    table = np.loadtxt(StringIO(gzip.decompress(content).decode()), delimiter=",", skiprows=1, usecols=(0, 1, 3))
    one, other = table[:, :2].astype(np.intp).T
    matrix = np.zeros((one.max() + 1, one.max() + 1))
    matrix[one, other] = table[:, 2]
    return matrix


def _both_ways(matrix: Floats, name: str) -> Floats:
    """Return the mean of both directions."""
    off = ~np.eye(len(matrix), dtype=bool)
    if not np.all(np.isfinite(matrix)) or np.any(matrix[off] <= 0.0):
        raise InputError("RAW", name, "has pairs without a round-trip time above zero", "a complete matrix")
    return 0.5 * (matrix + matrix.T)
