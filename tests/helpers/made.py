"""Made-up replicas with figures chosen by hand, so that what is computed from them can be too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from btflow import load
from btflow.kernels.swarm.state import BURST_BINS, CONTROL_BINS, GAP_BINS
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.replica import Replica, completion_rank, pieces_held, time_step
from btflow.swarm.results import to_dataset
from btflow.swarm.scenario import Scenario

PEERS = 4  # a seed and three leechers
BLOCK = 16384
MB = 2**20


def scenario(**values: object) -> Scenario:
    """Return one seed and three leechers with a file of four pieces."""
    return load("rao2010").set(**{"leechers": PEERS - 1, "file_size": "1 MB", **values})


def replica(have_time: Sequence[Sequence[float]] | None = None, **changes: Any) -> Replica:
    """Return a replica whose leechers get their pieces at `have_time` [s] (leechers, pieces)."""
    times = np.array(have_time or [[10, 20, 30, 40], [10, 20, 40, 80], [20, 40, 60, 100]], float)
    last = float(times.max())
    completion = np.concatenate([[np.nan], times.max(axis=1)])
    gaps = np.zeros((2, GAP_BINS), np.int64)
    gaps[0, 4], gaps[1, 1], gaps[1, 2] = 60, 10, 30
    control_gaps = np.zeros((2, CONTROL_BINS), np.int64)
    control_gaps[1, 0], control_gaps[1, 9] = 7, 3
    bursts = np.zeros(BURST_BINS)
    bursts[1], bursts[2], bursts[3] = 10, 4, 1
    fields: dict[str, Any] = {
        "cpu": 0.5,
        "last": last,
        "start": np.zeros(PEERS),
        "completion": completion,
        "rank": completion_rank(completion),
        "counted": ~np.isnan(completion),
        "present": last - np.asarray(changes.get("start", np.zeros(PEERS))),
        "sent": np.array([1.25 * MB, 1.0 * MB, 0.5 * MB, 0.25 * MB]),
        "received": np.array([0.0, 1.0 * MB, 1.0 * MB, 1.0 * MB]),
        "duplicates": np.array([0, 1, 0, 2]),
        "cancelled": np.array([0, 3, 0, 0]),
        "unchokes": np.array([8, 4, 2, 0]),
        "idle_ends": np.array([2, 0, 1, 0]),
        "held_for": np.array([[6, 2, 1, 1, 0], [1, 0, 0, 1, 2], [3, 0, 0, 0, 1], [0, 0, 0, 0, 0]], float),
        "slots": np.array([[40, 0, 0, 0], [6, 0, 0, 0]]),
        "gaps": gaps,
        "control_gaps": control_gaps,
        "bursts": bursts,
        "time_step": time_step(last),
        "held": pieces_held(times, time_step(last), last, np.arange(len(times))),
    }
    return Replica(**fields | changes)


def dataset(*rows: Replica, program: Program | None = None, **values: object) -> xr.Dataset:
    """Return the Dataset of some replicas of `scenario(**values)`; two alike but for their times by default."""
    made = scenario(**values)
    slower = [[20, 30, 40, 50], [20, 30, 50, 90], [30, 50, 70, 200]]
    return to_dataset(made, program or compile_scenario(made), rows or (replica(), replica(slower)), seed=7)
