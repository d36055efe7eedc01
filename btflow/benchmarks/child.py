"""The other side of `process`: one task as JSON on the command line, what it measured as JSON on stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from btflow.errors import InputError, SimulationError


def one_swarm(settings: Mapping[str, object], model: str) -> dict[str, float]:
    """Run one swarm: its CPU time with set-up [s], the process's peak memory and its memory before the swarm [B]."""
    from btflow.benchmarks.measure import SEED, SMALL
    from btflow.catalog import load
    from btflow.program import compile_scenario
    from btflow.simulation import check_memory, run_swarm
    from btflow.swarm import state_bytes

    run_swarm(compile_scenario(load(model).set(**SMALL)), SEED, 0)
    scenario = load(model).set(**settings)
    before, begin = resident_memory(), time.process_time()
    program = compile_scenario(scenario)
    check_memory(scenario, state_bytes(program))
    run_swarm(program, SEED, 0)
    return {"cpu": time.process_time() - begin, "before": before, "peak": peak_memory(), "peers": program.klass.size}


def many_swarms(settings: Mapping[str, object], model: str, replicas: int, workers: int) -> dict[str, float]:
    """Run replicas of a swarm as a sweep: elapsed time [s] and the process's peak memory [B]."""
    from btflow.benchmarks.sweeping import ONE, sweep
    from btflow.catalog import load

    return {"wall": sweep(load(model).set(**settings), ONE, replicas, workers).wall, "peak": peak_memory()}


TASKS: Mapping[str, Callable[..., dict[str, float]]] = {"one_swarm": one_swarm, "many_swarms": many_swarms}


def peak_memory() -> int:
    """Return the most resident memory that this process has had [B].

    Linux's ru_maxrss begins at what the parent process had, VmHWM at nothing.
    """
    return _status("VmHWM") or _usage()


def resident_memory() -> int:
    """Return the resident memory of this process [B]; the most it has had where the system does not say."""
    return _status("VmRSS") or _usage()


def _status(name: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name + ":")), 0)


def _usage() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Do the task; an error of ours is one line on stderr."""
    options = json.loads(sys.argv[1])
    try:
        print(json.dumps(TASKS[options.pop("task")](**options)))
    except (InputError, SimulationError, MemoryError) as error:
        sys.exit(str(error) or "out of memory")


if __name__ == "__main__":
    main()
