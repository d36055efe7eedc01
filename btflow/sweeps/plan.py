"""What a sweep is: its points, seeds and runs, and what must be equal for it to be gone on with."""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import gcd, prod
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

import btflow
from btflow.config.document import Document
from btflow.config.files import inline
from btflow.digest import code_digest
from btflow.errors import InputError
from btflow.options import MAX_SEED, Fidelity
from btflow.sweeps import precheck
from btflow.sweeps.design import Coordinate, Design
from btflow.sweeps.results import CHECK, FULL, PEER_ARRAYS, TIMES, Shape
from btflow.sweeps.runs import Figures, Job, Kind, Point, Task, kind_of

Contents = Mapping[tuple[str, str], str]
"""Content of files as TOML on one line, by the name that is varied and the path."""


def contents(document: Document[Any], design: Design) -> dict[tuple[str, str], str]:
    """Return the content of every file that a varied value names; errors as of ``_content``."""
    named = ((name, text) for name, text in _words(design) if not document.has_values(name) and _names_file(text))
    return {(name, text): str(_content(document, name, text)) for name, text in named}


def word_digests(document: Document[Any], design: Design, found: Contents) -> dict[str, str]:
    """Return a digest of what each varied word stands for, by ``name = word``: of a file, or of a model's choice."""
    meanings = {
        f"{name} = {text}": found.get((name, text)) or _meaning(document, name, text) for name, text in _words(design)
    }
    return {what: hashlib.sha256(text.encode()).hexdigest()[:16] for what, text in meanings.items() if text}


def _words(design: Design) -> Iterator[tuple[str, str]]:
    """Give the names that are varied over words, and each of the words once."""
    for coordinate in design.coordinates():
        if coordinate.values.dtype == object:
            for text in dict.fromkeys(coordinate.values.tolist()):
                yield coordinate.name, str(text)


def _meaning(document: Document[Any], name: str, text: str) -> str:
    """Return what a word makes of fields, those of parameters that follow too; empty if it stands for itself."""
    if not document.has_values(name):
        content = document.assigner.read(name, text).setting.content
        return inline(content) if isinstance(content, dict) else ""
    follow = {p.name for p in document.parameters.values() if p.default_from == name}
    settings = document.assigner.assign({name: text}).settings
    return repr([(keys, s.content) for keys, s in settings.items() if s.parameter in {name, *follow}])


def _names_file(value: object) -> bool:
    """Return whether a value may be the path of a file, or a table that starts from one."""
    if not isinstance(value, str):
        return False
    text = value.strip()
    return text.startswith("{") or text.endswith(".toml") or "/" in text or "\\" in text


def _content(document: Document[Any], name: str, value: object) -> object:
    """Return a setting, in place of a path the file's content; an InputError if that is not what its field takes."""
    if isinstance(value, dict) and "base" in value:
        value = inline(value)
    if document.has_values(name) or not _names_file(value):
        return value
    content = document.assigner.read(name, value).setting.content
    return inline(content) if isinstance(content, dict) else value


FORMAT = 6
"""Of the store."""

_SHOWN = ("model", "design", "seed", "replicas", "keep", "fidelity", "check", "part")
_WORDS = {"keep": "kept", "check": "checked points"}


