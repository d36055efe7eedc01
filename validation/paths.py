"""Claim on paths: the model's round-trip times and losses are as published of iPlane."""

from __future__ import annotations

from functools import cache

import numpy as np

from btflow.paths import PathModel, load
from btflow.paths.generate import sample
from validation import reference
from validation.calibration.raw import DATA
from validation.calibration.report import BODY_OFF, POINTS_OFF, Row, body, published
from validation.internet.swarms import PATHS
from validation.verdict import Condition, Finding, Results

MATRICES, PEERS = 10, 490
"""Paths that are drawn for the check: so many times as many peers as PlanetLab's matrix has nodes."""


def published_points(_: Results) -> Finding:
    """R14: the three published points, in the table and in what is drawn from it, and the body of PlanetLab."""
    return judged(load(PATHS))


@cache
def judged(model: PathModel) -> Finding:
    """Return what is found of a path model."""
    paths = [sample(model, PEERS, np.random.default_rng(number)) for number in range(MATRICES)]
    points = list(published(model, paths, DATA))
    within = list(body(model, paths, reference.planetlab()))
    rows = [(f"within {POINTS_OFF:g} points", row) for row in points]
    rows += [(f"within {BODY_OFF:g}%", row) for row in within]
    return Finding(
        paper="; ".join(f"{row.what}: {row.wanted}" for row in points),
        ours="; ".join(f"{row.what}: {row.found}" for row in points)
        + f"; PlanetLab's quantiles from 10 to 95% off by at most {_worst(within)}",
        conditions=tuple(Condition(f"{r.what}: {r.wanted}, {r.found}, {limit}", bool(r.met)) for limit, r in rows),
        details=tuple(f"{row.what}: {row.wanted}, {row.found} ({row.off})" for row in (*points, *within)),
        by_construction="the tables are made to meet these points; what is drawn from them need not",
        brief=f"{', '.join(row.found.rpartition(', ')[2].partition(' ')[0] for row in points)}%",
    )


def _worst(rows: list[Row]) -> str:
    return max((row.off for row in rows), key=lambda text: abs(float(text.rstrip("%"))))
