"""Figures of a swarm: when its leechers complete, what they hold by then, what held uploads back; all on one page."""

import json

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from btflow.analytic import kumar_ross_bound
from btflow.errors import InputError, brief
from btflow.plots import marks, style, words
from btflow.plots.uplinks import LINKED_VIEWS, completion_by_rank
from btflow.units.formatting import counted

MOST_REPLICAS = 20
"""Replicas that are drawn with a line each."""


def completion_cdf(results: style.Results, *, bound: bool = True) -> go.Figure:
    """Return the distribution of completion times [s] over the leechers of all replicas, one line per class.

    Only downloads that count are in it: none of those that are completed in the warm-up.
    The replicas of a single result have a thin line each, up to MOST_REPLICAS of them, beside the line of all together.
    A vertical line marks the lower bound of the last completion (Kumar and Ross 2006) of a single result in which all
    peers start together; `bound=False` leaves it out.
    """
    drawn = style.of_results(
        results, "Completion time of the leechers", "completion time [s]", "leechers that have completed [%]"
    )
    found = [(name, style.counted_times(result, one)) for name, result, one in style.classes_of(results)]
    for index, (name, times) in enumerate(pair for pair in found if np.isfinite(pair[1]).any()):
        if len(times) > 1 and isinstance(results, xr.Dataset):
            drawn.add_traces(_replica_lines(times[:MOST_REPLICAS], f"{name}, each replica", index))
        x, y = style.distribution(times)
        together = ", replicas together" if len(times) > 1 else ""
        said = {"text": words.shares(100 * y), "hovertemplate": words.complete(name)}
        look = {"mode": "lines", "line": style.line(index, shape="hv")}
        drawn.add_scatter(x=x, y=100 * y, name=name + together, **look, **said)
    if bound and isinstance(results, xr.Dataset) and (least := lower_bound(results)) is not None:
        mark = style.line(0, color=style.GREY, dash="dot")
        look = {"mode": "lines", "line": mark, "hovertemplate": words.BOUND} | words.meaning("lower bound")
        drawn.add_scatter(x=[least, least], y=[0, 101], name="lower bound of the last", **look)
    ends = [float(x) for trace in drawn.data for x in (trace.x[0], trace.x[-1])] or [0.0]
    margin = 0.03 * (max(ends) - min(ends)) or 1.0
    drawn.update_xaxes(range=[min(ends) - margin, max(ends) + margin])
    drawn.update_yaxes(range=[0, 101])
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    return drawn


def pieces_over_time(results: style.Results) -> go.Figure:
    """Return the mean number of pieces a leecher holds against time [s]: mean of the replicas, and their range.

    Of a single result the rounds of the seed's choker are marked, and of a single replica the completions.
    """
    drawn = style.of_results(results, "Pieces held by a leecher", "time [s]", "pieces held, mean over the leechers")
    for index, (label, result) in enumerate(style.labelled(results).items()):
        held = result["pieces_held"].transpose("replica", "time")
        time = held["time"].values
        if held.sizes["replica"] > 1:
            band = held.min("replica").values, held.max("replica").values
            drawn.add_traces(_band(time, *band, style.series_name(label, "range of the replicas"), index))
        mean = held.mean("replica").values
        name = style.series_name(label, "mean")
        look = {"mode": "lines", "line": style.line(index), "hovertemplate": words.at_time(name, "pieces")}
        drawn.add_scatter(x=time, y=mean, name=name, **look)
    if isinstance(results, xr.Dataset):
        drawn.add_traces(marks.on_pieces(results))
    drawn.update_xaxes(rangemode="tozero")
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    drawn.update_yaxes(rangemode="tozero")
    return drawn


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


def _replica_lines(times: NDArray[np.float64], name: str, index: int) -> list[go.Scatter]:
    """One thin trace for each replica's completion times [s] (replica, peer), with one entry of the legend."""
    thin = style.line(index, shape="hv", width=1, dash="solid", color=style.translucent(index, 0.45))
    look = {"mode": "lines", "line": thin, "hoverinfo": "skip", "name": name, "legendgroup": name}
    look |= words.meaning("replica")
    found = [style.distribution(replica) for replica in times if np.isfinite(replica).any()]
    return [go.Scatter(x=x, y=100 * y, showlegend=k == 0, **look) for k, (x, y) in enumerate(found)]


def _band(
    x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], name: str, index: int
) -> list[go.Scatter]:
    """Two traces that shade the range between two curves."""
    edge = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        go.Scatter(y=low, name=f"{name}, least", showlegend=False, **edge),
        go.Scatter(y=high, name=name, fill="tonexty", fillcolor=style.translucent(index), **edge),
    ]


CAUSES = {
    "limiter": ("upload limit", "#0072B2", ""),
    "window": ("TCP window", "#D55E00", "/"),
    "loss": ("loss", "#009E73", "x"),
    "pipeline": ("no request", "#E69F00", "\\"),
    "idle": ("no interest", "#BBBBBB", ""),
}
"""Label, colour and pattern of each cause."""


