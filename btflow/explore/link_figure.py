"""The live figure of a link: windows, rates and the queue, with the tables and words below it.

It is made once with a fixed number of lines, for packets and for the fluid beside them. A group of flows is one line
with gaps, so that a change of numbers changes data only, and the browser gets arrays instead of a figure.
"""

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from btflow.explore.figure import Figure, of_plotly
from btflow.explore.spots import Spot
from btflow.plots import marks, series, words
from btflow.plots.link import call_lines, capacity_line, has_call, packet_time, unit_of, with_window
from btflow.plots.marks import joined
from btflow.plots.style import COLOURS, GREY, TEMPLATE, line
from btflow.swarm.replica import mean_of_known
from btflow.units.formatting import counted

MOST_GROUPS = len(COLOURS) - 1
MOST_POINTS = 1200
"""Points of a group's line; of one flow at least LEAST_POINTS."""
LEAST_POINTS = 150
MOST_RATES = 400
"""Points of the rates of one flow."""
HEIGHT = 720
_WIDTH = 1.6
_HIDDEN: dict[str, Any] = {"visible": False, "x": [], "y": []}
_SOLID, _FLUID = {"dash": "solid"}, {"dash": "dash", "width": 2.2}
_TITLES = ("window<br>[segments]", "rate<br>[kbit/s]", "queue<br>[packets]", "call<br>[MOS]")

AXES = {"window": ("x", "y"), "rate": ("x2", "y2"), "queue": ("x3", "y3"), "call": ("x4", "y4")}
"""Axes of each part of the figure; that of the call is there if there is one."""
_WAIT, _DELAY = "y5", "y6"  # on the right of the queue and of the call
_GAP = 0.06

Floats = NDArray[np.float64]


def empty() -> Figure:
    """Return the figure without data."""
    drawn = make_subplots(rows=4, cols=1, shared_xaxes=True, vertical_spacing=_GAP)
    plain = {"col": 1, "x": [], "y": [], "mode": "lines"}
    for look in (_SOLID, _FLUID):
        common = plain | ({"legendgroup": "fluid"} if look is _FLUID else {})
        for row in (1, 2):
            for index in range(MOST_GROUPS):
                shown = {"legendgroup": str(index), "showlegend": row == 1 and look is _SOLID} | common
                drawn.add_scatter(row=row, visible=False, line=_style(index, look), **shown)
        queue = {"name": "queue", "showlegend": False}  # alone in its axes but for the fluid's
        drawn.add_scatter(row=3, line=_style(6, look), **queue, **common)
    drawn.add_scatter(row=2, **capacity_line("kbit/s"), **{k: v for k, v in plain.items() if k != "mode"})
    key = {"name": "fluid (dashed)", "legendgroup": "fluid", "visible": False, "hoverinfo": "skip"}
    said = words.meaning("fluid")
    drawn.add_scatter(row=1, line=line(0, color=GREY, **_FLUID), **key, **said, **plain | {"x": [None], "y": [None]})
    drawn.add_traces(list(_others()))
    for row, title in enumerate(_TITLES, 1):
        drawn.update_yaxes(row=row, col=1, title={"text": title, "font": {"size": 12}}, rangemode="tozero")
    template = go.layout.Template(TEMPLATE)
    template.layout.width = template.layout.height = None
    template.layout.plot_bgcolor = "rgba(0,0,0,0)"  # a row that is not there lies on the last one
    drawn.update_layout(
        template=template,
        height=HEIGHT,
        autosize=True,
        margin={"l": 65, "r": 55, "t": 50, "b": 50},
        # one that begins left of the axes may be as wide as they and the margin: two columns on a telephone
        legend={
            "orientation": "h",
            "y": 1.01,
            "yanchor": "bottom",
            "x": -0.05,
            "xanchor": "left",
            "font": {"size": 11},
        },
        uirevision="link",
        yaxis4={"range": [1.0, 4.6], "tickvals": [1, 2, 3, 4], "fixedrange": True},
        **{f"yaxis{axis[1:]}": _on_the_right(over) for axis, over in ((_WAIT, "y3"), (_DELAY, "y4"))},
    )
    return of_plotly(drawn)


