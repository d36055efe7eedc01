"""Plotly's figure widget, with JavaScript of our own: a browser gets the whole figure, and always the newest.

Plotly's own JavaScript gets changes one by one and loses those that come before a figure is drawn: the figure then
has data but no names. It also brings a copy of Plotly, 5 MB, with every figure, and answers each change with all
that it worked out. Here one widget brings Plotly; the others wait for it as long as it takes, draw what there is once
they have a width, and again when that or the width changes. What comes while they draw is drawn next, the newest only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import plotly.graph_objects as go
import traitlets
from plotly.offline import get_plotlyjs
from plotly.serializers import custom_serializers

from btflow.plots.style import CONFIG

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
