"""Shortest paths between iPlane's points of presence (PoPs), and the path model of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from btflow.errors import InputError
from btflow.options import MAX_SEED, whole_number
from btflow.paths.files import load
from btflow.paths.fitting import BASE, FEWEST_PEERS, check_through, fit, too_lossy, with_structure
from btflow.paths.links import FIELD
from btflow.paths.measured import FEWEST, Measured, Progress
from btflow.paths.model import MOST_PEERS, PathModel
from btflow.paths.pairs import Pairs, Together
from btflow.paths.structuring import ABOVE, Fitted
from btflow.words import counted

Floats = NDArray[np.float64]

LEAST = 0.1e-3
"""One-way latency [s] of links whose latency is 0 ms: PoPs are not nowhere apart."""

POPS = 300
"""Between so many PoPs, chosen at random, shortest paths are found."""


def pop_rtts(links: xr.Dataset, pops: int = POPS, seed: int = 0) -> Floats:
    """Return round-trip times [s] of the shortest paths between some PoPs (pops, pops), symmetric.

    Twice the sum of the links' latencies; of a link that is there more than once, or both ways, the mean.

    Args:
        links: What ``read_iplane`` returns.
        pops: So many, 2 to 5000, at random out of the largest part that is connected; all if there are fewer.
        seed: Of the choice.

    Raises:
        InputError: These are no such links, or a number is out of range.
    """
    count, number = whole_number("pops", pops, 2, MOST_PEERS), whole_number("seed", seed, 0, MAX_SEED)
    together = _together(_checked("links", links, "latency"))
    mean = np.maximum(together.means(links["latency"].values), LEAST)
    size = 1 + int(together.ends.max(initial=0))
    graph = coo_matrix((mean, together.ends.T), (size, size)).tocsr()
    _, part = connected_components(graph, directed=False)
    largest = np.flatnonzero(part == np.bincount(part).argmax())
    chosen = np.sort(np.random.default_rng(number).permutation(largest)[:count])
    times = 2.0 * np.asarray(dijkstra(graph, directed=False, indices=chosen)[:, chosen])
    return 0.5 * (times + times.T)


def fit_iplane(links: xr.Dataset, losses: xr.Dataset | None = None, pops: int = POPS, seed: int = 0) -> PathModel:
    """Return the model of shortest paths between PoPs; losses are those of the links.

    No way through a third PoP is shorter than the shortest path, so links do not say how far routes stray from it: the
    detour is that of ``iplane``.

    Args:
        links: What ``read_iplane`` returns.
        losses: The same of a file of losses (``quantity="loss"``); those of ``iplane`` if there is none.
        pops: As of ``pop_rtts``, at least 20.
        seed: As of ``pop_rtts``.

    Raises:
        InputError: These are no such links, a number is out of range, fewer than 20 PoPs are connected, or nothing gets
            through on any link.
    """
    if losses is not None:
        _checked("losses", losses, "loss")
    return of_pops(pop_rtts(links, whole_number("pops", pops, FEWEST_PEERS, MOST_PEERS), seed), links, losses)[1]


def of_pops(
    matrix: Floats, links: xr.Dataset, losses: xr.Dataset | None, progress: Progress | None = None
) -> tuple[Measured, PathModel, Fitted]:
    """Return what was measured, of round-trip times [s] between PoPs (pops, pops), and its model; as ``fit_iplane``.

    Also how well the structure was fitted.
    """
    file, count = links.attrs["file"], links.sizes["link"]
    if len(matrix) < FEWEST_PEERS:
        raise InputError(FIELD, file, f"connects only {counted(len(matrix), 'PoP')}", f"{FEWEST_PEERS} or more")
    if losses is not None and losses.sizes["link"] < FEWEST:
        found = counted(losses.sizes["link"], "loss", "losses")
        raise InputError(FIELD, losses.attrs["file"], f"has {found}", f"{FEWEST} or more, for quantiles")
    times, lost = matrix[np.triu_indices(len(matrix), 1)], None if losses is None else losses["loss"].values
    measured = Measured(file, count, times, lost, None, tuple(_notes(links, losses)))
    if losses is not None:
        check_through(FIELD, losses.attrs["file"], losses["loss"].values)
    source = f"shortest paths between {len(matrix)} PoPs of {count} links in {file}"
    source += "; loss of iplane" if losses is None else f"; losses of the {len(losses['loss'])} links in {losses.file}"
    model = fit(measured).model_copy(update={"source": f"{source}; detours of {BASE}"})
    model, fitted = with_structure(model, matrix, progress, load(BASE).structure)
    return measured._replace(notes=(*measured.notes, _of_detours(fitted))), model, fitted


def _of_detours(found: Fitted) -> str:
    """Say where the detours are from, and what they do."""
    drawn = f"{found.drawn[0]:.1%} of drawn pairs are more than {ABOVE[0]:.0%} above it"
    return f"shortest paths tell of no detours: those of {BASE} are taken, with which {drawn}"


def _checked(field: str, links: object, quantity: str) -> xr.Dataset:
    """Return links that have a quantity; an InputError if they are none, or have another."""
    other = "latency" if quantity == "loss" else "loss"
    allowed = "what read_iplane(path) returns" if other == "loss" else 'what read_iplane(path, quantity="loss") returns'
    if isinstance(links, xr.Dataset) and quantity in links:
        return links
    if isinstance(links, xr.Dataset) and other in links:
        raise InputError(field, links.attrs.get("file"), f"has no {quantity}, it was read as {other}", allowed)
    shown = "a Dataset" if isinstance(links, xr.Dataset) else links
    raise InputError(field, shown, "has no links of iPlane's", allowed)


def _together(links: xr.Dataset) -> Together:
    """Return which links are between the same two PoPs, whichever is first."""
    pairs = Pairs()
    for one, other in zip(links["pop_a"].values.tolist(), links["pop_b"].values.tolist(), strict=True):
        pairs.add(one, other)
    return pairs.together()


def _notes(links: xr.Dataset, losses: xr.Dataset | None) -> Iterator[str]:
    """Give what of the files counts as something else, or not at all."""
    below = float(np.mean(2.0 * links["latency"].values < 0.4))
    yield f"{below:.1%} of the links have twice their latency below 400 ms (published: 98%)"
    together = _together(links)
    if together.alone:
        yield f"{counted(together.alone, 'link')} of a PoP and itself: left out"
    if unequal := together.unequal(links["latency"].values):
        of = f"{unequal:,} of {counted(len(together.ends), 'pair of PoPs')}"
        yield f"links of unequal latencies between {of}, the same way or both: each pair counts with their mean"
    for found, what in ((links, "latency"), (losses, "loss")):
        if found is not None and found.attrs["dropped"]:
            yield f"{counted(found.attrs['dropped'], 'link')} without a measured {what}: left out"
    if losses is not None:
        together = _together(losses)
        if unequal := together.unequal(losses["loss"].values):
            of = f"{unequal:,} of {counted(len(together.ends), 'pair of PoPs')}"
            yield f"links of unequal losses between {of}, the same way or both: each link counts"
        yield from too_lossy(losses["loss"].values)
