"""The other side of `process`: one task as JSON on the command line, what it measured as JSON on stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping

from btflow.errors import InputError, SimulationError
from btflow.options import Fidelity

from .memory import peak_memory, resident_memory, watched


def one_swarm(settings: Mapping[str, object], model: str, fidelity: Fidelity = "full") -> dict[str, float]:
    """Run one swarm: its CPU time with set-up [s], the process's peak memory and its memory before the swarm [B]."""
    from btflow.config.catalog import load
    from btflow.swarm.program import compile_scenario
    from btflow.swarm.run import check_memory, run_swarm, swarm_bytes

    from .measure import SEED, SMALL

    run_swarm(compile_scenario(load(model).set(**SMALL), fidelity), SEED, 0)
    scenario = load(model).set(**settings)
    before, begin = resident_memory(), time.process_time()
    program = compile_scenario(scenario, fidelity)
    check_memory(scenario, swarm_bytes(program))
    run_swarm(program, SEED, 0)
    return {"cpu": time.process_time() - begin, "before": before, "peak": peak_memory(), "peers": program.klass.size}


def many_swarms(settings: Mapping[str, object], model: str, replicas: int, workers: int) -> dict[str, float]:
    """Run replicas of a swarm as a sweep: elapsed time [s] and peak memory of the process and its children [B]."""
    from btflow.config.catalog import load

    from .sweeping import ONE, sweep

    with watched() as peak:
        wall = sweep(load(model).set(**settings), ONE, replicas, workers).wall
    return {"wall": wall, "peak": peak.bytes}


TASKS: Mapping[str, Callable[..., dict[str, float]]] = {"one_swarm": one_swarm, "many_swarms": many_swarms}


def main() -> None:
    """Do the task; an error of ours is one line on stderr."""
    options = json.loads(sys.argv[1])
    try:
        print(json.dumps(TASKS[options.pop("task")](**options)))
    except (InputError, SimulationError, MemoryError) as error:
        sys.exit(str(error) or "out of memory")


if __name__ == "__main__":
    main()
