"""What is around a panel: its presets, what they leave out, and the command line that gives the same numbers."""

from __future__ import annotations

import html

import ipywidgets as widgets

from btflow.explore.panel import Commands, Panel

_OWN = "your own"
"""Of a state that is no preset's."""


class Frame:
    """A panel with a menu of its presets above it and its command line below.

    Attributes:
        panel: The panel.
        widget: All of it.
    """

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self._presets = {preset.label: preset for preset in panel.presets}
        self._menu = widgets.Dropdown(options=[_OWN, *self._presets], description="Preset", layout={"width": "100%"})
        self._menu.add_class("btflow-presets")
        self._note, self._command = widgets.HTML(), widgets.HTML()
        self._command.add_class("btflow-command")
        self._quiet = False
        self._menu.observe(self._chosen, "value")
        panel.on_change(self._changed)
        self.widget = widgets.VBox([self._menu, self._note, panel.widget, self._command])
        self._changed()

    def _chosen(self, change: dict[str, str]) -> None:
        if change["new"] in self._presets and not self._quiet:
            self.panel.set_state(self._presets[change["new"]].state)

    def _changed(self) -> None:
        """Name the preset that is shown, if any, and the command line."""
        shown = next((preset for preset in self._presets.values() if preset.state == self.panel.state), None)
        self._quiet = True
        try:
            self._menu.value = shown.label if shown else _OWN
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