def why_slow(results: style.Results) -> go.Figure:
    """Return, for each class, what share of the time of its unchoked connections each cause held them back [%].

    A peer counts as much as any other of its class, in every replica in which it unchoked anyone.

    Raises:
        InputError: A result is of flow fidelity, which does not know it.
    """
    for result in style.labelled(results).values():
        if "limited_share" not in result:
            reason = "does not know what held uploads back"
            raise InputError("fidelity", result.attrs.get("fidelity"), reason, "a result of fidelity full")
    drawn = style.of_results(
        results, "What held unchoked connections back", "share of the time of unchoked connections [%]", "sender"
    )
    rows = {
        style.of_class(label, name): shares
        for label, result in style.labelled(results).items()
        for name, shares in mean_shares(result).items()
    }
    on_links = any(style.linked(result) for result in style.labelled(results).values())
    for cause, (text, colour, pattern) in CAUSES.items():
        drawn.add_bar(
            x=[100 * shares[cause] for shares in rows.values()],
            y=list(rows),
            orientation="h",
            name=(name := "full socket" if on_links and cause == "window" else text),
            hovertemplate=words.held_back(name),
            **words.meaning(name),
            marker={
                "color": colour,
                "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": "white", "size": 6, "solidity": 0.25},
                "line": {"color": "white", "width": 1},
            },
        )
    drawn.update_layout(barmode="stack", bargap=0.35)
    drawn.update_xaxes(range=[0, 100])
    drawn.update_yaxes(autorange="reversed", showgrid=False, automargin=True)
    return drawn


def mean_shares(result: xr.Dataset) -> dict[str, dict[str, float]]:
    """Return the mean share of each cause by class; NaN for a class that unchoked nobody."""
    share, classes = result["limited_share"].transpose("replica", "peer", "cause"), result["peer_class"].values
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(classes):
        values = share.values[:, classes == name].reshape(-1, share.sizes["cause"])
        values = values[~np.isnan(values).any(axis=1)]
        mean = values.mean(axis=0) if len(values) else np.full(share.sizes["cause"], np.nan)
        found[str(name)] = dict(zip((str(c) for c in share["cause"].values), mean.tolist(), strict=True))
    return found


def send_gaps(results: style.Results) -> go.Figure:
    """Return the distribution of the time [s] between two sends of one connection, one line per class of senders.

    The form of Fig. 6 of Rao, Legout and Dabbous, P2P 2010. Where it is shorter than the round-trip time, more than one
    segment is in flight and TCP's window may matter. Classes without an upload limit have no such time.

    Raises:
        InputError: No class of any result has such a time.
    """
    drawn = style.of_results(
        results, "Time between sends on a connection", "time between sends [s] (log scale)", "sends at or below [%]"
    )
    index = 0
    for label, result in style.labelled(results).items():
        for name in result["sender_class"].values:
            part = result[["send_gap_count", "send_gap"]].sel(sender_class=name)
            count = part["send_gap_count"].sum("replica").values
            shown = style.of_class(label, str(name))
            said = words.share_below(shown, "sends", "s after the one before")
            _add_steps(drawn, part["send_gap"].values, count, shown, index, said)
            index += 1
    if not drawn.data:
        model = next(iter(style.labelled(results).values())).attrs.get("model")
        reason = "has no sends whose time apart is known: it is of those with an upload limit alone"
        raise InputError("results", str(model), reason, "a swarm with upload limits, as those without access links")
    times = [float(x) for trace in drawn.data for x in trace.x]
    style.log_axis(drawn, min(times), max(times))
    drawn.update_yaxes(range=[0, 101])
    return drawn


def segment_payloads(results: style.Results) -> go.Figure:
    """Return the distribution of the payload of segments [B]: with segmentation offload they exceed the MSS.

    The form of Fig. 4 of Rao, Legout and Dabbous, P2P 2010.
    """
    drawn = style.of_results(results, "Payload of TCP segments", "payload [B]", "segments at or below [%]")
    for index, (label, result) in enumerate(style.labelled(results).items()):
        if "segment_payload_count" not in result:
            field, model = f"results[{label!r}]" if label else "result", str(result.attrs.get("model", ""))
            raise InputError(
                field, model, "has no segments counted: its peers have access links", "a swarm without access links"
            )
        count = result["segment_payload_count"].sum("replica").values
        shown = label or "segments"
        said = words.share_below(shown, "segments", "B")
        _add_steps(drawn, result["payload"].values, count, shown, index, said)
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    largest = max((float(trace.x[-1]) for trace in drawn.data), default=1.0)
    drawn.update_xaxes(range=[0, 1.04 * largest])
    drawn.update_yaxes(range=[0, 101])
    return drawn


