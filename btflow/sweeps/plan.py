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
from btflow.config.document import Document
from btflow.errors import InputError
from btflow.options import Fidelity
from btflow.sweeps import beforehand
from btflow.sweeps.arguments import kept
from btflow.sweeps.cells import Block
from btflow.sweeps.check import DIM, FULL, checked_points
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
        checked: Numbers of the points whose first replica is run in full besides.
    """

    job: Job
    design: Design
    seed: int
    replicas: int
    common: bool
    keep: tuple[str, ...]
    contents: Contents = field(default_factory=dict)
    checked: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the sweep's dimensions and of the replicas'."""
        return (*self.design.shape, self.replicas)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The swarms of the design and, if points are checked, those that are run in full besides."""
        found = Block("", (*self.design.dims, "replica"), self.shape)
        if not self.checked:
            return (found,)
        return found, Block(FULL, (DIM,), (len(self.checked),))

    @property
    def units(self) -> int:
        """Number of swarms."""
        return sum(prod(block.shape) for block in self.blocks)

    def task(self, first: int, count: int) -> Task:
        """Return some consecutive units of work of one block, with all that they need besides the job."""
        designed = prod(self.shape)
        if first >= designed:
            points = self.checked[first - designed : first - designed + count]
            return Task(first, count, 1, tuple(self._point(number, full=True) for number in points))
        numbers = range(first // self.replicas, (first + count - 1) // self.replicas + 1)
        return Task(first, count, self.replicas, tuple(self._point(number) for number in numbers))

    def _point(self, number: int, *, full: bool = False) -> Point:
        return Point(self.seed_of(number), self.settings(number), full)

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
            "fidelity": self.job.fidelity,
            "check": len(self.checked),
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
    fidelity: Fidelity = "full",
    check: int = 0,
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
        fidelity: How each is run.
        check: Points whose first replica is run in full besides.

    Raises:
        InputError: No point makes a scenario, a value is wrong, what is to be kept is unknown, or there are fewer
            points than are to be checked.
    """
    kind = kind_of(document.kind.model)
    keep, checked = kept(keep, kind.keeps), checked_points(design, check)
    beforehand.check_superseded(document, fixed, design)
    fixed = contained(document, fixed)
    base, program = _first_scenario(document, kind, fixed, design, fidelity)
    beforehand.check_files(document, base.given, design)
    if fidelity == "flow":
        beforehand.check_region(document, kind, base.given, design)
    statistics = kind.figures(base, program)
    _check_names(design, statistics, kind, checked)
    peers = most_peers(base, design) if "peers" in keep else 0
    shape = Shape(statistics.width, peers, TIMES if "series" in keep else 0)
    found = contents(document, design)
    job = Job(base, statistics, shape, fidelity)
    return Plan(job, design, seed, replicas, common, keep, found, checked)


def _first_scenario(
    document: Document[Any], kind: Kind, fixed: Mapping[str, object], design: Design, fidelity: Fidelity
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
            return base, kind.compile(base, fidelity)
        except InputError as error:
            first = first or error
    assert first is not None
    raise first


def _check_names(design: Design, statistics: Figures, kind: Kind, checked: Sequence[int]) -> None:
    """Raise an InputError for a parameter whose name the dataset has for something else."""
    taken = {s.name for table in statistics.tables for s in table.statistics}
    taken |= {table.dimension for table in statistics.tables}
    taken |= {"sample", "replica", "seed", "status", "failure", "cpu_s"}
    if kind.keeps:
        taken |= {*PEER_ARRAYS, "peer", "pieces_held", "step", "time_step"}
    names = [coordinate.name for coordinate in design.coordinates()]
    if checked:
        taken |= {DIM, f"{DIM}_seed", *(FULL + name for name in taken), *(f"{DIM}_{name}" for name in names)}
    for name in names:
        if name in taken:
            raise InputError("vary", name, "cannot be varied: the dataset has something else of this name")
