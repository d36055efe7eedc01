"""Runs that can be watched: recorded as traces, played in a notebook or the page, and saved as one HTML file."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from btflow.errors import InputError
from btflow.files import extra
from btflow.link.options import scenario_from
from btflow.link.scenario import LinkScenario
from btflow.motion.trace import Trace, page, save
from btflow.options import MAX_SEED, Fidelity, fidelity_of, whole_number
from btflow.plots.style import COLOURS
from btflow.swarm.scenario import Scenario
from btflow.units.parsing import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from btflow.explore.motion import Motion

__all__ = ["Trace", "check", "page", "record", "save", "show"]


def __dir__() -> list[str]:
    return sorted(__all__)


def record(
    scenario: Scenario | LinkScenario | None = None,
    *,
    seed: int = 0,
    start: str | float | None = None,
    length: str | float | None = None,
    fidelity: Fidelity = "full",
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> Trace:
    """Run a model and return what moved in it: packets and windows of a link, pieces and uplinks of a swarm.

    Watching changes nothing: of the same scenario and seed it is what `btflow.simulate` or `simulate_link` finds.

    Args:
        scenario: What ``btflow.load`` or ``btflow.load_link`` returns; or none, and a link is given by options.
        seed: Seed of the random numbers; of a swarm the first replica is recorded.
        start: Of a link: simulated time at which the trace begins, as "20 s" or in seconds; default 0. A swarm is
            recorded whole.
        length: Of a link: how much of it is recorded; default 3000 full packets of the bottleneck or 20 round trips,
            whichever takes longer. A trace ends earlier where it holds 50,000 packets and ACKs.
        fidelity: ``"full"``, or of a swarm ``"flow"``. A link has no packets in flow.
        progress: Called a few times a second with the share done.
        options: Those of `btflow.simulate_link`, such as ``rate="1 Mbit/s", flows=["cubic:2"], duration="60 s"``.

    Returns:
        A trace, at most 2 MB. A notebook shows it as a player; ``save`` writes it as a page, ``show`` makes a widget.

    Raises:
        InputError: An argument is wrong, the link has no queue, or the swarm is too large for a trace.
        SimulationError: A swarm does not finish.
    """
    if scenario is None:
        scenario = scenario_from(**options)
    elif options:
        raise InputError(next(iter(options)), None, "is given together with a scenario", "one of them")
    number = whole_number("seed", seed, 0, MAX_SEED)
    begin, span = check(scenario, start=start, length=length, fidelity=fidelity)
    if isinstance(scenario, LinkScenario):
        from btflow.motion import link

        found = link.record(scenario, number, begin, span, progress)
    else:
        from btflow.motion import swarm

        found = swarm.record(scenario, number, fidelity, progress)
    return Trace({**found.about, "colours": list(COLOURS)}, found.columns)


def check(
    scenario: Scenario | LinkScenario,
    *,
    start: str | float | None = None,
    length: str | float | None = None,
    fidelity: Fidelity = "full",
) -> tuple[float, float | None]:
    """Return where a trace begins and how long it is [s], before any work is done; arguments and errors of `record`."""
    which = fidelity_of("fidelity", fidelity)
    if isinstance(scenario, LinkScenario):
        return _check_link(scenario, start, length, which)
    if not isinstance(scenario, Scenario):
        raise InputError("scenario", scenario, "is not a scenario", 'such as btflow.load("rao2010")')
    for field, value in (("start", start), ("length", length)):
        if value is not None:
            raise InputError(field, value, "is for links: a swarm is recorded whole", "none")
    from btflow.motion import swarm

    swarm.check(scenario)
    return 0.0, None


def show(trace: Trace) -> Motion:
    """Return a widget that plays a trace, for a notebook; its ``time`` [s] can be read, set and observed.

    Raises:
        InputError: It is no trace, or the extra ``notebook`` is not installed.
    """
    if not isinstance(trace, Trace):
        raise InputError("trace", trace, "is not a trace", "what btflow.motion.record returns")
    if find_spec("anywidget") is None:
        raise InputError("show", None, "needs the package anywidget", extra("notebook"))
    from btflow.explore.motion import Motion

    return Motion(trace)


def _check_link(scenario: LinkScenario, start: object, length: object, fidelity: str) -> tuple[float, float | None]:
    if fidelity == "flow":
        raise InputError("fidelity", fidelity, "has no packets to watch", '"full"')
    if not scenario.queues:
        raise InputError(
            "scenario", scenario.title, "has nothing to show: no queue has a limited rate", "a limited rate"
        )
    cells = [name for name, queue in scenario.queues.items() if queue.link_layer == "atm"]
    for name in [*scenario.courses, *(f"access.{name}.link_layer" for name in cells)]:
        raise InputError(
            name,
            None,
            "has no motion: it draws rates that are constant and packets whole",
            "rates and round-trip times that stay, no cells of ATM",
        )
    begin = 0.0 if start is None else _seconds("start", start, 0.0)
    if not begin < scenario.duration:
        raise InputError("start", start, "is not before the end", f"less than the duration, {scenario.duration:g} s")
    return begin, None if length is None else _seconds("length", length, 1e-6)


def _seconds(field: str, value: object, least: float) -> float:
    """Return a time [s], given as text with a unit or as a number of seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        value = f"{value!r} s"
    return float(parse_quantity(value, "time", field=field, minimum=least))  # type: ignore[arg-type]