def _add_steps(drawn: go.Figure, values: np.ndarray, count: np.ndarray, name: str, index: int, said: str) -> None:
    """Add the distribution function of `values` that occur `count` times each."""
    used = (count > 0) & (values > 0)
    if not used.any():
        return
    x, share = values[used], np.cumsum(count[used]) / count[used].sum()
    drawn.add_scatter(
        x=np.concatenate([x[:1], x]),
        y=100 * np.concatenate([[0.0], share]),
        name=name,
        mode="lines",
        line=style.line(index, shape="hv"),
        hovertemplate=said,
    )


_LONGEST_LINE = 150

# Heights on the page [px].
_VIEW, _BETWEEN, _TOP, _BOTTOM = 279, 176, 125, 100
_LEGEND = 59  # below a view, for its ticks and axis title


def overview(result: xr.Dataset) -> go.Figure:
    """Return completion times, pieces held, what held uploads back and the times between sends, two by two.

    Of a swarm on access links the last is left out, as uploads need no limit there; it has completion by rank, the
    uplinks' queues and the delays of control messages. What held uploads back is not known at flow
    fidelity: completion by rank takes its place, where it is not there already.

    Raises:
        InputError: `result` is not a result.
    """
    style.one_result(result)
    gaps = (send_gaps,) if result["send_gap_count"].any() else ()
    last = LINKED_VIEWS if style.linked(result) else gaps
    held = (why_slow,) if "limited_share" in result else () if style.linked(result) else (completion_by_rank,)
    views = [view(result) for view in (completion_cdf, pieces_over_time, *held, *last)]
    rows = (len(views) + 1) // 2
    inside = rows * _VIEW + (rows - 1) * _BETWEEN
    drawn = make_subplots(
        rows=rows,
        cols=2,
        subplot_titles=[view.layout.title.text for view in views],
        horizontal_spacing=0.14 if style.linked(result) else 0.11,
        vertical_spacing=_BETWEEN / inside,
    )
    for number, view in enumerate(views):
        _place(drawn, view, number, _LEGEND / inside)
    drawn.update_annotations(font={"size": 16}, yshift=6)
    drawn.update_layout(
        template=style.TEMPLATE,
        title={"text": _title(result), "y": 0.985, "yanchor": "top", "subtitle": {"text": _settings(result)}},
        barmode="stack",
        boxmode="group",
        bargap=0.35,
        width=1200,
        height=inside + _TOP + _BOTTOM,
        margin={"l": 80, "r": 40, "t": _TOP, "b": _BOTTOM},
    )
    return drawn


def _place(drawn: go.Figure, view: go.Figure, number: int, below: float) -> None:
    """Copy a view's traces, shades, axes and legend into cell `number` of the page, row by row.

    The legend is `below` the axis, as a share of the height of all views.
    """
    row, column = divmod(number, 2)
    suffix = "" if number == 0 else str(number + 1)
    legend = f"legend{suffix}"
    for trace in view.data:
        trace.legend = legend
        drawn.add_trace(trace, row=row + 1, col=column + 1)
    cell_x, cell_y = drawn.layout[f"xaxis{suffix}"].domain, drawn.layout[f"yaxis{suffix}"].domain
    for axis in ("xaxis", "yaxis"):
        place = {"domain", "anchor"}
        settings = {k: v for k, v in view.layout[axis].to_plotly_json().items() if k not in place}
        drawn.layout[f"{axis}{suffix}"].update(settings)
    drawn.layout[legend] = {
        "orientation": "h",
        "x": cell_x[0],
        "y": cell_y[0] - below,
        "xanchor": "left",
        "yanchor": "top",
        "font": {"size": 11},
        "traceorder": "normal",
    }
    for shape in view.layout.shapes:
        drawn.add_shape(shape.update(xref=f"x{suffix}", yref=f"y{suffix} domain"))
    if view.layout.showlegend is False:
        drawn.update_traces(showlegend=False, row=row + 1, col=column + 1)


def _title(result: xr.Dataset) -> str:
    """Return the model and how many peers ever were in this swarm of it: some may wait for others to leave."""
    roles = result["role"].values[np.isfinite(result["start_time"].max("replica").values)]
    counts = {role: int((roles == role).sum()) for role in ("seed", "leecher")}
    return f"{result.attrs['model']}: " + " and ".join(counted(n, role) for role, n in counts.items())


def _settings(result: xr.Dataset) -> str:
    """Return the parameters, replicas and seed as lines of a readable length."""
    settings = [f"{name} = {brief(value)}" for name, value in json.loads(result.attrs["parameters"]).items()]
    settings += [counted(result.sizes["replica"], "replica"), f"seed {result.attrs['seed']}"]
    if result.attrs.get("fidelity") == "flow":
        settings.append("flow fidelity")
    lines = [""]
    for text in settings:
        if len(lines[-1]) + len(text) > _LONGEST_LINE:
            lines.append("")
        lines[-1] += f", {text}" if lines[-1] else text
    return ",<br>".join(lines)
