"""`btflow bench`: every section in turn, each printed when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from btflow.options import FIDELITIES, Fidelity

from . import growth, linked, many, scale, single, start, waits
from .machine import machine
from .measure import SMALL, measure, report
from .table import Section, as_text, goals_section

Step = Callable[[], Section]


def main(*, cold: bool = False, large: bool = False, fidelities: Sequence[Fidelity] = FIDELITIES) -> None:
    """Measure and print everything; progress goes to stderr.

    Args:
        cold: Also time a first run, with the kernels compiled anew in an empty cache.
        large: Also run what takes minutes: 1,008 mixed swarms, swarms of up to 100,000 peers, a sweep of 100,000,
            and 1,000 swarms on access links.
        fidelities: How the swarms are run, one after the other.
    """
    show(steps(cold=cold, large=large, fidelities=fidelities))


def show(made: Iterable[Step]) -> list[Section]:
    """Do the steps, print each section when it is done and the figures to reach at the end; return them all."""
    print("\n".join(machine()), flush=True)
    report("compiling or loading the kernels")
    for fidelity in FIDELITIES:
        measure(SMALL, 1, fidelity=fidelity)
    found = []
    for step in made:
        found.append(_done(step))
        print(f"\n{as_text(found[-1])}", flush=True)
    found.append(goals_section(found))
    print(f"\n{as_text(found[-1])}", flush=True)
    return found


def _done(step: Step) -> Section:
    """Do a step; what goes wrong in one does not lose the others."""
    try:
        return step()
    except Exception as error:
        reason = f"This could not be measured: {error or type(error).__name__}"
        return Section("Not measured", [], (reason,))


def steps(*, cold: bool, large: bool, fidelities: Sequence[Fidelity] = FIDELITIES) -> Iterator[Step]:
    """Yield what is measured, in the order of the report."""
    for fidelity in fidelities:
        yield partial(single.whole_swarm, fidelity)
        yield partial(many.throughput, large, fidelity)
        yield partial(growth.with_peers, fidelity)
        yield partial(scale.large_swarms, large, fidelity)
        yield partial(linked.swarms, fidelity)
    yield lambda: many.machinery(large)
    yield waits.waits
    yield growth.with_file_size
    yield growth.with_pieces
    if "flow" in fidelities:
        yield partial(linked.of_today, large)
        yield partial(linked.swept, large)
    yield single.links
    yield lambda: start.start(cold)
