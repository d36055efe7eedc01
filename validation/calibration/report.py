"""Compares the path model with the published points and with measurements, point by point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from btflow.paths.fitting import fit_structure, stretched
from btflow.paths.generate import Sampled, sample
from btflow.paths.model import PathModel
from btflow.paths.triangles import above_best, triangle_share, triangle_violations
from validation.calibration.raw import rows

Floats = NDArray[np.float64]

POINTS_OFF = 0.5
"""Most percentage points that a share may be off a published one."""

BODY_OFF = 10.0
"""Most percent that a quantile of the body may be off PlanetLab's."""

BODY = (10, 25, 50, 75, 90, 95)
SHOWN = (1, 2, 5, *BODY, 98)
DRAWN = 200
"""Matrices of ``PEERS`` peers that quantiles are taken of; means, as one matrix varies with where its peers are."""
PEERS = 100
FURTHEST, FIBRE = 19_570.0, 200.0
"""Kilometres from Wellington to Lisbon, and those that light goes in fibre in a millisecond."""
ENDS = ("NZNZ", "PTPT")
"""New Zealand and Portugal in Shadow's topology."""
ALIKE_DRAWN = 20
"""Matrices of PlanetLab's size that are compared with it."""
ALIKE_OFF = 5.0
"""Most percentage points that a share of paths alike may be off PlanetLab's: the halves of its nodes differ by that."""
FAR = 0.25
"""A pair is far above its best path beyond this part of it."""
HALF_SEED = 1
"""Says which half of the nodes the structure is fitted to for the check on the other half."""


class Measured(NamedTuple):
    """What was measured and is compared with the model."""

    matrix: Floats
    """PlanetLab's round-trip times [ms] (nodes, nodes)."""
    samples: Floats | None
    """iPlane's round-trip times in Shadow's topology [ms]."""
    far: Floats | None
    """Those between ``ENDS`` as they are there [ms]."""


class Row(NamedTuple):
    """A figure of the model beside what it should be."""

    what: str
    wanted: str
    found: str
    off: str
    met: bool


def drawn(model: PathModel, peers: int, matrices: int) -> list[Sampled]:
    """Return matrices drawn from a model, always the same."""
    return [sample(model, peers, np.random.default_rng(1000 + number)) for number in range(matrices)]


def published(model: PathModel, paths: list[Sampled], data: Path) -> Iterator[Row]:
    """Give the published points beside the shares of the tables and of drawn paths."""
    for row in rows(data / "published.csv"):
        name, wanted = row["quantity"], float(row["share_below"])
        limit = float(row["threshold"]) * (1e-3 if row["unit"] == "ms" else 1.0)
        table = float(model.table("rtt" if name == "rtt" else "loss").share_below(np.array([limit * (1 - 1e-12)]))[0])
        shares = [float(np.mean(_pairs(getattr(one, name)) < limit)) for one in paths]
        share, varies = float(np.mean(shares)), float(np.std(shares))
        off = max((100 * (found - wanted) for found in (table, share)), key=abs)
        what = f"{name} below {row['threshold']} {row['unit']}"
        found = f"{100 * table:.2f}% in the table, {100 * share:.2f} +- {100 * varies:.1f}% drawn"
        yield Row(what, f"{100 * wanted:.1f}%", found, f"{off:+.2f} points", abs(off) <= POINTS_OFF)


def body(model: PathModel, paths: list[Sampled], measured: dict[float, float]) -> Iterator[Row]:
    """Give quantiles [ms] of PlanetLab's, by their shares, beside those of the table and of drawn paths."""
    shares = np.array(list(measured))
    found = 1e3 * np.quantile(np.concatenate([_pairs(one.rtt) for one in paths]), shares)
    for share, of_table, of_paths in zip(measured, 1e3 * model.rtt_at(shares), found, strict=True):
        wanted = measured[share]
        off = max((100 * (value / wanted - 1) for value in (of_table, of_paths)), key=abs)
        text = f"{of_table:.1f} ms in the table, {of_paths:.1f} ms drawn"
        met = round(100 * share) not in BODY or abs(off) <= BODY_OFF
        yield Row(f"{100 * share:.0f}% of the round-trip times below", f"{wanted:.1f} ms", text, f"{off:+.1f}%", met)


