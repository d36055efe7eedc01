"""Internet round-trip times and losses by quantile, of the path model ``iplane`` (synthetic: data/iplane/README.md)."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from btflow.paths.model import load
from btflow.paths.table import Table

Floats = NDArray[np.float64]


def quantile(quantity: Literal["rtt", "loss"], share: Floats) -> Floats:
    """Return the round-trip time [s] or the loss (a fraction) at or below which each share of the paths lies.

    Args:
        quantity: ``rtt`` or ``loss``.
        share: Cumulative shares, 0 to 1, of any shape.
    """
    return table(quantity).quantile(share)


@cache
def table(quantity: Literal["rtt", "loss"]) -> Table:
    """Return the table that shares are looked up in, SI units."""
    return load("iplane").table(quantity)
