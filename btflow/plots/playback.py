"""A link experiment played back: windows and queue over time with a cursor, and beside them what they are just now."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from btflow.errors import InputError
from btflow.options import whole_number
from btflow.plots import series
from btflow.plots.link import queue, windows
from btflow.plots.style import COLOURS, GREY, TEMPLATE
from btflow.plots.style import seconds as checked_seconds

MOST_FRAMES = 500
"""Most frames: a notebook that holds the figure grows by a few hundred bytes with each."""

_VIEWS = ("windows", "queue")


def playback(
    result: xr.Dataset,
    *,
    start: float | None = None,
    end: float | None = None,
    frames: int = 100,
    seconds: float = 15.0,
) -> go.Figure:
    """Return windows [segments] and packets waiting over time [s], with frames that move a cursor along them.

    The bars on the right are what the cursor is at. A button plays the frames, a slider goes to any of them; at first
    it is at the last one, so that a still picture shows how it ends.
    A FigureWidget takes no frames, so it stays a Figure.

    Args:
        result: What btflow.simulate_link returns.
        start: First simulated time shown [s]; default the first sample.
        end: Last simulated time shown [s]; default the last sample.
        frames: Number of frames, at equal distances in simulated time, 2 to MOST_FRAMES.
        seconds: Time that playing takes, if the browser can draw so fast [s].

    Raises:
        InputError: An argument is out of range, or `result` is not a link experiment's.
    """
    views = windows(result), queue(result)
    count = whole_number("frames", frames, 2, MOST_FRAMES)
    pause = 1000 * _positive("seconds", seconds) / count
    times = np.linspace(*_span(result["time"].values, start, end), count)
    index = np.searchsorted(result["time"].values, times, side="right") - 1
    lines = [[t for t in view.data if t.legendgroup is not None] for view in views]  # without marks
    now = [_at(result, name, [t.legendgroup for t in view], index) for name, view in zip(_VIEWS, lines, strict=True)]
    drawn = _page(views, lines, times)
    fixed = len(drawn.data)
    drawn.add_traces(moving := _moving(lines, now, times, count - 1), rows=[1, 2, 1, 2], cols=[1, 1, 2, 2])
    moved = list(range(fixed, fixed + len(moving)))
    drawn.frames = [
        go.Frame(data=_moving(lines, now, times, k), traces=moved, name=f"{times[k]:.6g}") for k in range(count)
    ]
    drawn.update_layout(updatemenus=[_buttons(pause)], sliders=[_slider(drawn.frames)])
    return drawn


def _positive(field: str, value: float) -> float:
    if not 0.0 < checked_seconds(field, value) < np.inf:
        raise InputError(field, value, "is not above 0", "a number of seconds")
    return float(value)


def _span(time: NDArray[np.float64], start: float | None, end: float | None) -> tuple[float, float]:
    """Return the first and the last time shown [s]."""
    ends = float(time[0]), float(time[-1])
    low, high = (
        ends[0] if start is None else checked_seconds("start", start),
        ends[1] if end is None else checked_seconds("end", end),
    )
    for field, value in (("start", low), ("end", high)):
        if not ends[0] <= value <= ends[1]:
            raise InputError(field, value, "is out of range", f"{ends[0]:g} to {ends[1]:g} s")
    if not low < high:
        raise InputError("end", high, "is not after start", f"above {low:g} s, up to {ends[1]:g} s")
    return low, high


def _at(result: xr.Dataset, view: str, names: list[str], index: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return what the lines of a view are at some samples (sample, line)."""
    if view == "windows":
        return series.windows(result)[index][:, [list(result["flow"].values).index(name) for name in names]]
    return np.asarray(result["queue_length"].sel(queue=names).isel(time=index).values, np.float64)