def peer_share(rtt: Floats) -> float:
    """Return the share of the variance of round-trip times that goes with the two peers of a pair.

    Round-trip times are turned into normal scores z by their ranks; in z = p(one) + p(other) + rest, twice the variance
    of p over that of z, the part that the rest adds to p taken off.
    """
    peers = len(rtt)
    one, other = np.triu_indices(peers, 1)
    scores = ndtri((rankdata(rtt[one, other]) - 0.5) / one.size)
    total = np.bincount(one, scores, peers) + np.bincount(other, scores, peers)
    part = total / (peers - 2)
    rest = np.sum((scores - part[one] - part[other]) ** 2) / (one.size - peers)
    return float(2.0 * (np.var(part, ddof=1) - rest * (peers - 1) / (peers - 2) ** 2) / np.var(scores))


ALIKE: dict[str, Callable[[Floats], float]] = {
    "share of variance that goes with the peers": peer_share,
    "pairs more than 5% above their best path through another": lambda rtt: triangle_violations(rtt, 0.05),
    "pairs more than 10% above it (fitted)": triangle_violations,
    "pairs more than 25% above it (fitted)": lambda rtt: triangle_violations(rtt, 0.25),
    "pairs more than 50% above it": lambda rtt: triangle_violations(rtt, 0.5),
    "pairs more than 100% above it": lambda rtt: triangle_violations(rtt, 1.0),
    "triangles violated": triangle_share,
}
"""What the paths of a matrix have in common."""


def alike(model: PathModel, matrix: Floats) -> Iterator[Row]:
    """Give what the paths of a measured matrix [ms] have in common beside that of drawn ones of its size.

    The measured one also with its times stretched to the model's table, whose tail is longer: what drawn ones should be
    like.
    """
    paths, as_table = drawn(model, len(matrix), ALIKE_DRAWN), stretched(matrix, model)
    for what, measure in ALIKE.items():
        measured, wanted = measure(matrix), measure(as_table)
        shares = [measure(one.rtt) for one in paths]
        found, varies = float(np.mean(shares)), float(np.std(shares))
        off = 100 * (found - wanted)
        text = f"{100 * wanted:.1f}% stretched to the table, {100 * found:.1f} +- {100 * varies:.1f}% drawn"
        yield Row(what, f"{100 * measured:.1f}%", text, f"{off:+.1f} points", abs(off) <= ALIKE_OFF)


def peers_apart(rtt: Floats) -> float:
    """Return how much the peers' shares of pairs 25% above their best path vary, beside those of independent pairs.

    The standard deviation of the shares over that of binomial ones.
    """
    peers = len(rtt)
    above = np.zeros((peers, peers))
    above[np.triu_indices(peers, 1)] = above_best(rtt) > FAR
    share = (above + above.T).sum(axis=1) / (peers - 1)
    mean = share.mean()
    return float(share.std() / np.sqrt(mean * (1.0 - mean) / (peers - 1)))


def strays(model: PathModel, matrix: Floats) -> Iterator[Row]:
    """Give how much further some nodes' paths stray than others', in a measured matrix [ms] and in drawn ones."""
    as_table = stretched(matrix, model)
    found = float(np.mean([peers_apart(one.rtt) for one in drawn(model, len(matrix), ALIKE_DRAWN)]))
    alike_all = model.model_copy(update={"structure": model.structure.model_copy(update={"detour_spread": 0.0})})
    without = float(np.mean([peers_apart(one.rtt) for one in drawn(alike_all, len(matrix), ALIKE_DRAWN)]))
    wanted = peers_apart(as_table)
    text = f"{wanted:.1f} stretched to the table, {found:.1f} drawn, {without:.1f} without a spread of detours"
    yield Row("deviation over that of chance", f"{peers_apart(matrix):.1f}", text, f"{found - wanted:+.1f}", True)


