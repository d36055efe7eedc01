"""Which figures a model has, how they are found in the background, and the canvas that shows the newest ones.

A swarm that flow can run is drawn from it until the inputs rest, and then from full, with how far flow was off. A
canvas shows progress, a button to cancel, and an error in place of figures.
"""

import html
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import xarray as xr

from btflow import plots
from btflow.errors import ScenarioError, SimulationError
from btflow.explore.figure import HEIGHT, Gallery
from btflow.explore.warm import wait_for_swarms
from btflow.explore.watch import Run, Watch
from btflow.explore.work import Listeners, Look, Work
from btflow.link.run import simulate_link
from btflow.link.scenario import LinkScenario
from btflow.options import Fidelity
from btflow.plots.style import counted_times, figure, linked
from btflow.swarm.flow_limits import check_flow
from btflow.swarm.run import simulate
from btflow.swarm.scenario import Scenario
from btflow.units.formatting import ratio_in_words

View = Callable[[xr.Dataset], go.Figure]

MARK = " (flow)"
"""How the titles of flow's figures end: one that is saved as a picture has no words beside it."""


@cache
def _unknown() -> go.Figure:
    """Return what keeps the place of the figure of what flow does not know: always the same, which is drawn once."""
    drawn = figure(f"What held unchoked connections back{MARK}", "", "")
    drawn.update_layout(xaxis={"visible": False}, yaxis={"visible": False})
    place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}
    return drawn.add_annotation(text="known at full fidelity only", showarrow=False, **place)


SWARM: dict[str, View] = {
    "completion": plots.completion_cdf,
    "pieces": plots.pieces_over_time,
    "causes": plots.why_slow,
}
FLOW: dict[str, View] = {
    "completion": lambda result: marked(plots.completion_cdf(result)),
    "pieces": lambda result: marked(plots.pieces_over_time(result)),
    "causes": lambda _: _unknown(),
}
LINKED: dict[str, View] = {**SWARM, "queues": plots.uplink_queue_ccdf}
FLOW_LINKED: dict[str, View] = {**FLOW, "queues": lambda result: marked(plots.uplink_queue_ccdf(result))}
LINK: dict[str, View] = {
    "windows": plots.windows,
    "rates": plots.rates,
    "queue": plots.queue,
    "queues": plots.queue_ccdf,
}

FLOW_SAYS = "Flow, an approximation"
"""How the words of what flow found begin."""


class Asked(NamedTuple):
    """A model and the seed of its random numbers."""

    scenario: Scenario | LinkScenario
    seed: int


class Seen(NamedTuple):
    """What is to be seen of a request: a result, its figures by name, what they say, as HTML, and the request.

    Links have no fidelity: theirs is called full. Figures that come later are named, too.
    """

    result: xr.Dataset
    figures: Mapping[str, go.Figure]
    words: str = ""
    asked: tuple[object, ...] = ()
    fidelity: Fidelity = "full"
    late: tuple[str, ...] = ()


def see(asked: Asked, look: Look) -> Iterator[Seen]:
    """Simulate and draw: what a ``Work`` runs."""
    look(0.0)
    model, seed = asked
    if isinstance(model, LinkScenario):
        yield _seen(asked, simulate_link(model, seed=seed, progress=look))
        return
    wait_for_swarms(look)
    flow = _flow(model, seed, look)
    if flow is not None:
        first = _seen(asked, flow, f"{FLOW_SAYS}: mean completion {_seconds(flow)}.", _FIRST)
        yield first
        if look.last():  # else the next value of the slider comes before the others
            rest = {name: first.figures.get(name) or view(flow) for name, view in views(flow).items()}
            yield first._replace(figures=rest, late=())
        look.rest()
    full = simulate(model, seed=seed, progress=look)
    said = "" if flow is None else f"; flow said {_seconds(flow)}, {off_by(_mean(flow), _mean(full))}"
    yield _seen(asked, full, f"Full: mean completion {_seconds(full)}{said}." if said else "")


def views(result: xr.Dataset) -> Mapping[str, View]:
    """Return the figures that there are of a result."""
    if "peer" not in result.dims:
        return LINK
    if result.attrs["fidelity"] == "flow":
        return FLOW_LINKED if linked(result) else FLOW
    return LINKED if linked(result) else SWARM


def has_flow(*models: Scenario | LinkScenario) -> bool:
    """Return whether flow can run all of these."""
    try:
        for model in models:
            if isinstance(model, LinkScenario):
                return False
            check_flow(model)
    except ScenarioError:
        return False
    return True


def marked(drawn: go.Figure) -> go.Figure:
    """Return a figure of flow with a title that says so."""
    drawn.layout.title.text += MARK
    return drawn


def off_by(flow: float, full: float, to: str = "") -> str:
    """Return in words how far flow was off, against what is named if it is."""
    return ratio_in_words(flow / full, "longer", "shorter", "as long", to=to)


