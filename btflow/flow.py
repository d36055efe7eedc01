"""Run swarms at flow fidelity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from btflow.program import Program


def run(program: Program, seed: int, replica: int, watch: Callable[[Any], None] | None = None) -> Any:
    """Run one replica to the end and return its final state; SimulationError if it cannot finish."""
    from btflow import simulation

    return simulation.run_swarm(replace(program, fidelity="full"), seed, replica + 1000, watch)


def load_kernels(program: Program) -> None:
    """Load or compile the kernels."""
    from btflow import simulation

    simulation.load_kernels(replace(program, fidelity="full"))
