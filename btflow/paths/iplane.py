"""iPlane's links between points of presence (PoPs): known copies, their reader, shortest paths, their path model.

The repositories state no licence, so their files are not shipped, only their names in git: SHA-1 of length and content.

A line is ``cluster1 AS1 cluster2 AS2 latency``, separated by white space; a cluster is a PoP. The latency is a whole
number of milliseconds. No public text says whether it is one way or both: it is read as one way, which iPlane's
traceroutes in Shadow's topology agree with (read as round trips, New Zealand to Portugal would beat light in fibre).
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from btflow.errors import InputError, shorten
from btflow.options import MAX_SEED, whole_number
from btflow.paths.fitting import ABOVE, BASE, FEWEST_PEERS, Fitted, check_through, fit, too_lossy, with_structure
from btflow.paths.lines import Pairs, Together, number, path_name, read, split, unended, wrong
from btflow.paths.measured import FEWEST, Measured, Progress
from btflow.paths.model import MOST_PEERS, PathModel, load
from btflow.units.formatting import counted

Floats = NDArray[np.float64]

_FILE = tomllib.loads((files("btflow.paths") / "iplane.toml").read_text("utf-8"))
KNOWN = {_FILE["inter_pop_links"]: "in mamoonraja/IndirectionDC"} | {
    digest: f"of {_FILE['first_day'] + timedelta(day)} in afressancourt/popmap"
    for day, digest in enumerate(_FILE["days"])
}
"""By what git calls them: the known files."""


def known(content: bytes) -> str:
    """Say which known file of links this is; nothing if it is none of them."""
    of_git = b"blob %d\0" % len(content) + content
    found = KNOWN.get(hashlib.sha1(of_git, usedforsecurity=False).hexdigest())
    return "" if found is None else f"iPlane's file {found}"


FIELDS = {"latency": "iplane", "loss": "losses"}
"""What a file is called in errors, by what it has."""

FORM = "cluster AS cluster AS latency"

LONGEST = 10_000.0
"""Of a link, one way [ms]; more is thought to be in another unit."""

SLOW = 500.0
"""Of a link, one way [ms]: there and back takes TCP's first timeout (1 s, RFC 6298)."""

_FRACTION = "a fraction, at most 1, such as 0.05 for 5%"

_CLUSTER, _AS = re.compile("[0-9]+"), re.compile("-?[0-9]+")
"""An AS may be unknown, as -1."""


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
        its attributes the file, the number of links that were left out, and which of the known files it is.

    Raises:
        InputError: The file is missing, damaged or not of that form, or may be cut off, as no newline ends its last
            line and no checksum is given; the line is named.
    """
    _one_of("quantity", quantity, ("latency", "loss"))
    _one_of("unmeasured", unmeasured, ("refuse", "drop"))
    field = FIELDS[quantity]
    name = path_name(field, path)
    ends: list[list[str]] = []
    values: list[float] = []
    dropped = 0
    content = read(field, path, checksum)
    lines = split(field, path, content)
    at: list[int] = []
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        *link, shown = _cells(field, name, line, text)
        value = _value(field, name, line, shown, quantity)
        if value < 0.0 and unmeasured == "refuse":
            allowed = 'not negative; unmeasured="drop" leaves such links out'
            raise wrong(field, name, line, f"has {quantity} {shown}", allowed)
        if value < 0.0:
            dropped += 1
        else:
            ends.append(link)
            values.append(value)
            at.append(line)
    last = unended(lines)
    if last is not None and checksum is None:
        allowed = "the whole file; one that is whole with a newline at its end, or with its checksum"
        raise wrong(field, name, last, "has no newline at its end: the file may be cut off in it", allowed)
    if not values:
        raise InputError(field, name, "has no measured link", FORM)
    if quantity == "latency":
        _check_unit(field, name, at, np.array(values))
    origin = known(content) or ("" if checksum is None else "the file that its checksum is of")
    return _dataset(name, ends, np.array(values), quantity, {"dropped": dropped, "origin": origin})


def _cells(field: str, name: str, line: int, text: str) -> list[str]:
    """Return the five cells of a line."""
    cells = text.split()
    if len(cells) != 5:
        raise wrong(field, name, line, f"has {counted(len(cells), 'cell')}: {shorten(text)}", FORM)
    if not (_CLUSTER.fullmatch(cells[0]) and _CLUSTER.fullmatch(cells[2])):
        raise wrong(field, name, line, f"has no numbers of clusters: {shorten(text)}", FORM)
    if not (_AS.fullmatch(cells[1]) and _AS.fullmatch(cells[3])):
        raise wrong(field, name, line, f"has no numbers of AS: {shorten(text)}", FORM)
    return cells


def _value(field: str, name: str, line: int, text: str, quantity: str) -> float:
    """Return the latency [ms] or loss of a line."""
    if quantity == "loss" and text.endswith("%"):
        raise wrong(field, name, line, f"has loss {shorten(text)}", _FRACTION)
    value = number(field, name, line, quantity, text)
    if quantity == "loss" and value > 1.0:
        raise wrong(field, name, line, f"has loss {text}", _FRACTION)
    if value > LONGEST:
        raise wrong(field, name, line, f"has latency {text}", f"milliseconds, at most {LONGEST:g}")
    return value


def _check_unit(field: str, name: str, lines: list[int], latency: Floats) -> None:
    """Refuse latencies [ms] of which most must be in another unit: iPlane's are whole milliseconds."""
    some = latency > 0.0
    for odd, unit in ((some & (latency < 1.0), "seconds"), (latency > SLOW, "microseconds")):
        if np.count_nonzero(odd) > 0.5 * np.count_nonzero(some):
            first = int(np.argmax(odd))
            reason = f"has latency {latency[first]:g}, and most lines have such: {unit}?"
            raise wrong(field, name, lines[first], reason, "milliseconds")


