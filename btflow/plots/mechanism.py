"""Figures of why a swarm took as long as it did: what held uploads back, times between sends, segment sizes."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from btflow.errors import InputError
from btflow.plots.style import Results, describe, figure, labelled, line, linked, log_axis, series_name

CAUSES = {
    "limiter": ("upload limit", "#0072B2", ""),
    "window": ("TCP window", "#D55E00", "/"),
    "loss": ("loss", "#009E73", "x"),
    "pipeline": ("no request", "#E69F00", "\\"),
    "idle": ("no interest", "#BBBBBB", ""),
}
"""Label, colour and pattern of each cause."""


def why_slow(results: Results) -> go.Figure:
    """Return, for each class, what share of the time of its unchoked connections each cause held them back [%].

    A peer counts as much as any other of its class, in every replica in which it unchoked anyone.

    Raises:
        InputError: A result is of flow fidelity, which does not know it.
    """
    for result in labelled(results).values():
        if "limited_share" not in result:
            reason = "does not know what held uploads back"
            raise InputError("fidelity", result.attrs.get("fidelity"), reason, "a result of fidelity full")
    drawn = figure(
        "What held unchoked connections back",
        "share of the time of unchoked connections [%]",
        "sender",
        subtitle=describe(results),
    )
    rows = {
        series_name(label, name): shares
        for label, result in labelled(results).items()
        for name, shares in mean_shares(result).items()
    }
    on_links = any(linked(result) for result in labelled(results).values())
    for cause, (text, colour, pattern) in CAUSES.items():
        drawn.add_bar(
            x=[100 * shares[cause] for shares in rows.values()],
            y=list(rows),
            orientation="h",
            name="full socket" if on_links and cause == "window" else text,
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


def send_gaps(results: Results) -> go.Figure:
    """Return the distribution of the time [s] between two sends of one connection, one line per class of senders.

    The form of Fig. 6 of Rao, Legout and Dabbous, P2P 2010. Where it is shorter than the round-trip time, more than one
    segment is in flight and TCP's window may matter. Classes without an upload limit have no such time.
    """
    drawn = figure(
        "Time between sends on a connection",
        "time between sends [s] (log scale)",
        "sends at or below [%]",
        subtitle=describe(results),
    )
    index = 0
    for label, result in labelled(results).items():
        for name in result["sender_class"].values:
            part = result[["send_gap_count", "send_gap"]].sel(sender_class=name)
            count = part["send_gap_count"].sum("replica").values
            _add_steps(drawn, part["send_gap"].values, count, series_name(label, str(name)), index)
            index += 1
    times = [float(x) for trace in drawn.data for x in trace.x]
    if times:
        log_axis(drawn, min(times), max(times))
    drawn.update_yaxes(range=[0, 101])
    return drawn


def segment_payloads(results: Results) -> go.Figure:
    """Return the distribution of the payload of segments [B]: with segmentation offload they exceed the MSS.

    The form of Fig. 4 of Rao, Legout and Dabbous, P2P 2010.
    """
    drawn = figure("Payload of TCP segments", "payload [B]", "segments at or below [%]", subtitle=describe(results))
    for index, (label, result) in enumerate(labelled(results).items()):
        if "segment_payload_count" not in result:
            field, model = f"results[{label!r}]" if label else "result", str(result.attrs.get("model", ""))
            raise InputError(
                field, model, "has no segments counted: its peers have access links", "a swarm without access links"
            )
        count = result["segment_payload_count"].sum("replica").values
        _add_steps(drawn, result["payload"].values, count, label or "segments", index)
    drawn.update_layout(showlegend=len(drawn.data) > 1)
    largest = max((float(trace.x[-1]) for trace in drawn.data), default=1.0)
    drawn.update_xaxes(range=[0, 1.04 * largest])
    drawn.update_yaxes(range=[0, 101])
    return drawn


def _add_steps(drawn: go.Figure, values: np.ndarray, count: np.ndarray, name: str, index: int) -> None:
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
        line=line(index, shape="hv"),
    )
