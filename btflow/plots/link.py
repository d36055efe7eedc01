"""Figures of a link experiment: windows, rates and queue over time, and the distribution of the queue."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from plotly.subplots import make_subplots

from btflow.errors import InputError
from btflow.plots.style import GREY, TEMPLATE, Results, by_label, distribution, figure, line, numbers, series_name

MOST_POINTS = 2000
"""Points of one line over time."""

RATE_POINTS = 150
"""Most times over which rates are averaged: in shorter ones a few packets arrive, and the rate is their number's."""

RATE_ROUNDS = 3
"""Least length of such a time [round trips]: a window leaves in bursts, and in shorter ones the rate is theirs."""

LEAST_RATE_POINTS = 20
"""A line over time has at least so many."""

LEAST_SHARE = 1e-4
"""Lowest share of the time that a figure of the queue's distribution shows."""

# Heights on the page of `link_overview` [px].
_VIEW, _AXIS_TITLE, _LEGEND_ROW, _TOP_AXIS = 290, 58, 24, 92

_WIDTH = 1.8  # of lines over time, which cross often
_WANTED = ("window", "rate", "queue_length", "queue_delay", "queue_share")
_LINK = "what btflow.simulate_link returns"
_SHADE = "rgba(0,0,0,0.06)"


def windows(result: xr.Dataset) -> go.Figure:
    """Return the congestion window [segments] of each flow that has one against time [s].

    Of a long run the least and the greatest value of each of MOST_POINTS / 2 equal times are drawn.
    """
    _check(result)
    drawn = figure("Congestion windows", "time [s]", "congestion window [segments]", subtitle=_describe(result))
    for index, name in enumerate(_flows(result)):
        window = result["window"].sel(flow=name).values
        if np.isnan(window).all():  # constant bit rate, or it never started
            continue
        x, y = envelope(result["time"].values, window)
        drawn.add_scatter(x=x, y=y, name=name, legendgroup=name, mode="lines", line=line(index, width=_WIDTH))
    return _over_time(drawn, result)


def rates(result: xr.Dataset) -> go.Figure:
    """Return the rate of each flow against time [s], and the bottleneck's capacity, in kbit/s or Mbit/s.

    Means over at most RATE_POINTS equal times are drawn, each of RATE_ROUNDS mean round trips of the
    slowest flow or more where that leaves LEAST_RATE_POINTS of them.
    """
    _check(result)
    points = rate_points(result)
    capacity = result.attrs.get(f"rate_{_bottleneck(result)}")
    highest = max(float(np.nanmax(result["rate"].values, initial=0.0)), float(capacity or 0.0))
    unit, scale = ("Mbit/s", 8e-6) if highest * 8 >= 2e6 else ("kbit/s", 8e-3)
    drawn = figure("Rates of the flows", "time [s]", f"rate [{unit}]", subtitle=_describe(result))
    for index, name in enumerate(_flows(result)):
        x, y = means(result["time"].values, scale * result["rate"].sel(flow=name).values, points)
        drawn.add_scatter(x=x, y=y, name=name, legendgroup=name, mode="lines", line=line(index, width=_WIDTH))
    if capacity is not None:
        ends = [float(result["time"][0]), float(result["time"][-1])]
        mark = line(0, color=GREY, dash="dot", width=_WIDTH)
        drawn.add_scatter(x=ends, y=[scale * float(capacity)] * 2, name="capacity", mode="lines", line=mark)
    return _over_time(drawn, result)


def queue(result: xr.Dataset) -> go.Figure:
    """Return the packets that wait in the bottleneck against time [s], with their wait [ms] on the right.

    Other queues are drawn if they ever hold a packet. The axis on the right is the bottleneck's packets times the mean
    time one of them waits for another: exact where packets are of one size. Long runs are thinned as in `windows`.
    """
    _check(result)
    names = _queues(result)
    drawn = figure("Packets waiting", "time [s]", "packets waiting", subtitle=_describe(result))
    for index, name in enumerate(names):
        x, y = envelope(result["time"].values, result["queue_length"].sel(queue=name).values)
        drawn.add_scatter(x=x, y=y, name=name, mode="lines", line=line(index, width=_WIDTH))
    _over_time(drawn, result)
    highest = max((float(np.nanmax(t.y, initial=0.0)) for t in drawn.data), default=0.0)
    drawn.update_yaxes(range=[0.0, 1.05 * max(highest, 1.0)])
    _second_y(drawn, _packet_time(result), f"wait in {names[0]} [ms]")
    return drawn