def _dataset(name: str, ends: list[list[str]], values: Floats, quantity: str, told: dict[str, Any]) -> xr.Dataset:
    columns = np.array(ends)
    names = {title: ("link", columns[:, i]) for i, title in enumerate(("pop_a", "as_a", "pop_b", "as_b"))}
    units = {"units": "s", "long_name": "one-way latency"} if quantity == "latency" else {"units": "1"}
    scaled = 1e-3 * values if quantity == "latency" else values
    return xr.Dataset(names | {quantity: ("link", scaled, units)}, attrs={"file": Path(name).name} | told)


def _one_of(field: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(field, value, "is unknown", " or ".join(known))


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


_UNKNOWN = "no known copy of iPlane's files and came without a checksum: only its form was checked"


def fit_iplane(links: xr.Dataset, losses: xr.Dataset | None = None, pops: int = POPS, seed: int = 0) -> PathModel:
    """Return the model of shortest paths between PoPs; losses are those of their links, one after the other.

    No way through a third PoP is shorter than the shortest path, so links do not say how far routes stray from it: the
    detour is that of ``iplane``.

    Args:
        links: What ``read_iplane`` returns.
        losses: The same of a file of losses (``quantity="loss"``); those of ``iplane`` if there is none.
        pops: As of ``pop_rtts``, at least 20.
        seed: As of ``pop_rtts``.

    Raises:
        InputError: These are no such links, a number is out of range, fewer than 20 PoPs are connected, or all is lost.
    """
    if losses is not None:
        checked("losses", losses, "loss")
    paths = pop_paths(links, losses, whole_number("pops", pops, FEWEST_PEERS, MOST_PEERS), seed)
    return of_pops(paths, links, losses)[1]


def of_pops(
    paths: PopPaths, links: xr.Dataset, losses: xr.Dataset | None, progress: Progress | None = None
) -> tuple[Measured, PathModel, Fitted]:
    """Return what was measured, of paths between PoPs, and its model; as ``fit_iplane``.

    Also how well the structure was fitted.
    """
    matrix, lossy, _ = paths
    file, count = links.attrs["file"], links.sizes["link"]
    if len(matrix) < FEWEST_PEERS:
        raise InputError(
            FIELDS["latency"], file, f"connects only {counted(len(matrix), 'PoP')}", f"{FEWEST_PEERS} or more"
        )
    if losses is not None and losses.sizes["link"] < FEWEST:
        found = counted(losses.sizes["link"], "loss", "losses")
        raise InputError(FIELDS["loss"], losses.attrs["file"], f"has {found}", f"{FEWEST} or more, for quantiles")
    pairs = np.triu_indices(len(matrix), 1)
    loss = None if lossy is None else lossy[pairs]
    measured = Measured(file, count, matrix[pairs], loss, None, tuple(_notes(links, losses, paths)))
    if losses is not None:
        check_through(FIELDS["loss"], losses.attrs["file"], loss)
    source = f"shortest paths between {len(matrix)} PoPs of {count} links in {file}"
    lost = "loss of iplane" if losses is None else f"losses of the {len(losses['loss'])} links in {losses.file} on them"
    model = fit(measured).model_copy(update={"source": f"{source}; {lost}; detours of {BASE}"})
    model, fitted = with_structure(model, matrix, progress, load(BASE).structure)
    return measured._replace(notes=(*measured.notes, _of_detours(fitted))), model, fitted


def _of_detours(found: Fitted) -> str:
    """Say where the detours are from, and what they do."""
    drawn = f"{found.drawn[0]:.1%} of drawn pairs are more than {ABOVE[0]:.0%} above it"
    return f"shortest paths tell of no detours: those of {BASE} are taken, with which {drawn}"


def _notes(links: xr.Dataset, losses: xr.Dataset | None, paths: PopPaths) -> Iterator[str]:
    """Give what of the files counts as something else, or not at all."""
    for found in (links, losses):
        if found is not None:
            yield f"{found.attrs['file']} is {found.attrs['origin'] or _UNKNOWN}"
    below = float(np.mean(2.0 * links["latency"].values < 0.4))
    yield f"{below:.1%} of the links have twice their latency below 400 ms (published: 98%)"
    together = together_of(links)
    if together.alone:
        yield f"{counted(together.alone, 'link')} of a PoP and itself: left out"
    if unequal := together.unequal(links["latency"].values):
        of = f"{unequal:,} of {counted(len(together.ends), 'pair of PoPs')}"
        yield f"links of unequal latencies between {of}, the same way or both: each pair counts with their mean"
    for found, what in ((links, "latency"), (losses, "loss")):
        if found is not None and found.attrs["dropped"]:
            yield f"{counted(found.attrs['dropped'], 'link')} without a measured {what}: left out"
    if losses is not None:
        together = together_of(losses)
        if unequal := together.unequal(losses["loss"].values):
            of = f"{unequal:,} of {counted(len(together.ends), 'pair of PoPs')}"
            yield f"links of unequal losses between {of}, the same way or both: each pair counts with their mean"
    if paths.loss is not None:
        if paths.measured < 1.0:
            yield f"{1.0 - paths.measured:.1%} of the links on the paths have no measured loss: they count as without"
        yield from too_lossy(paths.loss[np.triu_indices(len(paths.loss), 1)])
