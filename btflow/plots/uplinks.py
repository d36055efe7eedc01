"""Figures of swarms whose peers have access links: completion by rank and buffer, uplink queues, control messages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from plotly.subplots import make_subplots

from btflow.errors import InputError
from btflow.plots import style, words
from btflow.plots.series import exceedance
from btflow.plots.sweep import rtt_sweep, several, sweep_curves
from btflow.swarm.replica import quantile

CONTROL = ("request", "have")
"""Messages whose delay is the control plane's: they ask for data and tell where it is."""

_RANKED = ("completion_rank", "completion_time")
_SHADE = "rgba(0,0,0,0.08)"
_WANTED = ("queue_packets_count", "queue_delay_count", "message_delay", "message_delay_count")
_QUEUES = {
    "packets": ("queue_packets_count", "queue_packets", "packets waiting", 1.0),
    "seconds": ("queue_delay_count", "queue_delay", "time until the queue is empty [ms]", 1000.0),
}
"""By axis: variable, dimension, axis title, and what the dimension's values are multiplied by."""


def completion_by_rank(results: style.Results) -> go.Figure:
    """Return each download's completion time [s] against its place in the order of completion, by class.

    Times begin at the client's own start, so a later place need not have a longer time.
    Downloads of all replicas that are completed in the warm-up, which do not count, are in a shaded part.
    """
    drawn = style.of_results(
        results, "Completion time by rank", "place in the order of completion", "time from own start to completion [s]"
    )
    for index, (name, result, one) in enumerate(style.classes_of(results)):
        peers = (result["peer_class"] == one).values
        rank, times = (result[v].transpose("replica", "peer").values[:, peers] for v in _RANKED)
        done = np.isfinite(times)
        drawn.add_scatter(
            x=rank[done] + 1,
            y=times[done],
            name=name,
            mode="markers",
            marker=style.marker(index, size=6),
            hovertemplate=f"{name}: {words.RANK}",
        )
    discards = {int(result.attrs.get("discard", 0)) for result in style.labelled(results).values()}
    last = max((float(np.max(trace.x, initial=1.0)) for trace in drawn.data), default=1.0)
    if len(discards) == 1 and (end := discards.pop()) > 0:
        drawn.add_vrect(x0=0.5, x1=end + 0.5, fillcolor=_SHADE, line_width=0, layer="below")
    drawn.update_xaxes(range=[0.5, last + 0.5])
    drawn.update_yaxes(rangemode="tozero")
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    return drawn


def uplink_queue_ccdf(results: style.Results, *, axis: Literal["packets", "seconds"] = "packets") -> go.Figure:
    """Return the share of the time [%] with more than x waiting in a leecher's uplink, on a log axis, by class.

    Args:
        results: One result, or several by label.
        axis: Whether x is in packets, or the time until all that waits has left [ms].

    Raises:
        InputError: A result has no access links, or `axis` is neither of the two.
    """
    if axis not in _QUEUES:
        raise InputError("axis", axis, "is unknown", ", ".join(_QUEUES))
    variable, dimension, title, scale = _QUEUES[axis]
    drawn = style.of_results(results, "Queues of the uplinks", title, "time with more [%] (log scale)")
    longest = 0.0
    for index, (name, result, sender) in enumerate(_senders(results)):
        counts = result[variable].sel(sender_class=sender).sum("replica")
        # A bin of times ends where the next one begins: what lies in higher bins is longer than that.
        edges = result[dimension].values
        edges = edges + (edges[1] - edges[0]) if axis == "seconds" and len(edges) > 1 else edges
        x, y = exceedance(scale * edges, counts.values)
        longest = max(longest, float(x[y >= style.LEAST_SHARE].max(initial=0.0)))
        said = words.share_above(name, "packets wait" if axis == "packets" else "ms of queue")
        look = {"mode": "lines", "line": style.line(index, shape="hv"), "hovertemplate": said}
        drawn.add_scatter(x=x, y=100 * y, name=name, **look)
    style.share_axes(drawn, longest)
    return drawn


