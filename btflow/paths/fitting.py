"""Fits a path model to measurements of one's own: its tables, and its structure to a matrix of round-trip times."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import brentq, minimize

from btflow.errors import InputError
from btflow.paths import model as model_files
from btflow.paths.generate import sample
from btflow.paths.measured import FIELD, Measured, Progress, read_csv
from btflow.paths.model import MOST_LOST, MOST_SPREAD, PathModel, Region, Structure
from btflow.paths.triangles import above_best
from btflow.units.formatting import counted

Floats = NDArray[np.float64]

FEWEST_PEERS = 20
"""Peers between all of which paths are measured, for what their paths have in common to be fitted."""

MOST_TRIED = 1000
"""Of more peers only so many, those with most paths, are looked at for it."""

MOST_FITTED = 300
"""Of more peers between all of which there are paths, only so many, chosen at random, are used: their places take a
time that grows with the square of their number."""

WORST = 0.99 * MOST_LOST
"""Losses above count as this."""

BASE = "iplane"
"""The model that what is not measured is taken from."""

_GRID = (0.0, 0.001, 0.005, *(percent / 100 for percent in range(1, 100)), 0.995, 0.998, 0.999, 1.0)


def fit(measured: Measured | str | PathLike[str], *, progress: Progress | None = None) -> PathModel:
    """Return a path model with the quantiles of measured round-trip times and losses.

    A quantity that was not measured is taken from ``iplane``. If the two peers of each path are named, and the paths
    between 20 peers or more are all there, they say what the paths of one peer have in common; otherwise that is taken
    from ``iplane``, too. If no detour gives the share of violations that was measured, the model's source says so.

    Args:
        measured: What ``read_csv`` returns, or a file for it whose header names columns and units as it expects them.
        progress: Is called with the share of the fit that is done.

    Raises:
        InputError: As of ``read_csv``; or nothing gets through on any of the paths.
    """
    return fit_and_tell(measured if isinstance(measured, Measured) else read_csv(measured), progress)[0]


def fit_and_tell(found: Measured, progress: Progress | None = None) -> tuple[PathModel, Fitted | None]:
    """Return the model, as ``fit``, and how well its structure was fitted; None if it is that of ``iplane``."""
    check_through(FIELD, found.name, found.loss, '; loss_unit="%" if they are in percent')
    base = model_files.load(BASE)
    matrix = between_all(found)
    name = Path(found.name).name
    lossy = [] if found.loss is None else too_lossy(found.loss)
    made = {
        "name": name.split(".")[0] or "measured",
        "title": f"Paths with the round-trip times and losses of {name}",
        "source": "; ".join([f"{_counted(found)} of {name}; {_taken(found, matrix)}", *lossy]),
        "rtt": _points(found.rtt, base, "rtt"),
        "loss": _points(None if found.loss is None else np.minimum(found.loss, WORST), base, "loss"),
        "structure": base.structure,
    }
    model = model_files.parse(made)
    return (model, None) if matrix is None else with_structure(model, matrix, progress)


def check_through(field: str, name: str, losses: Floats | None, hint: str = "") -> None:
    """Refuse losses of a file with which nothing gets through on any path."""
    if losses is not None and np.min(losses) >= MOST_LOST:
        reason = f"has no loss below {MOST_LOST:.0%}: TCP gets nothing through on any path"
        raise InputError(field, Path(name).name, reason, f"losses of paths that data got through{hint}")


def too_lossy(losses: Floats) -> list[str]:
    """Return a note if some losses are too much for TCP."""
    lost = counted(int((losses > WORST).sum()), "loss", "losses")
    return [f"{lost} above {WORST:.1%} taken as that: TCP gets nothing through"] if losses.max() > WORST else []


def with_structure(
    model: PathModel, matrix: Floats, progress: Progress | None = None, like: Structure | None = None
) -> tuple[PathModel, Fitted]:
    """Return the model with what paths have in common, from round-trip times between all of some peers [s].

    Its source says what of it does not fit. Detours are as in ``like``, if that is given.
    """
    found = fit_structure(matrix, model, max(1, min(REGIONS, len(matrix) // 10)), progress, like)
    source = "; ".join((model.source, *found.notes))
    return model.model_copy(update={"structure": found.structure, "source": source}), found


def between_all(measured: Measured) -> Floats | None:
    """Return the round-trip times [s] between peers that all have paths to each other; None if too few have."""
    if measured.rtt is None or measured.ends is None:
        return None
    # the peers with most paths, in a random order that is always the same where they have as many
    paths = np.bincount(measured.ends.ravel())
    shuffled = np.random.default_rng(0).permutation(len(paths))
    peers = shuffled[np.argsort(-paths[shuffled], kind="stable")][:MOST_TRIED]
    place = np.full(int(measured.ends.max()) + 1, -1)
    place[peers] = np.arange(len(peers))
    ends = place[measured.ends]
    there = (ends >= 0).all(axis=1)
    one, other = ends[there].T
    matrix = np.full((len(peers), len(peers)), np.nan)
    matrix[one, other] = matrix[other, one] = measured.rtt[there]
    np.fill_diagonal(matrix, 0.0)
    kept = np.sort(_complete(np.isfinite(matrix))[:MOST_FITTED])
    return matrix[np.ix_(kept, kept)] if len(kept) >= FEWEST_PEERS else None


def _complete(there: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return peers all of whose paths to each other are there: those with most gaps are left out, one by one."""
    kept = np.arange(len(there))
    gaps = (~there).sum(axis=1)
    while gaps[kept].any():
        out = kept[np.argmax(gaps[kept])]
        kept = kept[kept != out]
        gaps -= ~there[out]
    return kept


def _points(values: Floats | None, base: PathModel, quantity: str) -> list[dict[str, Any]]:
    """Return the table of measured values, or that of the base."""
    table = base.table("rtt" if quantity == "rtt" else "loss")
    grid = sorted({*_GRID, *([] if values is None else [float(np.mean(values == 0.0))])})
    at = table.quantile(np.array(grid)) if values is None else np.quantile(values, grid)
    source = f"of {base.name}" if values is None else "measured"
    texts = [f"{1e3 * value:.6g} ms" for value in at] if quantity == "rtt" else [float(f"{value:.6g}") for value in at]
    return [{"share": share, "value": text, "source": source} for share, text in zip(grid, texts, strict=True)]


def _counted(measured: Measured) -> str:
    """Say how many rows there are, and of how many paths."""
    paths = max(len(values) for values in (measured.rtt, measured.loss) if values is not None)
    return f"{measured.rows} rows" if paths == measured.rows else f"{paths} pairs of peers in {measured.rows} rows"


def _taken(measured: Measured, matrix: Floats | None) -> str:
    """Say what is of the base, and why, and what was fitted."""
    lacking = [what for what, values in (("rtt", measured.rtt), ("loss", measured.loss)) if values is None]
    shared = f"of {BASE}" if matrix is None else f"fitted to the paths between {len(matrix)} peers"
    if matrix is None and measured.rtt is not None and measured.ends is not None:
        shared += f", as there are no {FEWEST_PEERS} peers between all of which times are measured"
    return "; ".join([*(f"{what} of {BASE}" for what in lacking), f"structure {shared}"])


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
