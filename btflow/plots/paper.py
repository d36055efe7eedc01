"""A figure in the form that a paper has it: of a column's width, without a title, in 8 pt, readable in grey.

Sizes are in pixels of 1/96 inch, as Plotly has them.
"""

from typing import Any

import plotly.graph_objects as go

from btflow.plots import words
from btflow.plots.panels import FONT, SMALL, Spec, arrange
from btflow.plots.style import TEMPLATE

DASHES = ("solid", "5px,2px", "1.5px,1.5px", "6px,1.5px,1.5px,1.5px", "10px,2px", "10px,1.5px,1.5px,1.5px,1.5px,1.5px")
APART = 0.2
"""Least difference of luminance at which two lines of one dash are told apart in grey."""

_HATCHES = ("", "/", "\\", "x", "-", "|", ".")
"""Patterns of areas, in the order in which they come."""
_HATCH = {"fgcolor": "#555555", "fgopacity": 0.7, "size": 5, "solidity": 0.15}

_LINES, _MARKERS = 0.55, 0.6
"""What is left of the thickness of lines, and of the size of markers."""


def on_paper(drawn: go.Figure, width: float, height: float | None = None) -> go.Figure:
    """Return a copy of a figure for print.

    Args:
        drawn: Any figure of `btflow.plots`.
        width: Its width [px of 1/96 inch].
        height: Its height; by default what its panels need.
    """
    spec = drawn.to_plotly_json()
    spec.pop("frames", None)
    layout, data = spec["layout"], spec["data"]
    for part in ("title", "updatemenus", "sliders", "template"):
        layout.pop(part, None)
    _resize(spec)
    tell_apart(data)
    _row_of_drops(layout, data, drawn)
    arrange(layout, data, width, height)
    return go.Figure(data, layout | {"template": _template()}, skip_invalid=False)


def _template() -> go.layout.Template:
    """Return the common look in the sizes of print."""
    template = go.layout.Template(TEMPLATE)
    axis: Spec = {"tickfont": {"size": SMALL}, "title": {"font": {"size": FONT}, "standoff": 4}}
    axis |= {"ticklen": 3, "linewidth": 0.6, "tickwidth": 0.6, "gridwidth": 0.4}
    template.layout.update(
        font={"size": FONT, "color": "black"},
        title={"font": {"size": FONT}, "subtitle": {"font": {"size": FONT}}},
        xaxis=axis,
        yaxis=axis,
        legend={"font": {"size": SMALL}, "itemwidth": 30, "tracegroupgap": 0},
    )
    return template


def _resize(node: Any, inside: str = "") -> None:
    """Make fonts, lines and markers of a figure as small as print has them."""
    if isinstance(node, list):
        for part in node:
            _resize(part, inside)
    if not isinstance(node, dict):
        return
    if inside.endswith("font") and "size" in node:
        node["size"] = SMALL
    if inside == "marker" and isinstance(node.get("size"), int | float):
        node["size"] = max(3.0, node["size"] * _MARKERS)
    if inside == "line" or inside.startswith("error_"):
        for key in ("width", "thickness"):
            if node.get(key) and (key == "thickness" or inside == "line"):
                node[key] = max(0.5, node[key] * _LINES)
        if inside != "line":
            node["width"] = 2.0
    for key, part in node.items():
        _resize(part, key)


def _row_of_drops(layout: Spec, data: list[Spec], drawn: go.Figure) -> None:
    """Put the marks of drops in a row above the lines: in grey they would be lost on the queue's."""
    for trace, given in zip(data, drawn.data, strict=True):
        name = trace.get("yaxis", "y")
        own = layout.get(f"yaxis{name[1:]}", {})
        axes = [own, *(axis for key, axis in layout.items() if "axis" in key and axis.get("overlaying") == name)]
        if given.meta != words.meaning("drop")["meta"] or not all("range" in axis for axis in axes):
            continue
        for axis in axes:
            axis["range"] = [axis["range"][0], 1.08 * axis["range"][1]]
        trace["y"] = [0.965 * own["range"][1]] * len(given.x)


def luminance(colour: str) -> float:
    """Return how light a colour is in grey, from 0 to 1, by Rec. 709, as which browsers and printers take it."""
    if colour.startswith("rgb"):
        parts = [float(part) for part in colour.partition("(")[2].rstrip(")").split(",")]
        red, green, blue = (part / 255 for part in parts[:3])
        opacity = parts[3] if len(parts) > 3 else 1.0
    else:
        red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        opacity = 1.0
    return 1.0 - opacity * (1.0 - (0.2126 * red + 0.7152 * green + 0.0722 * blue))


def tell_apart(data: list[Spec]) -> None:
    """Give lines of like greys different dashes, boxes other fills, areas hatches; traces of one look keep one look."""
    looks: dict[tuple[str, str, float], str] = {}
    fills: dict[str, str] = {}
    hatches: dict[str, str] = {}
    for trace in data:
        line = trace.get("line", {})
        colour = line.get("color")
        if trace.get("fill", "none") != "none" and "fillcolor" in trace:
            shape = hatches.setdefault(trace["fillcolor"], _HATCHES[len(hatches) % len(_HATCHES)])
            trace["fillpattern"] = {"shape": shape, "fillmode": "overlay"} | _HATCH
        elif trace.get("type") == "box" and isinstance(colour, str):
            trace["fillcolor"] = fills.setdefault(colour, ("white", "#AAAAAA", "#555555", "#DDDDDD")[len(fills) % 4])
            line["color"] = "black"
            trace["marker"] = {**trace.get("marker", {}), "color": "black"}
        elif "lines" in str(trace.get("mode", "")) and isinstance(colour, str) and line.get("width", 1):
            look = colour, str(line.get("dash", "solid")), float(line.get("width", 1)) * ("rgba" in colour)
            line["dash"] = looks[look] if look in looks else _dash(look, looks)
            looks[look] = line["dash"]


def _dash(look: tuple[str, str, float], looks: dict[tuple[str, str, float], str]) -> str:
    """Return a dash for a colour: one that no line of a like grey has; faint lines go along with others, solid."""
    if look[2]:
        return "solid"
    taken = {dash for other, dash in looks.items() if abs(luminance(other[0]) - luminance(look[0])) < APART}
    return next((dash for dash in DASHES if dash not in taken), DASHES[len(looks) % len(DASHES)])
