"""Internet round-trip times and losses by quantile, from the table in data/iplane (synthetic, see its README)."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TAIL = 0.98
"""Share up to which values lie on straight lines between the table's points; above, on power laws."""

_SCALE = {"ms": 1e-3, "fraction": 1.0}


def quantile(quantity: Literal["rtt", "loss"], share: Floats) -> Floats:
    """Return the round-trip time [s] or the loss (a fraction) at or below which each share of the paths lies.

    Between the table's points: linear up to a share of 0.98, above it a power law of the share that lies higher, so
    linear in the logarithms. Beyond its ends, the values at its ends: nothing is drawn that the table does not have.

    Args:
        quantity: ``rtt`` or ``loss``.
        share: Cumulative shares, 0 to 1, of any shape.
    """
    at, value = _table(quantity)
    shares = np.clip(share, at[0], at[-1])
    body, tail = at <= TAIL, at >= TAIL
    low = np.interp(shares, at[body], value[body])
    rest = np.log1p(-np.maximum(shares, TAIL))
    high = np.exp(np.interp(-rest, -np.log1p(-at[tail]), np.log(value[tail])))
    return np.asarray(np.where(shares <= TAIL, low, np.clip(high, value[tail][0], value[-1])), np.float64)


@cache
def _table(quantity: str) -> tuple[Floats, Floats]:
    """Cumulative shares and the values there, SI units (points,)."""
    lines = (files("btflow.data") / "iplane" / "quantiles.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    points = [
        (float(row["cumulative_share"]), float(row["value"]) * _SCALE[row["unit"]])
        for row in rows
        if row["quantity"] == quantity
    ]
    at, value = np.array(points).T
    return at, value
