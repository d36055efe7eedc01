"""A widget that shows a figure of Plotly's: a browser gets the whole figure, and always the newest.

The JavaScript of Plotly's own widget gets changes one by one and loses those that come before a figure is drawn: the
figure then has data but no names. It also brings a copy of Plotly, 5 MB, with every figure, and answers each change
with all that it worked out. Here one widget brings Plotly; the others wait for it as long as it takes, draw what there
is once they have a width, and again when that or the width changes. Of changes meanwhile the newest is drawn next.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any
from uuid import uuid4

import anywidget
import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import traitlets
from plotly.offline import get_plotlyjs
from plotly.serializers import custom_serializers

from btflow.plots.files import legend_script
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


class Figure(anywidget.AnyWidget):
    """A figure that is as wide as what it is in.

    Args:
        data: Properties of each trace, or Plotly's traces.
        layout: Properties of the layout, nested.
    """

    _esm = "\n".join([_READY, legend_script(), (files("btflow.explore") / "page" / "figure.js").read_text("utf-8")])

    _css = ".btflow-stale > .btflow-drawn, .btflow-refusing > .btflow-player, .btflow-late { opacity: .35; }"
    """Figures of earlier inputs are dimmed, in a notebook, too."""

    config = traitlets.Dict(_CONFIG).tag(sync=True)
    """What Plotly is told beside the figure."""

    fills = traitlets.Bool(False).tag(sync=True)
    """Whether it is lower where the window has not room for all of its height."""

    drawn = traitlets.Dict().tag(sync=True, **custom_serializers)
    """All of the figure, with a number that tells it from what was drawn before."""

    def __init__(self, data: Iterable[Any], layout: Mapping[str, Any]) -> None:
        library()
        super().__init__(layout={"width": "100%"})
        self._number = 0
        self._content: dict[str, Any] = {"data": _told_apart(data), "layout": dict(layout)}
        self._draw()

    @property
    def shown(self) -> go.Figure:
        """A figure of Plotly's like the one that is shown; it takes longer than to show it."""
        return go.Figure(self._content)

    def put(self, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], whole: bool = False) -> None:
        """Change each trace, and the layout, to what is known to be right: Plotly's checks take longer than a run.

        Args:
            traces: Properties of each trace, in order; the others stay.
            layout: Properties of the layout, nested; the others stay.
            whole: Whether the traces lose their other properties. There may then be other traces than before.
        """
        kept = self._content["data"]
        if whole and [_kind(trace) for trace in traces] != [_kind(trace) for trace in kept]:
            self._content["data"] = _told_apart(traces)
        else:
            for old, new in zip(kept, traces, strict=True):
                for name in old.keys() - {"uid"} if whole else ():
                    del old[name]
                old.update(new)
        _merge(self._content["layout"], layout)
        self._draw()

    def place(self, shapes: Sequence[Mapping[str, Any]]) -> None:
        """Change the lines and areas that are drawn over the axes."""
        if self._content["layout"].get("shapes") != shapes:
            self._content["layout"]["shapes"] = shapes
            self._draw()

    def point(
        self, x: float = 0.0, y: float = 0.0, said: str = "", axes: tuple[str, str] = ("x", "y"), *, right: bool = False
    ) -> None:
        """Write something on the left or right of a place of some axes, with an arrow; or take it away."""
        before = self._content["layout"].get("annotations", ())
        others = [one for one in before if one.get("name") != _SPOT["name"]]
        found = [*others, arrow(x, y, said, axes, right=right)] if said else others
        if list(before) != found:
            self._content["layout"]["annotations"] = found
            self._draw()

    @property
    def height(self) -> int:
        """Its height [px]."""
        return int(self._content["layout"]["height"])

    def _draw(self) -> None:
        """Send all of it, whatever has changed."""
        self._number += 1
        self.drawn = _strict({"number": self._number} | self._content)


_SPOT = {
    "name": "btflow-spot",
    "showarrow": True,
    "arrowhead": 2,
    "arrowwidth": 1.5,
    "arrowcolor": "#A33C00",
    "ay": -34,
    "font": {"color": "#A33C00", "size": 13},
    "bgcolor": "rgba(255,255,255,0.85)",
    "borderpad": 2,
}
"""How what is written at a place looks."""


def arrow(x: float, y: float, said: str, axes: tuple[str, str] = ("x", "y"), *, right: bool = False) -> dict[str, Any]:
    """Return what Plotly calls an annotation: an arrow to a place of some axes, and what is written there."""
    return _SPOT | {"x": x, "y": y, "text": said, "xref": axes[0], "yref": axes[1], "ax": 40 if right else -40}


def of_plotly(drawn: go.Figure, layout: Mapping[str, Any] | None = None) -> Figure:
    """Return a widget that shows a figure, with a layout of its own if one is given."""
    return Figure(drawn.data, drawn.layout.to_plotly_json() if layout is None else layout)


def _told_apart(traces: Iterable[Any]) -> list[dict[str, Any]]:
    """Return properties of traces, each with a name by which a browser knows it again when they change."""
    plain = (trace if isinstance(trace, Mapping) else trace.to_plotly_json() for trace in traces)
    return [{"uid": str(uuid4()), **properties} for properties in plain]


def _kind(trace: Mapping[str, Any]) -> str:
    return str(trace.get("type", "scatter"))


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
    return of_plotly(drawn, fitted(drawn, height))


def redraw(widget: Figure, drawn: go.Figure) -> None:
    """Show another figure in a widget, in one message to the browser."""
    layout = {"shapes": [], "annotations": []} | fitted(drawn, widget.height)
    for axis in ("xaxis", "yaxis"):
        layout[axis] = {"visible": True, "automargin": True} | layout[axis]  # the figure before may have had none
    del layout["template"]  # is there already
    widget.put([trace.to_plotly_json() for trace in drawn.data], layout, whole=True)


def fitted(drawn: go.Figure, height: int) -> dict[str, Any]:
    """Return a figure's layout without a width of its own and with its legend at the bottom, for a low figure."""
    layout: dict[str, Any] = drawn.layout.to_plotly_json()
    common = {k: v for k, v in layout["template"]["layout"].items() if k not in ("width", "height")}
    for axis in ("xaxis", "yaxis"):  # else Plotly measures every label, a tenth of a redraw
        common[axis] = common[axis] | {"ticklabeloverflow": "allow"}
    if all(np.asarray(trace.x).dtype.kind in "iuf" for trace in drawn.data if trace.x is not None):
        layout["xaxis"] = {"automargin": False} | layout.get(
            "xaxis", {}
        )  # numbers fit below; to measure them takes time
    layout.pop("width", None)
    legend = {"yref": "container", "y": 0.0, "yanchor": "bottom", "font": {"size": 12}}
    above = 2 * _ROW + 6 if layout.get("xaxis2", {}).get("side") == "top" else 0  # the title of an axis above the plot
    above += _ROW * any(one.yref == "paper" and one.y == 1 for one in drawn.layout.annotations)
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

    def show(self, drawn: Mapping[str, go.Figure], late: Iterable[str] = ()) -> None:
        """Show figures by name; those that come later stay as they are, dimmed, and there are no others."""
        late = set(late)
        for name, found in drawn.items():
            if self._drawn.get(name) is not found:  # what is there already takes no time
                redraw(self.figures[name], found)
                self._drawn[name] = found
        for name, box in self._boxes.items():
            box.layout.display = None if name in drawn or name in late else "none"
            (box.add_class if name in late else box.remove_class)("btflow-late")


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
