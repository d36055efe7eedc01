"""One look for all figures, readable on screen and in print, and for axes of sweeps; checks of what figures are given.

Colours are those of Okabe and Ito, "Color Universal Design" (2008), without the yellow, which is too pale for a line.
Lines also differ in dash and bars in pattern, so that a grey print can be read.

Varied values are shown in handy units, logarithmic where they are, or as categories.
"""

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from btflow.analysis import design
from btflow.analysis.cells import Axis
from btflow.analysis.design import title
from btflow.errors import InputError
from btflow.plots import words
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

MOST_POINTS = 2000
"""Points of one distribution function; a longer one is thinned to this many of its own points."""

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


def distribution(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the empirical distribution function: sorted values and the share at or below each, at most MOST_POINTS.

    A first point of share 0 starts the step; NaN is left out.
    """
    ordered = np.sort(values[~np.isnan(values)], axis=None)
    rank = np.unique(np.linspace(1, ordered.size, min(ordered.size, MOST_POINTS)).round().astype(int))
    return np.concatenate([ordered[:1], ordered[rank - 1]]), np.concatenate([[0.0], rank / ordered.size])


def classes_of(results: Results) -> Iterator[tuple[str, xr.Dataset, str]]:
    """Give each class of leechers of each result: the name of its trace, the result, its own name."""
    for label, result in labelled(results).items():
        for name in leecher_classes(result):
            yield of_class(label, name), result, name


def series_name(label: str, part: str) -> str:
    """Return the name of a trace: its result's label, if it has one, and the part shown."""
    return f"{label}: {part}" if label else part


def of_class(label: str, name: str) -> str:
    """Return the name of a class's trace, with its result's label if it has one."""
    return series_name(label, words.of_class(name))


def line(index: int, **changes: Any) -> dict[str, Any]:
    """Return the line style of the index-th series."""
    return {"color": COLOURS[index % len(COLOURS)], "dash": DASHES[index % len(DASHES)], "width": 2.5} | changes


def marker(index: int, **changes: Any) -> dict[str, Any]:
    """Return the symbols of the index-th series."""
    return {"color": COLOURS[index % len(COLOURS)], "symbol": SYMBOLS[index % len(SYMBOLS)]} | changes


def bars(mean: ArrayLike, low: ArrayLike, high: ArrayLike) -> dict[str, Any]:
    """Return error bars that end at a low and a high value around a mean."""
    above, below = np.subtract(high, mean), np.subtract(mean, low)
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.2, "width": 4}


LEAST_SHARE = 1e-4
"""Lowest share of the time that a figure of a queue's distribution shows."""


