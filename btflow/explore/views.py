"""Which figures a model has, and how they are found: in the background, with progress.

A swarm that flow can run is drawn from it until the inputs rest, and then from full, with how far flow was off.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from btflow import plots
from btflow.errors import ScenarioError, SimulationError
from btflow.explore.warm import flow_is_there
from btflow.explore.work import Look
from btflow.link.run import simulate_link
from btflow.link.scenario import LinkScenario
from btflow.options import Fidelity
from btflow.plots.style import counted_times, figure, linked
from btflow.swarm.flow_limits import check_flow
from btflow.swarm.run import simulate
from btflow.swarm.scenario import Scenario

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

    Links have no fidelity: theirs is called full.
    """

    result: xr.Dataset
    figures: Mapping[str, go.Figure]
    words: str = ""
    asked: tuple[object, ...] = ()
    fidelity: Fidelity = "full"


def see(asked: Asked, look: Look) -> Iterator[Seen]:
    """Simulate and draw: what a ``Work`` runs."""
    look(0.0)
    model, seed = asked
    if isinstance(model, LinkScenario):
        yield _seen(asked, simulate_link(model, seed=seed, progress=look))
        return
    flow = _flow(model, seed, look)
    if flow is not None:
        yield _seen(asked, flow, f"{FLOW_SAYS}: mean completion {_seconds(flow)}.")
        look.rest()
    full = simulate(model, seed=seed, progress=look)
    yield _seen(asked, full, _difference(flow, full) if flow is not None else "")


def views(result: xr.Dataset) -> Mapping[str, View]:
    """Return the figures that there are of a result."""
    if "completion_time" not in result:
        return LINK
    if result.attrs["fidelity"] == "flow":
        return FLOW_LINKED if linked(result) else FLOW
    return LINKED if linked(result) else SWARM


def has_flow(*models: Scenario | LinkScenario) -> bool:
    """Return whether flow can run all of these, and at once."""
    try:
        for model in models:
            if isinstance(model, LinkScenario):
                return False
            check_flow(model)
    except ScenarioError:
        return False
    return flow_is_there()


def marked(drawn: go.Figure) -> go.Figure:
    """Return a figure of flow with a title that says so."""
    drawn.layout.title.text += MARK
    return drawn


def off_by(flow: float, full: float) -> str:
    """Return how far flow was off, in percent of full."""
    return f"{100 * (flow / full - 1):+.1f} %"


def paragraph(words: str) -> str:
    """Return words as HTML, what they are of in bold; screen readers say them whenever they change."""
    of, colon, said = html.escape(words).partition(":")
    return f'<p role="status"><b>{of}</b>{colon}{said}</p>'


def _flow(scenario: Scenario, seed: int, look: Look) -> xr.Dataset | None:
    """Return what flow finds of a swarm; None if it has none of it. The progress that is shown is full's alone."""
    if not has_flow(scenario):
        return None
    try:
        return simulate(scenario, seed=seed, fidelity="flow", progress=lambda _: look(0.0))
    except (SimulationError, MemoryError):  # full may finish, or says why it does not
        return None


def _seen(asked: Asked, result: xr.Dataset, words: str = "") -> Seen:
    drawn = {name: view(result) for name, view in views(result).items()}
    return Seen(result, drawn, words and paragraph(words), asked, result.attrs.get("fidelity", "full"))


def _difference(flow: xr.Dataset, full: xr.Dataset) -> str:
    """Return in words what full found, and how far flow was off."""
    return f"Full: mean completion {_seconds(full)}; flow said {_seconds(flow)}, {off_by(_mean(flow), _mean(full))}."


def _seconds(result: xr.Dataset) -> str:
    return f"{float(f'{_mean(result):.4g}'):g} s"


def _mean(result: xr.Dataset) -> float:
    """Return the mean completion time of the downloads that count [s]."""
    return float(np.nanmean(counted_times(result)))
