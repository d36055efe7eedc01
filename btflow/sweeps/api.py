"""`btflow.sweep`: declare, run, store and open a sweep."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from btflow.config.document import Document
from btflow.errors import InputError
from btflow.link.scenario import LinkScenario
from btflow.options import MAX_REPLICAS, MAX_SEED, Fidelity, fidelity_of, whole_number
from btflow.swarm.scenario import Scenario
from btflow.sweeps import samples, spec
from btflow.sweeps.arguments import check_client, flag, store_path, varied
from btflow.sweeps.check import check_number
from btflow.sweeps.design import design
from btflow.sweeps.located import located
from btflow.sweeps.running import Running
from btflow.sweeps.signals import terminable
from btflow.sweeps.table import Declaration, declaration, from_file
from btflow.units.formatting import counted

if TYPE_CHECKING:
    import xarray as xr
    from distributed import Client

    from btflow.sweeps.plan import Plan


def declare(
    document: Document[Any],
    given: Mapping[str, object],
    said: Declaration,
    *,
    keep: str | Sequence[str] | None = (),
    yes: bool = False,
    fidelity: Fidelity = "full",
    check: int | None = None,
) -> Plan:
    """Return a sweep, checked.

    Args:
        document: The model; what its file declares holds where nothing else is said.
        given: What is set already.
        said: The sweep.
        keep: What is kept of each swarm besides its figures.
        yes: Whether more than a million swarms are meant.
        fidelity: How each swarm is run.
        check: Points whose first replica is run in full besides; None for none.

    Raises:
        InputError: Something is wrong with it.
    """
    number = check_number(check, fidelity_of("fidelity", fidelity))
    file = located(document, from_file(document.sweep))
    _check(file, "sweep.")
    _check(said)
    said = said.over(Declaration(set=given).over(file) if given else file)
    seed, replicas, common = int(said.seed or 0), int(said.replicas or 1), bool(said.common)
    if not said.vary:
        raise InputError("vary", None, "nothing is varied", "at least one parameter, such as rtt=0ms,400ms")
    sample = samples.parse(said.sample)
    points = design(document, spec.read(said.vary), sample, seed, replicas, yes)

    from btflow.sweeps.plan import plan  # imports the engine

    return plan(
        document,
        said.set,
        points,
        seed=seed,
        replicas=replicas,
        common=common,
        keep=keep,
        fidelity=fidelity,
        check=number,
    )


def _check(said: Declaration, of: str = "") -> None:
    """Raise an InputError for a value that is out of range, by its name, before which comes whose it is."""
    if said.seed is not None:
        whole_number(f"{of}seed", said.seed, 0, MAX_SEED)
    if said.replicas is not None:
        whole_number(f"{of}replicas", said.replicas, 1, MAX_REPLICAS)
    if said.common is not None:
        flag(f"{of}common", said.common)
    samples.parse(said.sample, f"{of}sample")


def execute(declared: Plan, path: Path, how: Running, *, resume: bool = False, durable: bool = True) -> tuple[int, int]:
    """Run what is missing of a sweep and return how many swarms are done and how many failed.

    Args:
        declared: The sweep.
        path: Where its store is, or is to be.
        how: Where it runs.
        resume: Whether there may be a part of it already.
        durable: Whether what is finished is to outlive a crash of the machine.

    Raises:
        InputError: There is something else, or what is left cannot be written, or a cluster cannot be used; nothing was
            run.
        SimulationError: The cluster is gone; what was finished is kept.
        KeyboardInterrupt: It was interrupted; what was finished is kept.
        SystemExit: SIGTERM came; what was finished is kept.
        OSError: The store cannot be written; what it has is kept.
    """
    from btflow.sweeps import readonly
    from btflow.sweeps.drive import drive
    from btflow.sweeps.progress import progress
    from btflow.sweeps.store import open_store

    if resume and path.exists() and not readonly.writable(path):
        return readonly.counts(path, declared, retry_failed=how.retry_failed)
    with contextlib.ExitStack() as used:
        pool = how.cluster(declared)
        if pool is not None:
            used.callback(pool.close)
        if resume and not path.exists():
            print(f"btflow: {path} is not there: the sweep begins anew", file=sys.stderr)
        store = used.enter_context(open_store(path, declared, resume=resume, durable=durable))
        if store.lost.file is not None:
            lost, file = counted(store.lost.swarms, declared.job.noun.removesuffix("s")), store.lost.file
            print(f"btflow: {file} was missing or damaged: {lost} run again", file=sys.stderr)
        if how.retry_failed:
            store.forget_failures()
        done, failed = store.counts()
        left = declared.units - done - failed
        if left == 0:
            store.flush()
            return done, failed
        if pool is None:
            pool = how.local(declared, left)
            used.callback(pool.close)
        with progress(how.show, declared.units, done + failed, failed, declared.job.noun) as shown:
            drive(store, pool, shown, left)
        return store.counts()


def open_dataset(path: Path) -> xr.Dataset:
    """Return the dataset of a store; its arrays are read when they are used."""
    import xarray as xr

    dataset: xr.Dataset = xr.open_zarr(path, chunks=None)
    return dataset


def sweep(
    scenario: Scenario | LinkScenario,
    vary: Mapping[str | tuple[str, ...], object] | None = None,
    *,
    sample: str | None = None,
    seed: int | None = None,
    replicas: int | None = None,
    common: bool | None = None,
    keep: str | Sequence[str] | None = (),
    fidelity: Fidelity = "full",
    check: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    jobs: int | None = None,
    backend: Literal["threads", "processes"] | None = None,
    client: Client | str | None = None,
    yes: bool = False,
    progress: bool = True,
) -> xr.Dataset:
    """Simulate a swarm or a link experiment over values of its parameters.

    What is said of swarms below holds for link experiments too, but that nothing is kept of them besides figures.

    Args:
        scenario: The scenario whose parameters are varied, of ``btflow.load`` or ``btflow.load_link``.
        vary: By name: a list of values, or a text such as ``"0ms,400ms"`` or ``"lin(10 kB/s, 100 kB/s, 10)"``. By
            several names, ``("rtt", "loss")``: a list of groups of values that go together; None in a group leaves out
            what another of its values takes the place of, such as ``rtt`` beside an ``internet``. With a sample also
            distributions such as ``"uniform(0 ms, 1 s)"``. What the model file's ``[sweep]`` says holds for all names
            that are not here.
        sample: Kind and size of a sample in place of a grid: ``"sobol:4096"``, ``"lhs:100"``, ``"random:100"`` or
            ``"saltelli:1024"``; ``"grid"`` for a grid although the file says otherwise.
        seed: Seed of the sweep, 0 if the file says nothing: of the sample and of the points' seeds.
        replicas: Swarms of each point, 1 if the file says nothing.
        common: Whether all points have the same random numbers, for paired comparisons.
        keep: ``"peers"`` and ``"series"``: arrays of each swarm besides its figures.
        fidelity: ``"full"``, where every block and message is an event, or ``"flow"``.
        check: With flow: replica 0 of so many points, spread over the design, is also run in full, with the same
            seed. What they give lies along ``check``, in variables whose names begin with ``full_``;
            ``btflow.analysis.flow_error`` and ``corrected`` make use of it.
        out: Path of the store, ending in ``.zarr``; None keeps the results in memory alone.
        resume: Whether ``out`` may have a part of this sweep already.
        retry_failed: Whether swarms of ``out`` that failed run again: most fail again, for want of memory perhaps not.
        jobs: Swarms at once on this machine, all cores by default.
        backend: ``"threads"`` or ``"processes"`` of this machine; by default processes for thousands of tiny swarms,
            threads for all else.
        client: A Dask client, or the address of its scheduler, to run on a cluster.
        yes: Whether more than a million swarms are meant.
        progress: Whether to show progress on stderr.

    Returns:
        A Dataset with the varied parameters (or ``sample``) and ``replica`` as dimensions and units in attrs; with
        ``out`` its arrays are read from the store when they are used. A swarm that fails has the ``status`` 2 and its
        reason in ``failure``. A point's swarms are those of ``simulate`` with the point's ``seed``, to the bit; replica
        r of a link experiment is ``simulate_link`` with the point's ``seed`` + r.

    Raises:
        InputError: Something is wrong with the arguments; nothing was run.
        SimulationError: The cluster is gone; what was finished is in ``out``.
        OSError: The store cannot be written; what it has is kept.
        SystemExit: SIGTERM came, with code 143; what was finished is in ``out``, as after Ctrl-C.
    """
    if not isinstance(scenario, Scenario | LinkScenario):
        raise InputError("scenario", scenario, "is not a scenario", 'such as btflow.load("rao2010")')
    check_client(client)
    how = Running(jobs, backend, client, flag("progress", progress), flag("retry_failed", retry_failed))
    how.check(resume=flag("resume", resume))
    said = declaration(varied(vary), {}, "vary", sample=sample, seed=seed, replicas=replicas, common=common)
    path = store_path(out, resume)
    with terminable():
        declared = declare(
            scenario.document,
            scenario.given,
            said,
            keep=keep,
            yes=flag("yes", yes),
            fidelity=fidelity,
            check=check,
        )
        return _executed(declared, path, how, resume)


def _executed(declared: Plan, path: Path | None, how: Running, resume: bool) -> xr.Dataset:
    """Run a sweep into a store, or without a path into memory, and return what is found."""
    if path is not None:
        execute(declared, path, how, resume=resume)
        return open_dataset(path)
    with tempfile.TemporaryDirectory(prefix="btflow-sweep-") as folder:
        path = Path(folder, "sweep.zarr")
        execute(declared, path, how, durable=False)
        return open_dataset(path).load()
