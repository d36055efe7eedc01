"""Figures of a link experiment: windows, rates and queue over time, and the distribution of the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from plotly.subplots import make_subplots

from btflow.errors import InputError
from btflow.plots import marks, series, style, words

Floats = NDArray[np.float64]

# Heights on the page of `link_overview` [px].
_VIEW, _AXIS_TITLE, _LEGEND_ROW, _TOP_AXIS = 290, 58, 24, 92

_WIDTH = 1.8  # of lines over time, which cross often
_WANTED = ("window", "rate", "queue_length", "queue_delay", "queue_share")
_LINK = "what btflow.simulate_link returns"
_SHADE = "rgba(0,0,0,0.06)"


def windows(result: xr.Dataset) -> go.Figure:
    """Return the congestion window [segments] of each flow that has one against time [s], with marks.

    Slow start has a broad line below, a loss that was found and a timeout have a symbol; the legend switches each kind
    off and on. While losses are repaired the threshold is drawn that the window falls to (``series.windows``). Of a
    long run the least and the greatest value of each of ``series.MOST_POINTS`` / 2 equal times are drawn.
    """
    _check(result)
    drawn = style.figure("Congestion windows", "time [s]", "congestion window [segments]", subtitle=_describe(result))
    found, time = series.windows(result), result["time"].values
    names, columns = words.flow_names(result), with_window(result)
    drawn.add_traces(marks.slow_starts(result, [(found[:, k], k) for k in columns]))
    for k in columns:
        x, y = series.envelope(time, found[:, k])
        drawn.add_scatter(x=x, y=y, **_of_flow(result, k, "segments"), mode="lines", line=style.line(k, width=_WIDTH))
    drawn.add_traces(marks.on_windows(result, found, {k: names[k] for k in columns}))
    return _over_time(drawn, result)


def rates(result: xr.Dataset) -> go.Figure:
    """Return the rate of each flow against time [s], and the bottleneck's capacity, in kbit/s or Mbit/s.

    Each point is a mean over a round trip of the flow, see ``series.rates``.
    """
    _check(result)
    capacity = result.attrs.get(f"rate_{_bottleneck(result)}")
    highest = max(float(np.nanmax(result["rate"].values, initial=0.0)), float(capacity or 0.0))
    unit, scale = unit_of(highest)
    drawn = style.figure("Rates of the flows", "time [s]", f"rate [{unit}]", subtitle=_describe(result))
    for k in range(result.sizes["flow"]):
        x, y = series.rates(result, k)
        drawn.add_scatter(x=x, y=scale * y, **_of_flow(result, k, unit), mode="lines", line=style.line(k, width=_WIDTH))
    if capacity is not None:
        ends = [float(result["time"][0]), float(result["time"][-1])]
        drawn.add_scatter(x=ends, y=[scale * float(capacity)] * 2, **capacity_line(unit))
    return _over_time(drawn, result)


def queue(result: xr.Dataset) -> go.Figure:
    """Return the packets that wait in the bottleneck against time [s], with their wait [ms] on the right, and drops.

    Other queues are drawn if they ever hold a packet. The axis on the right is the bottleneck's packets times the mean
    time one of them waits for another: exact where packets are of one size; what the pointer is on says the wait of
    just that time. Long runs are thinned as in `windows`.
    """
    _check(result)
    names, time = _queues(result), result["time"].values
    drawn = style.figure("Packets waiting", "time [s]", "packets waiting", subtitle=_describe(result))
    for index, name in enumerate(names):
        length = result["queue_length"].sel(queue=name).values.astype(float)
        keep = series.places(length)
        wait = 1000.0 * result["queue_delay"].sel(queue=name).values[keep]
        said = {"customdata": wait, "hovertemplate": words.waiting(name)} | words.meaning("queue")
        look = {"mode": "lines", "line": style.line(index, width=_WIDTH), "legendgroup": name}
        drawn.add_scatter(x=time[keep], y=length[keep], name=name, **look, **said)
    drawn.add_traces(marks.drops(result, names))
    _over_time(drawn, result)
    highest = max((float(np.nanmax(t.y, initial=0.0)) for t in drawn.data), default=0.0)
    drawn.update_yaxes(range=[0.0, 1.05 * max(highest, 1.0)])
    if (scale := packet_time(result)) > 0.0:
        _second(drawn, "y", scale, f"wait in {names[0]} [ms]")
        drawn.update_layout(margin={"r": 90})
    return drawn


def call_over_time(result: xr.Dataset) -> go.Figure:
    """Return how each voice call went against time [s]: network delay [ms], and the mean opinion score below it.

    The score is that of the ``voip.RECENT`` seconds of speech before (E-model, ITU-T G.107).

    Raises:
        InputError: `result` is not a link experiment's, or has no voice call whose packets were simulated.
    """
    _check(result)
    if not has_call(result):
        raise InputError("result", result, "has no voice call", "an experiment with a call, at full fidelity")
    titles = ("one-way delay [ms]", "mean opinion score")
    drawn = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for k, name in enumerate(str(name) for name in result["voip_name"].values):
        for row, trace in enumerate(call_lines(result, k, name), 1):
            trace.update(line=style.line(k, width=_WIDTH), name=name, legendgroup=name, showlegend=row == 1)
            drawn.add_trace(trace, row=row, col=1)
    for row, title in enumerate(titles, 1):
        drawn.update_yaxes(title_text=title, row=row, col=1)
    drawn.update_yaxes(rangemode="tozero", row=1)
    drawn.update_yaxes(range=[1.0, 4.6], row=2)
    drawn.update_xaxes(title_text="time [s]", row=2)
    look = {"text": "How the call goes", "subtitle": {"text": _origin(result)}}
    drawn.update_layout(template=style.TEMPLATE, height=style.TEMPLATE.layout.height, title=look)
    drawn.update_layout(showlegend=result.sizes["voip"] > 1)
    return drawn


# -- what the live figure has as well ---------------------------------------------------------------------------------


def with_window(result: xr.Dataset) -> list[int]:
    """Return the columns of the flows that have a window: no calls, and none that never started."""
    return [int(k) for k in np.flatnonzero(~np.isnan(result["window"].values).all(axis=0))]


def unit_of(highest: float) -> tuple[str, float]:
    """Return the unit that rates up to a highest one [B/s] are drawn in, and how many of it are 1 B/s."""
    return ("Mbit/s", 8e-6) if highest * 8 >= 2e6 else ("kbit/s", 8e-3)


def capacity_line(unit: str) -> dict[str, Any]:
    """Return the look of the line of the bottleneck's capacity, and what it says."""
    said = {"hovertemplate": words.capacity(unit)} | words.meaning("capacity")
    return {
        "name": "capacity",
        "mode": "lines",
        "line": style.line(0, color=style.GREY, dash="dot", width=_WIDTH),
    } | said


