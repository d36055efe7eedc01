"""The work of a sweep: one swarm or link experiment after the other, each to its figures, without store or parent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from btflow.config.kinds import ParametrisedModel
from btflow.errors import InputError, SimulationError
from btflow.link.scenario import LinkScenario
from btflow.options import Fidelity
from btflow.sweeps.link_figures import Links, LinkStatistics
from btflow.sweeps.results import Part, Shape, Table
from btflow.sweeps.swarm_figures import Statistics, Swarms

Kind = Swarms | Links
"""How the runs of a kind of scenario are made, run and looked at. Both have the same methods and attributes."""

Figures = Statistics | LinkStatistics
"""All figures of a run, the same for every run of a sweep."""


def kind_of(model: type[ParametrisedModel]) -> Kind:
    """Return the kind of some class of scenarios."""
    return Links() if issubclass(model, LinkScenario) else Swarms()


BUDGET = 1.0
"""Wall time after which a task comes back with what it has [s]; a swarm that has begun is finished first."""

LONGEST_REASON = 500


class Point(NamedTuple):
    """A point of the sweep."""

    seed: int
    """Seed of its replicas."""
    settings: dict[str, str]
    """What is set in the base scenario."""
    full: bool = False
    """Whether it is run in full, whatever the fidelity of the sweep: to check that."""


@dataclass(frozen=True)
class Task:
    """Units of work, one swarm each: ``count`` from number ``first`` on, in C order over points and replicas."""

    first: int
    count: int
    replicas: int
    """Replicas of each point; of one that is run in full the first alone."""
    points: tuple[Point, ...]
    """The points that these units belong to, in order."""
    tries: int = 0
    """How often a process that had it went away."""

    @property
    def end(self) -> int:
        """One more than the last unit's number."""
        return self.first + self.count

    def point(self, unit: int) -> Point:
        """Return the point of a unit."""
        return self.points[unit // self.replicas - self.first // self.replicas]

    def part(self, first: int, count: int, tries: int = 0) -> Task:
        """Return some of these units as a task."""
        start = self.first // self.replicas
        points = self.points[first // self.replicas - start : (first + count - 1) // self.replicas - start + 1]
        return Task(first, count, self.replicas, points, tries)


class Prepared(NamedTuple):
    """A point that is ready to run."""

    point: Point
    scenario: str
    """Digest of the scenario, empty where nobody asks for it."""
    program: Any
    common: Any
    """What all of its runs have in common."""


@dataclass(frozen=True)
class Job:
    """What all tasks of a sweep have in common; small, and the same in every process."""

    scenario: Any
    """The base scenario, of a swarm or of a link experiment."""
    statistics: Any
    """What is found of each swarm or experiment, ``Kind.figures``."""
    shape: Shape
    """What is kept of each besides."""
    fidelity: Fidelity = "full"
    """How each is run, but for the points that are checked."""

    @property
    def kind(self) -> Kind:
        """How its runs are made and run."""
        return kind_of(type(self.scenario))

    @property
    def noun(self) -> str:
        """What it runs, as a plural: ``swarms``."""
        return str(self.scenario.document.kind.noun)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The figures of a run."""
        found: tuple[Table, ...] = self.statistics.tables
        return found

    def prepare(self, point: Point) -> Prepared:
        """Return what all replicas of a point need; an InputError if it cannot be run."""
        scenario, kind = self.scenario.set(**point.settings), self.kind
        program: Any = kind.compile(scenario, "full" if point.full else self.fidelity)
        kind.check_memory(scenario, kind.bytes(program))
        digest = scenario.digest() if self.shape.swarms else ""
        return Prepared(point, digest, program, kind.common(scenario, program, self.statistics))


class _StoppedError(Exception):
    """The sweep is to end now."""


def run(job: Job, task: Task, stopping: Callable[[], bool], budget: float = BUDGET) -> Part:
    """Run units of a task, one at least, until the time is up or the sweep is to end.

    Args:
        job: What all tasks have in common.
        task: The units.
        stopping: Whether the sweep is to end; asked a few times a second. The swarm that runs is given up then.
        budget: Wall time [s] after which no other swarm is begun.

    Returns:
        What was found of the first units of the task, perhaps not of all.
    """
    begun = time.perf_counter()
    worker, part = _Worker(job, stopping), job.shape.empty(task.first, task.count)
    done = 0
    try:
        while done < task.count and not stopping() and (done == 0 or time.perf_counter() - begun < budget):
            unit = task.first + done
            worker.fill(part, done, task.point(unit), unit % task.replicas)
            done += 1
    except _StoppedError:
        pass
    return part.cut(done, time.perf_counter() - begun)


@dataclass
class _Worker:
    """Runs swarms, and keeps the program of the last point for its next replica."""

    job: Job
    stopping: Callable[[], bool]
    _last: Prepared | None = None

    def fill(self, part: Part, number: int, point: Point, replica: int) -> None:
        """Run one swarm and put what is found into a part; a failure too, with its reason."""
        begun, part.seed[number] = time.thread_time(), point.seed
        try:
            self._run(part, number, point, replica)
        except _StoppedError:
            raise
        except Exception as error:  # whatever it is, it is this swarm's alone
            part.fail(number, reason(error))
        part.cpu[number] = time.thread_time() - begun

    def _run(self, part: Part, number: int, point: Point, replica: int) -> None:
        if self._last is None or self._last.point is not point:
            self._last = self.job.prepare(point)
        program, kind, shape = self._last.program, self.job.kind, self.job.shape
        begun = time.thread_time()
        state: Any = kind.run(program, point.seed, replica, self._watch)
        own = time.thread_time() - begun
        found: Any = kind.collect(program, state, series=shape.times > 0 or shape.swarms)
        figures = self.job.statistics.of(self._last.common, found)
        part.put(number, self._last.scenario, program, found, figures, own)

    def _watch(self) -> None:
        if self.stopping():
            raise _StoppedError


def reason(error: BaseException) -> str:
    """Return why a swarm failed, in one line."""
    if isinstance(error, InputError | SimulationError):
        text = "; ".join(str(error).splitlines())
    elif isinstance(error, MemoryError):
        text = "out of memory"
    else:
        text = f"{type(error).__name__}: {error}"
    return text[:LONGEST_REASON]
