"""What sweeps use of other packages and these do not document is there."""

from __future__ import annotations

from multiprocessing import resource_tracker
from typing import Any

import pytest
from dask_made import local
from sweep_made import planned

from btflow.sweeps.executor import Processes
from validation.served import PATIENCE


def seen(dask_worker: Any) -> tuple[bool, ...]:
    """Return whether a worker has what `sweeps/dask.py` asks it for."""
    return (
        dask_worker.state.nthreads == 1,
        dask_worker.memory_manager.memory_limit > 0,
        dask_worker.monitor.get_process_memory() > 0,
        dask_worker.address.startswith("inproc://"),
    )


def test_what_dask_has_but_does_not_document_is_there() -> None:
    """A worker's memory and threads, which `seats` counts by; the client's status; what is raised when it is lost."""
    distributed = pytest.importorskip("distributed")
    client_module = pytest.importorskip("distributed.client")
    comm = pytest.importorskip("distributed.comm.core")
    assert issubclass(comm.CommClosedError, OSError)
    assert issubclass(client_module.ClosedClientError, Exception)
    assert distributed.Security().get_connection_args("client").keys() >= {"ssl_context"}
    with local(1, processes=False, memory_limit="1 GB") as client:
        assert set(client.run(seen).values()) == {(True,) * 4}
        assert client.status == "running"
        assert client.scheduler.address.startswith("inproc://")
    assert client.status == "closed"
    assert distributed.KilledWorker("task", None, 3).last_worker is None


def test_pebble_starts_processes_as_its_context_has_them() -> None:
    """So that they can be kept from the main module and from Ctrl-C, and ended together."""
    made = planned()
    pool = Processes(made.job, 1)
    try:
        assert pool.submit(made.task(0, 1)).result(timeout=PATIENCE).status.tolist() == [1]
        (process,) = pool._processes
        assert process.is_alive()
    finally:
        pool.close()
    assert not process.is_alive()
    assert callable(resource_tracker.ensure_running)  # not documented
