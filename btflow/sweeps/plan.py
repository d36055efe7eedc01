"""A sweep, declared and checked: its design, its seeds, and the job that every process gets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import gcd, prod
from typing import Any

import btflow
from btflow.document import Document
from btflow.errors import InputError
from btflow.sweeps import beforehand
from btflow.sweeps.arguments import kept
from btflow.sweeps.contents import Contents, contained, contents, digests
from btflow.sweeps.design import Coordinate, Design
from btflow.sweeps.figures import Figures
from btflow.sweeps.kind import Kind, kind_of
from btflow.sweeps.most import most_peers
from btflow.sweeps.parts import PEER_ARRAYS, TIMES, Shape
from btflow.sweeps.seeds import point_seed
from btflow.sweeps.sound import FORMAT
from btflow.sweeps.versions import versions
from btflow.sweeps.work import Job, Point, Task

TRIED = 100
"""Points, far apart, of which one at least must make a scenario for a sweep to begin."""

GOLDEN = 0.618
"""Share of all points between one that is tried and the next: no period of a dimension's values is near it."""


@dataclass(frozen=True)
class Plan:
    """A sweep that is ready to run.

    Attributes:
        job: What its tasks have in common.
        design: Its points.
        seed: Seed of the sweep.
        replicas: Swarms of each point.
        common: Whether all points have the sweep's seed.
        keep: What is kept of each swarm besides its figures.
        contents: Content of the files that varied values name, by the parameter and the path.
    """

    job: Job
    design: Design
    seed: int
    replicas: int
    common: bool
    keep: tuple[str, ...]
    contents: Contents = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the sweep's dimensions and of the replicas'."""
        return (*self.design.shape, self.replicas)

    @property
    def units(self) -> int:
        """Number of swarms."""
        return prod(self.shape)

    def task(self, first: int, count: int) -> Task:
        """Return some consecutive units of work, with all that they need besides the job."""
        points = range(first // self.replicas, (first + count - 1) // self.replicas + 1)
        made = (Point(self.seed_of(point), self.settings(point)) for point in points)
        return Task(first, count, self.replicas, tuple(made))

    def settings(self, point: int) -> dict[str, str]:
        """Return the texts that make a point, with the content of files in place of their paths."""
        return {name: self.contents.get((name, text), text) for name, text in self.design.settings(point).items()}

    def seed_of(self, point: int) -> int:
        """Return the seed of a point's replicas."""
        return point_seed(self.seed, point, self.common)

    def identity(self) -> dict[str, str | int]:
        """Return the attributes that must be equal for two runs to be of the same sweep."""
        return {
            "store_format": FORMAT,
            "model": self.job.scenario.name,
            "scenario_hash": self.job.scenario.digest(),
            "design": self.design.kind,
            "values": json.dumps(_digests(self.design)),
            "contents": json.dumps(digests(self.job.scenario.document, self.design, self.contents)),
            "seed": self.seed,
            "replicas": self.replicas,
            "common_random_numbers": int(self.common),
            "keep": ",".join(self.keep),
            "versions": json.dumps(versions()),
        }

    def attributes(self) -> dict[str, str | int]:
        """Return the attributes of the dataset."""
        scenario, written, document = self.job.scenario, self.design.written(), self.job.scenario.document
        varied = {coordinate.name for coordinate in self.design.coordinates()}
        varied |= {p.name for p in document.parameters.values() if p.default_from in varied}
        parameters = beforehand.shown(document, scenario.given, self.design)
        fixed = {name: text for name, text in parameters.items() if name not in varied}
        return (
            self.identity()
            | {
                "title": scenario.title,
                "version": btflow.__version__,
                "parameters": json.dumps(fixed),
                "varied": json.dumps(written),
                "byte_prefix": scenario.byte_prefix,
            }
            | ({} if self.job.noun == "swarms" else {"runs": self.job.noun})
        )


def _digests(design: Design) -> dict[str, str]:
    """Return a digest of the values of each parameter."""
    return {c.name: _digest(c) for c in design.coordinates()}


def _digest(of: Coordinate) -> str:
    values = repr(of.values.tolist()).encode() if of.values.dtype == object else of.values.tobytes()
    return hashlib.sha256(f"{of.dimension} {of.values.dtype} ".encode() + values).hexdigest()[:16]


def plan(
    document: Document[Any],
    fixed: Mapping[str, object],
    design: Design,
    *,
    seed: int,
    replicas: int,
    common: bool = False,
    keep: str | Sequence[str] | None = (),
) -> Plan:
    """Return a sweep of a model over a design.

    Args:
        document: The model.
        fixed: What is set in it for all points.
        design: The points.
        seed: Seed of the sweep.
        replicas: Swarms of each point.
        common: Whether all points have the sweep's seed.
        keep: What is kept of each swarm besides its figures.

    Raises:
        InputError: No point makes a scenario, a value is wrong, or what is to be kept is unknown.
    """
    kind = kind_of(document.kind.model)
    keep = kept(keep, kind.keeps)
    beforehand.check_superseded(document, fixed, design)
    fixed = contained(document, fixed)
    base, program = _first_scenario(document, kind, fixed, design)
    beforehand.check_files(document, base.given, design)
    statistics = kind.figures(base, program)
    _check_names(design, statistics, kind)
    peers = most_peers(base, design) if "peers" in keep else 0
    shape = Shape(statistics.width, peers, TIMES if "series" in keep else 0)
    found = contents(document, design)
    return Plan(Job(base, statistics, shape), design, seed, replicas, common, keep, found)


def _first_scenario(
    document: Document[Any], kind: Kind, fixed: Mapping[str, object], design: Design
) -> tuple[Any, Any]:
    """Return the first of some points that makes a scenario, and its program; the first point's error if none does.

    It is one at which all that is set for all points has an effect, so that no point lacks it.

    What lies between one and the next has no divisor in common with their number, so that no dimension's value is the
    same at all of them.
    """
    points, first = prod(design.shape), None
    step = next(s for s in range(int(GOLDEN * points), 2 * points + 2) if s > 0 and gcd(s, points) == 1)
    spread = (design.settings(i * step % points) for i in range(points))
    all_used = (settings for settings in spread if not document.assigner.outdated(fixed, settings))
    for settings in islice(all_used, TRIED):
        try:
            base = document.build({**fixed, **settings})
            return base, kind.compile(base)
        except InputError as error:
            first = first or error
    assert first is not None
    raise first


def _check_names(design: Design, statistics: Figures, kind: Kind) -> None:
    """Raise an InputError for a parameter whose name the dataset has for something else."""
    taken = {s.name for table in statistics.tables for s in table.statistics}
    taken |= {table.dimension for table in statistics.tables}
    taken |= {"sample", "replica", "seed", "status", "failure", "cpu_s"}
    if kind.keeps:
        taken |= {*PEER_ARRAYS, "peer", "pieces_held", "step", "time_step"}
    for name in (coordinate.name for coordinate in design.coordinates()):
        if name in taken:
            raise InputError("vary", name, "cannot be varied: the dataset has something else of this name")