def share_axes(drawn: go.Figure, longest: float) -> None:
    """Have shares of the time [%] on a log axis, from LEAST_SHARE on, over queues up to a longest."""
    ticks = [100.0, 10.0, 1.0, 0.1, 0.01]
    ends = [np.log10(100 * LEAST_SHARE), np.log10(130.0)]
    drawn.update_yaxes(type="log", range=ends, tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    drawn.update_xaxes(range=[0.0, 1.03 * longest or 1.0])


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


def of_results(results: Results, title: str, x: str, y: str) -> go.Figure:
    """Return an empty figure of results, with where they are from below its title; errors as of `labelled`."""
    return figure(title, x, y, subtitle=describe(results))


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


MOST_TICKS = 14
LETTERS = 95
"""Letters that fit in the width of a figure's axes."""
LONGEST = 32
"""Most letters of a line in a legend, or beside a vertical axis."""
_SYMBOL = 8
"""Room for a symbol of the legend, in letters."""
_TOP, _INSIDE, _LINE = 85, 355, 19
"""Heights: above the axes, of them, and of a line of text [px]."""
UPRIGHT = 50
"""Most letters of the title of a vertical axis."""


class Shown(NamedTuple):
    """A varied name as an axis."""

    title: str
    positions: NDArray[np.float64]
    """Where each cell is drawn (cells,): its value in the unit of the title, or 0, 1... for categories."""
    texts: list[str]
    """Each cell's value: a number in the unit of the title, or a word."""
    kind: Literal["linear", "log", "category"]


def shown(axis: Axis, name: str, *, even: bool = False, longest: int = 70) -> Shown:
    """Return how the cells along a varied name are drawn.

    Args:
        axis: The cells.
        name: Short form of the name, for want of a long one; what it is of begins the title.
        longest: Most letters of the title.
        even: Whether they are evenly spaced whatever their values, as those of a heat map.
    """
    parameter = axis.parameter
    meaning = _meaning(parameter.attrs, axis.name, name)
    if not parameter.numeric:
        texts = [parameter.text(value) for value in axis.values]
        return Shown(title(name, meaning, "", longest), _counted(texts), texts, "category")
    values = axis.values.astype(float)
    binary = parameter.byte_prefix == "binary"
    scale = design.scale_of(values, parameter.shown_in, share=parameter.share, binary=binary)
    scaled = values / scale.divisor
    texts = [_text(value) for value in scaled]
    text = title(name, meaning, scale.unit, longest)
    if even or not np.isfinite(scaled).all():
        return Shown(text, _counted(texts), texts, "category")
    return Shown(text, scaled, texts, "log" if design.log_spaced(parameter.values) else "linear")


def _text(value: float) -> str:
    """Return a value's text; it is not a number where a group of values leaves it out."""
    return design.rounded(value) if math.isfinite(value) else "none" if math.isnan(value) else "unlimited"


def _counted(texts: list[str]) -> NDArray[np.float64]:
    return np.arange(len(texts), dtype=float)


def _meaning(attrs: dict[str, Any], name: str, short: str) -> dict[str, Any]:
    """Return attrs whose long name says whose it is; without one that only repeats the name, as a field path's does."""
    owner, text = short.rpartition(".")[0], str(attrs.get("long_name", name))
    if text == name:
        return {}
    lower = text[:1].lower() if text[1:2].islower() else text[:1]
    return attrs | {"long_name": f"{owner}: {lower}{text[1:]}"} if owner else attrs


def place(drawn: go.Figure, which: Literal["x", "y"], axis: Shown) -> int:
    """Set an axis' title, type and ticks; return how many lines the longest of its tick's texts takes."""
    settings: dict[str, Any] = {"title_text": axis.title}
    lines = 1
    if axis.kind == "category":
        step = -(-len(axis.texts) // MOST_TICKS)
        ticks = range(0, len(axis.texts), step)
        texts = [wrapped(axis.texts[i], LETTERS // len(ticks) if which == "x" else LONGEST) for i in ticks]
        lines += max(text.count("<br>") for text in texts)
        settings |= {"tickvals": list(ticks), "ticktext": texts, "tickangle": 0}
        settings |= {"range": [-0.5, len(axis.texts) - 0.5], "showgrid": False}
    elif axis.kind == "log":
        settings |= log_scale(float(axis.positions.min()), float(axis.positions.max()))
    drawn.update_layout({f"{which}axis": settings})
    return lines


def wrapped(text: str, letters: int = LONGEST) -> str:
    """Return a text in lines of at most some letters, or of one word."""
    return "<br>".join(textwrap.wrap(text, max(5, letters), break_long_words=False)) or text


def make_room(drawn: go.Figure, lines: int) -> None:
    """Make the figure as high as tick texts of some lines and the legend below need, the axes as large as ever."""
    names = [str(trace.name) for trace in drawn.data if trace.showlegend]
    widest = max((max(map(len, name.split("<br>"))) for name in names), default=0)
    columns = max(1, LETTERS // (widest + _SYMBOL))
    rows = -(-len(names) // columns) * max((name.count("<br>") + 1 for name in names), default=0)
    rows += bool(drawn.layout.legend.title.text)
    above_legend = 55 + _LINE * lines
    bottom = above_legend + _LINE * rows + 10 * bool(rows)
    drawn.update_layout(height=_TOP + _INSIDE + bottom, margin={"t": _TOP, "b": bottom})
    drawn.update_layout(legend={"y": -above_legend / _INSIDE})


def log_scale(low: float, high: float) -> dict[str, Any]:
    """Return the settings of a logarithmic axis from one value to another, with some room and handy ticks."""
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    decades = math.log10(high / low)
    digits = (1, 1.5, 2, 3, 4, 5, 7) if decades < 1.2 else (1, 2, 5) if decades < 4 else (1,)
    ticks = [digit * 10.0**decade for decade in range(first, last + 1) for digit in digits]
    margin = 0.04 * (math.log10(high) - math.log10(low))
    span = [math.log10(low) - margin, math.log10(high) + margin]
    return {"type": "log", "range": span, "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def names_of(ds: xr.Dataset) -> dict[str, str]:
    """Return the short forms of all varied names."""
    return design.short_names(design.varied(ds), design.parameters(ds))


def statistic_scale(ds: xr.Dataset, variable: str, values: Iterable[float]) -> tuple[design.Scale, str]:
    """Return the unit in which a statistic is shown, and the title of its axis."""
    attrs = ds[variable].attrs
    units = str(attrs.get("units", ""))
    units = "bit/s" if units == "B/s" and design.of_links(ds) else units
    scale = design.scale_of(values, units, binary=ds.attrs.get("byte_prefix") == "binary")
    return scale, title(variable, attrs, scale.unit, UPRIGHT)


def heading(ds: xr.Dataset, variable: str) -> str:
    """Return a statistic's meaning as the start of a figure's title."""
    text = title(variable, ds[variable].attrs, "")
    return text[:1].upper() + text[1:]


def origin(ds: xr.Dataset, variable: str, *parts: str) -> str:
    """Return one line on where a figure is from: the model, its swarms, those without a value, and more."""
    found = design.counts(ds, design.statistic(ds, variable))
    replicas = ds.sizes[design.REPLICA]
    points = f"{found.swarms // replicas:,} {'points' if replicas > 1 else found.noun}"
    points += f" × {replicas} replicas" if replicas > 1 else ""
    lost = (text.replace(" ", f" {found.noun} ", 1) for text in found.lost())
    fidelity = "in flow" if ds.attrs.get("fidelity") == "flow" else ""
    return ", ".join(part for part in (str(ds.attrs.get("model", "")), fidelity, points, *lost, *parts) if part)


def level(found: xr.Dataset) -> str:
    """Return the level of a result's intervals as text."""
    return f"{100 * found.attrs['confidence']:g}% interval"
