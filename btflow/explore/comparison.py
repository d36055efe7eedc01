"""What if: two settings side by side, with the difference within pairs and its interval in words."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator

import ipywidgets as widgets

from btflow.errors import InputError
from btflow.explore.canvas import Canvas
from btflow.explore.pairs import NAMES, Compared, compare
from btflow.explore.views import Seen
from btflow.explore.work import Look
from btflow.link.scenario import LinkScenario
from btflow.options import MAX_SEED, whole_number
from btflow.scenario import Scenario

MOST_PAIRS = 1000


def canvas(ended: Callable[[], None] = lambda: None) -> Canvas[Compared]:
    """Return what shows a comparison, pair after pair."""
    return Canvas(_seen, NAMES, ended)


def _seen(asked: Compared, look: Look) -> Iterator[Seen]:
    for seen in compare(asked, look):
        first, *others = (html.escape(line) for line in seen.words.splitlines())
        yield seen._replace(words=f'<p role="status">{"<br>".join([f"<b>{first}</b>", *others])}</p>')


class WhatIf(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The widget of ``btflow.explore.whatif``.

    Attributes:
        asked: What is compared.
        canvas: The figures.
        more: The button for more pairs.
    """

    def __init__(self, asked: Compared) -> None:
        self.asked = asked
        self.canvas = canvas()
        self.more = widgets.Button(description="Twice as many pairs", layout={"width": "180px"})
        self.more.on_click(lambda _: self._double())
        shown = self.canvas
        super().__init__([shown.views, self.more, shown.status.widget])
        shown.ask(asked)
        shown.first()

    def _double(self) -> None:
        self.asked = self.asked._replace(pairs=min(2 * self.asked.pairs, MOST_PAIRS))
        self.canvas.ask(self.asked)


def checked(a: object, b: object, pairs: int, seed: int) -> Compared:
    """Return what is to be compared; InputError if it cannot be."""
    for field, model in (("a", a), ("b", b)):
        if not isinstance(model, Scenario | LinkScenario):
            raise InputError(field, model, "is not a scenario", 'such as btflow.load("rao2010")')
    assert isinstance(a, Scenario | LinkScenario)
    assert isinstance(b, Scenario | LinkScenario)
    if isinstance(a, LinkScenario) != isinstance(b, LinkScenario):
        raise InputError("b", b.name, "is not of the kind of a", "two swarms or two link experiments")
    whole_number("pairs", pairs, 1, MOST_PAIRS)
    return Compared(a, b, whole_number("seed", seed, 0, MAX_SEED), pairs)
