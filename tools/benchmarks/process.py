"""Measurements in a process of their own, for what a process costs as a whole: its start and its peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from btflow.errors import SimulationError

LIMIT = 1800.0
"""Longest that a process may take [s]."""


def start_up(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """Return the elapsed time of the btflow command with `arguments` in a new process [s].

    Raises:
        SimulationError: The process failed.
    """
    begin = time.perf_counter()
    run_module(["btflow", *arguments], environment)
    return time.perf_counter() - begin


def measured(task: str, **options: Any) -> dict[str, Any]:
    """Return what a task of `btflow.benchmarks.child` measured in a new process.

    Raises:
        SimulationError: The process failed or took longer than LIMIT.
    """
    output = run_module(["btflow.benchmarks.child", json.dumps({"task": task, **options})])
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def run_module(module: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a module with its arguments and return what it printed.

    Raises:
        SimulationError: The process failed or took longer than LIMIT.
    """
    # -P: the btflow that is installed, not a checkout that happens to be the working directory.
    command, env = [sys.executable, "-P", "-m", *module], {**os.environ, **(environment or {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired as error:
        raise SimulationError(f"took longer than {LIMIT / 60:.0f} min") from error
    if done.returncode != 0:
        raise SimulationError(done.stderr.strip()[-500:] or f"ended with {done.returncode}")
    return done.stdout
