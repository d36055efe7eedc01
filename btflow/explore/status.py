"""A line below the inputs: how far a run is, a button that cancels it, and what went wrong."""

from __future__ import annotations

import html
import time
from collections.abc import Callable

import ipywidgets as widgets

SHORT = 0.3
"""Runs that are over within this time [s] show no progress: it would only flicker."""


class Status:
    """Progress, a button to cancel, and a message.

    Attributes:
        widget: All of it; it keeps its height, so that nothing moves when it appears.
    """

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        self._begun = 0.0
        self._bar = widgets.FloatProgress(min=0.0, max=1.0, layout={"flex": "1 1 80px", "min_width": "40px"})
        self._button = widgets.Button(description="Cancel", tooltip="stop the run", layout={"width": "80px"})
        self._button.on_click(lambda _: self._cancelled())
        self._run = widgets.HBox([self._bar, self._button], layout={"visibility": "hidden", "width": "100%"})
        self._message = widgets.HTML(layout={"display": "none"})
        self._message.add_class("btflow-error")
        self.widget = widgets.VBox([self._run, self._message], layout={"width": "100%"})
        self.widget.add_class("btflow-status")

    @property
    def text(self) -> str:
        """The message, empty for none."""
        return html.unescape(str(self._message.value).removeprefix(_ALERT).removesuffix("</span>"))

    @property
    def share(self) -> float | None:
        """The share done that is shown, None if no progress is."""
        return float(self._bar.value) if self._run.layout.visibility is None else None

    def busy(self, runs: bool) -> None:
        """Show that something runs, once it has for a while; or that nothing does."""
        if runs:
            self._begun = time.monotonic()
        else:
            self._run.layout.visibility = "hidden"

    def progress(self, share: float) -> None:
        """Show a share done."""
        if time.monotonic() - self._begun >= SHORT:
            self._bar.value = share
            self._run.layout.visibility = None

    def say(self, text: str) -> None:
        """Show a message, or none."""
        self._message.value = f"{_ALERT}{html.escape(text)}</span>" if text else ""
        self._message.layout.display = None if text else "none"

    def _cancelled(self) -> None:
        self._cancel()
        self.say("Cancelled. The figures show what was finished before.")


_ALERT = '<span role="alert">'
