"""Reads the files that the explorer saves."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Saved(NamedTuple):
    """The points of a figure."""

    columns: tuple[str, ...]
    """What the axes are called."""
    series: dict[str, NDArray[np.float64]]
    """By line: its points (points, 2)."""


def read_figure(text: str) -> Saved:
    """Return what a file of a figure's lines holds."""
    head, *rows = csv.reader(io.StringIO(text))
    found: dict[str, list[list[float]]] = {}
    for name, *point in rows:
        found.setdefault(name, []).append([float(value) for value in point])
    return Saved(tuple(head[1:]), {name: np.array(points) for name, points in found.items()})