def _on_the_right(over: str) -> dict[str, Any]:
    """Return an axis on the right of another one; neither is stretched, as they would no longer belong together."""
    plain = {"showgrid": False, "mirror": False, "rangemode": "tozero", "fixedrange": True, "tickmode": "auto"}
    title = {"text": "wait [ms]" if over == "y3" else "delay [ms]", "font": {"size": 12}}
    return {"overlaying": over, "side": "right", "anchor": f"x{over[1:]}", "title": title, "nticks": 5} | plain


def _others() -> Iterator[go.Scatter]:
    """Yield what is drawn of packets alone: marks, the axis of waits, and the call."""
    hidden = {"visible": False, "x": [], "y": []}
    looks: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("window", "slow start", {"mode": "lines", "line": marks.HALO, "hoverinfo": "skip"}),
        ("window", "recovery", {"mode": "markers", "marker": marks.FALL, "hovertemplate": words.FOUND}),
        ("window", "timeout", {"mode": "markers", "marker": marks.TIMEOUT, "hovertemplate": words.TIMED_OUT}),
        ("queue", "drop", {"mode": "markers", "marker": marks.DROP, "hovertemplate": words.DROPPED}),
    )
    for part, term, look in looks:
        xaxis, yaxis = AXES[part]
        yield go.Scatter(name=term, xaxis=xaxis, yaxis=yaxis, **look, **hidden, **words.meaning(term))
    nothing = {"mode": "lines", "showlegend": False, "hoverinfo": "skip", "x": [None], "y": [None]}
    yield go.Scatter(xaxis="x3", yaxis=_WAIT, **nothing)
    for term, axis, style in (("one-way delay", _DELAY, _FLUID | {"width": 1.2}), ("MOS", "y4", _SOLID)):
        look = {"mode": "lines", "line": _style(6, style), "xaxis": "x4", "yaxis": axis}
        yield go.Scatter(name=term, **look, **hidden, **words.meaning(term))


def point_at(figure: Figure, result: xr.Dataset, spot: Spot, said: str) -> None:
    """Write something at a spot of a drawn result, on the side where there is more room."""
    y = spot.y * rate_scale(result)[1] if spot.part == "rate" else spot.y
    figure.point(spot.x, y, said, AXES[spot.part], right=spot.x < 0.5 * float(result.attrs["duration"]))


def draw(widget: Figure, result: xr.Dataset, fluid: xr.Dataset | None = None) -> None:
    """Show a result of btflow.simulate_link, and that of flow for the same experiment dashed beside it."""
    unit, scale = rate_scale(result)
    capacity = float(result.attrs[f"rate_{result.attrs['bottleneck']}"])
    end = float(result["time"][-1])
    look = {} if fluid is None else _SOLID
    styles = [{"line": _style(index, look)} for index in range(MOST_GROUPS)] * 2
    packets = [one | style for one, style in zip(_lines(result, unit, scale), styles, strict=True)]
    beside = [_HIDDEN] * len(packets) if fluid is None else _lines(fluid, unit, scale, ", fluid")
    queues = [_HIDDEN if one is None else _queue(one) for one in (result, fluid)]
    limit = {"x": [0.0, end], "y": [scale * capacity] * 2} | {"hovertemplate": words.capacity(unit)}
    others = [*_marks(result), {}, *_call(result)]
    lines = [*packets, queues[0], *beside, queues[1], limit, {"visible": fluid is not None}, *others]
    axes = _rows(has_call(result), end)
    top = _longest(result, fluid)
    axes["yaxis2"] |= {"title": {"text": f"rate<br>[{unit}]"}}
    axes["yaxis3"] |= {"range": [0.0, top], "fixedrange": True}
    axes["yaxis5"] = {"range": [0.0, top * (packet_time(result) or 1.0)]}
    widget.put(lines, axes)


def _rows(call: bool, end: float) -> dict[str, Any]:
    """Return the places of the rows, and their axes of time: four rows if there is a call, else three."""
    rows = 4 if call else 3
    each = (1.0 - (rows - 1) * _GAP) / rows
    found: dict[str, Any] = {f"yaxis{axis[1:]}": {"visible": call} for axis in ("y4", _DELAY)}
    for row in range(4):
        top = 1.0 - min(row, rows - 1) * (each + _GAP)
        number = str(row + 1) if row else ""
        found.setdefault(f"yaxis{number}", {})["domain"] = [max(top - each, 0.0), top]
        last = row == rows - 1
        title = {"text": "time [s]" if last else ""}
        found[f"xaxis{number}"] = {"title": title, "showticklabels": last, "visible": row < rows, "range": [0.0, end]}
    return found


