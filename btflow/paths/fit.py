"""Fits a path model to measurements of one's own."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btflow.paths import files
from btflow.paths.measured import Measured, read_csv
from btflow.paths.model import MOST_LOST, PathModel
from btflow.paths.places import fit_structure
from btflow.paths.structure import Structure

Floats = NDArray[np.float64]

FEWEST_PEERS = 20
"""Peers between all of which paths are measured, for what their paths have in common to be fitted."""

MOST_FITTED = 1000
"""Of more peers only so many, those with most paths, are used for it."""

WORST = 0.99 * MOST_LOST
"""Losses above count as this."""

BASE = "iplane"
"""The model that what is not measured is taken from."""

_GRID = (0.0, 0.001, 0.005, *(percent / 100 for percent in range(1, 100)), 0.995, 0.998, 0.999, 1.0)


def fit(
    csv_path: str | PathLike[str],
    *,
    rtt: str | None = None,
    loss: str | None = None,
    rtt_unit: str | None = None,
    loss_unit: str | None = None,
    src: str | None = None,
    dst: str | None = None,
) -> PathModel:
    """Return a path model with the quantiles of measured round-trip times and losses.

    The file has a header and a row for each path measured. A quantity that it lacks is taken from ``iplane``. Names of
    the two peers of each row, if they are there and complete between 20 peers or more, say what the paths of one peer
    have in common; otherwise that is taken from ``iplane``, too.

    Args:
        csv_path: The file, CSV in UTF-8, plain or packed by gzip; lines that begin with # are comments.
        rtt: Column of round-trip times.  [the one named rtt, with or without a unit: rtt_ms, "rtt [s]"]
        loss: Column of losses.  [the one named loss]
        rtt_unit: "us", "ms" or "s".  [as the column's name says]
        loss_unit: "fraction" or "%".  [as the column's name says, or fraction]
        src: Column that names one peer.  [src, source, from or peer]
        dst: Column that names the other peer.  [dst, destination, to or other]

    Raises:
        InputError: The file cannot be read, has no such column or too few rows, or a line of it has no number, a
            negative one, or one that tells of another unit; the line is named.
    """
    measured = read_csv(csv_path, rtt=rtt, loss=loss, rtt_unit=rtt_unit, loss_unit=loss_unit, src=src, dst=dst)
    return fitted(measured)


def fitted(measured: Measured) -> PathModel:
    """Return the model of measured paths; as ``fit``."""
    base = files.load(BASE)
    matrix = between_all(measured)
    rows = max(len(values) for values in (measured.rtt, measured.loss) if values is not None)
    name = Path(measured.name).name
    made = {
        "name": name.split(".")[0] or "measured",
        "title": f"Paths with the round-trip times and losses of {name}",
        "source": f"{rows} rows of {name}; {_taken(measured, matrix)}",
        "rtt": _points(measured.rtt, base, "rtt"),
        "loss": _points(None if measured.loss is None else np.minimum(measured.loss, WORST), base, "loss"),
        "structure": base.structure,
    }
    model = files.parse(made)
    return model if matrix is None else model.model_copy(update={"structure": structure_of(matrix, model)})


def structure_of(matrix: Floats, model: PathModel) -> Structure:
    """Return what paths have in common, from round-trip times between all of some peers [s]."""
    return fit_structure(matrix, model, regions=max(1, min(10, len(matrix) // 10)))


def between_all(measured: Measured) -> Floats | None:
    """Return the median round-trip times [s] between peers that all have paths to each other; None if too few have."""
    if measured.rtt is None or not measured.ends:
        return None
    names = sorted({name for ends in measured.ends for name in ends})
    place = {name: i for i, name in enumerate(names)}
    pairs = np.sort(np.array([[place[one], place[other]] for one, other in measured.ends]), axis=1)
    medians = _medians(pairs[:, 0] * len(names) + pairs[:, 1], measured.rtt)
    matrix = np.full((len(names), len(names)), np.nan)
    one, other = np.divmod(medians[0], len(names))
    matrix[one, other] = matrix[other, one] = medians[1]
    np.fill_diagonal(matrix, 0.0)
    kept = _complete(np.isfinite(matrix))
    return matrix[np.ix_(kept, kept)] if len(kept) >= FEWEST_PEERS else None


def _medians(key: NDArray[np.int64], value: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the keys there are, and the median of the values of each."""
    order = np.lexsort((value, key))
    found, start, count = np.unique(key[order], return_index=True, return_counts=True)
    low, high = value[order][start + (count - 1) // 2], value[order][start + count // 2]
    return found, 0.5 * (low + high)


def _complete(there: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return peers all of whose paths to each other are there: those with most gaps are left out, one by one."""
    kept = np.argsort(-there.sum(axis=1), kind="stable")[:MOST_FITTED]
    while (gaps := (~there[np.ix_(kept, kept)]).sum(axis=1)).any():
        kept = np.delete(kept, int(np.argmax(gaps)))
    return np.sort(kept)


def _points(values: Floats | None, base: PathModel, quantity: str) -> list[dict[str, Any]]:
    """Return the table of measured values, or that of the base."""
    table = base.table("rtt" if quantity == "rtt" else "loss")
    grid = sorted({*_GRID, *([] if values is None else [float(np.mean(values == 0.0))])})
    at = table.quantile(np.array(grid)) if values is None else np.quantile(values, grid)
    source = f"of {base.name}" if values is None else "measured"
    texts = [f"{1e3 * value:.6g} ms" for value in at] if quantity == "rtt" else [float(f"{value:.6g}") for value in at]
    return [{"share": share, "value": text, "source": source} for share, text in zip(grid, texts, strict=True)]


def _taken(measured: Measured, matrix: Floats | None) -> str:
    """Say what is of the base and what was fitted."""
    lacking = [what for what, values in (("rtt", measured.rtt), ("loss", measured.loss)) if values is None]
    shared = f"of {BASE}" if matrix is None else f"fitted to the paths between {len(matrix)} peers"
    return "; ".join([*(f"{what} of {BASE}" for what in lacking), f"structure {shared}"])