def paragraph(verdict: str, words: str = "") -> str:
    """Return a verdict in bold, and other words, as HTML; screen readers say them whenever they change."""
    return f'<p role="status"><b>{html.escape(verdict)}</b> {html.escape(words)}</p>'


def _flow(scenario: Scenario, seed: int, look: Look) -> xr.Dataset | None:
    """Return what flow finds of a swarm; None if it has none of it. The progress that is shown is full's alone."""
    if not has_flow(scenario):
        return None
    try:
        return simulate(scenario, seed=seed, fidelity="flow", progress=lambda _: look(0.0))
    except (SimulationError, MemoryError):  # full may finish, or says why it does not
        return None


_FIRST = ("completion", "pieces")
"""The figures of a swarm that are drawn at once while an input moves."""


def _seen(asked: Asked, result: xr.Dataset, words: str = "", first: Iterable[str] = ()) -> Seen:
    """Return what is to be seen of a result; with the first figures alone, the others are late."""
    known = views(result)
    drawn = {name: view(result) for name, view in known.items() if not first or name in first}
    late = tuple(name for name in known if name not in drawn)
    return Seen(result, drawn, paragraph(plots.verdict(result), words), asked, result.attrs["fidelity"], late)


def _seconds(result: xr.Dataset) -> str:
    return f"{float(f'{_mean(result):.4g}'):g} s"


def _mean(result: xr.Dataset) -> float:
    """Return the mean completion time of the downloads that count [s]."""
    return float(np.nanmean(counted_times(result)))


SHORT = 0.3
"""Runs that are over within this time [s] show no progress: it would only flicker."""


class Stage:
    """Figures, and above them what they say, whether they are of the inputs, and how far a run is.

    Figures of earlier inputs are dimmed, and it is said why.

    Args:
        figures: What is dimmed.
        cancel: Ends what runs.
        run: Returns the run that the inputs stand for, so that it can be watched; None if there is none to watch.

    Attributes:
        widget: All of it; what is above the figures keeps its height, so that nothing moves when it appears.
        words: What the figures say, as HTML.
        watch: The run to watch in place of the figures; None if there is none.
    """

    def __init__(
        self, figures: widgets.Widget, cancel: Callable[[], None], run: Callable[[], Run] | None = None
    ) -> None:
        self._cancel = cancel
        self._begun = 0.0
        self._busy: set[str] = set()
        self.watch = Watch(run, figures, self._show, self.progress, partial(self.busy, of="motion")) if run else None
        self._refused = self._late = ""
        self.words, self._message = widgets.HTML(), widgets.HTML()
        self._bar = widgets.FloatProgress(min=0.0, max=1.0, layout={"flex": "1 1 80px", "min_width": "40px"})
        self._button = widgets.Button(description="Cancel", tooltip="stop the run", layout={"width": "80px"})
        self._button.on_click(lambda _: self._cancelled())
        self._run = widgets.HBox([self._bar, self._button], layout={"visibility": "hidden"})
        choice = [self.watch.choice] if self.watch else []
        status = widgets.HBox([*choice, self._run, self._message])
        for part, name in ((self.words, "words"), (self._message, "message"), (self._run, "run"), (status, "status")):
            part.add_class(f"btflow-{name}")
        figures.add_class("btflow-drawn")
        self.widget = widgets.VBox([self.words, status, figures, *([self.watch.widget] if self.watch else [])])
        self.widget.add_class("btflow-views")

    @property
    def text(self) -> str:
        """The message, empty for none."""
        return html.unescape(str(self._message.value).removeprefix(_ALERT).removesuffix("</span>"))

    @property
    def share(self) -> float | None:
        """The share done that is shown, None if no progress is."""
        return float(self._bar.value) if self._run.layout.visibility is None else None

    def busy(self, runs: bool, of: str = "figures") -> None:
        """Show that something runs, once it has for a while; or that nothing does."""
        if runs:
            self._begun = time.monotonic()
            self._busy.add(of)
        else:
            self._busy.discard(of)
        if not self._busy:
            self._run.layout.visibility = "hidden"

    def follow(self) -> None:
        """Watch the run of the inputs, if one is watched."""
        if self.watch is not None:
            self.watch.follow()

    def progress(self, share: float) -> None:
        """Show a share done."""
        if time.monotonic() - self._begun >= SHORT:
            self._bar.value = share
            self._run.layout.visibility = None

    def refuse(self, labels: str) -> None:
        """Say that inputs are refused, or with an empty text that none is."""
        self._refused = f"{labels}: refused; see there. {BEFORE}" if labels else ""
        self._show()

    def late(self, why: str) -> None:
        """Say why the figures are not those of the inputs; they are if there is nothing to say."""
        self._late = why
        self._show()

    def say(self, text: str) -> None:
        """Say something of figures that are those of the inputs."""
        self._late = ""
        self._show(text)

    def _show(self, said: str = "") -> None:
        text = self._refused or self._late
        shown = text or said
        self._message.value = f"{_ALERT}{html.escape(shown)}</span>" if shown else ""
        (self.widget.add_class if text else self.widget.remove_class)("btflow-stale")
        (self.widget.add_class if text == RUNNING else self.widget.remove_class)("btflow-running")
        (self.widget.add_class if self._refused else self.widget.remove_class)("btflow-refusing")

    def _cancelled(self) -> None:
        if self.watch is not None:
            self.watch.cancel()
        self._cancel()


