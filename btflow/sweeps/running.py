"""How a sweep is run, as it was asked for: how many at once, in threads, processes or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from btflow.errors import InputError
from btflow.options import whole_number

if TYPE_CHECKING:
    from distributed import Client

    from btflow.sweeps.executor import Pool
    from btflow.sweeps.plan import Plan

BACKENDS = ("threads", "processes")

MAX_JOBS = 1024
"""Most swarms at once on this machine."""


@dataclass(frozen=True)
class Running:
    """How a sweep is run; what it finds does not depend on it.

    Attributes:
        jobs: Swarms at once; None for all cores.
        backend: ``threads`` or ``processes``; None for what is likely to be done sooner.
        client: A Dask client, or the address of a scheduler; None for this machine.
        show: Whether to show progress.
        retry_failed: Whether swarms that failed run again.
    """

    jobs: int | None = None
    backend: str | None = None
    client: Client | str | None = None
    show: bool = False
    retry_failed: bool = False

    def check(self, *, resume: bool) -> None:
        """Raise an InputError for what does not go; ``resume``: whether there may be a part of the sweep already."""
        if self.retry_failed and not resume:
            raise InputError("retry_failed", None, "is said of a sweep that is not resumed", "resume too")
        if self.jobs is not None:
            whole_number("jobs", self.jobs, 1, MAX_JOBS)
        if self.backend is not None and self.backend not in BACKENDS:
            raise InputError("backend", self.backend, "is unknown", " or ".join(BACKENDS))
        if self.client is not None and (self.jobs is not None or self.backend is not None):
            name = "jobs" if self.jobs is not None else "backend"
            raise InputError(name, getattr(self, name), "is of this machine, and the sweep runs on a cluster")

    def cluster(self, declared: Plan) -> Pool | None:
        """Return the cluster that a sweep runs on, None for this machine; an InputError if it cannot be used."""
        if self.client is None:
            return None
        from btflow.sweeps.dask import Cluster
        from btflow.sweeps.precheck import scout

        return Cluster(declared.job, self.client, scout(declared).bytes)

    def local(self, declared: Plan, left: int) -> Pool:
        """Return what runs so many swarms on this machine; the kernels are loaded once this returns.

        So they are compiled once, by this process: those of its own find them on the disk.
        """
        from btflow.sweeps.executor import Processes, Threads, cores, fitting, sooner
        from btflow.sweeps.precheck import scout
        from btflow.sweeps.progress import in_thread

        scouted, job = scout(declared), declared.job
        for program in scouted.programs:
            in_thread(partial(job.kind.load_kernels, program))
        jobs = fitting(scouted.bytes, self.jobs or cores(), show=self.show, noun=job.noun)
        kind = self.backend or sooner(job, declared.task(0, 1).points[0], left, jobs)
        return Threads(job, jobs) if kind == "threads" else Processes(job, jobs)
