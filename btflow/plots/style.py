"""One look for all figures: readable on screen and in print; and checks of what figures are given.

Colours are those of Okabe and Ito, "Color Universal Design" (2008), without the yellow, which is too pale for a line.
Lines also differ in dash and bars in pattern, so that a grey print can be read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.units.formatting import counted


def by_label(field: str, given: object, allowed: str, *, empty: bool = False) -> Mapping[str, Any]:
    """Return a mapping; InputError if it is something else, or holds nothing unless it may be `empty`.

    A result is refused too: a Dataset is a mapping of its variables.
    """
    if not isinstance(given, Mapping) or isinstance(given, xr.Dataset):
        raise InputError(field, given, "is not a mapping", allowed)
    if not given and not empty:
        raise InputError(field, given, "holds nothing", allowed)
    return given


def numbers(field: str, given: object, allowed: str) -> NDArray[np.float64]:
    """Return numbers as an array, of one or more dimensions; InputError if they are something else."""
    if given is None or isinstance(given, str | Mapping):
        raise InputError(field, given, "is no row of numbers", allowed)
    try:
        return np.atleast_1d(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        raise InputError(field, given, "is no row of numbers", allowed) from None


def seconds(field: str, given: object) -> float:
    """Return a time [s]; InputError if it is not a number."""
    if isinstance(given, bool | str) or not isinstance(given, int | float | np.number):
        raise InputError(field, given, "is not a number", "a number of seconds")
    return float(given)


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
GREY = "#666666"

_AXIS = {
    "automargin": True,
    "showline": True,
    "linecolor": "#333333",
    "mirror": True,
    "ticks": "outside",
    "tickcolor": "#333333",
    "gridcolor": "#DDDDDD",
    "zeroline": False,
    "title": {"standoff": 8, "font": {"size": 14}},
    "exponentformat": "none",
}

TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": "Arial, Helvetica, sans-serif", "size": 14, "color": "#222222"},
        "title": {
            "x": 0.02,
            "xanchor": "left",
            "font": {"size": 17},
            "subtitle": {"font": {"size": 12, "color": GREY}},
        },
        "colorway": list(COLOURS),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {
            "orientation": "h",
            "yanchor": "top",
            "y": -0.18,
            "xanchor": "left",
            "x": 0.0,
            "traceorder": "normal",
        },
        "margin": {"l": 80, "r": 30, "t": 85, "b": 120},
        "width": 900,
        "height": 560,
    }
)

CONFIG = {"displaylogo": False, "showSendToCloud": False}
"""Settings of Plotly for every page: it offers to send a figure's data to a service of its maker, and a link there."""

Results = xr.Dataset | Mapping[str, xr.Dataset]
"""One result, or several with a label each."""

_RESULTS = "what btflow.simulate returns, or several of them in a mapping by label"


def labelled(results: Results) -> dict[str, xr.Dataset]:
    """Return results by label; a single result has the empty label.

    Raises:
        InputError: There is none, or something else is given.
    """
    found = {"": results} if isinstance(results, xr.Dataset) else results
    if not isinstance(found, Mapping) or not found:
        raise InputError("results", results, "is no result", _RESULTS)
    for label, result in found.items():
        one_result(result, f"results[{label!r}]" if found is results else "results")
    return dict(found)


def one_result(result: object, field: str = "result") -> xr.Dataset:
    """Return a result; InputError if it is something else."""
    if not isinstance(result, xr.Dataset) or "completion_time" not in result or "replica" not in result.dims:
        raise InputError(field, result, "is not a result", "what btflow.simulate returns")
    return result


def linked(result: xr.Dataset) -> bool:
    """Return whether a result is of a swarm whose peers have access links."""
    return "queue_delay_count" in result


def leecher_classes(result: xr.Dataset) -> list[str]:
    """Return the names of the classes of leechers, in the order of the peers."""
    names = result["peer_class"].values[result["role"].values == "leecher"]
    return [str(name) for name in dict.fromkeys(names)]


def counted_times(result: xr.Dataset, name: str | None = None) -> NDArray[np.float64]:
    """Return the completion times of leechers, or of one class of them [s] (replica, peer); NaN for what counts not."""
    times = np.asarray(result["completion_time"].transpose("replica", "peer").values, np.float64)
    if "counted" in result:
        times = np.where(result["counted"].transpose("replica", "peer").values, times, np.nan)
    return times[:, result["role"].values == "leecher" if name is None else result["peer_class"].values == name]


def series_name(label: str, part: str) -> str:
    """Return the name of a trace: its result's label, if it has one, and the part shown."""
    return f"{label}: {part}" if label else part


def line(index: int, **changes: Any) -> dict[str, Any]:
    """Return the line style of the index-th series."""
    return {"color": COLOURS[index % len(COLOURS)], "dash": DASHES[index % len(DASHES)], "width": 2.5} | changes


def translucent(index: int, opacity: float = 0.2) -> str:
    """Return the index-th series' colour for an area, as rgba."""
    colour = COLOURS[index % len(COLOURS)]
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def figure(title: str, x: str, y: str, *, subtitle: str = "") -> go.Figure:
    """Return an empty figure with its title, axis titles (with units) and the common look."""
    # JupyterLab makes a figure 360 px high if only its template says otherwise: the legend would lie on the axis title.
    return go.Figure(  # at once: each update of a figure copies its template
        layout={
            "template": TEMPLATE,
            "height": TEMPLATE.layout.height,
            "title": {"text": title, "subtitle": {"text": subtitle}},
            "xaxis": {"title": {"text": x}},
            "yaxis": {"title": {"text": y}},
        }
    )


def log_axis(drawn: go.Figure, low: float, high: float) -> None:
    """Make the horizontal axis logarithmic, with some room around `low` to `high` and ticks at 1, 2, 5, 10..."""
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    span = [math.log10(low / 1.1), math.log10(high * 1.1)]
    drawn.update_xaxes(type="log", range=span, tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])


def describe(results: Results) -> str:
    """Return one line on where a figure's data are from, empty for several results; errors as of `labelled`."""
    labelled(results)
    if not isinstance(results, xr.Dataset):
        return ""
    replicas = int(results.sizes["replica"])
    known = {"model": results.attrs.get("model"), "seed": results.attrs.get("seed")}
    parts = [f"{name} {value}" for name, value in known.items() if value is not None]
    parts.append(counted(replicas, "replica"))
    discard = int(results.attrs.get("discard", 0))
    return ", ".join([*parts, *([f"the first {discard} completions do not count"] if discard else [])])
