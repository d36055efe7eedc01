"""Figures of the newest request, with its progress, a button to cancel it and its error."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

import ipywidgets as widgets

from btflow.explore.figure import HEIGHT, Gallery
from btflow.explore.views import Seen
from btflow.explore.work import Listeners, Look, Work

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

FIRST = 2.0
"""How long to wait for the first figures [s], so that a page or a notebook's cell begins with quick ones."""

Request = TypeVar("Request")


class Canvas(Generic[Request]):
    """Asks for figures in the background and shows them when they come.

    Args:
        compute: Yields what is to be seen of a request, once or several times.
        names: Of all figures that it may yield.
        ended: Called when all that was asked for is shown, cancelled or has failed.
        height: Height of a figure [px].

    Attributes:
        seen: What is shown; None before the first.
        status: Progress and errors.
        gallery: The figures.
        words: What the figures say, as HTML; hidden while there is none.
        views: Words and figures.
    """

    def __init__(
        self,
        compute: Callable[[Request, Look], Iterator[Seen]],
        names: Iterable[str],
        ended: Callable[[], None] = lambda: None,
        height: int = HEIGHT,
    ) -> None:
        self.seen: Seen | None = None
        self._asked: Request | None = None
        self._ended = ended
        self.status = Status(self.cancel)
        self.gallery = Gallery(names, height)
        self.words = widgets.HTML(layout={"display": "none", "width": "100%"})
        self.words.add_class("btflow-words")
        self.views = widgets.VBox([self.words, self.gallery.widget], layout={"min_width": "0"})
        listeners = Listeners(self._show, self._fail, self.status.progress, self._busy)
        self._work: Work[Request, Seen] = Work(compute, listeners)

    def ask(self, request: Request) -> None:
        """Show what is to be seen of a request; what was asked for before and is not shown yet may never be."""
        self.status.say("")
        self._asked = request
        self._work.ask(request)

    def cancel(self) -> None:
        """End what runs."""
        self._work.cancel()

    @property
    def busy(self) -> bool:
        """Whether something is asked for that is not shown yet."""
        return self._work.busy

    def wait(self, timeout: float = 60.0) -> bool:
        """Wait until all is shown; return whether that is so within a time [s]."""
        return self._work.wait(timeout)

    def first(self) -> None:
        """Wait for the first figures, full's if it is quick, so that a page or a notebook's cell begins with them."""
        self._work.wait(FIRST, lambda: self.seen is not None and self.seen.fidelity == "full")

    def _show(self, seen: Seen) -> None:
        self.gallery.show(seen.figures)
        self.words.value, self.words.layout.display = seen.words, None if seen.words else "none"
        self.seen = seen

    def _fail(self, text: str) -> None:
        """Say what went wrong; of a run of full after which flow's figures stay, that they do."""
        stays = self.seen is not None and self.seen.fidelity == "flow" and self.seen.asked == self._asked
        self.status.say(f"Full: {text}. The figures are those of flow." if stays else text)

    def _busy(self, runs: bool) -> None:
        self.status.busy(runs)
        if not runs:
            self._ended()
