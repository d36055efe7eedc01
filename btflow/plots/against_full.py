"""What a sweep in flow gives against what its checked points give in full."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis import flow_error
from btflow.analysis.against_full import point_pairs
from btflow.analysis.design import checked, statistic, varied
from btflow.plots.axes import heading, log_scale, names_of, statistic_scale
from btflow.plots.style import COLOURS, GREY, figure
from btflow.units.formatting import counted

WIDE = 8.0
"""Axes are logarithmic from this ratio of the greatest to the least value on."""


def full_against_flow(ds: xr.Dataset, variable: str, *, confidence: float = 0.9) -> go.Figure:
    """Return a statistic in full against the same in flow, a mark for each checked point, with the line of equality.

    A mark is one swarm, replica 0 of the point, in both. Below the title is the bias with its interval
    (``btflow.analysis.flow_error``).

    Args:
        ds: A sweep in flow with a check, or a part of it.
        variable: A statistic for each swarm.
        confidence: Level of the interval.

    Raises:
        InputError: The sweep has no check, the statistic is unknown or has no value in both, or the level is out of
            range.
    """
    error = flow_error(ds, [variable], confidence=confidence).isel(statistic=0)
    ds = checked(ds)
    pairs = point_pairs(ds, variable)
    values = np.concatenate([pairs.flow, pairs.full])
    scale, _ = statistic_scale(ds, variable, values)
    unit = f" [{scale.unit}]" if scale.unit else ""
    drawn = figure(
        f"{heading(ds, variable)}: full against flow",
        f"in flow{unit}",
        f"in full{unit}",
        subtitle=_subtitle(ds, error, confidence),
    )
    flow, full = pairs.flow / scale.divisor, pairs.full / scale.divisor
    low, high = float(values.min() / scale.divisor), float(values.max() / scale.divisor)
    ends = _ends(low, high)
    drawn.add_scatter(x=ends, y=ends, mode="lines", name="equal", line={"color": GREY, "dash": "dash", "width": 1.5})
    drawn.add_scatter(
        x=flow,
        y=full,
        mode="markers",
        name="checked point",
        marker={"size": 9, "color": COLOURS[0], "opacity": 0.8},
        text=_points(ds, variable, pairs.points),
        hovertemplate="%{text}<br>flow %{x:.4g}, full %{y:.4g}<extra></extra>",
    )
    for axis in ("xaxis", "yaxis"):
        settings = log_scale(low, high) if _wide(low, high) else {"range": ends}
        drawn.update_layout({axis: settings})
    return drawn


def _wide(low: float, high: float) -> bool:
    return low > 0 and high > WIDE * low


def _ends(low: float, high: float) -> list[float]:
    """Return the ends of the line of equality, with some room around the values."""
    if _wide(low, high):
        return [low / 1.2, high * 1.2]
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return [low - room, high + room]


def _subtitle(ds: xr.Dataset, error: xr.Dataset, confidence: float) -> str:
    """Return where the figure is from, and the bias."""
    points = int(error["points"])
    of = f"{counted(points, 'checked point', 'checked points')}, one swarm each"
    bias, low, high = (f"{100 * float(error[name]):+.2g}%" for name in ("bias", "bias_low", "bias_high"))
    interval = f" ({100 * confidence:g}% interval {low} to {high})" if points > 1 else ""
    return f"{ds.attrs.get('model', '')}, {of}; flow is off by {bias}{interval}"


def _points(ds: xr.Dataset, variable: str, points: NDArray[np.int64]) -> list[str]:
    """Return the varied values at some points, by their numbers, as texts."""
    flow, known, short = statistic(ds, variable), varied(ds), names_of(ds)
    dims = flow.dims[:-1]
    index = dict(zip(dims, np.unravel_index(points, flow.shape[:-1]), strict=True)) if dims else {}
    texts = (
        [f"{short[name]} {one.text(one.values[place].item())}" for place in index[one.dim]]
        for name, one in known.items()
    )
    return [", ".join(row) for row in zip(*texts, strict=True)]