def check_same(path: Path | None, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise an InputError that says what differs if a store's attributes are not those of a sweep."""
    differs = differences(there, here)
    if differs:
        allowed = "the same sweep with the same version, or another path"
        raise InputError("out", str(path), f"was made by another sweep: {'; '.join(differs)}", allowed)


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return in what the attributes of a store are not those of a sweep."""
    found = [
        f"{_WORDS.get(name, name)} {before or 'nothing'} there, {now or 'nothing'} here"
        for name, before, now in ((name, str(there.get(name, "")), str(here.get(name, ""))) for name in _SHOWN)
        if before != now
    ]
    if there["common_random_numbers"] != here["common_random_numbers"]:
        found.append("common random numbers in one of the two")
    (values, old, before), (varied, new, now) = (
        [json.loads(of[name]) for name in ("values", "contents", "versions")] for of in (there, here)
    )
    if list(values) != list(varied):
        found.append(f"varies {', '.join(values)} there, {', '.join(varied)} here")
    else:
        found += [f"other values of {name}" for name in varied if values[name] != varied[name]]
    found += [f"the content of {what} has changed" for what in new if what in old and old[what] != new[what]]
    if differs := difference(now, before):
        found.append(differs)
    if not found and there["scenario_hash"] != here["scenario_hash"]:
        found.append("another scenario: the model file or what is set (--set) has changed")
    return found


Versions = dict[str, str]


def versions() -> Versions:
    """Return this process's versions by name."""
    return {
        "btflow": btflow.__version__,
        "code": code_digest(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """Return what differs as a text such as ``numpy 2.4.6 there, 2.3.0 here``; empty if nothing does."""
    names = [name for name in here if here[name] != there.get(name)]
    return ", ".join(f"{name} {there.get(name, 'unknown')} there, {here[name]} here" for name in names)


KEEP = ("peers", "series", "swarms")
"""What can be kept of each swarm besides its figures."""


def point_seed(seed: int, point: int, common: bool) -> int:
    """Return the seed that every replica of a point is run with, a whole number up to ``MAX_SEED``.

    Args:
        seed: Seed of the sweep.
        point: Number of the point, in C order.
        common: Whether all points have the sweep's own seed: replica r of each then draws the same random numbers,
            which makes differences between points more precise (common random numbers).
    """
    if common:
        return seed
    (word,) = np.random.SeedSequence(seed, spawn_key=(point,)).generate_state(1, np.uint64)
    return int(word) & MAX_SEED


class Block(NamedTuple):
    """Units whose figures lie in arrays of their own."""

    prefix: str
    """How the names of these begin."""
    dims: tuple[str, ...]
    """Their dimensions, the replicas' last if they lie along them."""
    shape: tuple[int, ...]
    """Lengths of these."""


TRIED = 100
"""Points, far apart, of which one at least must make a scenario for a sweep to begin."""

GOLDEN = 0.618
"""Share of all points between one that is tried and the next: no period of a dimension's values is near it."""


def golden_step(number: int) -> int:
    """Return a step near the golden section that leads to each of some numbers once before it comes back."""
    return next(s for s in range(int(GOLDEN * number), 2 * number + 2) if s > 0 and gcd(s, number) == 1)


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
        part: Which part of the sweep's runs is to be run, such as ``3/10``; empty for all.
    """

    job: Job
    design: Design
    seed: int
    replicas: int
    common: bool
    keep: tuple[str, ...]
    contents: Contents = field(default_factory=dict)
    checked: tuple[int, ...] = ()
    part: str = ""

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
        return found, Block(FULL, (CHECK,), (len(self.checked),))

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
        """Return the seed of a point's replicas: its own if it is varied."""
        own = self.design.seed(point)
        return own if own is not None else point_seed(self.seed, point, self.common)

    def identity(self) -> dict[str, str | int]:
        """Return the attributes that must be equal for two runs to be of the same sweep."""
        return {
            "store_format": FORMAT,
            "model": self.job.scenario.name,
            "scenario_hash": self.job.scenario.digest(),
            "design": self.design.kind,
            "values": json.dumps({c.name: _digest(c) for c in self.design.coordinates()}),
            "contents": json.dumps(word_digests(self.job.scenario.document, self.design, self.contents)),
            "seed": self.seed,
            "replicas": self.replicas,
            "common_random_numbers": int(self.common),
            "keep": ",".join(self.keep),
            "fidelity": self.job.fidelity,
            "check": len(self.checked),
            "versions": json.dumps(versions()),
        } | ({"part": self.part} if self.part else {})

    def attributes(self) -> dict[str, str | int]:
        """Return the attributes of the dataset."""
        scenario, written, document = self.job.scenario, self.design.written(), self.job.scenario.document
        varied = {coordinate.name for coordinate in self.design.coordinates()}
        varied |= {p.name for p in document.parameters.values() if p.default_from in varied}
        parameters = precheck.effective_parameters(document, scenario.given, self.design)
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


def _digest(of: Coordinate) -> str:
    """Return a digest of the values of a parameter."""
    values = repr(of.values.tolist()).encode() if of.values.dtype == object else of.values.tobytes()
    return hashlib.sha256(f"{of.dimension} {of.values.dtype} ".encode() + values).hexdigest()[:16]


def plan(
    document: Document[Any],
    fixed: Mapping[str, object],
    design: Design,
    seed: int,
    replicas: int,
    common: bool = False,
    *,
    keep: str | Sequence[str] | None = (),
    fidelity: Fidelity = "full",
    check: int = 0,
    part: str = "",
) -> Plan:
    """Return a sweep of a model over a design, with ``fixed`` set at all points; the rest is as ``Plan`` has it.

    Raises:
        InputError: No point makes a scenario, a value is wrong, what is to be kept is unknown, or there are fewer
            points than are to be checked.
    """
    kind = kind_of(document.kind.model)
    keep, checked = kept(keep, kind.keeps), precheck.checked_points(design, check)
    precheck.check_superseded(document, fixed, design)
    fixed = {name: _content(document, name, value) for name, value in fixed.items()}
    base, program = _first_scenario(document, kind, fixed, design, fidelity)
    precheck.check_files(document, base.given, design)
    if fidelity == "flow":
        precheck.check_region(document, kind, base.given, design)
    statistics = kind.figures(base, program)
    _check_names(document, design, statistics, kind, checked)
    peers = precheck.most_peers(base, design) if "peers" in keep else 0
    shape = Shape(statistics.width, peers, TIMES if "series" in keep else 0, "swarms" in keep)
    job = Job(base, statistics, shape, fidelity)
    return Plan(job, design, seed, replicas, common, keep, contents(document, design), checked, part)


def _first_scenario(
    document: Document[Any], kind: Kind, fixed: Mapping[str, object], design: Design, fidelity: Fidelity
) -> tuple[Any, Any]:
    """Return the first of some points that makes a scenario, and its program; the first point's error if none does.

    It is one at which all that is set for all points has an effect, so that no point lacks it.

    What lies between one and the next has no divisor in common with their number, so no dimension has one value at all.
    """
    points, first = prod(design.shape), None
    step = golden_step(points)
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


def _check_names(
    document: Document[Any], design: Design, statistics: Figures, kind: Kind, checked: Sequence[int]
) -> None:
    """Raise an InputError for a parameter whose name the dataset has for something else."""
    taken = {s.name for table in statistics.tables for s in table.statistics}
    taken |= {table.dimension for table in statistics.tables}
    taken |= {"sample", "replica", "status", "failure", "cpu_s"}
    taken |= {"seed"} & document.parameters.keys()
    if kind.keeps:
        taken |= {*PEER_ARRAYS, "peer", "pieces_held", "step", "time_step"}
    names = [coordinate.name for coordinate in design.coordinates()]
    if checked:
        taken |= {CHECK, f"{CHECK}_seed", *(FULL + name for name in taken), *(f"{CHECK}_{name}" for name in names)}
    for name in names:
        if name in taken:
            raise InputError("vary", name, "cannot be varied: the dataset has something else of this name")


def kept(keep: object, keeps: Sequence[str] = KEEP) -> tuple[str, ...]:
    """Return the names of what is kept, in order and each once; a text is one name, or several with commas.

    Args:
        keep: What is to be kept.
        keeps: What can be kept of what the sweep runs.
    """
    given = keep.split(",") if isinstance(keep, str) else keep
    if given is None:
        return ()
    if not isinstance(given, Iterable):
        raise InputError("keep", keep, "is not a list of names", ", ".join(KEEP))
    names = [name.strip() if isinstance(name, str) else name for name in given]
    for name in names:
        if name not in KEEP:
            raise InputError("keep", name, "cannot be kept", ", ".join(KEEP))
        if name not in keeps:
            allowed = "no keep: the figures of each experiment are all there is"
            raise InputError("keep", name, "is of swarms: link experiments do not have it", allowed)
    return tuple(name for name in KEEP if name in names)
