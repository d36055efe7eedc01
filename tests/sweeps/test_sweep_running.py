"""Running a sweep, interrupted or not, in threads, processes and on a cluster; a failure is recorded."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st
from sweep_links_made import planned as links_planned
from sweep_made import UNITS, bits, interrupted, planned, read, small_tasks, tiny

from btflow import InputError, load, sweep
from btflow.swarm.replica import Floats, Replica
from btflow.sweeps import api, executor, precheck
from btflow.sweeps.executor import Processes
from btflow.sweeps.plan import Plan
from btflow.sweeps.results import Part
from btflow.sweeps.running import Backlog, Running
from btflow.sweeps.store import Store
from btflow.sweeps.swarm_figures import Peers, Statistics
from validation.served import PATIENCE

Vary = dict[str | tuple[str, ...], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """Return the dataset of the sweep run by one thread without a break."""
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    sweep_ = planned()
    assert api.execute(sweep_, path, Running(jobs=1)) == (UNITS, 0)
    return bits(read(path))


SWEEPS: dict[str, Callable[[], Plan]] = {
    "swarms": planned,
    "swarms in flow, some checked": lambda: planned(fidelity="flow", check=5, replicas=3),
    "links": links_planned,
    "links in flow, some checked": lambda: links_planned(fidelity="flow", check=3),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SWEEPS)
def test_an_interrupted_sweep_resumes_to_the_same_bits(
    kind: str, how: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes while the first parts are kept, then again a little later; then the sweep is let go on."""
    small_tasks(monkeypatch)
    monkeypatch.setattr("btflow.sweeps.dataset.CHUNK_RUNS", 3)
    path, made = tmp_path / "a.zarr", SWEEPS[kind]()
    units = made.units
    assert api.execute(made, tmp_path / "whole.zarr", Running(jobs=1)) == (units, 0)
    whole = bits(read(tmp_path / "whole.zarr"))
    seen = []
    for after in (2, 5):
        with interrupted(after):
            api.execute(made, path, how, resume=True)
        found = read(path)
        blocks = [found[name] for name in ("status", "full_status") if name in found]
        seen.append(sum(int((status == 1).sum()) for status in blocks))
        here, there = (bits(each).drop_dims("check", errors="ignore") for each in (found, whole))
        assert here.where(found.status == 1).identical(there.where(found.status == 1).assign_attrs(found.attrs))
    assert 0 < seen[0] < seen[1] < units
    assert api.execute(made, path, how, resume=True) == (units, 0)
    assert bits(read(path)).identical(whole)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_worker_of_a_cluster_is_killed(
    cluster: Any, whole: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_tasks(monkeypatch)
    path, made, keep = tmp_path / "a.zarr", planned(), Store.add
    killed: list[int] = []

    def add(self: Store, part: Part) -> None:
        keep(self, part)
        if not killed:
            killed.append(next(iter(cluster.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(Store, "add", add)
    assert api.execute(made, path, Running(client=cluster)) == (UNITS, 0)
    assert killed
    assert bits(read(path)).identical(whole)


def test_what_a_process_raises_arrives() -> None:
    made = planned()
    pool = Processes(made.job, 1)
    try:
        with pytest.raises(ZeroDivisionError):
            pool.submit(replace(made.task(0, 1), replicas=0)).result(timeout=PATIENCE)
        assert pool.submit(made.task(0, 1)).result(timeout=PATIENCE).status.tolist() == [1]
    finally:
        pool.close()


def test_points_that_cannot_be_run_are_recorded_with_their_reason() -> None:
    """A swarm that does not finish, and one whose values do not go together."""
    vary: Vary = {"horizon": ["11 s", "30 d"], "seed_as": ["none", "AS1"], "leecher_as": ["none", "AS1"]}
    found = sweep(tiny(), vary, replicas=2, jobs=2, progress=False)
    late, odd = found.sel(horizon=11.0, seed_as="none", leecher_as="none"), found.sel(seed_as="AS1", leecher_as="none")
    assert (late.status == 2).all()
    assert "had not finished at" in str(late.failure.values[0])
    assert np.isnan(late.completion_mean).all()
    assert (odd.status == 2).all()
    assert "leecher_as" in str(odd.failure.values.ravel()[0])
    fine = found.sel(horizon=30 * 86400.0, seed_as="AS1", leecher_as="AS1")
    assert (fine.status == 1).all()
    assert (fine.failure == "").all()
    assert np.isfinite(fine.completion_mean).all()


def test_a_bug_in_one_swarm_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    of = Statistics.of

    def broken(self: Statistics, common: Peers, row: Replica) -> Floats:
        if common.seeds.size == 4:
            raise ZeroDivisionError("of all things")
        return of(self, common, row)

    monkeypatch.setattr(Statistics, "of", broken)
    found = sweep(tiny(), {"leechers": [2, 3]}, jobs=1, progress=False)
    assert found.status.values.tolist() == [[1], [2]]
    assert found.failure.values.tolist() == [[""], ["ZeroDivisionError: of all things"]]


def test_a_point_that_needs_too_much_memory_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    from btflow import memory
    from btflow.swarm.program import compile_scenario
    from btflow.swarm.state import state_bytes

    room = state_bytes(compile_scenario(tiny(leechers=3)))
    monkeypatch.setattr(memory, "available", lambda: room)
    found = sweep(tiny(), {"leechers": [3, 30]}, jobs=1, progress=False)
    assert found.status.values.tolist() == [[1], [2]]
    assert "of memory" in str(found.failure.values[1, 0])


def test_a_look_at_some_points_finds_the_largest_swarm_and_all_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    from btflow.swarm.program import compile_scenario
    from btflow.swarm.state import state_bytes

    vary: Vary = {"rtt": ["0 ms", "5 ms", "9 ms"], "leechers": [2, 30, 3], "upload_limit": "lin(10 kB/s, 99 kB/s, 40)"}
    made = planned(vary=vary, replicas=1)
    each = [state_bytes(compile_scenario(made.job.scenario.set(**made.settings(p)))) for p in range(made.units)]
    assert precheck.scout(made).bytes == max(each)
    assert len(precheck.scout(made).programs) == 1
    assert len(set(precheck.scouted_points(made.design))) <= precheck.SPREAD + precheck.CORNERS
    assert precheck.scouted_points(planned(vary={"tso": [True]}).design) == [0]
    drawn = planned(vary={"leechers": "lin(2, 90)", "tso": "choice(true, false)"}, sample="random:500")
    points = precheck.scouted_points(drawn.design)
    assert {int(drawn.design.coordinates()[0].values.argmax()), 0, 499} <= set(points)
    monkeypatch.setattr(precheck, "_kind", lambda program: program.rules.peers)
    assert len(precheck.scout(made).programs) == 3


def test_many_swarms_run_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("Threads", "Processes"):
        monkeypatch.setattr(executor, kind, lambda _, jobs, kind=kind: (kind, jobs))
    few, many = executor.MANY, executor.MANY + 1
    made: list[Any] = [Running(jobs=jobs).local(planned(), left) for jobs, left in ((2, few), (2, many), (1, many))]
    assert made == [("Threads", 2), ("Processes", 2), ("Threads", 1)]


def test_what_is_no_scenario_is_not_swept() -> None:
    with pytest.raises(InputError, match="is not a scenario"):
        sweep("rao2010", {"rtt": "0 ms"})  # type: ignore[arg-type]  # wrong on purpose


def test_a_files_sweep_runs_by_itself(tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "models" / "swarms" / "rao2010.toml").read_text()
    file = tmp_path / "my.toml"
    table = '[sweep]\nseed = 3\nset = { leechers = 2, file_size = "512 KiB", rtt = "5 ms" }\n[sweep.vary]\n'
    file.write_text(f'{source}\n{table}tso = [true, false]\n"rtt,loss" = [["0 ms", "0%"], ["20 ms", "2%"]]\n')
    with pytest.raises(InputError, match="both varied and set"):
        sweep(load(file))
    file.write_text(file.read_text().replace(', rtt = "5 ms"', ""))
    found = sweep(load(file), progress=False, jobs=1)
    assert dict(found.completion_mean.sizes) == {"tso": 2, "rtt+loss": 2, "replica": 1}
    assert (found.attrs["seed"], found.peer_class.values.tolist()) == (3, ["seed", "leechers"])
    again = sweep(load(file).set(leechers=3), {"tso": "true"}, progress=False, jobs=1, keep=["peers"])
    assert dict(again.completion_mean.sizes) == {"rtt+loss": 2, "tso": 1, "replica": 1}
    assert again.sizes["peer"] == 4


@given(
    pending=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    workers=st.integers(1, 4),
    done=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    elapsed=st.lists(st.floats(1e-4, 10), min_size=1, max_size=5),
)
def test_every_unit_is_handed_out_until_it_is_done(
    pending: list[int], workers: int, done: list[float], elapsed: list[float]
) -> None:
    ranges, start = [], 0
    for length in pending:
        ranges.append(range(start, start + length))
        start += length + 1
    backlog = Backlog(_NoPoints(), ranges, sum(pending))  # type: ignore[arg-type]  # all of a store that it needs
    seen: list[int] = []
    for turn in range(10_000):
        task = backlog.next(workers)
        if task is None:
            break
        assert any(task.first in units and task.end - 1 in units for units in ranges)
        number = max(1, int(done[turn % len(done)] * task.count))
        seen += range(task.first, task.first + number)
        part = replace(_blank(task.first, number), elapsed=elapsed[turn % len(elapsed)])
        backlog.back(task, part)
    assert sorted(seen) == [unit for units in ranges for unit in units]


def _blank(first: int, count: int) -> Part:
    from btflow.sweeps.results import Shape

    return Shape(1).empty(first, count)


class _NoPoints:
    """A plan whose tasks have nothing in them."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        from btflow.sweeps.runs import Task

        assert name == "task"
        return lambda first, count: Task(first, count, 10**9, ())
