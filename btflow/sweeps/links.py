"""Link experiments, as a sweep runs them."""

from __future__ import annotations

from collections.abc import Callable

from btflow import memory
from btflow.errors import InputError, ScenarioError
from btflow.kernels.fluid.state import Fluid
from btflow.kernels.link.state import State
from btflow.link import run
from btflow.link.fluid import build_fluid, check
from btflow.link.program import compile_link
from btflow.link.scenario import LinkScenario
from btflow.link.state import LinkProgram, build, state_bytes
from btflow.options import MAX_SEED, Fidelity
from btflow.sweeps.link_statistics import Experiment, LinkStatistics, group_names, queue_names


def replica_seed(seed: int, replica: int) -> int:
    """Return the seed of ``btflow link`` that gives a replica of a point with some seed; 0 follows the greatest."""
    return (seed + replica) & MAX_SEED


class Links:
    """The kind of link experiments."""

    keeps: tuple[str, ...] = ()
    seed = "seed of the point's replica 0, replica r has it plus r"

    def compile(self, scenario: LinkScenario, fidelity: Fidelity = "full") -> LinkProgram:
        """Return the program of an experiment at a fidelity."""
        return compile_link(scenario, fidelity)

    def check_flow(self, scenario: LinkScenario) -> None:
        """Raise a ScenarioError if flow does not run an experiment."""
        check(scenario)

    def bytes(self, program: LinkProgram) -> int:
        """Return the memory that an experiment takes [B]."""
        return state_bytes(program)

    def check_memory(self, scenario: LinkScenario, need: int) -> None:
        """Raise an InputError if an experiment needs more memory [B] than there is."""
        have = memory.available()
        if need > have:
            raise ScenarioError(
                "flows",
                sum(flow.count for flow in scenario.flows),
                f"need {need / 1e9:,.1f} GB of memory",
                f"{have / 1e9:,.1f} GB: fewer flows, smaller windows, a shorter duration or a longer sample period",
            )

    def load_kernels(self, program: LinkProgram) -> None:
        """Load or compile the kernels."""
        run.load_kernels(program)

    def figures(self, scenario: LinkScenario, program: LinkProgram) -> LinkStatistics:
        """Return what is found of each experiment."""
        return LinkStatistics(group_names(scenario), queue_names(scenario), program.fidelity)

    def common(self, scenario: LinkScenario, program: LinkProgram, figures: LinkStatistics) -> Experiment:
        """Return what all runs of a program have in common; an InputError if it has other flows or access links."""
        if (group_names(scenario), queue_names(scenario)) != (figures.groups, figures.queues):
            raise InputError("flows", None, "differ from the other points'", "the same groups and access links")
        return Experiment(scenario, program)

    def start(self, program: LinkProgram, seed: int, replica: int) -> State | Fluid:
        """Return the state of a run before its first event."""
        make = build_fluid if program.fidelity == "flow" else build
        return make(program, replica_seed(seed, replica))

    def run(self, program: LinkProgram, seed: int, replica: int, watch: Callable[[], None]) -> State:
        """Return the state of a run at its end: that of ``simulate_link`` with the replica's seed."""
        return run.run_link(program, replica_seed(seed, replica), lambda _: watch())

    def collect(self, program: LinkProgram, state: State, *, series: bool) -> State:  # noqa: ARG002  # as Kind says
        """Return what is kept of a run until its figures are found: all of it."""
        return state