_ALERT = '<span role="alert">'

BEFORE = "The figures are of the inputs before."
RUNNING = f"{BEFORE} The new ones are on their way."
CANCELLED = f"Cancelled. {BEFORE}"
STAYS = "Cancelled. The figures are those of flow."

FIRST = 2.0
"""How long to wait for the first figures [s], so that a page or a notebook's cell begins with quick ones."""


class Answer(Protocol):
    """What comes of a request."""

    @property
    def asked(self) -> tuple[object, ...]:
        """The request."""

    @property
    def fidelity(self) -> Fidelity:
        """That of what is drawn."""


Request = TypeVar("Request")
Found = TypeVar("Found", bound=Answer)


class Background(Generic[Request, Found]):
    """Shows on a stage what comes of requests in the background, and says whether it is of the inputs.

    Attributes:
        seen: What is shown; None before the first.
        stage: Figures, what they say, progress and errors.
        whole: What is missing while the figures are those of flow.
    """

    stage: Stage
    seen: Found | None = None
    whole = "Full"
    _work: Work[Request, Found]
    _asked: Request | None = None
    _subject: Callable[[Any], object] = staticmethod(lambda request: request)
    _ended: Callable[[], None]

    @property
    def busy(self) -> bool:
        """Whether something is asked for that is not shown yet."""
        return self._work.busy

    def wait(self, timeout: float = 60.0) -> bool:
        """Wait until all is shown; return whether that is so within a time [s]."""
        return self._work.wait(timeout)

    def cancel(self) -> None:
        """End what runs."""
        self._work.cancel()
        if self._belongs():
            self.stage.say(STAYS if self.seen and self.seen.fidelity == "flow" else "Cancelled.")
        else:
            self.stage.late(CANCELLED)

    def _belongs(self) -> bool:
        """Return whether the figures are those of the inputs."""
        return self.seen is not None and self._subject(self.seen.asked) == self._subject(self._asked)

    def _fail(self, text: str) -> None:
        """Say what went wrong; after flow's figures, which stay, that they do."""
        if self._belongs():
            self.stage.say(f"{self.whole}: {text}. The figures are those of flow.")
        else:
            self.stage.late(f"{text}. {BEFORE}" if self.seen is not None else text)

    def _busy(self, runs: bool) -> None:
        self.stage.busy(runs)
        if not runs:
            self._ended()


class Canvas(Background[Request, Seen]):
    """Asks for figures in the background and shows them when they come.

    Args:
        compute: Yields what is to be seen of a request, once or several times.
        names: Of all figures that it may yield.
        ended: Called when all that was asked for is shown, cancelled or has failed.
        height: Height of a figure [px].
        subject: Returns of a request what figures are of: those of another one with the same subject belong to it.
        run: Returns the run that can be watched in their place; None if there is none.

    Attributes:
        gallery: The figures.
    """

    def __init__(
        self,
        compute: Callable[[Request, Look], Iterator[Seen]],
        names: Iterable[str],
        ended: Callable[[], None] = lambda: None,
        height: int = HEIGHT,
        subject: Callable[[Any], object] = lambda request: request,
        run: Callable[[], Run] | None = None,
    ) -> None:
        self._ended, self._subject = ended, subject
        self.gallery = Gallery(names, height)
        self.stage = Stage(self.gallery.widget, self.cancel, run)
        listeners = Listeners(self._show, self._fail, self.stage.progress, self._busy, self.stage.late)
        self._work = Work(compute, listeners)

    def ask(self, request: Request) -> None:
        """Show what is to be seen of a request; what was asked for before and is not shown yet may never be."""
        self._asked = request
        self.stage.late("" if self._belongs() else RUNNING)
        self._work.ask(request)
        self.stage.follow()

    def first(self) -> None:
        """Wait for the first figures, full's if it is quick, so that a page or a notebook's cell begins with them."""
        self._work.wait(FIRST, lambda: self.seen is not None and self.seen.fidelity == "full")

    def _show(self, seen: Seen) -> None:
        self.gallery.show(seen.figures, seen.late)
        self.stage.words.value = seen.words
        self.seen = seen
        self.stage.late("" if self._belongs() else RUNNING)
