"""What a sweep is, as it was said: on the command line, in Python, or in the table ``[sweep]`` of a model file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from btflow.config.document import Document
from btflow.errors import InputError, ScenarioError, unknown
from btflow.options import MAX_REPLICAS, MAX_SEED, Fidelity, fidelity_of, whole_number
from btflow.paths.model import PathModel
from btflow.sweeps.design import FORMS, GRID, SEED, Drawn, Listed, Names, Sample, Spaced, Spec, design
from btflow.sweeps.store import check_path
from btflow.units.formatting import counted

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


def declaration(
    vary: Mapping[Any, object] | None, fixed: Mapping[str, object], option: str, **said: Any
) -> Declaration:
    """Return a declaration.

    Args:
        vary: By name or names, these in a tuple or separated by commas; None for nothing.
        fixed: What is set.
        option: What errors call ``vary``.
        said: The other fields.

    Raises:
        InputError: A name is both varied and set, or is varied twice; or it is no mapping.
    """
    if vary is not None and not isinstance(vary, Mapping):
        raise InputError(option, vary, "is not a mapping from names to values", 'such as {"rtt": ["0 ms", "400 ms"]}')
    named: dict[Names, object] = {}
    seen: set[str] = set()
    for key, over in (vary or {}).items():
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


def parse_options(given: Iterable[str]) -> dict[Names, object]:
    """Return ``--vary NAME=SPEC`` by name.

    Raises:
        InputError: One has no ``=`` or no name, or a name is there twice.
    """
    found: dict[Names, object] = {}
    for text in given:
        name, equals, spec = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise InputError("--vary", text, "is not a name and values", "NAME=SPEC, such as rtt=0ms,400ms")
        names = names_of(name, "--vary")
        if names in found:
            raise InputError("--vary", text, f"varies {name} a second time", "one --vary for each name")
        found[names] = spec
    return found


def names_of(key: object, option: str) -> Names:
    """Return the name, or the names that vary together, that a key of ``vary`` stands for."""
    parts = key.split(",") if isinstance(key, str) else key
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise InputError(option, key, "is not a name", "a parameter, or several that vary together")
    names = tuple(part.strip() for part in parts)
    if not names or not all(names):
        raise InputError(option, key, "has an empty name", "a parameter, or several separated by commas")
    return names


LONGEST_LIST = 1_000_000
"""Most values of one parameter."""

_SPACED = {"lin": "uniform", "log": "loguniform"}
"""Lists of evenly spaced values, and the distribution that each is without a number of values."""

_DISTRIBUTIONS = {"uniform": 2, "loguniform": 2, "lognormal": 2, "iplane": 0}
"""Number of arguments of each distribution."""

_CALL = re.compile(r"([a-z]+)\s*\((.*)\)", re.DOTALL)


def read(given: object, names: Names) -> Spec:
    """Return what a name, or several that vary together, are varied over.

    Args:
        given: A text, or a list of values; of several names a text such as ``(0ms,0%),(400ms,5%)``, or a list of lists.
        names: The names.

    Raises:
        InputError: A text cannot be read, or a list is empty.
    """
    if len(names) > 1:
        return _groups(given, len(names), ",".join(names))
    name, given = names[0], _plain(given)
    if isinstance(given, str):
        return _parsed(given, name)
    if isinstance(given, Set):
        raise InputError(name, given, "is a set, which has no order", "a list of values")
    if getattr(given, "ndim", 1) != 1:
        shape = getattr(given, "shape", None)
        raise InputError(name, f"of shape {shape}", "is no list of values", "one dimension")
    if isinstance(given, Iterable) and not isinstance(given, Mapping | bytes | PathModel):
        return _list(map(_plain, islice(given, LONGEST_LIST + 1)), given, name)
    return Listed(((given,),))


def _plain(value: object) -> object:
    """Return a NumPy scalar as Python's own."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def _parsed(text: str, name: str) -> Spec:
    items = _split(text, name)
    if len(items) == 1 and (call := _call(items[0])) is not None:
        kind, arguments = call
        if kind in _SPACED and len(arguments) == 2:
            return Drawn(_SPACED[kind], arguments, kind)
        if kind in _DISTRIBUTIONS:
            if len(arguments) != _DISTRIBUTIONS[kind]:
                reason = f"has {counted(len(arguments), 'argument')}, not {_DISTRIBUTIONS[kind]}"
                raise InputError(name, text, reason, FORMS)
            return Drawn(kind, arguments)
        if kind == "choice":
            return replace(_list(arguments, text, name), text=text)
    return _list((_item(item, name) for item in items), text, name)


def _list(items: Iterable[object], given: object, name: str) -> Listed:
    """Return a list of values and of evenly spaced ones; an InputError if it, or a value, is empty."""
    values = list(items)
    if not 0 < len(values) <= LONGEST_LIST or _any_empty(values):
        wrong = "no values" if not values else "too many values" if len(values) > LONGEST_LIST else "an empty value"
        raise InputError(name, given, f"has {wrong}", FORMS)
    return Listed(tuple(value if isinstance(value, Spaced) else (value,) for value in values))


