"""Figure of a path model: round-trip times and losses, beside what they were fitted to."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from plotly.subplots import make_subplots

from btflow.errors import InputError
from btflow.paths.model import PathModel
from btflow.plots import words
from btflow.plots.style import COLOURS, TEMPLATE, line, numbers

Floats = NDArray[np.float64]

PUBLISHED: dict[str, tuple[tuple[float, float], ...]] = {"rtt": ((0.4, 0.98), (1.0, 0.998)), "loss": ((0.05, 0.95),)}
"""iPlane's points [s or a fraction, share below], Rao, Legout, Dabbous, P2P'10, figure 1."""

MOST_POINTS = 1000
"""Of the line of measured values."""

LEAST_LOSS = 1e-5
"""At the left of the axis of losses; smaller ones, and none, are only in the height at which a line begins."""

LEAST_SHARE = 0.005
"""Of the paths: the axis of round-trip times begins with these."""

_AXES = {"rtt": ("round-trip time [ms]", 1e3), "loss": ("loss [%]", 1e2)}


def path_quantiles(model: PathModel, rtt: ArrayLike | None = None, loss: ArrayLike | None = None) -> go.Figure:
    """Return the shares of paths with at most a round-trip time [ms], and at most a loss [%].

    Args:
        model: A path model.
        rtt: Measured round-trip times [s] that it was fitted to.
        loss: Measured losses (fractions) that it was fitted to.

    Raises:
        InputError: It is no path model, or what was measured is not numbers in range.
    """
    if not isinstance(model, PathModel):
        raise InputError("model", model, "is not a path model", "what btflow.paths.load or fit returns")
    both = {name: _measured(name, values) for name, values in (("rtt", rtt), ("loss", loss))}
    drawn = make_subplots(rows=1, cols=2, horizontal_spacing=0.1)
    for column, (name, measured) in enumerate(both.items(), 1):
        for trace in _traces(model, name, measured):
            drawn.add_trace(trace.update(showlegend=trace.name not in {t.name for t in drawn.data}), row=1, col=column)
        title, scale = _AXES[name]
        ticks = _ticks(model, name, measured, scale)
        drawn.update_xaxes(title_text=f"{title} (log scale)", type="log", row=1, col=column, **ticks)
    drawn.update_yaxes(range=[0, 104], ticksuffix="%", hoverformat=".1f")
    drawn.update_yaxes(title_text="paths with at most this", row=1, col=1)
    drawn.update_layout(
        template=TEMPLATE,
        title={"text": "Paths between peers: round-trip time and loss", "subtitle": {"text": model.title}},
        width=1100,
        height=TEMPLATE.layout.height,
    )
    return drawn


def _measured(name: str, values: object) -> Floats | None:
    """Return measured values in one row, None if there are none; InputError if they are something else."""
    if values is None:
        return None
    allowed = "seconds, at least one, above 0" if name == "rtt" else "fractions, at least one, 0 to 1"
    found = numbers(name, values, allowed).ravel()
    if not found.size:
        raise InputError(name, values, "holds nothing", allowed)
    fits = np.isfinite(found) & ((found > 0.0) if name == "rtt" else (found >= 0.0) & (found <= 1.0))
    if not fits.all():
        wrong = int(np.argmin(fits))
        raise InputError(f"{name}[{wrong}]", float(found[wrong]), "is out of range", allowed)
    return found


def _traces(model: PathModel, name: str, measured: Floats | None) -> list[go.Scatter]:
    """Return the lines and points of one quantity."""
    title, scale = _AXES[name]
    unit = words.parted(title)[1].strip()
    table = model.table("rtt" if name == "rtt" else "loss")
    shares = np.linspace(0.0, 1.0, 2001)
    found = []
    if measured is not None:
        at = np.linspace(0.0, 1.0, min(len(measured), MOST_POINTS))
        found.append(
            _line(scale * np.quantile(measured, at), at, "measured", unit, line(1, dash="solid", width=5.0), 0.55)
        )
    found.append(_line(scale * table.quantile(shares), shares, "fitted model", unit, line(0), 1.0))
    limits, below = zip(*PUBLISHED[name], strict=True)
    marker = {"symbol": "diamond-open", "size": 11, "color": COLOURS[6], "line": {"width": 2}}
    points = go.Scatter(
        x=scale * np.array(limits),
        y=100 * np.array(below),
        mode="markers",
        name="published of iPlane (2010)",
        hovertemplate=words.share_below("published", "paths", unit),
        marker=marker,
    )
    return [*found, points]


def _line(values: Floats, shares: Floats, name: str, unit: str, style: dict[str, object], opacity: float) -> go.Scatter:
    """Return a line; what is below the axis of losses begins at its left end."""
    seen = np.maximum(values, LEAST_LOSS * 100)
    return go.Scatter(
        x=seen,
        y=100 * shares,
        mode="lines",
        name=name,
        line=style,
        opacity=opacity,
        hovertemplate=words.share_below(name, "paths", unit),
        legendgroup=name,
    )


def _ticks(model: PathModel, name: str, measured: Floats | None, scale: float) -> dict[str, object]:
    """Return the range of a logarithmic axis and its ticks."""
    if name == "loss":
        low, ticks = LEAST_LOSS, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    else:
        low = 0.8 * float(model.rtt_at(np.array([LEAST_SHARE]))[0])
        ticks = [digit * 10.0**decade for decade in range(-5, 2) for digit in (1, 2, 5)]
    table = (model.rtt if name == "rtt" else model.loss)[-1].value
    high = 1.3 * max(table, PUBLISHED[name][-1][0], 0.0 if measured is None else float(measured.max()))
    shown = [tick for tick in ticks if low <= tick <= high]
    texts = [f"{scale * tick:g}" for tick in shown]
    return {
        "range": [float(np.log10(scale * low)), float(np.log10(scale * high))],
        "tickvals": [scale * t for t in shown],
        "ticktext": texts,
    }
