"""The path model of shortest paths between iPlane's points of presence (PoPs)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from btflow.errors import InputError
from btflow.options import whole_number
from btflow.paths.files import load
from btflow.paths.fitting import BASE, FEWEST_PEERS, check_through, fit, too_lossy, with_structure
from btflow.paths.links import FIELDS
from btflow.paths.measured import FEWEST, Measured, Progress
from btflow.paths.model import MOST_PEERS, PathModel
from btflow.paths.shortest import POPS, PopPaths, checked, pop_paths, together_of
from btflow.paths.structuring import ABOVE, Fitted
from btflow.words import counted

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
        InputError: These are no such links, a number is out of range, fewer than 20 PoPs are connected, or nothing gets
            through on any link.
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