def queue_ccdf(results: Results) -> go.Figure:
    """Return the share of the time [%] with more than x packets waiting, on a log axis; x also in ms.

    Of one result its bottleneck, and its other queues if they ever hold a packet; of several by label the bottleneck of
    each. The second axis is there if a packet takes the same time in all of them, see `queue`.
    """
    found = _labelled(results)
    one = isinstance(results, xr.Dataset)
    drawn = figure(
        "How long the queue is",
        "packets waiting",
        "time with more waiting [%] (log scale)",
        subtitle=_origin(results) if isinstance(results, xr.Dataset) else "",
    )
    index, longest = 0, 1.0
    for label, result in found.items():
        for name in _queues(result) if one else _queues(result)[:1]:
            x, y = exceedance(result["packets"].values, result["queue_share"].sel(queue=name).values)
            shown = y >= LEAST_SHARE
            longest = max(longest, float(x[shown].max(initial=0.0)))
            drawn.add_scatter(
                x=x, y=100 * y, name=series_name("", label or name), mode="lines", line=line(index, shape="hv")
            )
            index += 1
    ticks = [100.0, 10.0, 1.0, 0.1, 0.01]
    low, high = np.log10(100 * LEAST_SHARE), np.log10(130.0)
    drawn.update_yaxes(type="log", range=[low, high], tickvals=ticks, ticktext=[f"{t:g}" for t in ticks])
    drawn.update_xaxes(range=[0.0, 1.03 * longest])
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    times = [_packet_time(result) for result in found.values()]
    if times[0] > 0.0 and np.allclose(times, times[0], rtol=0.01):
        _second_x(
            drawn, times[0], "wait [ms]" if not one else f"wait in {_bottleneck(next(iter(found.values())))} [ms]"
        )
    return drawn


def delay_cdf(delays: Mapping[str, ArrayLike], title: str = "Delay of packets") -> go.Figure:
    """Return the distribution of delays [ms], one line per label: voice packets, or the messages of a probe.

    Args:
        delays: By label, the delay of each packet or message [s]; NaN, never delivered, is left out.
        title: What they are the delays of.

    Raises:
        InputError: There is none.
    """
    allowed = "delays in seconds in a mapping by label"
    found = by_label("delays", delays, allowed).items()
    rows = {label: numbers(f"delays[{label!r}]", row, allowed) for label, row in found}
    if not any(np.isfinite(row).any() for row in rows.values()):
        raise InputError("delays", delays, "holds no number", allowed)
    drawn = figure(title, "delay [ms]", "delivered at or below [%]")
    for index, (label, times) in enumerate(rows.items()):
        if np.isnan(times).all():
            continue
        x, y = distribution(1000 * times)
        drawn.add_scatter(x=x, y=100 * y, name=label, mode="lines", line=line(index, shape="hv"))
    drawn.update_xaxes(rangemode="tozero")
    drawn.update_yaxes(range=[0, 101])
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    return drawn


def link_overview(result: xr.Dataset) -> go.Figure:
    """Return windows, rates, queue over time and the queue's distribution, two by two, with one legend of the flows.

    Raises:
        InputError: `result` is not a link experiment's.
    """
    _check(result)
    views = (windows(result), rates(result), queue(result), queue_ccdf(result))
    several = len(_queues(result)) > 1
    between = _AXIS_TITLE + _LEGEND_ROW * _legend_rows(views[1]) + _TOP_AXIS
    top, bottom = 105, _AXIS_TITLE + (_LEGEND_ROW if several else 0) + 10
    inside = 2 * _VIEW + between
    drawn = make_subplots(
        rows=2,
        cols=2,
        subplot_titles=[view.layout.title.text for view in views],
        horizontal_spacing=0.15,
        vertical_spacing=between / inside,
    )
    for number, view in enumerate(views):
        _place(drawn, view, number)
    drawn.for_each_annotation(lambda a: a.update(font={"size": 16}, yshift=6))
    drawn.layout.annotations[3].update(yshift=52)  # above the axis on top
    for legend, axis in (("legend", "yaxis"), ("legend2", "yaxis3")):
        drawn.layout[legend] = {
            "orientation": "h",
            "x": 0.0,
            "y": drawn.layout[axis].domain[0] - _AXIS_TITLE / inside,
            "xanchor": "left",
            "yanchor": "top",
            "font": {"size": 12},
            "traceorder": "normal",
        }
    for trace in drawn.data:
        first = trace.xaxis in ("x", "x2")
        trace.legend = "legend" if first else "legend2"
        if trace.xaxis == "x" or (not first and (trace.xaxis == "x4" or not several)):
            trace.showlegend = False  # the flows' legend is that of the rates, the queues' that of the queue over time
    drawn.update_layout(
        template=TEMPLATE,
        title={
            "text": str(result.attrs.get("title") or "Link"),
            "y": 0.985,
            "yanchor": "top",
            "subtitle": {"text": ", ".join(part for part in (_seed(result), _shading(result)) if part)},
        },
        width=1200,
        height=inside + top + bottom,
        margin={"l": 80, "r": 90, "t": top, "b": bottom},
    )
    return drawn


