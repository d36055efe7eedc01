"""`btflow.sweep`: declare, run, store and open a sweep."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from btflow.errors import InputError, visible
from btflow.link.scenario import LinkScenario
from btflow.options import MAX_REPLICAS, MAX_SEED, Fidelity, fidelity_of, whole_number
from btflow.swarm.scenario import Scenario
from btflow.sweeps.declare import check_client, declaration, declare, flag, store_path
from btflow.sweeps.running import Running, terminable

if TYPE_CHECKING:
    import xarray as xr
    from distributed import Client

    from btflow.sweeps.database import Database
    from btflow.sweeps.executor import Pool
    from btflow.sweeps.plan import Plan
    from btflow.sweeps.store import Store


def execute(declared: Plan, path: Path, how: Running, *, resume: bool = False) -> tuple[int, int]:
    """Run what is missing of a sweep and return how many swarms are done and how many failed.

    Args:
        declared: The sweep.
        path: Where its store is, or is to be.
        how: Where it runs.
        resume: Whether there may be a part of it already.

    Raises:
        InputError: There is something else, or what is left cannot be written, or a cluster cannot be used; nothing was
            run.
        SimulationError: The cluster is gone; what was finished is kept.
        KeyboardInterrupt: It was interrupted; what was finished is kept.
        SystemExit: SIGTERM came; what was finished is kept.
        OSError: The store cannot be written; what it has is kept.
    """
    from btflow.sweeps import store as stores

    with contextlib.ExitStack() as used:
        pool = how.cluster(declared)
        if pool is not None:
            used.callback(pool.close)
        store = used.enter_context(stores.opened(path, declared, resume=resume))
        if resume and store.new:
            print(visible(f"btflow: nothing is in {path} yet: the sweep begins anew"), file=sys.stderr)
        if how.retry_failed:
            store.forget_failures()
        run_missing(declared, store, how, pool)
        store.write_arrays()
        return store.counts()


def run_missing(plan: Plan, store: Store, how: Running, pool: Pool | None = None) -> None:
    """Run what a store has pending, on a cluster or on this machine."""
    from btflow.sweeps.running import drive, progress

    done, failed = store.counts()
    left = store.layout.own - done - failed
    if left == 0:
        return
    with contextlib.ExitStack() as used:
        if pool is None:
            pool = how.cluster(plan) or how.local(plan, left)
            used.callback(pool.close)
        with progress(how.show, store.layout.own, done + failed, failed, plan.job.noun) as shown:
            drive(plan, store, pool, shown, left)


def open_sweep(path: str | os.PathLike[str]) -> xr.Dataset:
    """Open the store of a sweep: a complete one, one that is running, or one that was interrupted.

    Args:
        path: The store, as ``out`` of ``sweep`` or ``--out`` of ``btflow sweep``.

    Returns:
        The dataset that ``sweep`` returns; its arrays are read when they are used. Of a sweep that is not complete it
        is what was finished when it was opened: where ``status`` is 0 nothing is known yet, and ``attrs["complete"]``
        is 0.

    Raises:
        InputError: There is no store of a sweep, or it is damaged.
    """
    from btflow.sweeps.store import open_store

    return open_store(path, "path")


def open_swarms(
    path: str | os.PathLike[str],
    scenario: Scenario,
    *,
    seed: int | None = None,
    replicas: int | None = None,
    fidelity: Fidelity | None = None,
) -> xr.Dataset:
    """Return what ``simulate`` gives of the swarms of a point, from a sweep that kept them, without running them again.

    Args:
        path: The store of a sweep with ``keep="swarms"``, also one that is running or was interrupted.
        scenario: That of the point: the sweep's, with all ``set`` that is varied there, or set in the model file's
            ``[sweep]``.
        seed: The point's seed, where several points have this scenario.
        replicas: How many of its replicas, the first ones; by default all.
        fidelity: The sweep's own by default; of one in flow also ``"full"``, for the swarms of its checked points.

    Returns:
        The Dataset of ``btflow.simulate(scenario, seed=seed, replicas=replicas, fidelity=fidelity)``, to the bit but
        for the CPU time, with those of the replicas that were finished.

    Raises:
        InputError: There is no store, or it is damaged or of another version; it has kept no swarms, or none of this
            scenario, seed or fidelity.
    """
    from btflow.sweeps.database import FILE, Database, connected, of_store
    from btflow.sweeps.store import existing, is_store

    if not isinstance(scenario, Scenario):
        raise InputError("scenario", scenario, "is not the scenario of a swarm", 'such as btflow.load("rao2010")')
    if seed is not None:
        whole_number("seed", seed, 0, MAX_SEED)
    if replicas is not None:
        whole_number("replicas", replicas, 1, MAX_REPLICAS)
    if fidelity is not None:
        fidelity_of("fidelity", fidelity)
    store = existing(path, "path")
    if not is_store(store):
        raise InputError("path", str(store), f"is not the store of a sweep, or one without {FILE}", _KEPT)
    with of_store(store, "path"), contextlib.closing(connected(store)) as connection:
        return _kept(Database(connection, store, "path"), scenario, seed, replicas, fidelity)


_KEPT = 'the store that a sweep with keep="swarms" wrote'


def _kept(
    store: Database, scenario: Scenario, seed: int | None, replicas: int | None, fidelity: Fidelity | None
) -> xr.Dataset:
    """Return the swarms of a scenario and a seed that are kept in a store."""
    from btflow.swarm.program import compile_scenario
    from btflow.swarm.replica import Replica
    from btflow.swarm.results import to_dataset
    from btflow.sweeps.database import FILE, damaged
    from btflow.sweeps.plan import difference, versions

    about, path = store.layout.attributes, store.path
    if "swarms" not in str(about.get("keep", "")).split(","):
        raise InputError("path", str(path), "has kept no swarms", _KEPT)
    if text := difference(versions(), json.loads(about["versions"])):
        raise InputError("path", str(path), f"is of another version: {text}", "a sweep of this version")
    fidelity = fidelity or about["fidelity"]
    runs = store.swarms(scenario.digest(), fidelity)
    if not runs:
        names = ", ".join(json.loads(about["varied"]))
        allowed = f"the sweep's, with {names} as at a point that was run, and with what its file's [sweep] sets"
        reason = f"is that of no swarm that was kept in {fidelity}{_apart(scenario, about)}"
        raise InputError("scenario", scenario.name, reason, allowed)
    seeds = list(dict.fromkeys(own for _, own, _ in runs))
    if seed is None and len(seeds) > 1:
        raise InputError("seed", None, "is missing: several points have this scenario", _some(seeds))
    seed = seeds[0] if seed is None else seed
    if seed not in seeds:
        raise InputError("seed", seed, "is not that of a point with this scenario", _some(seeds))
    checked = fidelity != about["fidelity"]  # of whose points the first replica alone is run
    contents = {0 if checked else unit % about["replicas"]: content for unit, own, content in runs if own == seed}
    found = sorted(number for number in contents if replicas is None or number < replicas)
    try:
        rows = [Replica.unpacked(contents[number]) for number in found]
    except Exception:  # NumPy and zipfile raise anything for what they did not write
        raise damaged(path, "path", f"a swarm of {FILE} is not what was written") from None
    result = to_dataset(scenario, compile_scenario(scenario, fidelity), rows, seed)
    return result.assign_coords(replica=result["replica"].copy(data=found))


def _some(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds[:10])) + ", ..." * (len(seeds) > 10)


def _apart(scenario: Scenario, about: Mapping[str, Any]) -> str:
    """Return in what a scenario is not a sweep's, as far as its model and parameters tell; empty if in nothing."""
    ours, fixed = dict(scenario.parameters), json.loads(about["parameters"])
    apart = [f"the model is {scenario.name} here, {about['model']} there"] * (scenario.name != about["model"])
    apart = apart or [
        f"{name} is {ours.get(name, 'nothing')} here, {text} there"
        for name, text in fixed.items()
        if ours.get(name) != text
    ]
    return f" ({', '.join(apart[:3])})" if apart else ""


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
    part: str | tuple[int, int] | None = None,
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
            what another of its values takes the place of, such as ``rtt`` beside an ``internet``. The name ``seed`` is
            the seed of the point's swarms, from 0 to 2^63 - 1. With a sample also
            distributions such as ``"uniform(0 ms, 1 s)"``. What the model file's ``[sweep]`` says holds for all names
            that are not here.
        sample: Kind and size of a sample in place of a grid: ``"sobol:4096"``, ``"lhs:100"``, ``"random:100"`` or
            ``"saltelli:1024"``; ``"grid"`` for a grid although the file says otherwise.
        seed: Seed of the sweep, 0 if the file says nothing: of the sample and of the points' seeds.
        replicas: Swarms of each point, 1 if the file says nothing.
        common: Whether all points have the same random numbers, for paired comparisons.
        keep: What to keep of each swarm besides its figures: the arrays of ``"peers"`` and ``"series"``; with
            ``"swarms"`` all that ``simulate`` gives, which ``btflow.open_swarms`` opens and which needs ``out``.
        fidelity: ``"full"``, where every block and message is an event, or ``"flow"``.
        check: With flow: replica 0 of so many points, spread over the design, is also run in full, with the same
            seed. What they give lies along ``check``, in variables whose names begin with ``full_``;
            ``btflow.analysis.flow_error`` and ``corrected`` make use of it.
        part: ``"3/10"`` or ``(3, 10)`` runs the third of ten parts of the sweep, on one machine of many, and needs
            ``out``. ``btflow.merge`` puts them together.
        out: Path of the store, ending in ``.zarr``; None keeps the results in memory alone. ``btflow.open_sweep`` opens
            it, also while the sweep runs.
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
    yes = flag("yes", yes)
    said = declaration(vary, {}, "vary", sample=sample, seed=seed, replicas=replicas, common=common)
    path = store_path(out, resume)
    with terminable():
        declared = declare(
            scenario.document, scenario.given, said, keep=keep, yes=yes, fidelity=fidelity, check=check, part=part
        )
        if path is None and declared.part:
            raise InputError("part", declared.part, "is given without out: a part is kept to be merged", "out=PATH too")
        if path is None and declared.job.shape.swarms:
            raise InputError("keep", "swarms", "is given without out: there is nowhere to keep them", "out=PATH too")
        return _executed(declared, path, how, resume)


def _executed(declared: Plan, path: Path | None, how: Running, resume: bool) -> xr.Dataset:
    """Run a sweep into a store, or without a path into memory, and return what is found."""
    from btflow.sweeps import store as stores
    from btflow.sweeps.database import open_arrays

    if path is not None:
        execute(declared, path, how, resume=resume)
        return stores.open_store(path, "out") if declared.part else open_arrays(path)
    with stores.in_memory(declared) as store:
        run_missing(declared, store, how)
        return store.dataset().load()
