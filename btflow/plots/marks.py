"""Marks of what happened, a legend entry a kind: slow start, losses, timeouts and drops; choker rounds, completions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray

from btflow.plots import series, words
from btflow.units.formatting import counted

Floats = NDArray[np.float64]

HALO = {"color": "rgba(230,159,0,0.40)", "width": 9}
"""Below a window in slow start."""

FALL = {"symbol": "triangle-down-open", "size": 8, "color": "#222222", "line": {"width": 1.3}}
TIMEOUT = {"symbol": "x-thin", "size": 9, "color": "#222222", "line": {"width": 2, "color": "#222222"}}
DROP = {"symbol": "line-ns", "size": 8, "line": {"width": 1.4, "color": "#A33C00"}}


def slow_starts(result: xr.Dataset, lines: Sequence[tuple[Floats, int]], most: int = series.MOST_POINTS) -> list[Any]:
    """Return what marks slow start below the windows of some flows (their values and columns); nothing if none was."""
    if "phase" not in result:
        return []
    parts = [series.envelope(result["time"].values, series.slow_start(result, k, w), most) for w, k in lines]
    x, y = joined(parts)
    if np.isnan(y).all():
        return []
    return [go.Scatter(x=x, y=y, name="slow start", mode="lines", line=HALO, hoverinfo="skip", **_mark("slow start"))]


def on_windows(result: xr.Dataset, values: Floats, names: Mapping[int, str]) -> list[Any]:
    """Return marks of losses found and of timeouts on windows (time, flow); of flows by column, of kinds there are."""
    kinds = (("recovery", "falls_so_far", FALL, words.FOUND), ("timeout", "timeouts_so_far", TIMEOUT, words.TIMED_OUT))
    drawn = []
    for term, variable, marker, said in kinds:
        if variable not in result:
            continue
        found = {k: series.marks(result["time"].values, result[variable].values[:, k], values[:, k]) for k in names}
        x, y = (np.concatenate([one[axis] for one in found.values()] or [np.zeros(0)]) for axis in (0, 1))
        text = [names[k] for k, one in found.items() for _ in one.time]
        if len(x):
            look = {"mode": "markers", "marker": marker, "text": text, "hovertemplate": said} | _mark(term)
            drawn.append(go.Scatter(x=x, y=y, name=term, **look))
    return drawn


def drops(result: xr.Dataset, names: Iterable[str]) -> list[Any]:
    """Return marks of the packets that some queues dropped; nothing if none was."""
    if "drops_so_far" not in result:
        return []
    every = list(result["queue"].values)
    found: dict[str, series.Marks] = {}
    for name in names:
        k = every.index(name)
        length = result["queue_length"].values[:, k].astype(float)
        found[name] = series.marks(result["time"].values, result["drops_so_far"].values[:, k], length)
    x, y = (np.concatenate([one[axis] for one in found.values()]) for axis in (0, 1))
    many = [counted(int(n), "packet") for one in found.values() for n in one.number]
    text = [name for name, one in found.items() for _ in one.time]
    look = {
        "mode": "markers",
        "marker": DROP,
        "customdata": many,
        "text": text,
        "hovertemplate": words.DROPPED,
    } | _mark("drop")
    return [go.Scatter(x=x, y=y, name="drop", **look)] if len(x) else []


def joined(lines: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return several lines as one with gaps between them."""
    gap = np.array([np.nan])
    x, y = ([part for one in lines for part in (one[axis], gap)] or [gap] for axis in (0, 1))
    return np.concatenate(x), np.concatenate(y)


def _mark(term: str) -> dict[str, Any]:
    return {"showlegend": True} | words.meaning(term)


ROUND = {"symbol": "line-ns", "size": 7, "line": {"width": 1, "color": "#666666"}}
COMPLETION = {"symbol": "star-triangle-up-open", "size": 8, "color": "#222222"}
MOST_ROUNDS = 150
"""Rounds that can be told apart in a figure; of more none is marked."""


def on_pieces(result: xr.Dataset) -> list[Any]:
    """Return marks of choker rounds on the axis of time, and of completions on the line of pieces held."""
    found = []
    rounds = choker_rounds(result)
    if len(rounds):
        look = {"mode": "markers", "marker": ROUND, "hovertemplate": words.ROUND} | _mark("choker round")
        found.append(go.Scatter(x=rounds, y=np.zeros(len(rounds)), name="choker round", cliponaxis=False, **look))
    if result.sizes["replica"] > 1:
        return found
    first = result.isel(replica=0)
    ends = (first["start_time"] + first["completion_time"]).values
    done, number = np.unique(ends[np.isfinite(ends) & (first["role"].values == "leecher")], return_counts=True)
    if len(done):
        held = np.interp(done, first["time"].values, first["pieces_held"].values)
        many = [counted(int(n), "peer is", "peers are") for n in number]
        look = {"mode": "markers", "marker": COMPLETION, "customdata": many, "hovertemplate": words.COMPLETION}
        found.append(go.Scatter(x=done, y=held, name="completion", **look, **_mark("completion")))
    return found


def choker_rounds(result: xr.Dataset) -> Floats:
    """Return when the first seed chooses anew whom it serves [s]; none if these are too many to be told apart.

    Each other client has rounds of its own, that begin with it.
    """
    seeds = np.flatnonzero(result["role"].values == "seed")
    if "choke_interval" not in result.coords or not len(seeds):
        return np.zeros(0)
    every = float(result["choke_interval"].values[seeds[0]])
    start, end = float(result["start_time"].values[0, seeds[0]]), float(result["time"].values[-1])
    found = np.arange(start + every, end, every)
    return np.asarray(found if len(found) <= MOST_ROUNDS else found[:0], np.float64)
