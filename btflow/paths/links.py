"""Reads iPlane's links between points of presence (PoPs), for those who have the files, and fits a path model to them.

A line is ``cluster1 AS1 cluster2 AS2 latency``, separated by white space; a cluster is a PoP. The latency is a whole
number of milliseconds. No public text says whether it is one way or both: it is read as one way, which iPlane's
traceroutes in Shadow's topology agree with (read as round trips, 14% of their far pairs would beat light in fibre).
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from btflow.errors import InputError, shorten
from btflow.paths.fit import FEWEST_PEERS, check_through, fit, structure_of, too_lossy
from btflow.paths.lines import number, path_name, read_lines, unended, wrong
from btflow.paths.measured import FEWEST, Measured, Progress
from btflow.paths.model import PathModel
from btflow.paths.pairs import Pairs, Together
from btflow.words import counted

Floats = NDArray[np.float64]
FIELD = "iplane"
FORM = "cluster AS cluster AS latency"

LONGEST = 10_000.0
"""Of a link, one way [ms]; more is thought to be in another unit."""

LEAST = 0.1e-3
"""One-way latency [s] of links whose latency is 0 ms: PoPs are not nowhere apart."""

POPS = 300
"""Between so many PoPs, chosen at random, shortest paths are found."""


def read_iplane(
    path: str | PathLike[str],
    checksum: str | None = None,
    *,
    quantity: Literal["latency", "loss"] = "latency",
    unmeasured: Literal["refuse", "drop"] = "refuse",
) -> xr.Dataset:
    """Return the links in one of iPlane's files.

    Args:
        path: ``inter_pop_links.txt`` or a file of losses of the same form, plain or packed by gzip.
        checksum: SHA-256 of the file, in hexadecimal digits; None if it is not known.
        quantity: What the last column has: latency [ms, one way] or loss (a fraction).
        unmeasured: What becomes of links with a negative latency or loss: the file is refused, or they are left out,
            as those are by other readers of these files that iPlane has no value of.

    Returns:
        Along ``link``: the names ``pop_a``, ``as_a``, ``pop_b``, ``as_b``, and ``latency`` [s, one way] or ``loss``; in
        its attributes the file and the number of links that were left out.

    Raises:
        InputError: The file is missing, damaged or not of that form, or may be cut off, as no newline ends its last
            line and no checksum is given; the line is named.
    """
    _one_of("quantity", quantity, ("latency", "loss"))
    _one_of("unmeasured", unmeasured, ("refuse", "drop"))
    name = path_name(FIELD, path)
    ends: list[list[str]] = []
    values: list[float] = []
    dropped = 0
    lines = read_lines(FIELD, path, checksum)
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        *link, last = _cells(name, line, text)
        value = _value(name, line, last, quantity)
        if value < 0.0 and unmeasured == "refuse":
            allowed = 'not negative; unmeasured="drop" (--drop-unmeasured) leaves such links out'
            raise wrong(FIELD, name, line, f"has {quantity} {last}", allowed)
        if value < 0.0:
            dropped += 1
        else:
            ends.append(link)
            values.append(value)
    at = unended(lines)
    if at is not None and checksum is None:
        allowed = "the whole file; one that is whole with a newline at its end, or with its checksum"
        raise wrong(FIELD, name, at, "has no newline at its end: the file may be cut off in it", allowed)
    if not values:
        raise InputError(FIELD, name, "has no measured link", FORM)
    return _dataset(name, ends, np.array(values), quantity, dropped)


def pop_rtts(links: xr.Dataset, pops: int = POPS, seed: int = 0) -> Floats:
    """Return round-trip times [s] of the shortest paths between some PoPs (pops, pops), symmetric.

    Twice the sum of the links' latencies; of a link that is there more than once, or both ways, the mean.

    Args:
        links: What ``read_iplane`` returns.
        pops: So many, at random out of the largest part that is connected; all if there are fewer.
        seed: Of the choice.
    """
    together = _together(links)
    mean = np.maximum(together.means(links["latency"].values), LEAST)
    size = 1 + int(together.ends.max(initial=0))
    graph = coo_matrix((mean, together.ends.T), (size, size)).tocsr()
    _, part = connected_components(graph, directed=False)
    largest = np.flatnonzero(part == np.bincount(part).argmax())
    chosen = np.sort(np.random.default_rng(seed).permutation(largest)[:pops])
    times = 2.0 * np.asarray(dijkstra(graph, directed=False, indices=chosen)[:, chosen])
    return 0.5 * (times + times.T)


def _together(links: xr.Dataset) -> Together:
    """Return which links are between the same two PoPs, whichever is first."""
    pairs = Pairs()
    for one, other in zip(links["pop_a"].values.tolist(), links["pop_b"].values.tolist(), strict=True):
        pairs.add(one, other)
    return pairs.together()


def fit_iplane(links: xr.Dataset, losses: xr.Dataset | None = None, pops: int = POPS, seed: int = 0) -> PathModel:
    """Return the model of shortest paths between PoPs; losses are those of the links.

    Args:
        links: What ``read_iplane`` returns.
        losses: The same of a file of losses; those of ``iplane`` if there is none.
        pops: As of ``pop_rtts``.
        seed: As of ``pop_rtts``.

    Raises:
        InputError: Fewer than 20 PoPs are connected, or nothing gets through on any link.
    """
    return of_pops(pop_rtts(links, pops, seed), links, losses)[1]


def of_pops(
    matrix: Floats, links: xr.Dataset, losses: xr.Dataset | None, progress: Progress | None = None
) -> tuple[Measured, PathModel]:
    """Return what was measured, of round-trip times [s] between PoPs (pops, pops), and its model; as ``fit_iplane``."""
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
    model = fit(measured).model_copy(update={"source": source})
    return measured, model.model_copy(update={"structure": structure_of(matrix, model, progress)})


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


def _cells(name: str, line: int, text: str) -> list[str]:
    """Return the five cells of a line."""
    cells = text.split()
    if len(cells) != 5:
        raise wrong(FIELD, name, line, f"has {counted(len(cells), 'cell')}: {shorten(text)}", FORM)
    if not (cells[0].isdigit() and cells[2].isdigit()):
        raise wrong(FIELD, name, line, f"has no numbers of clusters: {shorten(text)}", FORM)
    return cells


def _value(name: str, line: int, text: str, quantity: str) -> float:
    """Return the latency [ms] or loss of a line."""
    value = number(FIELD, name, line, quantity, text)
    if quantity == "loss" and value > 1.0:
        raise wrong(FIELD, name, line, f"has loss {text}", "a fraction, at most 1")
    if value > LONGEST:
        raise wrong(FIELD, name, line, f"has latency {text}", f"milliseconds, at most {LONGEST:g}")
    return value


def _dataset(name: str, ends: list[list[str]], values: Floats, quantity: str, dropped: int) -> xr.Dataset:
    if quantity == "latency" and 0.0 < values.max() < 1.0:
        raise InputError(FIELD, name, f"has no latency of {values.max():g} ms or more: seconds?", "milliseconds")
    columns = np.array(ends)
    names = {title: ("link", columns[:, i]) for i, title in enumerate(("pop_a", "as_a", "pop_b", "as_b"))}
    units = {"units": "s", "long_name": "one-way latency"} if quantity == "latency" else {"units": "1"}
    scaled = 1e-3 * values if quantity == "latency" else values
    return xr.Dataset(names | {quantity: ("link", scaled, units)}, attrs={"file": Path(name).name, "dropped": dropped})


def _one_of(field: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(field, value, "is unknown", " or ".join(known))
