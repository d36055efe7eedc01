"""Which figures a model has, and how they are found: in the background, with progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import plotly.graph_objects as go
import xarray as xr

from btflow import plots
from btflow.explore.work import Look
from btflow.link.scenario import LinkScenario
from btflow.link.simulation import simulate_link
from btflow.plots.style import linked
from btflow.scenario import Scenario
from btflow.simulation import simulate

View = Callable[[xr.Dataset], go.Figure]

SWARM: dict[str, View] = {
    "completion": plots.completion_cdf,
    "pieces": plots.pieces_over_time,
    "causes": plots.why_slow,
}
LINKED: dict[str, View] = {**SWARM, "queues": plots.uplink_queue_ccdf}
LINK: dict[str, View] = {
    "windows": plots.windows,
    "rates": plots.rates,
    "queue": plots.queue,
    "queues": plots.queue_ccdf,
}


class Asked(NamedTuple):
    """A model and the seed of its random numbers."""

    scenario: Scenario | LinkScenario
    seed: int


class Seen(NamedTuple):
    """What is to be seen of a request: a result, its figures by name, what they say, as HTML, and the request."""

    result: xr.Dataset
    figures: Mapping[str, go.Figure]
    words: str = ""
    asked: tuple[object, ...] = ()


def see(asked: Asked, look: Look) -> Iterator[Seen]:
    """Simulate and draw: what a ``Work`` runs."""
    look(0.0)
    if isinstance(asked.scenario, LinkScenario):
        result = simulate_link(asked.scenario, seed=asked.seed, progress=look)
    else:
        result = simulate(asked.scenario, seed=asked.seed, progress=look)
    yield Seen(result, {name: view(result) for name, view in views(result).items()}, asked=asked)


def views(result: xr.Dataset) -> Mapping[str, View]:
    """Return the figures that there are of a result."""
    if "completion_time" not in result:
        return LINK
    return LINKED if linked(result) else SWARM
