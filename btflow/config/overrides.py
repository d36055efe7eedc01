"""What values given by name make of a model file: each field is set once, by a parameter or by its dotted path."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from btflow.config.fields import Place, everywhere, places
from btflow.config.files import NOTHING, Keys, Tree, check, names, present, put
from btflow.config.kinds import ModelKind
from btflow.config.parameters import Parameter
from btflow.config.values import Setting, read_setting
from btflow.errors import InputError, ScenarioError, shorten, unknown
from btflow.units import BytePrefix, format_quantity

_MOST_KEPT = 4096
_OUT = Setting(NOTHING, "none", "none")


class Override(NamedTuple):
    """What a value given to one name sets.

    Attributes:
        text: The value as a text from which the same is set again.
        settings: What each field is set to, by the field's keys.
        places: The fields, if a path names them.
    """

    text: str
    settings: tuple[tuple[Keys, Setting], ...]
    places: tuple[Place, ...] = ()

    @property
    def setting(self) -> Setting:
        """What the first field is set to, as are the others of a path."""
        return self.settings[0][1]


@dataclass(frozen=True)
class Assignment:
    """What a model's fields are set to.

    Attributes:
        tree: The file's content with all that is set.
        settings: What was given and what follows it, by the field's keys; all else is as in the file.
        shown: A text for each parameter and path, from which the same is set again. A parameter that was not given and
            of whose fields one is set by its path, or none has an effect, is left out.
        own: The fields that were given by their paths, and the path as it was given.
        setters: Which name sets a field: parameters that were not given, too.
    """

    tree: Tree
    settings: Mapping[Keys, Setting]
    shown: Mapping[str, str]
    own: Mapping[Keys, str]
    setters: Mapping[Keys, str]


class Assigner:
    """Knows the parameters and fields of one model file, and keeps what it has read.

    Args:
        kind: What kind of model it is.
        tree: The file's content.
        parameters: The file's parameters.
        referred: The content of the files that a parameter may name, by the field's path and the name.
        byte_prefix: What ``kB`` means in the file.
    """

    def __init__(
        self,
        kind: ModelKind[Any],
        tree: Tree,
        parameters: Mapping[str, Parameter],
        referred: Mapping[str, Mapping[str, Tree]],
        byte_prefix: BytePrefix,
    ) -> None:
        self._kind, self._tree, self._parameters = kind, tree, parameters
        self._referred, self._byte_prefix = referred, byte_prefix
        self._sets = {name: [tuple(path.split(".")) for path in p.sets] for name, p in parameters.items()}
        self._setters = {keys: name for name, fields in self._sets.items() for keys in fields}
        self._inside = {
            name: [keys for keys in self._setters if any(keys != mine and keys[: len(mine)] == mine for mine in fields)]
            for name, fields in self._sets.items()
        }  # fields of other parameters in the tables that a parameter sets: they are set after the table
        self._once = lru_cache(_MOST_KEPT, typed=True)(self._read)
        self.places = lru_cache(_MOST_KEPT)(self._find_places)
        self._defaults: dict[str, Override] = {}
        self._wrong: dict[str, InputError] = {}
        for name, parameter in parameters.items():
            first = parameters[parameter.default_from] if parameter.default_from else parameter
            try:
                self._defaults[name] = self.read(name, first.default)
            except InputError as problem:  # has to be given
                self._wrong[name] = problem

    @cached_property
    def base(self) -> Tree:
        """The file's content with the parameters' defaults, as it is where nothing is given."""
        settings = (one for override in self._defaults.values() for one in override.settings)
        return _applied(self._tree, sorted(settings, key=lambda one: len(one[0])))

    def assign(self, given: Mapping[str, object]) -> Assignment:
        """Return what values by parameter name and by dotted path set, the other parameters at their defaults.

        Raises:
            InputError: A name is unknown, a value is wrong, a field is set twice or has no effect; all that is wrong of
                one sort at once.
        """
        problems: list[InputError] = []
        paths = self._paths(given, problems)
        values = self._values(given, problems)
        if paths and not problems:
            problems += [*self._twice(paths, given), *self._misplaced(paths, values, given)]
        if problems:
            raise type(problems[0]).all_of(problems)
        own = {keys: name for name, override in paths.items() for keys, _ in override.settings}
        # out: fields that those set by path take the place of, and that are not set themselves
        kept = own.keys() | {keys for name in self._sets.keys() & given for keys in self._sets[name]}
        there = [keys for keys, name in own.items() if paths[name].setting.content is not NOTHING]
        out = dict.fromkeys(rival for keys in there for rival in self._kind.rivals_of(keys) if rival not in kept)
        setters, in_force = self._setters, self._defaults | values
        if taken := own.keys() | out:  # the defaults of fields that are taken, or lie in one that is, are not set
            setters = {keys: by for keys, by in setters.items() if by in given or _above(taken, keys) is None}
            in_force = {name: found for name, found in in_force.items() if setters.keys() >= set(self._sets[name])}
        settings = [(keys, _OUT) for keys in out]
        settings += [(k, s) for override in values.values() for k, s in override.settings if k in setters]
        settings += [one for override in paths.values() for one in override.settings]
        settings.sort(key=lambda one: len(one[0]))  # outer tables before what is in them
        shown = {name: override.text for name, override in (in_force | paths).items()}
        setters = {**setters, **own}
        tree = _applied(self.base, settings)
        self._leave_out(tree, shown, setters, given)
        return Assignment(tree, dict(settings), shown, own, setters)

    def read(self, name: str, value: object) -> Override:
        """Return what a value given to a parameter or a dotted path sets, read once only if it is a plain one.

        Raises:
            InputError: There is no such field, or it does not take the value.
        """
        return self._once(name, value) if isinstance(value, str | int | float) else self._read(name, value)

    def outdated(self, given: Mapping[str, object], values: Mapping[str, object]) -> set[str]:
        """Return what was given before and loses its effect by later values, as a round-trip time does by paths."""
        taken = {
            _keys(field)
            for by, fields in self._kind.supersedes.items()
            if any(self._gives(name, value, _keys(by)) for name, value in values.items())
            for field in fields
        }
        if not taken:
            return set()
        return {name for name in given.keys() - values.keys() if (found := self._fields(name)) and found <= taken}

    def over(self, given: Mapping[str, object], values: Mapping[str, object]) -> dict[str, object]:
        """Return what was given before with later values on top, less what loses its effect by them."""
        outdated = self.outdated(given, values)
        return {name: value for name, value in given.items() if name not in outdated} | dict(values)

    def superseded(self, tree: Tree) -> dict[Keys, Keys]:
        """Return the fields that nothing reads in a content, and which field takes the place of each."""
        there = ((by, fields) for path, fields in self._kind.supersedes.items() for by in _there(tree, _keys(path)))
        return {_keys(field): by for by, fields in there for field in fields}

    def _gives(self, name: str, value: object, field: Keys) -> bool:
        """Return whether a value that is given to a name has something for a field, perhaps in a table around it."""
        for keys in self._fields(name):
            if self._kind.pattern(keys) == ".".join(field):
                return _is_there(value)
            if field[: len(keys)] == keys and isinstance(value, dict):
                return _is_there(present(value, field[len(keys) :]))
        return False

    def _fields(self, name: str) -> set[Keys]:
        """Return the fields that a name sets; none if there is no such name."""
        if name in self._parameters and self._parameters[name].kind != "file":
            return set(self._sets[name])
        try:
            return {place.keys for place in self.places(name)}
        except ScenarioError:
            return set()

    def _find_places(self, name: str) -> tuple[Place, ...]:
        """Return the fields that a dotted path names, or a parameter of files; a ScenarioError if there is none."""
        fields = self._kind.model.model_fields
        name = name if name in self._parameters else self._kind.aliases.get(name, name)
        if name in self._parameters and self._parameters[name].kind == "file":
            return places(self._kind, self._tree, self._parameters[name].sets[0])
        if "." not in name and name not in fields:
            known, paths = [*self._parameters, *fields], (".".join(p.keys) for p in everywhere(self._kind, self._tree))
            raise unknown(name, known, "parameter nor the path of a field", meant=_with_words(name, paths))
        return places(self._kind, self._tree, name)

    def _read(self, name: str, value: object) -> Override:
        try:
            check(value if isinstance(value, str | dict | list) else "")
        except (ValueError, RecursionError) as error:
            reason = "it is nested without end" if isinstance(error, RecursionError) else str(error)
            raise ScenarioError(name, value, f"cannot be used: {reason}") from None
        if name not in self._parameters:
            return self._read_path(name, value)
        parameter = self._parameters[name]
        return self._read_file(parameter, value) if parameter.kind == "file" else self._read_value(parameter, value)

    def _read_path(self, name: str, value: object) -> Override:
        try:
            found = self.places(name)
        except ScenarioError as problem:
            raise ScenarioError(name, None, problem.reason, problem.allowed) from None
        setting = read_setting(found[0], value, name, self._byte_prefix)
        return Override(setting.text, tuple((place.keys, setting) for place in found), found)

    def _read_value(self, parameter: Parameter, value: object) -> Override:
        parsed = parameter.parse("none" if value is None else value, self._byte_prefix)
        shown = format_quantity(parsed, parameter.kind, byte_prefix=self._byte_prefix)
        contents = dict(zip(parameter.sets, parameter.field_values(parsed, self._byte_prefix), strict=True))
        tables = {path: self._referred[path][word] for path, word in contents.items() if path in self._referred}
        settings = ((_keys(path), Setting(c, shown, parsed, parameter.name)) for path, c in (contents | tables).items())
        return Override(shown, tuple(settings))

    def _read_file(self, parameter: Parameter, value: object) -> Override:
        """Return what a parameter sets whose value is the name of a file; its default is what is in the tree."""
        if not isinstance(value, str) or value != parameter.default:
            found = self._read_path(parameter.name, value)
            return found._replace(settings=tuple((k, s._replace(parameter=parameter.name)) for k, s in found.settings))
        (keys,) = self._sets[parameter.name]
        content = NOTHING if value == "none" else present(self._tree, keys)
        return Override(value, ((keys, Setting(content, value, value, parameter.name)),))

    def _paths(self, given: Mapping[str, object], problems: list[InputError]) -> dict[str, Override]:
        """Return what each name that is no parameter sets, by name; what is wrong is added to the problems."""
        found: dict[str, Override] = {}
        for name in sorted(given.keys() - self._parameters.keys()):
            try:
                found[name] = self.read(name, given[name])
            except InputError as problem:
                problems += problem.problems
        return found

    def _values(self, given: Mapping[str, object], problems: list[InputError]) -> dict[str, Override]:
        """Return what the parameters set that are given, that follow one, or that are in a table that one sets."""
        found: dict[str, Override] = {}
        wrong: dict[str, InputError] = {}
        for name, parameter in self._parameters.items():
            source = name if name in given else parameter.default_from
            if source is None or source not in given:
                wrong |= {name: self._wrong[name]} if name in self._wrong else {}
                continue
            try:
                found[name] = self.read(name, given[source])
            except InputError as error:
                wrong[name] = error
        for name, problem in wrong.items():
            follows = name not in given and self._parameters[name].default_from in wrong.keys() & given
            problems += () if follows else problem.problems
        inside = {self._setters[keys] for name in found for keys in self._inside[name]}
        return {name: self._defaults[name] for name in inside & self._defaults.keys()} | found

    def _twice(self, paths: Mapping[str, Override], given: Mapping[str, object]) -> Iterator[ScenarioError]:
        """Yield the names that set a field which another one sets too."""
        setters = {keys: f"parameter {name}" for name in self._sets.keys() & given for keys in self._sets[name]}
        for name, override in paths.items():
            for keys, _ in override.settings:
                if keys in setters:
                    reason = f"sets {'.'.join(keys)}, as {setters[keys]} does"
                    yield ScenarioError(name, given[name], reason, "one of the two")
                    break
                setters[keys] = name

    def _misplaced(
        self, paths: Mapping[str, Override], values: Mapping[str, Override], given: Mapping[str, object]
    ) -> Iterator[ScenarioError]:
        """Yield the paths into a table that is not there, or to a key that its table does not have."""
        files = [values[name] for name in values.keys() & given if self._parameters[name].kind == "file"]
        set_to = dict(setting for override in (*paths.values(), *files) for setting in override.settings)
        for name, override in paths.items():
            for place in override.places:
                above = [set_to[place.keys[:n]] for n in range(1, len(place.keys)) if place.keys[:n] in set_to]
                if above and all(setting.content is not NOTHING for setting in above):
                    continue
                missing = [keys for keys in place.needs if above or present(self._tree, keys) is None]
                if missing:
                    table, folder = ".".join(missing[0]), self._kind.folder_of(missing[0]) or ""
                    reason = f"is in a table that is not there: set {table} too"
                    yield ScenarioError(name, given[name], reason, f"{table} = {', '.join(names(folder))}")
                elif place.new_key:
                    yield ScenarioError(name, given[name], f"is not a field: {place.new_key!r} is not there")

    def _leave_out(
        self, tree: Tree, shown: dict[str, str], setters: Mapping[Keys, str], given: Mapping[str, object]
    ) -> None:
        """Take the parameters that set fields without effect alone out of what is shown.

        What a file has is a default, so that it may be there for the case that the other field is taken out: where one
        of the two is a parameter's or was given.

        Raises:
            ScenarioError: Such a parameter, or such a field, was given; or the file alone has both.
        """
        found = self.superseded(tree)
        problems = []
        for keys, by in found.items():
            by_file = _above(setters, keys) is None and _above(setters, by) is None
            was_given = any(setters.get(keys[:n]) in given for n in range(len(keys), 0, -1))
            if present(tree, keys) is None or not (by_file or was_given):
                continue
            name, winner = (_given_name(field, setters, given) for field in (keys, by))
            value = given.get(name, present(tree, keys))
            there = present(tree, by)
            text = shown.get(setters.get(by, "")) or (there.get("name", there) if isinstance(there, dict) else there)
            text = shorten(text).strip("'")
            reason = f"is never used: {winner} = {text} takes its place"
            problems.append(ScenarioError(name, value, reason, "one of the two"))
        if problems:
            raise ScenarioError.all_of(problems)
        for name, fields in self._sets.items():
            if found and found.keys() >= set(fields):
                shown.pop(name, None)


def _applied(tree: Tree, settings: Iterable[tuple[Keys, Setting]]) -> Tree:
    """Return a content with fields set, one after the other."""
    for keys, setting in settings:
        tree = put(tree, keys, setting.content, setting.parameter)
    return tree


def _there(tree: Any, pattern: Keys, at: Keys = ()) -> Iterator[Keys]:
    """Give the fields of a content that hold something, at a path whose parts may be ``*``."""
    if not pattern and tree is not None and tree != []:
        yield at
    elif pattern and isinstance(tree, dict):
        for key in tree if pattern[0] == "*" else pattern[:1]:
            yield from _there(tree.get(key), pattern[1:], (*at, key))


def _above(of: Collection[Keys], keys: Keys) -> Keys | None:
    """Return the field itself or the innermost table around it that is among some; None if there is none."""
    return next((keys[:n] for n in range(len(keys), 0, -1) if keys[:n] in of), None)


def _given_name(keys: Keys, setters: Mapping[Keys, str], given: Mapping[str, object]) -> str:
    """Return the name by which a field was given, else its path."""
    name = setters.get(keys, "")
    return name if name in given else ".".join(keys)


def _with_words(name: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that end in a field whose name ends a name, and have the other words of it in their tables."""
    found = []
    for path in paths:
        tables, _, field = path.rpartition(".")
        first = name.removesuffix(f"_{field}")
        if tables and first != name and set(first.split("_")) <= set(re.split(r"[._-]", tables)):
            found.append(path)
    return found


def _keys(path: str) -> Keys:
    return tuple(path.split("."))


def _is_there(value: object) -> bool:
    """Return whether a value is more than what leaves an optional field out."""
    return value is not None and not (isinstance(value, str) and value.strip() == _OUT.text)