def _page(views: tuple[go.Figure, go.Figure], lines: list[list[go.Scatter]], times: NDArray[np.float64]) -> go.Figure:
    """Return the lines over time, windows above the queue, and room for the bars on the right."""
    drawn = make_subplots(
        rows=2, cols=2, column_widths=[0.76, 0.24], horizontal_spacing=0.03, vertical_spacing=0.06, shared_yaxes=True
    )
    tops = []
    for row, (view, traces) in enumerate(zip(views, lines, strict=True), 1):
        for trace in traces:
            trace.line.width, trace.opacity, trace.showlegend = 1.2, 0.6, row == 1
            drawn.add_trace(trace, row=row, col=1)
        tops.append(max((float(np.nanmax(t.y)) for t in traces), default=1.0))
        drawn.update_yaxes(range=[0.0, 1.06 * max(tops[-1], 1.0)], row=row)
        drawn.update_yaxes(title_text=view.layout.yaxis.title.text, row=row, col=1)
    drawn.update_xaxes(range=[float(times[0]), float(times[-1])], col=1)
    drawn.update_xaxes(showticklabels=False, row=1)
    drawn.update_xaxes(title_text="time [s]", row=2, col=1)
    drawn.update_xaxes(title_text="at the cursor", showticklabels=False, ticks="", row=2, col=2)
    drawn.update_xaxes(ticks="", row=1, col=2)
    subtitle = views[0].layout.title.subtitle.text.split(", shaded")[0]
    drawn.update_layout(
        template=TEMPLATE,
        title={"text": "Windows and queue, played back", "subtitle": {"text": subtitle}},
        legend={"y": 1.0, "yanchor": "bottom", "x": 0.0, "bgcolor": "rgba(0,0,0,0)"},
        height=660,
        margin={"b": 130, "t": 110},
        bargap=0.25,
    )
    return drawn


def _moving(
    lines: list[list[go.Scatter]], now: list[NDArray[np.float64]], times: NDArray[np.float64], k: int
) -> list[Any]:
    """Return the traces of frame `k`: a dot on each line, for windows and queue, and a bar for each dot."""
    dots, bars = [], []
    for traces, values in zip(lines, now, strict=True):
        colours = [t.line.color or COLOURS[0] for t in traces]
        marker = {"color": colours, "size": 11, "line": {"color": GREY, "width": 1}}
        x, y = [float(times[k])] * len(traces), values[k].tolist()
        plain = {"showlegend": False, "hoverinfo": "skip", "cliponaxis": False}
        dots.append(go.Scatter(x=x, y=y, mode="markers", marker=marker, **plain))
        names = [t.name for t in traces]
        bars.append(
            go.Bar(
                x=names,
                y=y,
                marker={"color": colours},
                texttemplate="%{y:.0f}",
                textposition="inside",
                showlegend=False,
            )
        )
    return dots + bars


def _buttons(pause: float) -> dict[str, Any]:
    """Return the buttons that play and stop, with `pause` between two frames [ms]."""
    play = {"frame": {"duration": pause, "redraw": True}, "transition": {"duration": 0}, "fromcurrent": True}
    halt = {"frame": {"duration": 0, "redraw": False}, "mode": "immediate"}
    buttons = [
        {"label": "Play", "method": "animate", "args": [None, play]},
        {"label": "Pause", "method": "animate", "args": [[None], halt]},
    ]
    place = {"x": 1.0, "y": -0.16, "xanchor": "right", "yanchor": "top", "direction": "right"}
    return {"type": "buttons", "buttons": buttons, "showactive": False} | place


def _slider(frames: tuple[go.Frame, ...]) -> dict[str, Any]:
    """Return the slider with a step for each frame."""
    move = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    steps = [{"label": f"{float(f.name):.2f}", "method": "animate", "args": [[f.name], move]} for f in frames]
    shown = {"prefix": "time ", "suffix": " s", "font": {"size": 13, "color": GREY}}
    hidden = {"ticklen": 0, "minorticklen": 0, "font": {"color": "rgba(0,0,0,0)"}}  # the axis above has the times
    place = {"x": 0.0, "len": 0.74, "y": -0.1, "pad": {"t": 20}}
    return {"steps": steps, "active": len(steps) - 1, "currentvalue": shown} | hidden | place