def call_lines(result: xr.Dataset, k: int, name: str) -> tuple[Any, Any]:
    """Return the delay and the score of a call over time."""
    delay = series.envelope(result["time"].values, 1000.0 * result["voip_delay"].values[:, k])
    score = result["voip_time"].values, result["voip_mos_recent"].values[:, k]
    said = (delay, words.at_time(name, "ms one way"), "one-way delay"), (score, words.score(name), "MOS")
    first, second = (
        go.Scatter(x=x, y=y, hovertemplate=hover, mode="lines", **words.meaning(term)) for (x, y), hover, term in said
    )
    return first, second


def has_call(result: xr.Dataset) -> bool:
    """Return whether there is something to draw of a call."""
    return "voip_mos_recent" in result and bool(np.isfinite(result["voip_mos_recent"].values).any())


def _of_flow(result: xr.Dataset, column: int, unit: str) -> dict[str, Any]:
    """Return the name of a flow, what its line says, and what its congestion control is."""
    name, cc = words.flow_names(result)[column], str(result["cc"].values[column])
    said = {"hovertemplate": words.at_time(name, unit), "meta": words.of_control(cc) or None}
    return {"name": name, "legendgroup": str(result["flow"].values[column])} | said


def queue_ccdf(results: style.Results) -> go.Figure:
    """Return the share of the time [%] with more than x packets waiting, on a log axis; x also in ms.

    Of one result its bottleneck, and its other queues if they ever hold a packet; of several by label the bottleneck of
    each. The second axis is there if a packet takes the same time in all of them, see `queue`.
    """
    found = _labelled(results)
    one = isinstance(results, xr.Dataset)
    subtitle = _origin(results) if isinstance(results, xr.Dataset) else ""
    drawn = style.figure(
        "How long the queue is", "packets waiting", "time with more waiting [%] (log scale)", subtitle=subtitle
    )
    index, longest = 0, 1.0
    for label, result in found.items():
        for name in _queues(result) if one else _queues(result)[:1]:
            x, y = series.exceedance(result["packets"].values, result["queue_share"].sel(queue=name).values)
            longest = max(longest, float(x[y >= style.LEAST_SHARE].max(initial=0.0)))
            shown, said = label or name, words.share_above(label or name, "packets wait")
            look = {"mode": "lines", "line": style.line(index, shape="hv"), "hovertemplate": said}
            drawn.add_scatter(x=x, y=100 * y, name=shown, **look)
            index += 1
    style.share_axes(drawn, longest)
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    times = [packet_time(result) for result in found.values()]
    if times[0] > 0.0 and np.allclose(times, times[0], rtol=0.01):
        where = f"in {_bottleneck(next(iter(found.values())))} " if one else ""
        _second(drawn, "x", times[0], f"wait {where}[ms]")
        drawn.update_layout(height=600, margin={"t": 140}, title={"y": 0.96, "yanchor": "top"})
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
    found = style.by_label("delays", delays, allowed).items()
    rows = {label: style.numbers(f"delays[{label!r}]", row, allowed) for label, row in found}
    if not any(np.isfinite(row).any() for row in rows.values()):
        raise InputError("delays", delays, "holds no number", allowed)
    drawn = style.figure(title, "delay [ms]", "delivered at or below [%]")
    for index, (label, times) in enumerate(rows.items()):
        if np.isnan(times).all():
            continue
        x, y = style.distribution(1000 * times)
        look = {"mode": "lines", "line": style.line(index, shape="hv")}
        drawn.add_scatter(x=x, y=100 * y, name=label, hovertemplate=words.share_below(label, "", "ms"), **look)
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
    in_legend = [*views[1].data, *(trace for trace in views[0].data if trace.legendgroup is None)]
    between = _AXIS_TITLE + _LEGEND_ROW * _legend_rows(in_legend) + _TOP_AXIS
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
        place = {
            "x": 0.0,
            "y": drawn.layout[axis].domain[0] - _AXIS_TITLE / inside,
            "xanchor": "left",
            "yanchor": "top",
        }
        drawn.layout[legend] = {"orientation": "h", "font": {"size": 12}, "traceorder": "normal"} | place
    for trace in drawn.data:
        first = trace.xaxis in ("x", "x2")
        trace.legend = "legend" if first else "legend2"
        twice = trace.legendgroup is not None and (trace.xaxis == "x" or (not first and not several))
        if twice or trace.xaxis == "x4":
            trace.showlegend = False  # the flows' legend is that of the rates, the queues' that of the queue over time
    drawn.update_layout(
        template=style.TEMPLATE,
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


def _check(result: object, field: str = "result") -> xr.Dataset:
    """Return a link experiment's result; InputError if it is something else."""
    if not isinstance(result, xr.Dataset) or any(name not in result for name in _WANTED):
        raise InputError(field, result, "is not a result of a link experiment", _LINK)
    return result


def _labelled(results: style.Results) -> dict[str, xr.Dataset]:
    found = {"": results} if isinstance(results, xr.Dataset) else results
    if not isinstance(found, Mapping) or not found:
        raise InputError("results", results, "is no result", f"{_LINK}, or several of them in a mapping by label")
    return {label: _check(result, f"results[{label!r}]") for label, result in found.items()}


def _bottleneck(result: xr.Dataset) -> str:
    return str(result.attrs.get("bottleneck") or result["queue"].values[0])


def _queues(result: xr.Dataset) -> list[str]:
    """Return the bottleneck and the queues that ever hold a packet."""
    names = [str(name) for name in result["queue"].values]
    first = _bottleneck(result)
    longest = result["queue_length"].max("time")
    return [first, *(name for name in names if name != first and float(longest.sel(queue=name)) > 0.0)]


def packet_time(result: xr.Dataset) -> float:
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


def _second(drawn: go.Figure, way: str, scale: float, title: str) -> None:
    """Add an axis on the other side of the axis `way`, x or y, that shows it times `scale`."""
    side, anchor = ("top", "y") if way == "x" else ("right", "x")
    low, high = drawn.layout[f"{way}axis"].range
    axis = {"overlaying": way, "side": side, "anchor": anchor, "range": [low * scale, high * scale]}
    drawn.update_layout({f"{way}axis2": axis | _SECOND | {"title": {"text": title}}})
    ends = {"x": [None], "y": [None], f"{way}axis": f"{way}2"}
    drawn.add_scatter(showlegend=False, hoverinfo="skip", name="", **ends)


_SECOND = {"showgrid": False, "mirror": False, "tickmode": "auto", "ticks": "outside", "zeroline": False}


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


def _legend_rows(traces: Sequence[Any]) -> int:
    """Return about how many rows a legend as wide as the page takes."""
    widths = [60 + 7.5 * len(str(trace.name)) for trace in traces]
    each = max(widths, default=60.0)  # a horizontal legend gives all entries the width of the widest
    return -(-len(widths) // max(1, int(1000 // each)))