def _longest(*results: xr.Dataset | None) -> float:
    """Return where the axis of the queue ends [packets]."""
    lengths = (one["queue_length"].values[:, _bottleneck(one)] for one in results if one is not None)
    return 1.05 * max(1.0, *(float(length.max()) for length in lengths))


def rate_scale(result: xr.Dataset) -> tuple[str, float]:
    """Return the unit that rates are drawn in, and how many of it are 1 B/s."""
    return unit_of(float(result.attrs[f"rate_{result.attrs['bottleneck']}"]))


def _style(index: int, look: dict[str, Any]) -> dict[str, Any]:
    """Return the line of the index-th group, with what its look has of its own."""
    return line(index, width=_WIDTH) | look


def _lines(result: xr.Dataset, unit: str, scale: float, mark: str = "") -> list[dict[str, Any]]:
    """Return the windows and then the rates of each group, the mark after its name."""
    time, found = result["time"].values, list(groups(result).items())[:MOST_GROUPS]
    windows, rates, values = [_HIDDEN] * MOST_GROUPS, [_HIDDEN] * MOST_GROUPS, series.windows(result)
    for index, (name, columns) in enumerate(found):
        most = _points(columns)
        shown = {"name": name + mark, "visible": True, "meta": words.of_control(str(result["cc"].values[columns[0]]))}
        points = joined([series.envelope(time, values[:, k], most) for k in columns])
        windows[index] = shown | _xy(points) | {"hovertemplate": words.at_time(name + mark, "segments")}
        x, y = joined([series.rates(result, k, min(most, MOST_RATES)) for k in columns])
        rates[index] = shown | _xy((x, scale * y)) | {"hovertemplate": words.at_time(name + mark, unit)}
    return [*windows, *rates]


