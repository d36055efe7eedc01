"""Live figures: plain figures of btflow.plots as widgets that are redrawn in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go

from btflow.explore.figure import Figure
from btflow.plots.style import figure

HEIGHT = 360
"""Height of a live figure [px]; it is as wide as what it is in."""

_TOP, _TICKS, _ROW = 62, 52, 22  # above the axes, below them, a row of the legend [px]
_NARROW = 340  # of a telephone [px]
_COLUMNS = "repeat(auto-fit, minmax(min(100%, 400px), 1fr))"


def live(drawn: go.Figure, height: int = HEIGHT) -> Figure:
    """Return a widget that shows a figure as wide as what it is in."""
    return Figure(data=drawn.data, layout=fitted(drawn, height))


def redraw(widget: Figure, drawn: go.Figure) -> None:
    """Show another figure in a widget, in one message to the browser."""
    layout = {"shapes": [], "annotations": []} | fitted(drawn, int(widget.layout.height))
    for axis in ("xaxis", "yaxis"):
        layout[axis] = {"visible": True} | layout[axis]  # the figure before may have had none
    del layout["template"]  # is there already
    with widget.hold_sync():
        if [trace.type for trace in widget.data] != [trace.type for trace in drawn.data]:
            widget.data = ()
            widget.add_traces(drawn.data)
        widget.put([trace.to_plotly_json() for trace in drawn.data], layout, whole=True)


def fitted(drawn: go.Figure, height: int) -> dict[str, Any]:
    """Return a figure's layout without a width of its own and with its legend at the bottom, for a low figure."""
    layout: dict[str, Any] = drawn.layout.to_plotly_json()
    common = {k: v for k, v in layout["template"]["layout"].items() if k not in ("width", "height")}
    for axis in ("xaxis", "yaxis"):  # else Plotly measures every label, a tenth of a redraw
        common[axis] = common[axis] | {"ticklabeloverflow": "allow"}
    layout.pop("width", None)
    legend = {"yref": "container", "y": 0.0, "yanchor": "bottom", "font": {"size": 12}}
    above = 2 * _ROW if layout.get("xaxis2", {}).get("side") == "top" else 0  # the title of an axis above the plot
    margin = {"l": 62, "r": 16, "t": _TOP + above, "b": _TICKS + _ROW * legend_rows(drawn) + 8}
    title = layout.get("title", {}) | {"y": 1 - 14 / height, "yanchor": "top", "font": {"size": 15}}
    return layout | {
        "template": {"layout": common},
        "height": height,
        "autosize": True,
        "margin": margin,
        "legend": layout.get("legend", {}) | legend,
        "title": title,
    }


def framed(shown: Figure) -> widgets.Box:
    """Return a figure in a box; on a telephone the first one of a panel stays in view while its inputs move."""
    box = widgets.Box([shown], layout={"min_width": "0", "width": "100%"})
    box.add_class("btflow-figure")
    return box


def legend_rows(drawn: go.Figure) -> int:
    """Return how many rows a figure's legend takes on a telephone."""
    shown = [trace for trace in drawn.data if trace.showlegend is not False and trace.name]
    if drawn.layout.showlegend is False or (len(shown) < 2 and not drawn.layout.showlegend):
        return 0
    widths = [55 + 6.5 * len(str(trace.name)) for trace in shown]
    each = max(widths)  # a horizontal legend gives all entries the width of the widest
    return -(-len(widths) // max(1, int(_NARROW // each)))


class Gallery:
    """Live figures by name, as many beside each other as there is room for.

    Args:
        names: Of all figures that are ever shown.
        height: Of each [px].

    Attributes:
        widget: All of them.
        figures: The widget of each.
    """

    def __init__(self, names: Iterable[str], height: int = HEIGHT) -> None:
        self.figures = {name: live(figure("", "", ""), height) for name in names}
        self._drawn: dict[str, go.Figure] = {}
        self._boxes = {name: framed(shown) for name, shown in self.figures.items()}
        for box in self._boxes.values():
            box.layout.display = "none"
        grid = widgets.GridBox(list(self._boxes.values()), layout={"grid_template_columns": _COLUMNS, "width": "100%"})
        self.widget = widgets.VBox([grid], layout={"min_width": "0"})
        self.widget.add_class("btflow-figures")
        grid.add_class("btflow-figures")

    @property
    def shown(self) -> list[str]:
        """Names of the figures that are shown."""
        return [name for name, box in self._boxes.items() if box.layout.display is None]

    def show(self, drawn: Mapping[str, go.Figure]) -> None:
        """Show figures by name, and no others."""
        for name, found in drawn.items():
            if self._drawn.get(name) is not found:  # what is there already takes no time
                redraw(self.figures[name], found)
                self._drawn[name] = found
        for name, box in self._boxes.items():
            box.layout.display = None if name in drawn else "none"


def beside(controls: widgets.Widget, figures: widgets.Widget) -> widgets.Box:
    """Return inputs with figures on their right, or below them where there is no room."""
    controls.layout = {"flex": "1 1 300px", "max_width": "100%", "min_width": "0"}
    figures.layout.flex = "4 1 400px"
    both = widgets.Box(
        [controls, figures], layout={"flex_flow": "row wrap", "align_items": "flex-start", "width": "100%"}
    )
    figures.add_class("btflow-views")
    both.add_class("btflow-panel")
    return both
