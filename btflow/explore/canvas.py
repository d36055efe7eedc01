"""Figures of the newest request, with its progress, a button to cancel it and its error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

import ipywidgets as widgets

from btflow.explore.live import HEIGHT, Gallery
from btflow.explore.status import Status
from btflow.explore.views import Seen
from btflow.explore.work import Listeners, Look, Work

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
