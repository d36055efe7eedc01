"""Fits a path model to measurements of one's own."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.paths import model as model_files
from btflow.paths.fitting_structure import REGIONS, Fitted, fit_structure
from btflow.paths.lines import Ends
from btflow.paths.measured import FIELD, Measured, Progress, read_csv
from btflow.paths.model import MOST_LOST, PathModel, Structure
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
    peers = _most_paths(measured.ends)
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


def _most_paths(ends: Ends) -> NDArray[np.intp]:
    """Return the peers with most paths, in a random order that is always the same where they have as many."""
    paths = np.bincount(ends.ravel())
    shuffled = np.random.default_rng(0).permutation(len(paths))
    return shuffled[np.argsort(-paths[shuffled], kind="stable")][:MOST_TRIED]


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
