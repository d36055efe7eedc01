"""What is drawn, as CSV by file name; the names of the columns say the units."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
import xarray as xr

if TYPE_CHECKING:
    from btflow.explore.views import Seen  # the page begins with a link, without it

Columns = Mapping[str, Iterable[object]]


def to_csv(columns: Columns) -> str:
    """Return columns of equal length as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def of_link(result: xr.Dataset) -> dict[str, str]:
    """Return the time series of a link experiment; the name of the file tells those of flow."""
    columns = {"time [s]": result["time"].values}
    for flow in result["flow"].values:
        chosen = result.sel(flow=flow)
        columns[f"{flow} window [segments]"] = chosen["window"].values
        columns[f"{flow} rate [B/s]"] = chosen["rate"].values
        columns[f"{flow} smoothed RTT [s]"] = chosen["srtt"].values
    for queue in result["queue"].values:
        columns[f"{queue} [packets]"] = result["queue_length"].sel(queue=queue).values
        columns[f"{queue} delay [s]"] = result["queue_delay"].sel(queue=queue).values
    mark = "-flow" if result.attrs["fidelity"] == "flow" else ""
    return {f"btflow-link{mark}.csv": to_csv(columns)}


def of_swarm(seen: Seen) -> dict[str, str]:
    """Return a swarm's peers, its pieces over time, what held connections back and, if it has any, its queues."""
    first = seen.result.isel(replica=0)
    peers = {
        "peer": first["peer"].values,
        "class": first["peer_class"].values,
        "role": first["role"].values,
        "start [s]": first["start_time"].values,
        "completion time [s]": first["completion_time"].values,
        "sent [B]": first["bytes_sent"].values,
        "received [B]": first["bytes_received"].values,
    }
    pieces = {"time [s]": first["time"].values, "pieces held, mean over the leechers": first["pieces_held"].values}
    drawn = {name: of_figure(seen.figures[name]) for name in ("causes", "queues") if _has_data(seen, name)}
    return _files(seen, {"peers": to_csv(peers), "pieces": to_csv(pieces)} | drawn)


def of_pairs(seen: Seen) -> dict[str, str]:
    """Return the pairs of a what-if, and the distributions of both settings."""
    (name,) = (name for name, values in seen.result.items() if "setting" in values.dims)
    columns = {f"{name} {side} [s]": row for side, row in zip("AB", seen.result[name].values, strict=True)}
    pairs = range(1, seen.result.sizes["replica"] + 1)
    return _files(seen, {"pairs": to_csv({"pair": pairs} | columns), "distributions": of_figure(seen.figures["both"])})


def of_figure(drawn: go.Figure) -> str:
    """Return the points of a figure's lines or bars, each with the name that the legend has for it."""
    names = [trace.name for trace in drawn.data for _ in trace.x]
    axes = {"x": drawn.layout.xaxis, "y": drawn.layout.yaxis}
    columns: dict[str, Iterable[object]] = {
        axis.title.text.removesuffix(" (log scale)"): np.concatenate([trace[of] for trace in drawn.data])
        for of, axis in axes.items()
    }
    return to_csv({"series": names} | columns)


def _has_data(seen: Seen, name: str) -> bool:
    return name in seen.figures and bool(seen.figures[name].data)


def _files(seen: Seen, tables: Mapping[str, str]) -> dict[str, str]:
    """Return tables by file name; it tells those of flow, so that nobody takes them for full's later."""
    mark = "-flow" if seen.fidelity == "flow" else ""
    return {f"{name}{mark}.csv": text for name, text in tables.items()}
