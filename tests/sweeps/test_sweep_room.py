"""The memory of Dask's workers: no more large swarms run at once than fit, and what does not fit fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from dask_made import local, worker
from sweep_made import planned, read

from btflow import memory
from btflow.sweeps import api, dask
from btflow.sweeps.executor import MARGIN
from btflow.sweeps.running import Running

distributed = pytest.importorskip("distributed")

GB = 10**9


@pytest.fixture(autouse=True)
def granted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave this process as it was."""
    monkeypatch.setattr(memory, "_granted", memory.UNKNOWN)
    dask._seats.cache_clear()
    yield
    dask._seats.cache_clear()


@pytest.mark.parametrize(
    ("limit", "need", "seats"),
    [(None, GB, 4), (10 * GB, GB, 4), (4 * GB, GB, 2), (2 * GB, GB, 1), (2 * GB, 5 * GB, 1), (2 * GB, 1, 4)],
)
def test_as_many_swarms_run_at_once_as_fit_into_what_a_worker_may_take(
    limit: int | None, need: int, seats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has 300 MB already, four threads, and is ended at 95 % of its limit."""
    there = SimpleNamespace(
        memory_manager=SimpleNamespace(memory_limit=limit),
        monitor=SimpleNamespace(get_process_memory=lambda: 3 * GB // 10),
        state=SimpleNamespace(nthreads=4),
    )
    monkeypatch.setattr(distributed, "get_worker", lambda: there)
    monkeypatch.setattr(memory, "_of_the_machine", lambda: 100 * GB)
    room = dask.seats("a", need)
    assert dask.seats("a", need) is room
    assert [room.acquire(blocking=False) for _ in range(5)].count(True) == seats
    assert memory.available() == min(100 * GB, int(0.95 * (limit or 200 * GB)) - 3 * GB // 10)
    assert seats == 1 or seats * MARGIN * need <= memory.available()


@pytest.mark.slow
def test_a_swarm_that_does_not_fit_into_a_worker_fails_there(tmp_path: Path) -> None:
    with (
        local(0, processes=False, protocol="tcp") as client,
        worker(client.scheduler.address, "--memory-limit", "900 MB", threads=3),
    ):
        client.wait_for_workers(1)
        sweep = planned(vary={"leechers": [3, 30_000]}, replicas=2)
        assert api.execute(sweep, tmp_path / "a.zarr", Running(client=client)) == (2, 2)
        assert list(client.run(lambda: memory.available() < 900e6).values()) == [True]
    found = read(tmp_path / "a.zarr")
    assert found.status.values.tolist() == [[1, 1], [2, 2]]
    assert "leechers = 30000: needs " in str(found.failure.values[1, 0])
