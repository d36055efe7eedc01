"""Shortest paths between iPlane's points of presence (PoPs)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from btflow.errors import InputError
from btflow.options import MAX_SEED, whole_number
from btflow.paths.lines import Pairs, Together
from btflow.paths.model import MOST_PEERS

Floats = NDArray[np.float64]

LEAST = 0.1e-3
"""One-way latency [s] of links whose latency is 0 ms: PoPs are not nowhere apart."""

POPS = 300
"""Between so many PoPs, chosen at random, shortest paths are found."""

CERTAIN = 1.0 - 1e-9
"""Losses above count as this, so that their logarithm is finite."""


class PopPaths(NamedTuple):
    """Paths between PoPs, both ways alike."""

    rtt: Floats
    """Round-trip times [s] (pops, pops)."""
    loss: Floats | None
    """Losses on them (pops, pops); None without measured ones."""
    measured: float
    """Share of the links of all paths that have a measured loss."""


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
    return pop_paths(links, None, pops, seed).rtt


def pop_paths(links: xr.Dataset, losses: xr.Dataset | None, pops: int = POPS, seed: int = 0) -> PopPaths:
    """Return the shortest paths between some PoPs; as ``pop_rtts``.

    The loss of a path is that of its links one after the other; a link without a measured loss counts as without loss.

    Raises:
        InputError: As of ``pop_rtts``; or no link on the paths has a measured loss.
    """
    count, number = whole_number("pops", pops, 2, MOST_PEERS), whole_number("seed", seed, 0, MAX_SEED)
    together = together_of(checked("links", links, "latency"))
    mean = np.maximum(together.means(links["latency"].values), LEAST)
    size = 1 + int(together.ends.max(initial=0))
    graph = coo_matrix((mean, together.ends.T), (size, size)).tocsr()
    _, part = connected_components(graph, directed=False)
    largest = np.flatnonzero(part == np.bincount(part).argmax())
    chosen = np.sort(np.random.default_rng(number).permutation(largest)[:count])
    away, before = dijkstra(graph, directed=False, indices=chosen, return_predecessors=True)
    times = 2.0 * np.asarray(away[:, chosen])
    if losses is None:
        return PopPaths(_both_ways(times), None, 0.0)
    lost, measured = _along(_thinned(links, checked("losses", losses, "loss"), size), before, chosen)
    if not measured:
        reason = f"has no link that is on a path between the PoPs of {links.attrs['file']}"
        raise InputError("losses", losses.attrs["file"], reason, "losses of the same links")
    return PopPaths(_both_ways(times), _both_ways(-np.expm1(-lost)), measured)


def _both_ways(values: Floats) -> Floats:
    return np.asarray(0.5 * (values + values.T), np.float64)


def _thinned(links: xr.Dataset, losses: xr.Dataset, size: int) -> csr_matrix:
    """Return minus the logarithm of the share that each link lets through (size, size); nothing where not measured.

    Numbers of PoPs are those of the links. A link without loss has the least number there is: it was measured.
    """
    of_links, of_losses = (np.unique([found["pop_a"], found["pop_b"]]) for found in (links, losses))
    number = np.minimum(np.searchsorted(of_links, of_losses), len(of_links) - 1)
    number[of_links[number] != of_losses] = -1
    together = together_of(losses)
    ends, lost = number[together.ends], together.means(losses["loss"].values)
    there = (ends >= 0).all(axis=1)
    through = np.maximum(-np.log1p(-np.minimum(lost[there], CERTAIN)), np.finfo(np.float64).tiny)
    one, other = ends[there].T
    return coo_matrix((np.tile(through, 2), (np.r_[one, other], np.r_[other, one])), (size, size)).tocsr()


def _along(thinned: csr_matrix, before: NDArray[np.int32], chosen: NDArray[np.int64]) -> tuple[Floats, float]:
    """Return the sum of a number of each link over the paths between the chosen, and the share of links that have one.

    Args:
        thinned: The numbers (pops, pops).
        before: The PoP before each on the shortest path from each of the chosen (chosen, pops), negative at its begin.
        chosen: The PoPs.
    """
    at, row = np.tile(chosen, (len(chosen), 1)), np.arange(len(chosen))[:, None]
    total, links, found = np.zeros(at.shape), 0, 0
    while (moving := before[row, at] >= 0).any():
        earlier = before[row, at][moving]
        number = np.asarray(thinned[earlier, at[moving]], np.float64).ravel()
        total[moving] += np.where(number > np.finfo(np.float64).tiny, number, 0.0)
        links, found = links + number.size, found + int(np.count_nonzero(number))
        at[moving] = earlier
    return total, found / max(links, 1)


def checked(field: str, links: object, quantity: str) -> xr.Dataset:
    """Return links that have a quantity; an InputError if they are none, or have another."""
    other = "latency" if quantity == "loss" else "loss"
    allowed = "what read_iplane(path) returns" if other == "loss" else 'what read_iplane(path, quantity="loss") returns'
    if isinstance(links, xr.Dataset) and quantity in links:
        return links
    if isinstance(links, xr.Dataset) and other in links:
        raise InputError(field, links.attrs.get("file"), f"has no {quantity}, it was read as {other}", allowed)
    shown = "a Dataset" if isinstance(links, xr.Dataset) else links
    raise InputError(field, shown, "has no links of iPlane's", allowed)


def together_of(links: xr.Dataset) -> Together:
    """Return which links are between the same two PoPs, whichever is first."""
    pairs = Pairs()
    for one, other in zip(links["pop_a"].values.tolist(), links["pop_b"].values.tolist(), strict=True):
        pairs.add(one, other)
    return pairs.together()
