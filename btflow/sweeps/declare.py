"""What a sweep is, as it was said: on the command line, in Python, or in the table ``[sweep]`` of a model file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from btflow.config.document import Document
from btflow.errors import InputError, ScenarioError, unknown
from btflow.options import MAX_REPLICAS, MAX_SEED, Fidelity, fidelity_of, whole_number
from btflow.sweeps import samples, spec
from btflow.sweeps.axes import SEED
from btflow.sweeps.design import check_number, design
from btflow.sweeps.spec import Names, names_of, split
from btflow.sweeps.store import check_path

if TYPE_CHECKING:
    from btflow.sweeps.plan import Plan

_TYPES: dict[str, tuple[type, str]] = {
    "vary": (dict, "a table"),
    "set": (dict, "a table"),
    "sample": (str, 'a text such as "sobol:64"'),
    "replicas": (int, "a whole number"),
    "seed": (int, "a whole number"),
    "common": (bool, "true or false"),
}


@dataclass(frozen=True)
class Declaration:
    """What a sweep is; None where nothing was said.

    Attributes:
        vary: What each name, or each group of names, is varied over.
        set: What is set for all points.
        sample: The kind of sample; a grid if there is none.
        replicas: Swarms of each point.
        seed: Seed of the sweep.
        common: Whether all points have the same random numbers.
    """

    vary: Mapping[Names, object] = field(default_factory=dict)
    set: Mapping[str, object] = field(default_factory=dict)
    sample: str | None = None
    replicas: int | None = None
    seed: int | None = None
    common: bool | None = None

    def over(self, file: Declaration) -> Declaration:
        """Return this on top of what a model file declares: what is said here of a name replaces what is said there."""
        mine = {name for names in self.vary for name in names} | set(self.set)
        if SEED.name in mine:
            file = replace(file, seed=None, common=None)
        vary = {names: spec for names, spec in file.vary.items() if not mine.intersection(names)}
        fixed = {name: value for name, value in file.set.items() if name not in mine}
        said = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        return replace(file, **said | {"vary": vary | dict(self.vary), "set": fixed | dict(self.set)})


def declaration(vary: Mapping[Any, object], fixed: Mapping[str, object], option: str, **said: Any) -> Declaration:
    """Return a declaration.

    Args:
        vary: By name or names, these in a tuple or separated by commas.
        fixed: What is set.
        option: What errors call ``vary``.
        said: The other fields.

    Raises:
        InputError: A name is both varied and set, or is varied twice.
    """
    named: dict[Names, object] = {}
    seen: set[str] = set()
    for key, over in vary.items():
        names = names_of(key, option)
        for name in names:
            if name in fixed:
                raise InputError(option, name, "is both varied and set", "one of the two")
            if name in seen:
                raise InputError(option, name, "is varied twice", "each name once")
            seen.add(name)
        named[names] = over
    return Declaration(vary=named, set=fixed, **said)


def from_file(table: object) -> Declaration:
    """Return what a model file's table ``[sweep]`` declares.

    Raises:
        InputError: It is not such a table.
    """
    if not isinstance(table, dict):
        raise ScenarioError("sweep", table, "is not a table", "[sweep]")
    for name, value in table.items():
        if name not in _TYPES:
            raise unknown(name, _TYPES, "field of [sweep]", "sweep")
        kind, allowed = _TYPES[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ScenarioError(f"sweep.{name}", value, "is of the wrong kind", allowed)
    said = {name: value for name, value in table.items() if name not in ("vary", "set")}
    return declaration(table.get("vary", {}), table.get("set", {}), "sweep.vary", **said)


def names_varied(vary: object) -> Mapping[str | tuple[str, ...], object]:
    """Return what is varied, by name; nothing for None."""
    if vary is None:
        return {}
    if not isinstance(vary, Mapping):
        raise InputError("vary", vary, "is not a mapping from names to values", 'such as {"rtt": ["0 ms", "400 ms"]}')
    return vary


def flag(name: str, value: object) -> bool:
    """Return an argument that is true or false."""
    if not isinstance(value, bool):
        raise InputError(name, value, "is neither true nor false", "True or False")
    return value


def store_path(out: object, resume: bool) -> Path | None:
    """Return where the store is to be, None for memory."""
    if out is None:
        if resume:
            raise InputError("resume", resume, "is given without out: there is nothing to go on with", "out=PATH too")
        return None
    if not isinstance(out, str | os.PathLike):
        raise InputError("out", out, "is not a path", "a path ending in .zarr, or None to keep the results in memory")
    path = Path(out)
    check_path(path, resume)
    return path


def check_client(client: object) -> None:
    """Raise an InputError for what is neither a Dask client nor an address."""
    if client is not None and not isinstance(client, str) and not hasattr(client, "get_executor"):
        allowed = "a distributed.Client, or the address of its scheduler such as tcp://10.0.0.1:8786"
        raise InputError("client", client, "is not a Dask client", allowed)


def beside_the_model(document: Document[Any], file: Declaration) -> Declaration:
    """Return what a model file declares, with the paths of files as the current folder has them."""
    if document.folder == Path():
        return file
    vary = {names: _spec(document, names, spec) for names, spec in file.vary.items()}
    fixed = {name: _value(document, name, value) for name, value in file.set.items()}
    return replace(file, vary=vary, set=fixed)


def _spec(document: Document[Any], names: Names, spec: object) -> object:
    """Return what one name, or several together, are varied over."""
    if not any(_takes_files(document, name) for name in names):
        return spec
    if len(names) == 1:
        if isinstance(spec, str):  # a list, perhaps within choice(...)
            return "".join(str(_value(document, names[0], part)) for part in re.split(r"([,()])", spec))
        return [_value(document, names[0], value) for value in spec] if isinstance(spec, list) else spec
    rows = [split(text.strip("()"), names[0]) for text in split(spec, names[0])] if isinstance(spec, str) else spec
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return spec
    return [[_value(document, name, value) for name, value in zip(names, row, strict=True)] for row in rows]


def _value(document: Document[Any], name: str, value: object) -> object:
    """Return a value, or the table's ``base``, below the model file's folder if it is the path of a file."""
    if not _takes_files(document, name):
        return value
    if isinstance(value, dict) and "base" in value:
        return value | {"base": _value(document, name, value["base"])}
    is_path = isinstance(value, str) and (value.strip().endswith(".toml") or "/" in value)
    return str(document.folder / str(value).strip()) if is_path else value


def _takes_files(document: Document[Any], name: str) -> bool:
    """Return whether a name is a field's that may name a file; those of a model's parameter are read with the model."""
    try:
        return not document.has_values(name) and document.assigner.places(name)[0].folder is not None
    except InputError:  # said when it is set
        return False


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
    file = beside_the_model(document, from_file(document.sweep))
    _check(file, "sweep.")
    _check(said)
    said = said.over(Declaration(set=given).over(file) if given else file)
    seed, replicas, common = int(said.seed or 0), int(said.replicas or 1), bool(said.common)
    if not said.vary:
        raise InputError("vary", None, "nothing is varied", "at least one parameter, such as rtt=0ms,400ms")
    sample = samples.parse(said.sample)
    points = design(document, spec.read(said.vary), sample, seed, replicas, yes)

    _check_seeds(said)

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


def _check_seeds(said: Declaration) -> None:
    """Raise an InputError if the seeds of the points are both varied and said otherwise."""
    if not any(SEED.name in names for names in said.vary):
        return
    if said.common:
        raise InputError("common", True, "gives all points one seed, and seed is varied", "one of the two")
    if said.seed is not None and samples.parse(said.sample) is None:
        raise InputError(
            "seed", said.seed, "is given, and seed is varied", "one of the two, or a sample, which needs it"
        )