def _any_empty(values: Iterable[object]) -> bool:
    return any(isinstance(value, str) and value == "" for value in values)


def _call(item: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the name and the arguments of ``name(a, b)``; None if an item is a plain value."""
    if _DISTRIBUTIONS.get(item) == 0:
        return item, ()
    matched = _CALL.fullmatch(item)
    return None if matched is None else (matched[1], tuple(_split(matched[2], item)))


def _item(item: str, name: str) -> object:
    """Return an item of a list: evenly spaced values, or one value, its parentheses taken off."""
    call = None if item in _DISTRIBUTIONS else _call(item)  # iplane is a path model among values of `internet`
    if call is None:
        return item[1:-1].strip() if item.startswith("(") and item.endswith(")") else item
    kind, arguments = call
    if kind not in _SPACED:
        known = kind in _DISTRIBUTIONS or kind == "choice"
        raise InputError(name, item, "cannot be one of several" if known else f"has the unknown {kind}()", FORMS)
    if len(arguments) != 3:
        raise InputError(name, item, f"has {counted(len(arguments), 'argument')}", f"{kind}(first, last, number)")
    number = arguments[2]
    if not re.fullmatch(r"[0-9]{1,12}", number) or not 1 <= int(number) <= LONGEST_LIST:
        raise InputError(name, item, f"has {number} values", f"a whole number from 1 to {LONGEST_LIST:,}")
    return Spaced(kind, arguments[0], arguments[1], int(number))


def _groups(given: object, width: int, name: str) -> Listed:
    """Return values of several parameters that vary together."""
    if isinstance(given, str):
        texts = _split(given, name)
        for text in texts:
            if not (text.startswith("(") and text.endswith(")")):
                raise InputError(name, text, "is not a group of values", f"groups of {width}, such as (a, b),(c, d)")
        given = [_split(text[1:-1], name) for text in texts]
    if not isinstance(given, Iterable) or isinstance(given, Mapping | Set) or getattr(given, "ndim", 2) == 0:
        raise InputError(name, given, "is not a list of groups", f"groups of {width} values")
    rows = tuple(_group(row, width, name) for row in islice(given, LONGEST_LIST + 1))
    if not 0 < len(rows) <= LONGEST_LIST:
        reason = "has too many values" if rows else "has no values"
        raise InputError(name, [], reason, f"1 to {LONGEST_LIST:,} groups of {width} values")
    return Listed(rows)


def _group(row: object, width: int, name: str) -> tuple[object, ...]:
    values: tuple[object, ...] = ()
    if isinstance(row, Iterable) and not isinstance(row, str | Set | Mapping) and getattr(row, "ndim", 1) == 1:
        values = tuple(map(_plain, row))
    if len(values) != width or _any_empty(values):
        raise InputError(name, row, f"is not a group of {width} values", f"a value for each of {name}")
    return values


def _split(text: str, name: str) -> list[str]:
    """Return the parts of a text between the commas that are outside parentheses; none for an empty text.

    Raises:
        InputError: The parentheses do not match.
    """
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if depth != 0:
        raise InputError(name, text, "has parentheses that do not match", FORMS)
    stripped = [part.strip() for part in parts]
    return [] if stripped == [""] else stripped


SAMPLES = ("sobol", "lhs", "random", "saltelli")

LARGEST = 2**24
"""Most points of a sample, but that a Saltelli design has several times as many."""


def sample_of(text: object, field: str = "sample") -> Sample | None:
    """Return the sample that a text such as ``sobol:4096`` means; None for ``grid``, and if there is no text.

    Raises:
        InputError: It is not one, or the size of a Sobol or Saltelli design is not a power of two.
    """
    if text is None or (isinstance(text, str) and text.strip() == GRID):
        return None
    matched = re.fullmatch(r"\s*([a-z]+)\s*:\s*([0-9]{1,12})\s*", text) if isinstance(text, str) else None
    if matched is None:
        form = "grid, or KIND:N with KIND sobol, lhs, random or saltelli, such as sobol:4096"
        raise InputError(field, text, "is not a sample", form)
    kind, number = matched[1], int(matched[2])
    if kind not in SAMPLES:
        raise unknown(kind, SAMPLES, "kind of sample", field)
    if not 1 <= number <= LARGEST:
        raise InputError(field, text, f"has {number:,} points", f"1 to {LARGEST:,}")
    if kind in ("sobol", "saltelli") and number & (number - 1):
        below = 1 << (number.bit_length() - 1)
        reason = "is not a power of two, without which a Sobol sequence is not balanced"
        raise InputError(field, text, reason, f"{kind}:{below} or {kind}:{2 * below}")
    return Sample(kind, number)


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


def _beside_the_model(document: Document[Any], names: Names, spec: Spec) -> Spec:
    """Return what a model file says that names are varied over, with paths of files as the current folder has them."""
    if not isinstance(spec, Listed) or not any(_has_paths(document, name) for name in names):
        return spec
    rows = (
        row if isinstance(row, Spaced) else tuple(_path(document, *pair) for pair in zip(names, row, strict=True))
        for row in spec.rows
    )
    return replace(spec, rows=tuple(rows))


def _path(document: Document[Any], name: str, value: object) -> object:
    """Return a value, or the table's ``base``, below the model file's folder if it is the path of a file."""
    if not _has_paths(document, name):
        return value
    if isinstance(value, dict) and "base" in value:
        return value | {"base": _path(document, name, value["base"])}
    is_path = isinstance(value, str) and (value.strip().endswith(".toml") or "/" in value)
    return str(document.folder / str(value).strip()) if is_path else value


def _has_paths(document: Document[Any], name: str) -> bool:
    """Return whether values may be paths from the model file's folder; a parameter's are read with the model."""
    try:
        takes_files = not document.has_values(name) and document.assigner.places(name)[0].folder is not None
    except InputError:  # said when it is set
        return False
    return takes_files and document.folder != Path()


MOST_CHECKED = 10**9
"""Most points that can be checked."""


def declare(
    document: Document[Any],
    given: Mapping[str, object],
    said: Declaration,
    *,
    keep: str | Sequence[str] | None = (),
    yes: bool = False,
    fidelity: Fidelity = "full",
    check: int | None = None,
    part: str | tuple[int, int] | None = None,
) -> Plan:
    """Return a sweep, checked: as it was ``said``, on top of what the model's file declares and of what is ``given``.

    ``keep`` and what follows are those of ``btflow.sweep``.

    Raises:
        InputError: Something is wrong with it.
    """
    number = _check_number(check, fidelity_of("fidelity", fidelity))
    file = from_file(document.sweep)
    _check(file, "sweep.")
    _check(said)
    fixed = {name: _path(document, name, value) for name, value in file.set.items()}
    file, here = replace(file, set=fixed), said.vary
    said = said.over(Declaration(set=given).over(file) if given else file)
    seed, replicas, common = int(said.seed or 0), int(said.replicas or 1), bool(said.common)
    if not said.vary:
        raise InputError(
            "vary", None, "nothing is varied", 'at least one parameter, such as {"rtt": ["0 ms", "400 ms"]}'
        )
    specs = {names: read(over, names) for names, over in said.vary.items()}
    specs |= {names: _beside_the_model(document, names, spec) for names, spec in specs.items() if names not in here}
    points = design(document, specs, sample_of(said.sample), seed, replicas, yes)
    _check_seeds(said)
    share = part_of(part, prod(points.shape) * replicas)

    from btflow.sweeps.plan import plan  # imports the engine

    return plan(
        document, said.set, points, seed, replicas, common, keep=keep, fidelity=fidelity, check=number, part=share
    )


def part_of(part: object, runs: int) -> str:
    """Return which of so many parts a text or a pair of numbers means, as ``3/10``; empty for None.

    Raises:
        InputError: It means none, or there are fewer runs than parts.
    """
    if part is None:
        return ""
    text = "/".join(map(str, part)) if isinstance(part, tuple | list) else str(part)
    matched = re.fullmatch(r"0*([1-9][0-9]{0,8})/0*([1-9][0-9]{0,8})", text.replace(" ", ""), re.ASCII)
    if matched is None or int(matched[1]) > int(matched[2]):
        raise InputError("part", part, "is no part", "K/N, part K of N, such as 3/10")
    if int(matched[2]) > runs:
        raise InputError("part", text, f"is one of more parts than the sweep has runs, {runs}", f"at most {runs} parts")
    return f"{matched[1]}/{matched[2]}"


def _check_number(check: object, fidelity: Fidelity) -> int:
    """Return how many points are to be checked, 0 for None; an InputError if there can be no such check."""
    if check is None:
        return 0
    number = whole_number("check", check, 1, MOST_CHECKED)
    if fidelity == "full":
        allowed = 'fidelity="flow" too'
        raise InputError("check", check, "is of flow: all points are run in full as it is", allowed)
    return number


def _check(said: Declaration, of: str = "") -> None:
    """Raise an InputError for a value that is out of range, by its name, before which comes whose it is."""
    if said.seed is not None:
        whole_number(f"{of}seed", said.seed, 0, MAX_SEED)
    if said.replicas is not None:
        whole_number(f"{of}replicas", said.replicas, 1, MAX_REPLICAS)
    if said.common is not None:
        flag(f"{of}common", said.common)
    sample_of(said.sample, f"{of}sample")


def _check_seeds(said: Declaration) -> None:
    """Raise an InputError if the seeds of the points are both varied and said otherwise."""
    if not any(SEED.name in names for names in said.vary):
        return
    if said.common:
        raise InputError("common", True, "gives all points one seed, and seed is varied", "one of the two")
    if said.seed is not None and sample_of(said.sample) is None:
        raise InputError(
            "seed", said.seed, "is given, and seed is varied", "one of the two, or a sample, which needs it"
        )
