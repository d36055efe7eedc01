"""The page of the explorer: a tab for each panel, with its presets, its link and its files."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as widgets

from btflow.explore.frame import Frame
from btflow.explore.link_panel import LinkPanel
from btflow.explore.link_state import LinkState
from btflow.explore.memory import bound_memory
from btflow.explore.panel import Panel
from btflow.explore.share import Share
from btflow.explore.state import from_query, to_query
from btflow.explore.swarm_state import SwarmState
from btflow.explore.whatif_state import WhatIfState


def _swarm() -> Panel:
    from btflow.explore.swarm import SwarmPanel  # not before its tab is opened: the first page comes sooner

    return SwarmPanel()


def _whatif() -> Panel:
    from btflow.explore.whatif_panel import WhatIfPanel

    return WhatIfPanel()


PANELS: Mapping[str, tuple[str, type[Any], Callable[[], Panel]]] = {
    "link": ("One link", LinkState, LinkPanel),
    "swarm": ("One swarm", SwarmState, _swarm),
    "whatif": ("What if", WhatIfState, _whatif),
}
"""Title, state and maker of each panel, by its name in links."""

_HEAD = "<h1>btflow explorer</h1><p>Drag a slider or type a value with its unit; the figures are simulated anew.</p>"


class App:
    """The whole page; panels are made when their tab is first opened.

    Attributes:
        widget: All of it.
    """

    def __init__(self) -> None:
        self._frames: dict[str, Frame] = {}
        self._problems = widgets.HTML(layout={"display": "none"})
        self._problems.add_class("btflow-error")
        self._share = Share(self._files)
        self._share.observe(self._opened, "opened")
        self._tabs = widgets.Tab([widgets.VBox() for _ in PANELS], titles=[title for title, _, _ in PANELS.values()])
        self._tabs.observe(lambda _: self._show(), "selected_index")
        self.widget = widgets.VBox([widgets.HTML(_HEAD), self._problems, self._tabs, self._share])
        self.widget.add_class("btflow-page")
        self._show()

    @property
    def _name(self) -> str:
        return list(PANELS)[self._tabs.selected_index or 0]

    def _frame(self) -> Frame:
        """Return the open tab's frame, made if it is new."""
        name = self._name
        if name not in self._frames:
            self._frames[name] = frame = Frame(PANELS[name][2]())
            frame.panel.on_change(self._changed)
            children = list(self._tabs.children)
            children[list(PANELS).index(name)] = frame.widget
            self._tabs.children = children
        return self._frames[name]

    def _show(self) -> None:
        self._frame()
        self._changed()

    def _changed(self) -> None:
        """Bring the link up to date, once it is known how the page was opened."""
        if self._share.opened and self._name in self._frames:
            self._share.query = to_query(self._name, self._frames[self._name].panel.state)

    def _opened(self, _change: object) -> None:
        """Show what the link of the page says."""
        found = from_query(self._share.opened.removeprefix("?"), {name: kind for name, (_, kind, _) in PANELS.items()})
        said = "".join(f"<p>{html.escape(problem)}</p>" for problem in found.problems)
        self._problems.value = said and f'<div role="alert">{said}</div>'
        self._problems.layout.display = None if said else "none"
        self._tabs.selected_index = list(PANELS).index(found.panel)
        frame = self._frame()
        if found.state != frame.panel.state:
            frame.panel.set_state(found.state)
        self._changed()

    def _files(self) -> Mapping[str, str]:
        return self._frame().panel.files()


def page() -> widgets.Widget:
    """Return the page, for the notebook that `btflow explore` serves."""
    bound_memory(os.environ.get("BTFLOW_EXPLORE_MEMORY", ""))
    widgets.register_comm_target()  # what a kernel does by itself only if widgets are imported after it has begun
    return App().widget
