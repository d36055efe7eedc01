"""The page of the explorer: a tab for each panel, and around it presets, link, files and the command line."""

import html
import os
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as widgets

from btflow.explore.limits import bound_memory
from btflow.explore.link_panel import LinkPanel
from btflow.explore.link_state import LinkState
from btflow.explore.panel import Commands, Panel, Preset, from_query, to_query
from btflow.explore.saved import Share
from btflow.explore.swarm_panel import SwarmState
from btflow.explore.whatif_panel import WhatIfState

_OWN = "your own"
"""Of a state that is no preset's."""


class Frame:
    """A panel with two menus of its presets above it, the paper and its experiment, and its command line below.

    Attributes:
        panel: The panel.
        widget: All of it.
    """

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self._presets: dict[str, dict[str, Preset]] = {}
        for preset in panel.presets:
            self._presets.setdefault(preset.paper, {})[preset.entry] = preset
        self._papers = widgets.Dropdown(options=list(self._presets), description="From", layout={"width": "100%"})
        self._menu = widgets.Dropdown(options=[_OWN], description="Preset", layout={"width": "100%"})
        for menu in (self._papers, self._menu):
            menu.add_class("btflow-presets")
        self._note, self._command = widgets.HTML(), widgets.HTML()
        self._command.add_class("btflow-command")
        self._quiet = False
        self._offer(self._papers.value)
        self._papers.observe(self._opened, "value")
        self._menu.observe(self._chosen, "value")
        panel.on_change(self._changed)
        self.widget = widgets.VBox([self._papers, self._menu, self._note, panel.widget, self._command])
        self._changed()

    def _opened(self, change: dict[str, str]) -> None:
        """Show the first preset of a paper that was chosen."""
        if not self._quiet:
            self.panel.set_state(next(iter(self._presets[change["new"]].values())).state)

    def _chosen(self, change: dict[str, str]) -> None:
        found = self._presets[self._papers.value].get(change["new"])
        if found is not None and not self._quiet:
            self.panel.set_state(found.state)

    def _offer(self, paper: str) -> None:
        """Have the presets of a paper in the menu."""
        options = (_OWN, *self._presets[paper])
        if self._menu.options != options:
            self._menu.options = options

    def _changed(self) -> None:
        """Name the preset that is shown, if any, and the command line."""
        shown = next((preset for preset in self.panel.presets if preset.state == self.panel.state), None)
        self._quiet = True
        try:
            if shown:
                self._papers.value = shown.paper
            self._offer(self._papers.value)
            self._menu.value = shown.entry if shown else _OWN
        finally:
            self._quiet = False
        note = shown.note if shown else ""
        whole = f" {_told('All of it', shown.commands)}" if shown and note else ""
        self._note.value = f"<p>{html.escape(note)}{whole}</p>" if note else ""
        self._command.value = f"<p>{_told(self.panel.about(), self.panel.commands())}</p>"


def _told(about: str, commands: Commands) -> str:
    """Return command lines as HTML: one on the line of what it is, several below it, each with its side."""
    lines = [f"{side}: " * bool(side) + f"<code>{html.escape(text)}</code>" for side, text in commands.items()]
    return f"{about}: {lines[0]}" if len(lines) == 1 else "<br>".join([f"{about}:", *lines])


def _swarm() -> Panel:
    from btflow.explore.swarm_panel import SwarmPanel  # not before its tab is opened: the first page comes sooner

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
