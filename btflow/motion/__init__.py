"""Runs that can be watched: recorded as traces, played in a notebook or the page, and saved as one HTML file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from btflow.errors import InputError
from btflow.link.scenario import LinkScenario
from btflow.motion.export import save
from btflow.motion.trace import Trace
from btflow.options import MAX_SEED, Fidelity, fidelity_of, whole_number
from btflow.plots.style import COLOURS
from btflow.swarm.scenario import Scenario
from btflow.units.parsing import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Trace", "record", "save"]


def record(
    scenario: Scenario | LinkScenario,
    *,
    seed: int = 0,
    start: str | float | None = None,
    length: str | float | None = None,
    fidelity: Fidelity = "full",
    progress: Callable[[float], None] | None = None,
) -> Trace:
    """Run a model and return what moved in it: packets and windows of a link, pieces and uplinks of a swarm.

    Watching changes nothing: of the same scenario and seed it is what `btflow.simulate` and `btflow.simulate_link` find.

    Args:
        scenario: What ``btflow.load`` or ``btflow.load_link`` returns.
        seed: Seed of the random numbers; of a swarm the first replica is recorded.
        start: Of a link: simulated time at which the trace begins, as "20 s" or in seconds; default 0. A swarm is
            recorded whole.
        length: Of a link: how much of it is recorded; default 3000 full packets of the bottleneck or 20 round trips,
            whichever takes longer. A trace ends earlier where it holds 50,000 packets and ACKs.
        fidelity: ``"full"``, or of a swarm ``"flow"``. A link has no packets in flow.
        progress: Called a few times a second with the share done.

    Returns:
        A trace, at most 2 MB: play it with ``btflow.explore.motion(trace)`` in a notebook, or ``save`` it.

    Raises:
        InputError: An argument is wrong, the link has no queue, or the swarm is too large for a trace.
        SimulationError: A swarm does not finish.
    """
    number = whole_number("seed", seed, 0, MAX_SEED)
    which = fidelity_of("fidelity", fidelity)
    if isinstance(scenario, LinkScenario):
        if which == "flow":
            raise InputError("fidelity", fidelity, "has no packets to watch", '"full"')
        found = _record_link(scenario, number, start, length, progress)
    elif isinstance(scenario, Scenario):
        for field, value in (("start", start), ("length", length)):
            if value is not None:
                raise InputError(field, value, "is for links: a swarm is recorded whole", "none")
        from btflow.motion import swarm

        found = swarm.record(scenario, number, which, progress)
    else:
        raise InputError("scenario", scenario, "is not a scenario", 'such as btflow.load("rao2010")')
    return Trace({**found.about, "colours": list(COLOURS)}, found.columns)


def _record_link(
    scenario: LinkScenario, seed: int, start: object, length: object, progress: Callable[[float], None] | None
) -> Trace:
    from btflow.motion import link

    if not scenario.queues:
        raise InputError("scenario", scenario.title, "has nothing to show: no queue has a limited rate", "a limited rate")
    begin = 0.0 if start is None else _seconds("start", start, 0.0)
    if not begin < scenario.duration:
        raise InputError("start", start, "is not before the end", f"less than the duration, {scenario.duration:g} s")
    return link.record(scenario, seed, begin, None if length is None else _seconds("length", length, 1e-6), progress)


def _seconds(field: str, value: object, least: float) -> float:
    """Return a time [s], given as text with a unit or as a number of seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        value = f"{value!r} s"
    return float(parse_quantity(value, "time", field=field, minimum=least))  # type: ignore[arg-type]
