"""Runs that can be watched: recorded as traces, played in a notebook and in a page, saved as one HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btflow.errors import InputError
from btflow.motion.trace import Trace

if TYPE_CHECKING:
    from btflow.motion.link import Progress
    from btflow.link.scenario import LinkScenario
    from btflow.swarm.scenario import Scenario


def record(scenario: Scenario | LinkScenario, *, seed: int = 0, start: object = 0.0, length: object = None, progress: Progress | None = None) -> Trace:
    from btflow.motion.link import record as record_link
    from btflow.plots.style import COLOURS
    t = record_link(scenario, seed, start, length, progress)
    return Trace(dict(t.about) | {"colours": list(COLOURS)}, t.columns)
