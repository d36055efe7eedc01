"""Fits the structure of a path model to a matrix of round-trip times: places of peers, regions, detours."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import brentq, minimize
from scipy.special import ndtri

from btflow.paths.generate import sample
from btflow.paths.model import MOST_SPREAD, PathModel, Region, Structure
from btflow.paths.triangles import above_best

Floats = NDArray[np.float64]

REGIONS = 14
"""Chosen by hand."""

_ROBUST = 0.3
"""Deviations of a logarithm count by their square up to this and linearly above (Huber)."""

_NEAR = 0.1
"""Of the median round-trip time: places nearer than this may as well coincide. With less, places are not unique."""


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


def regions_of(place: Floats, most: int) -> tuple[Region, ...]:
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


def peer_share(rtt: Floats) -> float:
    """Return the share of the variance of round-trip times that goes with the two peers of a pair.

    Round-trip times are turned into normal scores z by their ranks; in z = p(one) + p(other) + rest, twice the variance
    of p over that of z, the part that the rest adds to p taken off.
    """
    peers = len(rtt)
    one, other = np.triu_indices(peers, 1)
    scores = ndtri((scipy.stats.rankdata(rtt[one, other]) - 0.5) / one.size)
    total = np.bincount(one, scores, peers) + np.bincount(other, scores, peers)
    part = total / (peers - 2)
    rest = np.sum((scores - part[one] - part[other]) ** 2) / (one.size - peers)
    return float(2.0 * (np.var(part, ddof=1) - rest * (peers - 1) / (peers - 2) ** 2) / np.var(scores))


ABOVE = (0.1, 0.25)
"""The parts above the best path through another peer: detours are fitted to the shares of pairs beyond the two."""

_OF_PLACES, _OF_DETOURS = 0.003, 0.03
"""What a step does of the rest of the work: there are some hundred steps to find the places, and some fifty detours."""

_DETOURS = (0.0, 0.5)
"""The least and the largest detour that is tried."""

_SPREADS = (0.0, MOST_SPREAD)
"""The least and the largest spread of detours that is tried."""

PEERS = 6000
"""In all matrices together that are drawn to find the shares of violations that detours make."""

_OFF = 0.02
"""How far a share of violations of a fit may be from the measured one without a note: one drawn matrix of 490 peers
differs from the next by 0.035 (standard deviation), so a measured one tells no more."""

_OTHERS = 1_000_000
"""The first seed of the matrices that tell how well a fit does: not those that it was made with."""

_LOOKED_AT = 60
"""Peers of each such matrix whose paths are compared, or an eighth, if that is more: all are alike."""


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
    measured: tuple[float, ...]
    """Shares of the pairs of peers that are more than 10% and more than 25% above their best path through another."""
    in_table: tuple[float, ...]
    """The same with the times of the model's table, in the order of those measured: what detours are fitted to."""
    drawn: tuple[float, ...]
    """The same of matrices drawn with the structure, others than those that it was fitted to."""
    detours_fitted: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What its user should know: which measured share the detours do not meet, in words."""
        if not self.detours_fitted:
            return ()
        return tuple(
            f"the fit misses the share of pairs more than {above:.0%} above their best path through another peer: "
            f"{measured:.1%} measured, {wanted:.1%} with the times of the table, {drawn:.1%} drawn with {self._tried()}"
            for above, measured, wanted, drawn in zip(ABOVE, self.measured, self.in_table, self.drawn, strict=True)
            if abs(drawn - wanted) > _OFF
        )

    def _tried(self) -> str:
        """Name the detours, and which of their two numbers is at its end."""
        of = (("the detour", self.structure.detour, _DETOURS), ("the spread", self.structure.detour_spread, _SPREADS))
        return " and ".join(f"{name} {value:g}{_end(value, ends)}" for name, value, ends in of)


def _end(value: float, ends: tuple[float, float]) -> str:
    return f", the {'least' if value == ends[0] else 'largest'} that is tried" if value in ends else ""


def fit_structure(
    rtt: Floats,
    model: PathModel,
    regions: int = REGIONS,
    progress: Callable[[float], object] | None = None,
    like: Structure | None = None,
    peers: int = PEERS,
) -> Fitted:
    """Return the structure with which a model's paths go together as those of a matrix do.

    Args:
        rtt: Round-trip times [s] (peers, peers), symmetric, above zero but for the diagonal.
        model: Has the tables; its own structure is not used.
        regions: Most regions.
        progress: Is called with about the share of the fit that is done.
        like: Has the detours, if they are not to be fitted.
        peers: In all matrices together that are drawn to fit them.
    """
    shown = _Shown(progress)
    placed = places(rtt, lambda: shown.step(_OF_PLACES))
    with_regions = model.structure.model_copy(update={"regions": regions_of(placed, regions)})
    wanted = violations(stretched(rtt, model))

    matrices = -(-peers // len(rtt))

    @lru_cache
    def drawn(detour: float, spread: float) -> tuple[float, ...]:
        shown.step(_OF_DETOURS)
        return _drawn(_with_detours(model, with_regions, detour, spread), len(rtt), matrices)

    found = (like.detour, like.detour_spread) if like is not None else _fit_detours(drawn, wanted)
    made = _with_detours(model, with_regions, *found)
    fitted = Fitted(made.structure, violations(rtt), wanted, _drawn(made, len(rtt), matrices, _OTHERS), like is None)
    shown.step(1.0)
    return fitted


def _fit_detours(drawn: Callable[[float, float], tuple[float, ...]], wanted: tuple[float, ...]) -> tuple[float, float]:
    """Return the detour and the spread whose drawn shares are those wanted, or the nearest ends of what is tried.

    For each spread there is a detour that meets the first share; the more spread, the larger is then the second.
    """
    some, far = wanted

    @lru_cache
    def detour(spread: float) -> float:
        return round(_crossing(lambda tried: drawn(tried, spread)[0] - some, *_DETOURS, 2e-4), 4)

    spread = round(_crossing(lambda tried: drawn(detour(tried), tried)[1] - far, *_SPREADS, 1e-2), 2)
    return detour(spread), spread


def _with_detours(model: PathModel, structure: Structure, detour: float, spread: float) -> PathModel:
    changed = structure.model_copy(update={"detour": detour, "detour_spread": spread})
    return model.model_copy(update={"structure": changed})


def stretched(rtt: Floats, model: PathModel) -> Floats:
    """Return a matrix with the times of a model's table, in the order of its own: violations change with the table."""
    one, other = np.triu_indices(len(rtt), 1)
    found = np.zeros_like(rtt)
    found[one, other] = found[other, one] = model.rtt_at((scipy.stats.rankdata(rtt[one, other]) - 0.5) / one.size)
    return found


def violations(rtt: Floats) -> tuple[float, ...]:
    """Return the shares of pairs that are above their best path through another peer by more than each of ``ABOVE``."""
    above = above_best(rtt)
    return tuple(float(np.mean(above > part)) for part in ABOVE)


def _drawn(model: PathModel, peers: int, matrices: int, first: int = 0) -> tuple[float, ...]:
    """Return the mean shares of violations of matrices drawn from a model, from the first seed on."""
    looked_at = min(peers, max(_LOOKED_AT, peers // 8))
    shares = []
    for seed in range(first, first + matrices):
        above = above_best(sample(model, peers, np.random.default_rng(seed)).rtt, looked_at)
        shares.append([np.mean(above > part) for part in ABOVE])
    return tuple(map(float, np.mean(shares, axis=0)))


def _crossing(excess: Callable[[float], float], low: float, high: float, within: float) -> float:
    """Return where a rising function crosses zero in a range, or the nearer end."""
    if excess(low) >= 0.0:
        return low
    return high if excess(high) <= 0.0 else float(brentq(excess, low, high, xtol=within))
