"""Fits the structure of a path model to a matrix of round-trip times: places, regions, detours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import brentq, minimize
from scipy.special import ndtri
from scipy.stats import rankdata

from btflow.paths.generate import sample
from btflow.paths.model import PathModel
from btflow.paths.structure import Region, Structure
from btflow.paths.triangles import triangle_violations

Floats = NDArray[np.float64]

REGIONS = 14
"""Chosen by hand."""

LOSS_OF_PEERS = 0.8
"""Assumed, there is no matrix of losses: in the ping logs of data/iplane the lossy ones are those of few sources."""

LOSS_WITH_RTT = 0.1
"""Assumed: in the ping logs of data/iplane loss and round-trip time are nearly unrelated."""

_ROBUST = 0.3
"""Deviations of a logarithm count by their square up to this and linearly above (Huber)."""

_NEAR = 0.1
"""Of the median round-trip time: places nearer than this may as well coincide. With less, places are not unique."""

_OF_PLACES, _OF_DETOURS = 0.003, 0.1
"""What a step does of the rest of the work: there are some hundred steps to find the places, and about ten detours."""

_DETOURS = (0.0, 0.5)
"""The least and the largest detour that is tried."""

_OFF = 0.005
"""How far the share of violations of a fit may be from the measured one without a note."""

_STEADY = 4
"""Matrices drawn to find the share of violations that a detour makes."""


class _Shown:
    """Shows after each step how much is done: a part of the rest, as nobody knows how many steps there will be."""

    def __init__(self, progress: Callable[[float], object] | None) -> None:
        self._progress, self._done = progress, 0.0

    def step(self, part: float) -> None:
        self._done += part * (1.0 - self._done)
        if self._progress is not None:
            self._progress(self._done)


class Fitted(NamedTuple):
    """A structure that was fitted, and how well."""

    structure: Structure
    measured: float
    """Share of the pairs of peers that are more than 10% above their best path through another one."""
    drawn: float
    """The same of matrices drawn with the structure."""
    detour_fitted: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What its user should know: that the detour does not meet the measured share, in words."""
        if not self.detour_fitted or abs(self.drawn - self.measured) <= _OFF:
            return ()
        detour = self.structure.detour
        end = f", the {'least' if detour == _DETOURS[0] else 'largest'} that is tried" if detour in _DETOURS else ""
        missed = "the fit misses the share of pairs more than 10% above their best path through another peer"
        return (f"{missed}: {self.measured:.1%} measured, {self.drawn:.1%} drawn with the detour {detour:g}{end}",)


def fit_structure(
    rtt: Floats,
    model: PathModel,
    regions: int = REGIONS,
    progress: Callable[[float], object] | None = None,
    detour: float | None = None,
) -> Fitted:
    """Return the structure with which a model's paths go together as those of a matrix do.

    Args:
        rtt: Round-trip times [s] (peers, peers), symmetric, above zero but for the diagonal.
        model: Has the tables; its own structure is not used.
        regions: Most regions.
        progress: Is called with about the share of the fit that is done.
        detour: The detour, if it is not to be fitted.
    """
    shown = _Shown(progress)
    placed = places(rtt, lambda: shown.step(_OF_PLACES))
    structure = model.structure.model_copy(update={"regions": _regions(placed, regions)})
    wanted = triangle_violations(stretched(rtt, model))

    def with_detour(tried: float) -> Structure:
        return structure.model_copy(update={"detour": tried})

    def violated(tried: float) -> float:
        shown.step(_OF_DETOURS)
        return violations(model.model_copy(update={"structure": with_detour(tried)}), len(rtt))

    found = detour if detour is not None else round(_crossing(lambda tried: violated(tried) - wanted, *_DETOURS), 4)
    fitted = Fitted(with_detour(found), wanted, violated(found), detour is None)
    shown.step(1.0)
    return fitted