def held_out(model: PathModel, matrix: Floats) -> Iterator[Row]:
    """Give the same for one half of the nodes, with the structure fitted to the other half."""
    nodes = np.random.default_rng(HALF_SEED).permutation(len(matrix))
    fitted, kept = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    structure = fit_structure(matrix[np.ix_(fitted, fitted)] / 1e3, model).structure
    yield from alike(model.model_copy(update={"structure": structure}), matrix[np.ix_(kept, kept)])


def other(model: PathModel, samples: Floats) -> Iterator[Row]:
    """Give quantiles of other round-trip times [ms] beside the table's: a comparison, nothing to meet."""
    table = 1e3 * model.rtt_at(np.array(SHOWN) / 100)
    for share, wanted, found in zip(SHOWN, np.percentile(samples, SHOWN), table, strict=True):
        text = f"{found:.1f} ms in the table"
        yield Row(f"{share}% of the times below", f"{wanted:.1f} ms", text, f"{100 * (found / wanted - 1):+.1f}%", True)


def lognormal(model: PathModel, data: Path) -> Iterator[Row]:
    """Give the median [ms] of a lognormal through the two published times: why they do not set the body."""
    points = [row for row in rows(data / "published.csv") if row["quantity"] == "rtt"]
    normal, times = (np.array([float(row[name]) for row in points]) for name in ("share_below", "threshold"))
    slope, middle = np.polyfit(ndtri(normal), np.log(times), 1)
    table = 1e3 * float(model.rtt_at(0.5))
    text, off = f"{table:.1f} ms in the table", f"{100 * (table / np.exp(middle) - 1):+.1f}%"
    yield Row(f"median, with sigma {slope:.2f}", f"{np.exp(middle):.1f} ms", text, off, True)


def light(times: Floats) -> Iterator[Row]:
    """Give times [ms] of a file between New Zealand and Portugal beside what light in fibre takes there and back."""
    least, found = 2.0 * FURTHEST / FIBRE, float(np.median(times))
    text = f"{found:.1f} ms as in the file, {2.0 * found:.1f} ms as one way"
    yield Row(
        "there and back, by light and in the median", f"{least:.1f} ms", text, f"{2 * found - least:+.1f} ms", True
    )


def sections(model: PathModel, data: Path, measured: Measured | None) -> Iterator[tuple[str, list[Row]]]:
    """Give each comparison with its title; those with measured files only if they are given."""
    paths = drawn(model, PEERS, DRAWN)
    yield "iPlane's published points (fitted)", list(published(model, paths, data))
    yield "A lognormal through iPlane's two published times (not used)", list(lognormal(model, data))
    if measured is None:
        return
    matrix, samples, far = measured
    measured_at = {percent / 100: float(np.percentile(_pairs(matrix), percent)) for percent in SHOWN}
    yield "PlanetLab's quantiles (fitted up to 95%)", list(body(model, paths, measured_at))
    yield "What the paths of PlanetLab have in common", list(alike(model, matrix))
    yield "The same for half of the nodes, the structure fitted to the others", list(held_out(model, matrix))
    yield "How much nodes differ in their share of pairs more than 25% above (not fitted)", list(strays(model, matrix))
    if samples is not None:
        title = "iPlane 2012, by country, in Shadow's topology (not fitted, none below 20 ms)"
        yield title, list(other(model, samples))
    if far is not None:
        yield "New Zealand to Portugal there: are its times one way, or there and back?", list(light(far))


def as_text(title: str, found: list[Row]) -> str:
    """Return rows as a table."""
    cells = [(row.what, row.wanted, row.found, row.off) for row in found]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join([row.what.ljust(widths[0]), *map(str.rjust, parts[1:], widths[1:])])
        + ("" if row.met else "  NOT MET")
        for row, parts in zip(found, cells, strict=True)
    ]
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _pairs(matrix: Floats) -> Floats:
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)], np.float64)
