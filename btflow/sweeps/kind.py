"""What a sweep has to know of what it runs: swarms, or link experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from btflow.config.kinds import ParametrisedModel
from btflow.link.scenario import LinkScenario
from btflow.options import Fidelity
from btflow.sweeps.figures import Figures
from btflow.sweeps.links import Links
from btflow.sweeps.swarms import Swarms


class Kind(Protocol):
    """How the runs of a kind of scenario are made, run and looked at.

    Attributes:
        keeps: What can be kept of a run besides its figures.
        seed: What the seed of a point is.
    """

    keeps: tuple[str, ...]
    seed: str

    def compile(self, scenario: Any, fidelity: Fidelity = "full") -> Any:
        """Return the program of a scenario at a fidelity; an InputError if there is none."""

    def check_flow(self, scenario: Any) -> None:
        """Raise an InputError if flow does not run a scenario."""

    def bytes(self, program: Any) -> int:
        """Return the memory that a run takes [B]."""

    def check_memory(self, scenario: Any, need: int) -> None:
        """Raise an InputError if a run of a scenario needs more memory [B] than there is."""

    def load_kernels(self, program: Any) -> None:
        """Load or compile the kernels that a program needs."""

    def figures(self, scenario: Any, program: Any) -> Figures:
        """Return what is found of each run of a sweep to which a scenario belongs."""

    def common(self, scenario: Any, program: Any, figures: Any) -> Any:
        """Return what all runs of a program have in common; an InputError if they have not the figures."""

    def start(self, program: Any, seed: int, replica: int) -> Any:
        """Return the state of a run before its first event."""

    def run(self, program: Any, seed: int, replica: int, watch: Callable[[], None]) -> Any:
        """Return the state of a run at its end.

        Args:
            program: The program.
            seed: Seed of the point.
            replica: Number of the replica.
            watch: Called a few times a second; what it raises ends the run.
        """

    def collect(self, program: Any, state: Any, *, series: bool) -> Any:
        """Return what is kept of a run, with what its time series are made of or without."""


_SWARMS, _LINKS = Swarms(), Links()


def kind_of(model: type[ParametrisedModel]) -> Kind:
    """Return the kind of some class of scenarios."""
    return _LINKS if issubclass(model, LinkScenario) else _SWARMS