def stretched(rtt: Floats, model: PathModel) -> Floats:
    """Return a matrix with the times of a model's table, in the order of its own: violations change with the table."""
    one, other = np.triu_indices(len(rtt), 1)
    found = np.zeros_like(rtt)
    found[one, other] = found[other, one] = model.rtt_at((rankdata(rtt[one, other]) - 0.5) / one.size)
    return found


def violations(model: PathModel, peers: int) -> float:
    """Return the mean share of violations of matrices drawn from a model, always of the same random numbers."""
    drawn = (sample(model, peers, np.random.default_rng(seed)).rtt for seed in range(_STEADY))
    return float(np.mean([triangle_violations(rtt) for rtt in drawn]))


def places(rtt: Floats, step: Callable[[], None] | None = None) -> Floats:
    """Return places in the plane whose distances are near to the round-trip times [s] (peers, 2).

    After each step that it takes ``step`` is called.

    It starts from classical scaling (Torgerson 1952) and minimises Huber's measure of ln(distance / rtt), as network
    coordinates do (Dabek et al., Vivaldi, SIGCOMM 2004). The distance is sqrt(x^2 + y^2 + near^2), which is smooth.
    """
    peers = len(rtt)
    apart = np.eye(peers, dtype=bool)
    measured, near = np.log(np.where(apart, 1.0, rtt)), _NEAR * float(np.median(rtt[~apart]))

    def misfit(flat: Floats) -> tuple[float, Floats]:
        x, y = (at[:, None] - at for at in flat.reshape(2, peers))
        square = x * x + y * y + near**2
        off = np.where(apart, 0.0, 0.5 * np.log(square) - measured)
        clipped = np.clip(off, -_ROBUST, _ROBUST)
        pull = clipped / square
        slope = np.concatenate([np.einsum("ij,ij->i", pull, x), np.einsum("ij,ij->i", pull, y)])
        return float(np.sum(clipped * (off - 0.5 * clipped))) / 2.0, slope

    found = minimize(
        misfit,
        _scaled(rtt).T.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-10},
        callback=lambda _: None if step is None else step(),
    )
    return _turned(found.x.reshape(2, peers).T)


def _scaled(rtt: Floats) -> Floats:
    """Return the places of classical scaling (peers, 2)."""
    centring = np.eye(len(rtt)) - 1.0 / len(rtt)
    value, vector = np.linalg.eigh(-0.5 * centring @ rtt**2 @ centring)
    return np.asarray(vector[:, -2:] * np.sqrt(np.maximum(value[-2:], 1e-12)), np.float64)


def _turned(place: Floats) -> Floats:
    """Return places along their principal axes, most peers on the far side, so that they do not depend on the start."""
    centred = place - place.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    turned *= np.where(np.sum(turned**3, axis=0) > 0.0, -1.0, 1.0)
    return np.asarray(turned - turned.min(axis=0), np.float64)


def _regions(place: Floats, most: int) -> tuple[Region, ...]:
    """Return places in groups (Ward's), to a tenth of a millisecond."""
    group = fcluster(linkage(place, "ward"), most, criterion="maxclust")
    found = [place[group == number] for number in np.unique(group)]
    return tuple(
        Region(
            share=round(len(inside) / len(place), 4),
            x=_milliseconds(inside[:, 0].mean()),
            y=_milliseconds(inside[:, 1].mean()),
            spread=_milliseconds(max(np.sqrt(inside.var(axis=0).mean()), 1e-3)),
        )
        for inside in sorted(found, key=len, reverse=True)
    )


def _milliseconds(delay: float) -> Any:
    """Return a delay as a model file has it, to a tenth of a millisecond."""
    return f"{1e3 * delay:.1f} ms"


def _crossing(excess: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function crosses zero in a range, or the nearer end."""
    if excess(low) >= 0.0:
        return low
    return high if excess(high) <= 0.0 else float(brentq(excess, low, high, xtol=2e-4))


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
