"""What is around a panel: its presets, what they leave out, and the command line that gives the same numbers."""

from __future__ import annotations

import html

import ipywidgets as widgets

from btflow.explore.panel import Commands, Panel, Preset

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