def _points(columns: Sequence[int]) -> int:
    return max(LEAST_POINTS, MOST_POINTS // len(columns))


def _queue(result: xr.Dataset) -> dict[str, Any]:
    """Return how many packets wait in the bottleneck, and how long [ms]."""
    place, mark = _bottleneck(result), ", fluid" * (result.attrs["fidelity"] == "flow")
    lengths = result["queue_length"].values[:, place].astype(float)
    keep = series.places(lengths, MOST_POINTS)
    wait = (1000.0 * result["queue_delay"].values[keep, place]).astype(np.float32)
    name = f"queue {result['queue'].values[place]}{mark}"
    said = {"customdata": wait, "hovertemplate": words.waiting(name)}
    return {"name": name, "visible": True} | _xy((result["time"].values[keep], lengths[keep])) | said


def _marks(result: xr.Dataset) -> list[dict[str, Any]]:
    """Return the marks of slow start, losses found, timeouts and drops."""
    found = {k: (name, _points(columns)) for name, columns in groups(result).items() for k in columns}
    values, shown = series.windows(result), [k for k in with_window(result) if k in found]
    lines = [(values[:, k], k) for k in shown]
    names = {k: found[k][0] for k in shown}
    drawn = [
        *marks.slow_starts(result, lines, MOST_POINTS // max(1, len(lines))),
        *marks.on_windows(result, values, names),
        *marks.drops(result, [str(result["queue"].values[_bottleneck(result)])]),
    ]
    by_name = {one.name: one for one in drawn}
    return [_seen(by_name.get(term)) for term in ("slow start", "recovery", "timeout", "drop")]


def _seen(trace: go.Scatter | None) -> dict[str, Any]:
    """Return what changes of a mark."""
    if trace is None:
        return _HIDDEN
    said = {name: trace[name] for name in ("text", "customdata") if trace[name] is not None}
    return {"visible": True} | _xy((trace.x, trace.y)) | said


def _call(result: xr.Dataset) -> list[dict[str, Any]]:
    """Return the delay and the score of the first call over time."""
    if not has_call(result):
        return [_HIDDEN, _HIDDEN]
    lines = call_lines(result, 0, str(result["voip_name"].values[0]))
    return [{"visible": True, "hovertemplate": one.hovertemplate} | _xy((one.x, one.y)) for one in lines]


def groups(result: xr.Dataset) -> dict[str, list[int]]:
    """Return the columns of each group of flows by its name and congestion control, calls and probes last."""
    found: dict[str, list[int]] = {}
    kinds = zip(result["flow"].values, result["cc"].values, result["kind"].values, strict=True)
    for index, (flow, cc, kind) in enumerate(kinds):
        group = words.flow_name(words.group_of(str(flow)), str(cc), str(kind))
        found.setdefault(group, []).append(index)
    return found


def _xy(points: tuple[Floats, Floats]) -> dict[str, Any]:
    """Return points in half the bytes: a screen shows no more."""
    return {"x": points[0].astype(np.float32), "y": points[1].astype(np.float32)}


_OF_QUEUE = ("utilisation", "queue_mean_packets", "queue_mean_delay", "queue_quantile", "drops")


def numbers(result: xr.Dataset, fluid: xr.Dataset | None = None) -> str:
    """Return the figures of a result that count from the warm-up on: by group of flows, and of the bottleneck.

    Those of a fluid follow, but for calls, of whose packets it knows nothing.
    """
    head = ("flows", "goodput", "of the capacity", "mean RTT", "sent again")
    rows, said = _of_flows(result), [_of_queue(result)]
    if fluid is not None:
        rows += [(f"{name}, fluid", *cells) for name, *cells in _of_flows(fluid)]
        said.append(f"Fluid: {_of_queue(fluid)}")
    said[-1] += f" Counted from {float(result.attrs['warmup']):g} s on."
    return _table(head, rows) + "".join(f"<p>{html.escape(line)}</p>" for line in (*said, *_calls(result)))


def _of_flows(result: xr.Dataset) -> list[tuple[str, ...]]:
    """Return the figures of each group of flows, after its name."""
    capacity = float(result["capacity"].values[_bottleneck(result)])
    flows = {name: result[name].values for name in ("goodput", "sent", "resent", "rtt_mean")}
    rows: list[tuple[str, ...]] = []
    for name, columns in groups(result).items():
        goodput, sent, resent = (float(flows[what][columns].sum()) for what in ("goodput", "sent", "resent"))
        share = resent / sent if sent else 0.0
        mean_rtt = _ms(mean_of_known(flows["rtt_mean"][columns]))
        rows.append((name, _rate(goodput), f"{goodput / capacity:.0%}", mean_rtt, f"{share:.2%}"))
    return rows


def _of_queue(result: xr.Dataset) -> str:
    """Return the figures of the bottleneck's queue."""
    place = _bottleneck(result)
    queue = {name: result[name].values[place] for name in _OF_QUEUE}
    p95 = float(queue["queue_quantile"][list(result["quantile"].values).index(0.95)])
    return (
        f"{result['queue'].values[place]}: {float(queue['utilisation']):.0%} used, mean queue "
        f"{float(queue['queue_mean_packets']):.1f} packets = {_ms(float(queue['queue_mean_delay']))}, "
        f"95% of the time at most {counted(round(p95), 'packet')}, {int(queue['drops'])} dropped."
    )


def _bottleneck(result: xr.Dataset) -> int:
    """Return the place of the bottleneck among the queues, for arrays: a selection of a whole result takes long."""
    return list(result["queue"].values).index(str(result.attrs["bottleneck"]))


def _calls(result: xr.Dataset) -> Iterable[str]:
    figures = (result[name].values for name in ("voip_name", "voip_delay_mean", "voip_loss", "voip_mos"))
    for name, delay, loss, mos in zip(*figures, strict=True):
        yield f"Call {name}: mean delay {_ms(delay)}, {loss:.1%} lost, mean opinion score {mos:.1f} (4.5 is best)."


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in head)
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<table class="btflow-table"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def _rate(rate: float) -> str:
    if np.isnan(rate):
        return "-"
    return f"{rate * 8e-3:.0f} kbit/s" if rate < 250_000 else f"{rate * 8e-6:.2f} Mbit/s"


def _ms(seconds: float) -> str:
    return "-" if np.isnan(seconds) else f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"
