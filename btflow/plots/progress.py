"""Figures of how a swarm completes: when its leechers do, and how many pieces they hold on the way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray

from btflow.analytic import kumar_ross_bound
from btflow.plots.style import (
    GREY,
    Results,
    counted_times,
    describe,
    figure,
    labelled,
    leecher_classes,
    line,
    series_name,
    translucent,
)

MOST_POINTS = 2000
"""Points of one distribution function; a longer one is thinned to this many of its own points."""

MOST_REPLICAS = 20
"""Replicas that are drawn with a line each."""


def completion_cdf(results: Results, *, bound: bool = True) -> go.Figure:
    """Return the distribution of completion times [s] over the leechers of all replicas, one line per class.

    Only downloads that count are in it: none of those that are completed in the warm-up.
    The replicas of a single result have a thin line each, up to MOST_REPLICAS of them, beside the line of all together.
    A vertical line marks the lower bound of the last completion (Kumar and Ross 2006) of a single result in which all
    peers start together; `bound=False` leaves it out.
    """
    drawn = figure(
        "Completion time of the leechers",
        "completion time [s]",
        "leechers that have completed [%]",
        subtitle=describe(results),
    )
    for index, (name, times) in enumerate(_times_by_class(results)):
        if len(times) > 1 and isinstance(results, xr.Dataset):
            drawn.add_traces(_replica_lines(times[:MOST_REPLICAS], f"{name}, each replica", index))
        x, y = distribution(times)
        together = ", replicas together" if len(times) > 1 else ""
        drawn.add_scatter(x=x, y=100 * y, name=name + together, mode="lines", line=line(index, shape="hv"))
    if bound and isinstance(results, xr.Dataset) and (least := lower_bound(results)) is not None:
        mark = line(0, color=GREY, dash="dot")
        drawn.add_scatter(x=[least, least], y=[0, 101], mode="lines", name="lower bound of the last", line=mark)
    ends = [float(x) for trace in drawn.data for x in (trace.x[0], trace.x[-1])] or [0.0]
    margin = 0.03 * (max(ends) - min(ends)) or 1.0
    drawn.update_xaxes(range=[min(ends) - margin, max(ends) + margin])
    drawn.update_yaxes(range=[0, 101])
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    return drawn


def pieces_over_time(results: Results) -> go.Figure:
    """Return the mean number of pieces a leecher holds against time [s]: mean of the replicas, and their range."""
    drawn = figure(
        "Pieces held by a leecher", "time [s]", "pieces held, mean over the leechers", subtitle=describe(results)
    )
    for index, (label, result) in enumerate(labelled(results).items()):
        held = result["pieces_held"].transpose("replica", "time")
        time = held["time"].values
        if held.sizes["replica"] > 1:
            band = held.min("replica").values, held.max("replica").values
            drawn.add_traces(_band(time, *band, series_name(label, "range of the replicas"), index))
        mean = held.mean("replica").values
        drawn.add_scatter(x=time, y=mean, name=series_name(label, "mean"), mode="lines", line=line(index))
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    drawn.update_yaxes(rangemode="tozero")
    return drawn


def distribution(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the empirical distribution function: sorted values and the share at or below each, at most MOST_POINTS.

    A first point of share 0 starts the step; NaN is left out.
    """
    ordered = np.sort(values[~np.isnan(values)], axis=None)
    rank = np.unique(np.linspace(1, ordered.size, min(ordered.size, MOST_POINTS)).round().astype(int))
    return np.concatenate([ordered[:1], ordered[rank - 1]]), np.concatenate([[0.0], rank / ordered.size])


def lower_bound(result: xr.Dataset) -> float | None:
    """Return the fluid lower bound of the last completion [s]; None if the peers do not all start at 0.

    A peer uploads at most at its limit and at the rate of its uplink; None if one has neither.
    """
    if "file_size" not in result.attrs or float(result["start_time"].max()) > 0.0:
        return None
    upload, seed = result["upload_limit"].values, result["role"].values == "seed"
    if "uplink_rate" in result.coords:
        upload = np.minimum(upload, result["uplink_rate"].values)
    if not np.isfinite(upload).all():
        return None
    return kumar_ross_bound(float(result.attrs["file_size"]), float(upload[seed].sum()), upload[~seed])


def _times_by_class(results: Results) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Name and completion times [s] (replica, peer) of each class of leechers with a download that counts."""
    for label, result in labelled(results).items():
        for name in leecher_classes(result):
            times = counted_times(result, name)
            if np.isfinite(times).any():
                yield series_name(label, name), times


def _replica_lines(times: NDArray[np.float64], name: str, index: int) -> list[go.Scatter]:
    """One thin trace for each replica's completion times [s] (replica, peer), with one entry of the legend."""
    thin = line(index, shape="hv", width=1, dash="solid", color=translucent(index, 0.45))
    look = {"mode": "lines", "line": thin, "hoverinfo": "skip", "name": name, "legendgroup": name}
    found = [distribution(replica) for replica in times if np.isfinite(replica).any()]
    return [go.Scatter(x=x, y=100 * y, showlegend=k == 0, **look) for k, (x, y) in enumerate(found)]


def _band(
    x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], name: str, index: int
) -> list[go.Scatter]:
    """Two traces that shade the range between two curves."""
    edge = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        go.Scatter(y=low, name=f"{name}, least", showlegend=False, **edge),
        go.Scatter(y=high, name=name, fill="tonexty", fillcolor=translucent(index), **edge),
    ]
