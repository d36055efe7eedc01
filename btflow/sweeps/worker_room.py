"""How many swarms run at once in a worker of Dask: as many as fit into the memory that it may take."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

from btflow import memory
from btflow.sweeps import room

_making = threading.Lock()


def seats(sweep: str, need: int) -> threading.BoundedSemaphore:
    """Return what a thread of this worker holds while it runs swarms of a sweep.

    Args:
        sweep: Name of the sweep.
        need: Memory of its largest swarm [B].
    """
    with _making:
        return _seats(sweep, need)


@lru_cache(maxsize=4)
def _seats(_: str, need: int) -> threading.BoundedSemaphore:
    import distributed

    here: Any = distributed
    worker = here.get_worker()
    memory.grant(_granted(worker))
    return threading.BoundedSemaphore(room.fitting(need, worker.state.nthreads, show=False))


def _granted(worker: Any) -> int:
    """Return the bytes that a worker may take beyond what it has; its nanny ends it at a share of its limit."""
    import dask

    limit = worker.memory_manager.memory_limit
    if not limit:
        return memory.UNKNOWN
    share = dask.config.get("distributed.worker.memory.terminate") or 1.0
    return int(share * limit) - int(worker.monitor.get_process_memory())
