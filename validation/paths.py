"""Claim on paths: the model's round-trip times and losses are as published of iPlane."""

from __future__ import annotations

from functools import cache

import numpy as np

from btflow.paths import PathModel, load
from btflow.paths.generate import Sampled, sample
from validation import reference
from validation.calibration.raw import DATA
from validation.calibration.report import BODY_OFF, POINTS_OFF, Row, published
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
    body = list(_body(model, paths))
    rows = [(f"within {POINTS_OFF:g} points", row) for row in points]
    rows += [(f"within {BODY_OFF:g}%", row) for row in body]
    return Finding(
        paper="; ".join(f"{row.what}: {row.wanted}" for row in points),
        ours="; ".join(f"{row.what}: {row.found}" for row in points)
        + f"; PlanetLab's quantiles from 10 to 95% off by at most {_worst(body)}",
        conditions=tuple(Condition(f"{r.what}: {r.wanted}, {r.found}, {limit}", bool(r.met)) for limit, r in rows),
        details=tuple(f"{row.what}: {row.wanted}, {row.found} ({row.off})" for row in (*points, *body)),
        by_construction="the tables are made to meet these points; what is drawn from them need not",
    )


def _body(model: PathModel, paths: list[Sampled]) -> list[Row]:
    """Return PlanetLab's quantiles beside those of the table and of drawn paths."""
    wanted = reference.planetlab()
    shares = np.array(list(wanted))
    pairs = np.triu_indices(PEERS, 1)
    drawn = 1e3 * np.quantile(np.concatenate([one.rtt[pairs] for one in paths]), shares)
    found = []
    for share, table, draws in zip(shares, 1e3 * model.rtt_at(shares), drawn, strict=True):
        goal = wanted[share]
        off = max((100 * (value / goal - 1) for value in (table, draws)), key=abs)
        text = f"{table:.1f} ms in the table, {draws:.1f} ms drawn"
        what = f"{100 * share:.0f}% of the round-trip times below"
        found.append(Row(what, f"{goal:.1f} ms", text, f"{off:+.1f}%", abs(off) <= BODY_OFF))
    return found


def _worst(rows: list[Row]) -> str:
    return max((row.off for row in rows), key=lambda text: abs(float(text.rstrip("%"))))
