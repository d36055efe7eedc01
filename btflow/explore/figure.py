"""Plotly's figure widget with JavaScript of our own: a browser gets the whole figure, and always the newest.

Plotly's own JavaScript gets changes one by one and loses those that come before a figure is drawn: the figure then
has data but no names. It also brings a copy of Plotly, 5 MB, with every figure, and answers each change with all
that it worked out. Here one widget brings Plotly; the others wait for it as long as it takes, draw what there is once
they have a width, and again when that or the width changes. What comes while they draw is drawn next, the newest only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import ipywidgets as widgets
import plotly.graph_objects as go
import traitlets
from plotly.offline import get_plotlyjs
from plotly.serializers import custom_serializers

from btflow.plots.style import CONFIG, figure

BUTTONS = ["toImage", "zoom2d", "pan2d", "resetScale2d"]
"""What Plotly offers when a pointer is on a figure: few, so that they leave the title free."""
_CONFIG = CONFIG | {"displayModeBar": "hover", "modeBarButtons": [BUTTONS]}

_READY = "const ready = (globalThis.btflowPlotly ??= Promise.withResolvers());"

_LIBRARY = """
export default {
  initialize({ model }) {
    const url = URL.createObjectURL(new Blob([model.get("bundle")], { type: "text/javascript" }));
    import(url).then(() => ready.resolve(globalThis.Plotly), ready.reject);
  },
};
"""


class Library(anywidget.AnyWidget):
    """Brings Plotly to the page."""

    _esm = _READY + _LIBRARY

    bundle = traitlets.Unicode().tag(sync=True)
    """Plotly itself."""


@cache
def library() -> Library:
    """Return the one widget that brings Plotly."""
    return Library(bundle=get_plotlyjs())


class Figure(go.FigureWidget):  # type: ignore[misc]  # Plotly has no types
    """A FigureWidget that is as wide as what it is in."""

    _esm = _READY + (files("btflow.explore") / "page" / "figure.js").read_text(encoding="utf-8")

    drawn = traitlets.Dict().tag(sync=True, **custom_serializers)
    """All of the figure, with a number that tells it from what was drawn before."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        library()
        self._number = 0
        super().__init__(*args, **settings)
        self._config = _CONFIG
        self._send_all()

    def _send_all(self, *_args: Any, **_settings: Any) -> None:
        """Send all of it, whatever has changed."""
        self._number += 1
        drawn = {"number": self._number, "data": self._data, "layout": self._layout_obj._props}
        self.drawn = _strict(drawn)

    # what Plotly calls to tell a browser of each kind of change
    _send_addTraces_msg = _send_deleteTraces_msg = _send_moveTraces_msg = _send_all  # noqa: N815
    _send_restyle_msg = _send_relayout_msg = _send_update_msg = _send_animate_msg = _send_all

    def put(self, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], whole: bool = False) -> None:
        """Change each trace, and the layout, to what is known to be right: Plotly's checks take longer than a run.

        Args:
            traces: Properties of each trace, in order; the others stay.
            layout: Properties of the layout, nested; the others stay.
            whole: Whether the traces lose their other properties.
        """
        for old, new in zip(self._data, traces, strict=True):
            for name in old.keys() - {"uid"} if whole else ():
                del old[name]
            old.update(new)
        _merge(self._layout_obj._props, layout)
        self._send_all()

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state that a browser gets, without the copy that Plotly's own JavaScript begins with."""
        state: dict[str, Any] = super().get_state(key=key, drop_defaults=drop_defaults)
        return {name: value for name, value in state.items() if name not in ("_widget_data", "_widget_layout")}


def _strict(content: Any) -> Any:
    """Return a copy that JSON can hold: None for what is no number or not finite; arrays go as they are, in binary."""
    if isinstance(content, Mapping):
        return {name: _strict(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_strict(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _merge(old: dict[str, Any], new: Mapping[str, Any]) -> None:
    for name, value in new.items():
        if isinstance(value, Mapping) and isinstance(old.get(name), dict):
            _merge(old[name], value)
        else:
            old[name] = value


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