def uplink_queues(results: style.Results) -> go.Figure:
    """Return how long the uplinks' queues are, in packets on the left and in time on the right; see the one above."""
    views = [uplink_queue_ccdf(results, axis="packets"), uplink_queue_ccdf(results, axis="seconds")]
    drawn = make_subplots(rows=1, cols=2, horizontal_spacing=0.09, shared_yaxes=True)
    for column, view in enumerate(views, 1):
        for trace in view.data:
            trace.legendgroup, trace.showlegend = trace.name, column == 1
            drawn.add_trace(trace, row=1, col=column)
        for way, update in (("xaxis", drawn.update_xaxes), ("yaxis", drawn.update_yaxes)):
            settings = view.layout[way].to_plotly_json()
            update(**settings, row=1, col=column)
    drawn.update_yaxes(title_text="", row=1, col=2)
    drawn.update_layout(template=style.TEMPLATE, title=views[0].layout.title, width=1100, height=views[0].layout.height)
    return drawn


def completion_against_buffer(results: Mapping[str, xr.Dataset] | Iterable[xr.Dataset]) -> go.Figure:
    """Return the median completion time [s] against the room in the queues, one line per class, with quartiles.

    Args:
        results: Results that differ in their parameter `buffer`; in a mapping, those of a label have lines of their
            own: the part of a label before its first comma.

    Raises:
        InputError: There is none, one has no parameter `buffer`, or the buffers are not of one unit.
    """
    groups: dict[str, list[xr.Dataset]] = {}
    for label, result in _by_buffer(results):
        groups.setdefault(label.partition(",")[0].strip(), []).append(result)
    curves = {
        style.of_class(group if len(groups) > 1 else "", name): curve
        for group, members in groups.items()
        for name, curve in sweep_curves(members, x="buffer", lines="peer_class", spread="quartiles").items()
    }
    drawn = rtt_sweep(curves, x="buffer")
    drawn.update_layout(title={"text": "Completion time by buffer"})
    return drawn


def _by_buffer(results: object) -> list[tuple[str, xr.Dataset]]:
    """Return results with their labels, empty ones if they have none; InputError if there is none."""
    if isinstance(results, Mapping) and not isinstance(results, xr.Dataset):
        found = [(str(label), style.one_result(result, f"results[{label!r}]")) for label, result in results.items()]
    else:
        found = [("", result) for result in several(results)]
    if not found:
        raise InputError("results", results, "holds nothing", "results that differ in their parameter buffer")
    return found


def throughput_against_delay(results: style.Results) -> go.Figure:
    """Return the data plane against the control plane: goodput [kbit/s] over the delay of messages [ms].

    There is a named point for each result and class of leechers: the mean of file size over completion time of the
    downloads that count, and the mean delay of the REQUESTs and HAVEs that the class has sent.
    """
    drawn = style.of_results(
        results,
        "Throughput and control delay",
        f"mean delay of {' and '.join(kind.upper() for kind in CONTROL)} messages [ms]",
        "goodput of a leecher, mean [kbit/s]",
    )
    labels = list(_linked(results))
    classes = list(dict.fromkeys(name for r in _linked(results).values() for name in style.leecher_classes(r)))
    for label, result in _linked(results).items():
        for name in style.leecher_classes(result):
            times = style.counted_times(result, name)
            rate = 8e-3 * float(result.attrs["file_size"]) * np.nanmean(1.0 / times) if np.isfinite(times).any() else 0
            delay = message_delay(result, name)
            if not rate > 0.0 or not np.isfinite(delay):
                continue
            colour = labels.index(label) if len(labels) > 1 else classes.index(name)
            symbol = style.marker(classes.index(name) if len(classes) > 1 else colour)["symbol"]
            marker = style.marker(colour, symbol=symbol, size=12, line={"width": 1, "color": "white"})
            shown = label if label and len(classes) == 1 else style.of_class(label, name)
            drawn.add_scatter(
                x=[1000 * delay],
                y=[rate],
                name=shown,
                text=[shown],
                textposition="bottom center" if len(drawn.data) % 2 else "top center",  # neighbours keep clear
                mode="markers+text",
                marker=marker,
                cliponaxis=False,
                hovertemplate=f"{shown}: {words.PLANES}",
            )
    drawn.update_xaxes(rangemode="tozero")
    drawn.update_yaxes(rangemode="tozero")
    drawn.update_layout(showlegend=True)
    return drawn