def envelope(
    time: NDArray[np.float64], values: NDArray[np.float64], most: int = MOST_POINTS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thin a series to at most `most` of its points: the least and the greatest of equal parts, in their order.

    No peak and no trough is lost; a part without a value keeps one NaN, so that a line breaks there.
    """
    if len(values) <= most:
        return time, values
    parts = most // 2
    size = -(-len(values) // parts)
    whole = np.full(parts * size, np.nan)
    whole[: len(values)] = values
    rows = whole.reshape(parts, size)
    starts = size * np.arange(parts)
    empty = np.isnan(rows)
    least = starts + np.where(empty, np.inf, rows).argmin(axis=1)
    greatest = starts + np.where(empty, -np.inf, rows).argmax(axis=1)
    keep = np.unique(np.concatenate([least, greatest]))
    keep = keep[keep < len(values)]
    return time[keep], values[keep]


def rate_points(result: xr.Dataset) -> int:
    """Return over how many equal times rates are averaged; those of a short run are shorter than they should be."""
    longest = float(np.nanmax(result["rtt_mean"].values, initial=0.0)) if "rtt_mean" in result else 0.0
    duration = float(result["time"][-1] - result["time"][0])
    return int(np.clip(duration / max(RATE_ROUNDS * longest, 1e-9), LEAST_RATE_POINTS, RATE_POINTS))


def means(
    time: NDArray[np.float64], values: NDArray[np.float64], most: int = MOST_POINTS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thin a series to at most `most` points: means over equal numbers of its own, at the mean of their times."""
    if len(values) <= most:
        return time, values
    size = -(-len(values) // most)
    starts = np.arange(0, len(values), size)
    known = ~np.isnan(values)
    count = np.add.reduceat(known.astype(float), starts)
    total = np.add.reduceat(np.where(known, values, 0.0), starts)
    length = np.diff(np.append(starts, len(values)))
    mean = np.divide(total, count, out=np.full(len(starts), np.nan), where=count > 0)
    return np.add.reduceat(time, starts) / length, mean


def exceedance(
    packets: NDArray[np.float64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numbers of packets and the share of the time with more than that many, as far as that is above 0."""
    total = float(np.nansum(share))
    if total <= 0.0:
        return np.zeros(0), np.zeros(0)
    above = np.clip(np.cumsum(np.nan_to_num(share)[::-1])[::-1] / total, 0.0, 1.0)
    above = np.append(above[1:], 0.0)
    used = above > 1e-12
    last = int(used.sum())
    # the last step ends where the queue is longest
    x = np.asarray(packets[: last + 1] if last else packets[:1], np.float64)
    return x, np.append(above[:last], above[last - 1] if last else 0.0)


def _check(result: object, field: str = "result") -> xr.Dataset:
    """Return a link experiment's result; InputError if it is something else."""
    if not isinstance(result, xr.Dataset) or any(name not in result for name in _WANTED):
        raise InputError(field, result, "is not a result of a link experiment", _LINK)
    return result


def _labelled(results: Results) -> dict[str, xr.Dataset]:
    found = {"": results} if isinstance(results, xr.Dataset) else results
    if not isinstance(found, Mapping) or not found:
        raise InputError("results", results, "is no result", f"{_LINK}, or several of them in a mapping by label")
    return {label: _check(result, f"results[{label!r}]") for label, result in found.items()}


def _flows(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["flow"].values]


def _bottleneck(result: xr.Dataset) -> str:
    return str(result.attrs.get("bottleneck") or result["queue"].values[0])


def _queues(result: xr.Dataset) -> list[str]:
    """Return the bottleneck and the queues that ever hold a packet."""
    names = [str(name) for name in result["queue"].values]
    first = _bottleneck(result)
    longest = result["queue_length"].max("time")
    return [first, *(name for name in names if name != first and float(longest.sel(queue=name)) > 0.0)]


def _packet_time(result: xr.Dataset) -> float:
    """Return the mean time a packet that waits in the bottleneck takes [ms]; 0 if none ever waits."""
    chosen = result.sel(queue=_bottleneck(result))
    packets, delay = chosen["queue_length"].values, chosen["queue_delay"].values
    return 1000.0 * float(np.nansum(delay)) / float(np.nansum(packets)) if np.nansum(packets) > 0 else 0.0


def _describe(result: xr.Dataset) -> str:
    """Return one line on where the data are from and what the shading of a figure over time means."""
    return ", ".join(part for part in (_origin(result), _shading(result)) if part)


def _origin(result: xr.Dataset) -> str:
    return ", ".join(part for part in (str(result.attrs.get("title") or ""), _seed(result)) if part)


def _seed(result: xr.Dataset) -> str:
    return f"seed {result.attrs['seed']}" if result.attrs.get("seed") is not None else ""


def _shading(result: xr.Dataset) -> str:
    warmup = float(result.attrs.get("warmup") or 0.0)
    return f"shaded: the first {warmup:g} s, which do not count" if warmup > 0.0 else ""


def _over_time(drawn: go.Figure, result: xr.Dataset) -> go.Figure:
    """Set the time axis, shade the warm-up and let a legend appear for several lines."""
    time = result["time"].values
    drawn.update_xaxes(range=[float(time[0]), float(time[-1])])
    drawn.update_yaxes(rangemode="tozero")
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    warmup = float(result.attrs.get("warmup") or 0.0)
    if warmup > 0.0:
        place = {"x0": float(time[0]), "x1": min(warmup, float(time[-1])), "y0": 0, "y1": 1, "yref": "y domain"}
        drawn.add_shape(type="rect", xref="x", layer="below", line={"width": 0}, fillcolor=_SHADE, **place)
    return drawn


def _second_y(drawn: go.Figure, scale: float, title: str) -> None:
    """Add an axis on the right that shows the left one times `scale`."""
    if scale <= 0.0:
        return
    low, high = drawn.layout.yaxis.range
    axis = {"overlaying": "y", "side": "right", "anchor": "x", "range": [low * scale, high * scale]}
    drawn.update_layout(yaxis2=axis | _SECOND | {"title": {"text": title}}, margin={"r": 90})
    drawn.add_scatter(x=[None], y=[None], yaxis="y2", showlegend=False, hoverinfo="skip", name="")


def _second_x(drawn: go.Figure, scale: float, title: str) -> None:
    """Add an axis on top that shows the lower one times `scale`."""
    low, high = drawn.layout.xaxis.range
    axis = {"overlaying": "x", "side": "top", "anchor": "y", "range": [low * scale, high * scale]}
    drawn.update_layout(xaxis2=axis | _SECOND | {"title": {"text": title}}, height=600, margin={"t": 140})
    drawn.update_layout(title={"y": 0.96, "yanchor": "top"})
    drawn.add_scatter(x=[None], y=[None], xaxis="x2", showlegend=False, hoverinfo="skip", name="")


_SECOND: dict[str, Any] = {
    "showgrid": False,
    "mirror": False,
    "tickmode": "auto",
    "ticks": "outside",
    "zeroline": False,
}


def _place(drawn: go.Figure, view: go.Figure, number: int) -> None:
    """Copy a view's traces, axes and shading into cell `number` of the page; second axes get the numbers 5 and 6."""
    suffix = "" if number == 0 else str(number + 1)
    second = {"x2": ("x6", "xaxis6"), "y2": ("y5", "yaxis5")}
    for trace in view.data:
        trace.xaxis = second["x2"][0] if trace.xaxis == "x2" else f"x{suffix}"
        trace.yaxis = second["y2"][0] if trace.yaxis == "y2" else f"y{suffix}"
        drawn.add_trace(trace)
    for letter in "xy":
        settings = view.layout[f"{letter}axis"].to_plotly_json()
        kept = {k: v for k, v in settings.items() if k not in {"domain", "anchor"}}
        drawn.layout[f"{letter}axis{suffix}"].update(kept)
        if f"{letter}axis2" in view.layout:
            extra = view.layout[f"{letter}axis2"].to_plotly_json()
            other = "y" if letter == "x" else "x"
            extra |= {"overlaying": f"{letter}{suffix}", "anchor": f"{other}{suffix}"}
            drawn.layout[second[f"{letter}2"][1]] = extra
    for shape in view.layout.shapes:
        drawn.add_shape(shape.update(xref=f"x{suffix}", yref=f"y{suffix} domain"))


def _legend_rows(view: go.Figure) -> int:
    """Return about how many rows a legend as wide as the page takes."""
    widths = [60 + 7.5 * len(str(trace.name)) for trace in view.data]
    each = max(widths, default=60.0)  # a horizontal legend gives all entries the width of the widest
    return -(-len(widths) // max(1, int(1000 // each)))
