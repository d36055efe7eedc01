"""Plotly's figure widget, with its JavaScript once for a page instead of once for each figure.

Each FigureWidget brings its own copy of Plotly, almost 5 MB, and anywidget gives up on one that is not ready within
two seconds: on a busy machine some of several figures stay empty for good. Here one widget brings Plotly; figures
wait for it as long as it takes, and catch up on what was sent to them meanwhile.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import anywidget
import plotly.graph_objects as go
import traitlets

_READY = "const ready = (globalThis.btflowPlotly ??= Promise.withResolvers());"

_WAIT = """
const MESSAGES = ["addTraces", "deleteTraces", "moveTraces", "restyle", "relayout", "update", "animate",
  "removeLayoutProps", "removeTraceProps"].map((name) => "_py2js_" + name);

export default () => {
  let drawn;
  return {
    initialize({ model }) {
      const missed = [];
      const notes = MESSAGES.map((name) => [name, () => model.get(name) && missed.push([name, model.get(name)])]);
      notes.forEach(([name, note]) => model.on("change:" + name, note));
      drawn = ready.promise.then((plotly) => {
        notes.forEach(([name, note]) => model.off("change:" + name, note));
        const figure = plotly.default();
        figure.initialize({ model });
        for (const [name, message] of missed) {
          model.set(name, message);
          model.set(name, null);
        }
        return figure;
      });
    },
    async render({ model, el }) {
      return (await drawn).render({ model, el });
    },
  };
};
"""


class Library(anywidget.AnyWidget):
    """Brings Plotly to the page."""

    _esm = (
        _READY
        + """
    export default {
      initialize({ model }) {
        const url = URL.createObjectURL(new Blob([model.get("bundle")], { type: "text/javascript" }));
        import(url).then(ready.resolve, ready.reject);
      },
    };
    """
    )

    bundle = traitlets.Unicode().tag(sync=True)
    """Plotly's own JavaScript for its widget."""


@cache
def library() -> Library:
    """Return the one widget that brings Plotly."""
    return Library(bundle=str(go.FigureWidget._esm))


class Figure(go.FigureWidget):  # type: ignore[misc]  # Plotly has no types
    """A FigureWidget without a copy of Plotly of its own."""

    _esm = _READY + _WAIT

    def __init__(self, *args: Any, **settings: Any) -> None:
        library()
        super().__init__(*args, **settings)

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state that a browser gets, with all that was drawn so far; Plotly's own is what it began with."""
        if key is None and getattr(self, "_layout_obj", None) is not None:
            now = {"_widget_data": self._data, "_widget_layout": self._layout_obj._props}
            self._trait_values |= deepcopy(now)  # quietly: who has the figure already has it all
        state: dict[str, Any] = super().get_state(key=key, drop_defaults=drop_defaults)
        return state