def message_delay(result: xr.Dataset, sender: str, kinds: Iterable[str] = CONTROL) -> float:
    """Return the mean delay of messages of some kinds that a class has sent [s]; NaN if there are none."""
    own = result.sel(sender_class=sender, message=list(kinds))
    number = own["message_delay_count"].sum("delay").values
    total = float(number.sum())
    return float(np.nansum(number * own["message_delay"].values) / total) if total > 0.0 else float("nan")


def message_delays(results: style.Results) -> go.Figure:
    """Return how long control messages take from being written to being delivered [ms], by kind and class of sender.

    Boxes are quartiles, whiskers end at the 5th and the 95th percentile.
    """
    subtitle = "boxes: quartiles, whiskers: 5th to 95th percentile"
    source = style.describe(results)
    drawn = style.figure(
        "Delay of control messages",
        "delay [ms] (log scale)",
        "message",
        subtitle=f"{source}; {subtitle}" if source else subtitle,
    )
    edges: list[float] = []
    for index, (name, result, sender) in enumerate(_senders(results)):
        counts = result["message_delay_count"].sel(sender_class=sender).sum("replica")
        middle = 1000 * result["delay"].values * _middle(result)
        found = {
            str(kind): [quantile(middle, counts.sel(message=kind).values, q) for q in (0.05, 0.25, 0.5, 0.75, 0.95)]
            for kind in counts["message"].values
            if kind != "piece" and float(counts.sel(message=kind).sum()) > 0.0
        }
        edges += [value for row in found.values() for value in (row[0], row[-1])]
        names = ("lowerfence", "q1", "median", "q3", "upperfence")
        drawn.add_box(
            y=list(found),
            orientation="h",
            **{part: [row[i] for row in found.values()] for i, part in enumerate(names)},
            name=name,
            line={"color": style.COLOURS[index % len(style.COLOURS)], "width": 1.5},
            fillcolor=style.translucent(index, 0.35 if index % 2 else 0.1),
            boxpoints=False,
            xhoverformat=words.NUMBER,
        )
    drawn.update_layout(boxmode="group", showlegend=len(drawn.data) > 1)
    drawn.update_yaxes(showgrid=False, autorange="reversed")
    if edges:
        style.log_axis(drawn, min(edges), max(edges))
    return drawn


def _linked(results: style.Results) -> dict[str, xr.Dataset]:
    """Return results by label; InputError if one is not of a swarm on access links."""
    found = style.labelled(results)
    for label, result in found.items():
        if any(name not in result for name in _WANTED):
            field = f"results[{label!r}]" if label else "result"
            allowed = "a result of a swarm whose peers have access links"
            raise InputError(field, str(result.attrs.get("model", "")), "has no access links", allowed)
    return found


def _senders(results: style.Results) -> Iterator[tuple[str, xr.Dataset, str]]:
    """Name, result and class for each class of leechers whose uplinks were looked at."""
    for name, result, one in style.classes_of(_linked(results)):
        if float(result["queue_packets_count"].sel(sender_class=one).sum()) > 0.0:
            yield name, result, one


def _middle(result: xr.Dataset) -> float:
    """What the lower edge of a bin of the messages' delays is multiplied by to be in its middle."""
    edges = result["delay"].values
    return float(np.sqrt(edges[1] / edges[0])) if len(edges) > 1 else 1.0


LINKED_VIEWS: tuple[Callable[[xr.Dataset], go.Figure], ...] = (
    completion_by_rank,
    lambda result: uplink_queue_ccdf(result, axis="seconds"),
    message_delays,
)
"""What an overview of a swarm on access links shows beyond that of any swarm."""
