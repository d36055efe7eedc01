"""`btflow.sweep`: declare, run, store and open a sweep."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from btflow.errors import InputError
from btflow.options import MAX_REPLICAS, MAX_SEED, whole_number
from btflow.program import compile_scenario
from btflow.scenario import Scenario
from btflow.simulation import load_kernels
from btflow.sweeps import samples, spec
from btflow.sweeps.design import design
from btflow.sweeps.drive import drive
from btflow.sweeps.plan import Plan, plan
from btflow.sweeps.pools import Pool, Threads, cores
from btflow.sweeps.progress import progress
from btflow.sweeps.store import Store, open_store
from btflow.sweeps.variables import document_of

if TYPE_CHECKING:
    import xarray as xr

Backend = Literal["threads", "processes"]
Vary = Mapping[Any, object]


@dataclass(frozen=True)
class Running:
    """How a sweep is run; what it finds does not depend on it."""

    jobs: int | None = None
    backend: str | None = None
    client: Any = None
    show: bool = False


def declare(
    scenario: Scenario,
    vary: Vary,
    *,
    sample: str | None,
    seed: int,
    replicas: int,
    common: bool,
    keep: Sequence[str],
    yes: bool,
) -> Plan:
    """Return a sweep, checked."""
    seed = whole_number("seed", seed, 0, MAX_SEED)
    replicas = whole_number("replicas", replicas, 1, MAX_REPLICAS)
    if not vary:
        raise InputError("vary", None, "nothing is varied", "at least one parameter, such as rtt=0ms,400ms")
    specs = spec.read(vary)
    drawn = None if sample is None else samples.parse(sample)
    points = design(document_of(scenario), specs, drawn, seed, replicas, yes)
    return plan(scenario, points, seed=seed, replicas=replicas, common=common, keep=keep)


def execute(declared: Plan, store: Store, how: Running) -> tuple[int, int]:
    """Run what is missing of a sweep and return how many swarms are done and how many failed.

    Raises:
        KeyboardInterrupt: It was interrupted; what was finished is kept.
        OSError: The store cannot be written; what it has is kept.
    """
    with store:
        done, failed = (0, 0) if store.fresh else store.counts()
        left = declared.units - done - failed
        if left:
            load_kernels(compile_scenario(declared.job.scenario))
            with (
                contextlib.closing(pool(declared, how)) as used,
                progress(how.show, declared.units, done + failed, failed) as shown,
            ):
                drive(store, used, shown, left)
        else:
            store.flush()
        return store.counts()


def pool(declared: Plan, how: Running) -> Pool:
    """Return where the tasks of a sweep run."""
    jobs = cores() if how.jobs is None else whole_number("jobs", how.jobs, 1, 4096)
    return Threads(declared.job, jobs)


def load_store(path: Path) -> xr.Dataset:
    """Return the dataset of a store, read when it is used."""
    import xarray as xr

    dataset: xr.Dataset = xr.open_zarr(path, chunks=None)
    return dataset


def sweep(
    scenario: Scenario,
    vary: Vary | None = None,
    *,
    sample: str | None = None,
    seed: int = 0,
    replicas: int = 1,
    common: bool = False,
    keep: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    jobs: int | None = None,
    backend: Backend | None = None,
    client: Any = None,
    yes: bool = False,
    progress: bool = False,
) -> xr.Dataset:
    """Simulate a scenario over values of its parameters."""
    declared = declare(
        scenario, vary or {}, sample=sample, seed=seed, replicas=replicas, common=common, keep=keep, yes=yes
    )
    how = Running(jobs, backend, client, progress)
    if out is not None:
        path = Path(out)
        execute(declared, open_store(path, declared, resume=resume), how)
        return load_store(path)
    with tempfile.TemporaryDirectory(prefix="btflow-sweep-") as folder:
        path = Path(folder, "sweep.zarr")
        execute(declared, open_store(path, declared, durable=False), how)
        return load_store(path).load()
