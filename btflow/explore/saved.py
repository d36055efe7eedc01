"""What a page saves: a link to its state, tables as CSV, a scenario as TOML."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anywidget
import numpy as np
import plotly.graph_objects as go
import traitlets
import xarray as xr

from btflow.config.files import Tree, inline
from btflow.config.kinds import ParametrisedModel

if TYPE_CHECKING:
    from btflow.explore.views import Seen  # the page begins with a link, without it


_PAGE = files("btflow.explore") / "page"


class Share(anywidget.AnyWidget):
    """A field with the link, a button that copies it, and buttons that save files.

    Attributes:
        opened: What the browser was sent to, once it tells: a number, which grows as the reader goes back and forward,
            and the query string.
        query: The query string that brings back what is shown.
        saves: Whether there is something to save.
    """

    _esm = (_PAGE / "share.js").read_text(encoding="utf-8")
    opened = traitlets.Unicode("").tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)
    saves = traitlets.Bool(False).tag(sync=True)

    def __init__(self, files_of: Callable[[], Mapping[str, str]]) -> None:
        """Make the widget; `files_of` returns what there is to save, by file name."""
        super().__init__()
        self._files_of = files_of
        self.on_msg(self._asked)

    def _asked(self, _widget: object, message: Any, _buffers: object) -> None:
        kind = message.get("save") if isinstance(message, dict) else None
        for name, text in self._files_of().items():
            if name.endswith(f".{kind}"):
                self.send({"name": name, "text": text})


_TABLES = ("access", "classes", "flows")
"""Tables whose entries are written as tables of their own."""


def to_toml(scenario: ParametrisedModel) -> str:
    """Return a scenario as a model file that stands alone: what it referred to is written out.

    Raises:
        ScenarioError: The scenario was not made from a model.
    """
    tree = scenario.document.standing_alone(scenario.given)
    plain = {name: value for name, value in tree.items() if not isinstance(value, dict)}
    lines = [f"{name} = {inline(value)}" for name, value in plain.items()]
    for name, table in tree.items():
        if isinstance(table, dict):
            lines += _table(name, table)
    return "\n".join(lines) + "\n"


def _table(name: str, table: Tree) -> list[str]:
    if name in _TABLES:
        return [line for key, entry in table.items() for line in _table(f'{name}."{key}"', entry)]
    return ["", f"[{name}]", *(f"{key} = {inline(value)}" for key, value in table.items())]


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
    there = {name: seen.figures[name] for name in ("causes", "queues") if name in seen.figures}
    drawn = {name: of_figure(one) for name, one in there.items() if one.data}
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


def _files(seen: Seen, tables: Mapping[str, str]) -> dict[str, str]:
    """Return tables by file name; it tells those of flow, so that nobody takes them for full's later."""
    mark = "-flow" if seen.fidelity == "flow" else ""
    return {f"{name}{mark}.csv": text for name, text in tables.items()}
