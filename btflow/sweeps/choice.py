"""Threads or processes: which of them a sweep ends sooner with."""

from __future__ import annotations

import time

from btflow.sweeps.work import Job, Point, Prepared

LOOK = 0.2
"""A swarm that takes longer than this is long enough for threads [s]."""

MOST = 5
"""Most runs of a swarm, of which the least time counts."""

START = 1.5
"""About the time until processes have imported what they need and loaded the kernels [s]."""


class _LongError(Exception):
    """The swarm takes long."""


def backend(job: Job, point: Point, swarms: int, jobs: int) -> str:
    """Return ``threads`` or ``processes``, whichever is likely to be done sooner with so many swarms like one.

    Threads start at once but share the interpreter's lock, which a swarm holds while it is built and while its figures
    are found, at least about a millisecond; the kernels run without it.

    Args:
        job: The sweep's job.
        point: A point of it, whose first swarm is run some times. The kernels must be loaded.
        swarms: Number of swarms that are left.
        jobs: Swarms at once.
    """
    if jobs == 1:
        return "threads"
    try:
        held, whole = _times(job, point)
    except Exception:  # long, or it fails: recorded when it is run
        return "threads"
    return "processes" if swarms * (by_threads(held, whole, jobs) - whole / jobs) > START else "threads"


def by_threads(held: float, whole: float, threads: int) -> float:
    """Return the time that threads take for each of many swarms [s].

    While a thread wants the lock another one has it for a share of the time, and keeps it for as long as a swarm needs.

    Args:
        held: Time for which a swarm holds the interpreter's lock [s].
        whole: Time that a swarm takes alone [s].
        threads: Number of threads.
    """
    wait = held * min(1.0, (threads - 1) * held / whole)
    return max(held, (whole + wait) / threads)


def _times(job: Job, point: Point) -> tuple[float, float]:
    """Return for how long a swarm holds the interpreter's lock, and how long it takes in all: the least of some [s]."""
    prepared = job.prepare(point)
    end = time.perf_counter() + LOOK
    times = [_once(job, prepared, end)]
    while len(times) < MOST and time.perf_counter() < end:
        times.append(_once(job, prepared, float("inf")))
    held, whole = (min(column) for column in zip(*times, strict=True))
    return held, whole


def _once(job: Job, prepared: Prepared, deadline: float) -> tuple[float, float]:
    """Return both of a swarm, in CPU time: what else the machine does is not the swarm's."""
    kind, program, seed = job.kind, prepared.program, prepared.point.seed
    begun = time.thread_time()

    def watch() -> None:
        if time.perf_counter() > deadline:
            raise _LongError

    state = kind.run(program, seed, 0, watch)
    found = time.thread_time()
    job.statistics.of(prepared.common, kind.collect(program, state, series=job.shape.times > 0))
    ended = time.thread_time()
    kind.start(program, seed, 0)
    built = time.thread_time() - ended
    return built + ended - found, ended - begun
