"""Swarms, as a sweep runs them."""

from __future__ import annotations

from collections.abc import Callable

from btflow.errors import InputError
from btflow.kernels.access.state import Access
from btflow.kernels.flow.state import Flow
from btflow.kernels.swarm.state import Swarm
from btflow.options import Fidelity
from btflow.swarm import run as swarm_run
from btflow.swarm.flow_limits import check_flow
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.replica import Replica, collect
from btflow.swarm.scenario import Scenario
from btflow.sweeps.statistics import Peers, Statistics, peers

State = tuple[Swarm | Flow, Access | None]
"""Of a swarm, and of its links."""


class Swarms:
    """The kind of swarms."""

    keeps: tuple[str, ...] = ("peers", "series")
    seed = "seed of the point's replicas"

    def compile(self, scenario: Scenario, fidelity: Fidelity = "full") -> Program:
        """Return the program of a scenario at a fidelity."""
        return compile_scenario(scenario, fidelity)

    def check_flow(self, scenario: Scenario) -> None:
        """Raise a ScenarioError if flow does not run a scenario."""
        check_flow(scenario)

    def bytes(self, program: Program) -> int:
        """Return the memory that a swarm takes [B]."""
        return swarm_run.swarm_bytes(program)

    def check_memory(self, scenario: Scenario, need: int) -> None:
        """Raise an InputError if a swarm needs more memory [B] than there is."""
        swarm_run.check_memory(scenario, need)

    def load_kernels(self, program: Program) -> None:
        """Load or compile the kernels that a program needs."""
        swarm_run.load_kernels(program)

    def figures(self, scenario: Scenario, program: Program) -> Statistics:
        """Return what is found of each swarm."""
        return Statistics(program.class_names, scenario.linked, program.fidelity)

    def common(self, scenario: Scenario, program: Program, figures: Statistics) -> Peers:
        """Return what all swarms of a program have in common; an InputError if they have other classes of peers."""
        if program.class_names != figures.classes:
            raise InputError("classes", program.class_names, "differ from the other points'", "the same classes")
        return peers(program, scenario.swarm.file_size)

    def start(self, program: Program, seed: int, replica: int) -> State:
        """Return the state of a swarm before its first event."""
        return swarm_run.start(program, seed, replica)

    def run(self, program: Program, seed: int, replica: int, watch: Callable[[], None]) -> State:
        """Return the state of a swarm at its end: that of ``simulate`` with the point's seed."""
        return swarm_run.run_with_links(program, seed, replica, lambda _: watch())

    def collect(self, program: Program, state: State, *, series: bool) -> Replica:
        """Return what is kept of a swarm, the times of its pieces if there are to be time series."""
        swarm, links = state
        return collect(program, swarm, 0.0, links, series=series)
