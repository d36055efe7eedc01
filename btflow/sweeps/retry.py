"""Has swarms that failed run again: for want of memory, say, of which there may be more now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import zarr

from btflow.sweeps.cells import cells
from btflow.sweeps.plan import Plan
from btflow.sweeps.status import FAILED, PENDING
from btflow.sweeps.store import open_store

EVERY: Any = {"write_empty_chunks": True}
"""A chunk keeps its file when nothing is in it any more."""


def forget_failures(path: Path, plan: Plan) -> None:
    """Make every failed swarm of a store one that has not been run; the others stay as they are.

    Raises:
        InputError: The store is of another sweep, or another process writes to it.
        OSError: It cannot be written.
    """
    division = cells(plan.shape, plan.job.shape.bytes)
    with open_store(path, plan, resume=True):  # what was in the journal is in the arrays now, and nobody else writes
        group: Any = zarr.open_group(path, mode="r+")
        status, failure = (group[name].with_config(EVERY) for name in ("status", "failure"))
        for region in map(division.region, range(division.count)):
            found = np.asarray(status[region])
            if (found == FAILED).any():
                group.attrs["complete"] = 0
                status[region] = np.where(found == FAILED, PENDING, found).astype(np.int8)
                failure[region] = np.where(found == FAILED, "", np.asarray(failure[region], object))
