"""Marks of what happened in a link experiment: slow start, losses found, timeouts, drops; a legend entry a kind."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray

from btflow.plots import series, words

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
    found = []
    for name in names:
        k = every.index(name)
        length = result["queue_length"].values[:, k].astype(float)
        found.append(series.marks(result["time"].values, result["drops_so_far"].values[:, k], length))
    x, y, count = (np.concatenate([one[part] for one in found]) for part in range(3))
    look = {"mode": "markers", "marker": DROP, "customdata": count, "hovertemplate": words.DROPPED} | _mark("drop")
    return [go.Scatter(x=x, y=y, name="drop", **look)] if len(x) else []


def joined(lines: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return several lines as one with gaps between them."""
    gap = np.array([np.nan])
    x, y = ([part for one in lines for part in (one[axis], gap)] or [gap] for axis in (0, 1))
    return np.concatenate(x), np.concatenate(y)


def _mark(term: str) -> dict[str, Any]:
    return {"showlegend": True} | words.meaning(term)
