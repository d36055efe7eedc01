"""What values for a model's parameters and fields set, field by field; two sources for one are refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from btflow.config.field_paths import Place, places
from btflow.config.kinds import ModelKind, matches
from btflow.config.parameters import Parameter, resolve, unknown
from btflow.config.problems import Knob
from btflow.config.references import names
from btflow.config.toml import NOTHING, Keys, Tree, present
from btflow.config.values import Setting, read_setting
from btflow.errors import InputError, ScenarioError, shorten
from btflow.units import BytePrefix, format_quantity

Settings = Mapping[Keys, Setting]


def superseded(kind: ModelKind[Any], tree: Tree, settings: Settings) -> dict[Keys, Keys]:
    """Return the fields without effect, and which field takes the place of each.

    Args:
        kind: What kind of model it is.
        tree: The file's content.
        settings: What its fields are set to, by their keys.
    """
    there = [(_keys(by), fields) for by, fields in kind.supersedes.items()]
    return {_keys(field): by for by, fields in there if content(tree, settings, by) is not None for field in fields}


def without_effect(
    found: Mapping[Keys, Keys], tree: Tree, settings: Settings, setters: Mapping[Keys, str], given: Mapping[str, object]
) -> Iterator[ScenarioError]:
    """Yield the fields without effect that were given all the same, or that the file alone has beside the other.

    What a file has is a default, so that it may be there for the case that the other field is taken out: where one of
    the two is a parameter's or was given.

    Args:
        found: What ``superseded`` returns.
        tree: The file's content.
        settings: What its fields are set to.
        setters: The fields, or tables with fields, that were given, and by which name.
        given: The values that were given, by name.
    """
    for keys, by in found.items():
        found_there = content(tree, settings, keys)
        by_file = _above(settings, keys) is None and _above(settings, by) is None
        if found_there is None or not (by_file or _above(setters, keys)):
            continue
        name = setters.get(keys)
        value = found_there if name is None else given[name]
        reason = f"is never used: {setters.get(by) or '.'.join(by)} = {_shown(tree, settings, by)} takes its place"
        yield ScenarioError(name or ".".join(keys), value, reason, "one of the two")


def content(tree: Tree, settings: Settings, keys: Keys) -> Any:
    """Return what a field holds once all is set, None if nothing."""
    above = _above(settings, keys)
    if above is None:
        return present(tree, keys)
    found = settings[above].content
    return None if found is NOTHING else present(found, keys[len(above) :])


def _above(of: Mapping[Keys, Any], keys: Keys) -> Keys | None:
    """Return the field itself or the innermost table around it that is in a mapping; None if there is none."""
    return next((keys[:n] for n in range(len(keys), 0, -1) if keys[:n] in of), None)


def _shown(tree: Tree, settings: Settings, keys: Keys) -> str:
    """Return what stands for the content of a field: the text that it was set by, or the name in its table."""
    if keys in settings:
        return shorten(settings[keys].text).strip("'")
    found = content(tree, settings, keys)
    return shorten(found.get("name", found) if isinstance(found, dict) else found).strip("'")


def _keys(path: str) -> Keys:
    return tuple(path.split("."))


_MOST_KEPT = 4096
_OUT = Setting(NOTHING, "none", "none", None)

T = TypeVar("T")


@dataclass(frozen=True)
class Assignment:
    """What a model's fields are set to.

    Attributes:
        settings: By the field's keys, outer tables before what is in them.
        shown: A text for each parameter and path, from which the same is set again. A parameter that was not given and
            of whose fields one is set by its path, or none has an effect, is left out.
        own: The fields that were given by their paths, and the path as it was given.
    """

    settings: Mapping[Keys, Setting]
    shown: Mapping[str, str]
    own: Mapping[Keys, str]

    def knobs(self, parameters: Mapping[str, Parameter], given: Mapping[str, object]) -> dict[str, Knob]:
        """Return what set each field, by its dotted path, and to what as it was given."""
        found = {}
        for keys, setting in self.settings.items():
            name = self.own.get(keys) or setting.parameter
            if name and name not in given:
                name = parameters[name].default_from or name
            if name:
                found[".".join(keys)] = Knob(name, given.get(name))
        return found


class _ByParameter(NamedTuple):
    """A parameter's value as a text, and what it sets."""

    text: str
    settings: tuple[tuple[Keys, Setting], ...]


class _ByPath(NamedTuple):
    """The fields that a path names, and what they are set to."""

    places: tuple[Place, ...]
    setting: Setting


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
        self._kept: dict[Hashable, Any] = {}

    def assign(self, given: Mapping[str, object]) -> Assignment:
        """Return what values by parameter name and by dotted path set, and the defaults of the other parameters.

        Raises:
            InputError: A name is unknown, a value is wrong, a field is set twice or has no effect; all that is wrong of
                one sort at once.
        """
        problems: list[InputError] = []
        paths = self._paths(given, problems)
        values = resolve(self._parameters, given, self._by_parameter, problems)
        problems = problems or [*self._twice(paths, given), *self._misplaced(paths, given)]
        if problems:
            raise type(problems[0]).all_of(problems)
        own = {place.keys: name for name, by_path in paths.items() for place in by_path.places}
        out = self._rivals(own, paths, given) if own else {}
        settings, shown = self._of_parameters(values, given, own.keys() | out)
        settings |= dict.fromkeys(out, _OUT)
        for name, by_path in paths.items():
            settings |= dict.fromkeys((place.keys for place in by_path.places), by_path.setting)
            shown[name] = by_path.setting.text
        self._leave_out(settings, shown, own, given)
        return Assignment(dict(sorted(settings.items(), key=lambda item: len(item[0]))), shown, own)

    def by_path(self, name: str, value: object) -> _ByPath:
        """Return the fields that a dotted path names, and what a value makes of them.

        Raises:
            InputError: There is no such field, or it does not take the value.
        """
        return self._once(("path", name), value, lambda: self._read_path(name, value))

    def places(self, name: str) -> tuple[Place, ...]:
        """Return the fields that a dotted path names, or a parameter of files; a ScenarioError if there is none."""
        return self._once(("places", name), "", lambda: self._find_places(name))

    def outdated(self, given: Mapping[str, object], values: Mapping[str, object]) -> set[str]:
        """Return what was given before and loses its effect by later values, as a round-trip time does by paths."""
        taken = {
            tuple(field.split("."))
            for by, fields in self._kind.supersedes.items()
            if any(self._gives(name, value, tuple(by.split("."))) for name, value in values.items())
            for field in fields
        }
        if not taken:
            return set()
        return {name for name in given.keys() - values.keys() if (found := self._fields(name)) and found <= taken}

    def over(self, given: Mapping[str, object], values: Mapping[str, object]) -> dict[str, object]:
        """Return what was given before with later values on top, less what loses its effect by them."""
        outdated = self.outdated(given, values)
        return {name: value for name, value in given.items() if name not in outdated} | dict(values)

    def _gives(self, name: str, value: object, field: Keys) -> bool:
        """Return whether a value that is given to a name has something for a field, perhaps in a table around it."""
        for keys in self._fields(name):
            if keys == field:
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
        fields = self._kind.model.model_fields
        name = name if name in self._parameters else self._kind.aliases.get(name, name)
        if name in self._parameters and self._parameters[name].kind == "file":
            return places(self._kind, self._tree, self._parameters[name].sets[0])
        if "." not in name and name not in fields:
            raise unknown(name, [*self._parameters, *fields], "parameter nor the path of a field")
        return places(self._kind, self._tree, name)

    def _read_path(self, name: str, value: object) -> _ByPath:
        try:
            found = self.places(name)
        except ScenarioError as problem:
            raise ScenarioError(name, None, problem.reason, problem.allowed) from None
        return _ByPath(found, read_setting(found[0], value, name, self._byte_prefix))

    def _by_parameter(self, name: str, value: object) -> _ByParameter:
        return self._once(("parameter", name), value, lambda: self._read_parameter(name, value))

    def _read_parameter(self, name: str, value: object) -> _ByParameter:
        parameter = self._parameters[name]
        if parameter.kind == "file":
            return self._read_file(parameter, value)
        parsed = parameter.parse(value, self._byte_prefix)
        shown = format_quantity(parsed, parameter.kind, byte_prefix=self._byte_prefix)
        contents = parameter.field_values(parsed, self._byte_prefix)
        settings = []
        for path, keys, content in zip(parameter.sets, self._sets[name], contents, strict=True):
            key = tuple(content) if isinstance(content, list) else content
            table = self._referred[path][content] if path in self._referred else content
            settings.append((keys, Setting(table, shown, parsed, key, name)))
        return _ByParameter(shown, tuple(settings))

    def _read_file(self, parameter: Parameter, value: object) -> _ByParameter:
        """Return what a parameter sets whose value is the name of a file; its default is what is in the tree."""
        (keys,) = self._sets[parameter.name]
        if isinstance(value, str) and value == parameter.default:
            text = str(value)
            content = NOTHING if text == "none" else present(self._tree, keys)
            setting = Setting(content, text, text, ("given", text))
        else:
            setting = self.by_path(parameter.name, value).setting
        return _ByParameter(setting.text, ((keys, setting._replace(parameter=parameter.name)),))

    def _once(self, what: tuple[str, str], value: object, read: Callable[[], T]) -> T:
        """Return what ``read`` reads of a value, read once only if the value is a plain one."""
        plain = tuple(value) if isinstance(value, list | tuple) else value
        if not isinstance(plain, str | int | float) and not _are_texts(plain):
            return read()
        key = (what, type(plain), plain)
        kept: T | None = self._kept.get(key)  # looked up once: another thread may clear it
        if kept is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            kept = self._kept[key] = read()
        return kept

    def _paths(self, given: Mapping[str, object], problems: list[InputError]) -> dict[str, _ByPath]:
        """Return what each name that is no parameter sets, by name; what is wrong is added to the problems."""
        found: dict[str, _ByPath] = {}
        for name in sorted(given.keys() - self._parameters.keys()):
            try:
                found[name] = self.by_path(name, given[name])
            except InputError as problem:
                problems += problem.problems
        return found

    def _twice(self, paths: Mapping[str, _ByPath], given: Mapping[str, object]) -> Iterator[ScenarioError]:
        """Yield the names that set a field which another one sets too."""
        setters = {keys: f"parameter {name}" for name in self._sets.keys() & given for keys in self._sets[name]}
        for name, by_path in paths.items():
            for place in by_path.places:
                if place.keys in setters:
                    reason = f"sets {'.'.join(place.keys)}, as {setters[place.keys]} does"
                    yield ScenarioError(name, given[name], reason, "one of the two")
                    break
                setters[place.keys] = name

    def _misplaced(self, paths: Mapping[str, _ByPath], given: Mapping[str, object]) -> Iterator[ScenarioError]:
        """Yield the paths into a table that is not there, or to a key that its table does not have."""
        set_to = {place.keys: by_path.setting for by_path in paths.values() for place in by_path.places}
        files = [name for name in self._parameters.keys() & given if self._parameters[name].kind == "file"]
        set_to |= dict(setting for name in files for setting in self._by_parameter(name, given[name]).settings)
        for name, by_path in paths.items():
            for place in by_path.places:
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

    def _rivals(
        self, own: Mapping[Keys, str], paths: Mapping[str, _ByPath], given: Mapping[str, object]
    ) -> dict[Keys, None]:
        """Return the fields that those set by path take the place of, and that are not set themselves."""
        kept = own.keys() | {keys for name in self._sets.keys() & given for keys in self._sets[name]}
        found: dict[Keys, None] = {}
        for keys, name in own.items():
            for mine, other in self._kind.rivals:
                if matches(mine, keys) and paths[name].setting.content is not NOTHING:
                    rival = tuple(k if part == "*" else part for k, part in zip(keys, other.split("."), strict=True))
                    if rival not in kept:
                        found[rival] = None
        return found

    def _leave_out(
        self, settings: dict[Keys, Setting], shown: dict[str, str], own: Mapping[Keys, str], given: Mapping[str, object]
    ) -> None:
        """Take the parameters that set fields without effect alone out of what is shown.

        Raises:
            ScenarioError: Such a parameter, or such a field, was given.
        """
        found = superseded(self._kind, self._tree, settings)
        if not found:
            return
        setters = {**{keys: name for name in self._sets.keys() & given for keys in self._sets[name]}, **own}
        problems = list(without_effect(found, self._tree, settings, setters, given))
        if problems:
            raise ScenarioError.all_of(problems)
        for name, fields in self._sets.items():
            if found.keys() >= set(fields):
                shown.pop(name, None)

    def _of_parameters(
        self, values: Mapping[str, _ByParameter], given: Mapping[str, object], taken: Collection[Keys]
    ) -> tuple[dict[Keys, Setting], dict[str, str]]:
        """Return what the parameters set, but for the defaults of fields that are taken or lie in one that is."""
        settings: dict[Keys, Setting] = {}
        shown: dict[str, str] = {}
        for name, (text, mine) in values.items():
            left = mine
            if taken and name not in given:
                left = tuple((k, s) for k, s in mine if not any(k[:n] in taken for n in range(1, len(k) + 1)))
            settings.update(left)
            if len(left) == len(mine):
                shown[name] = text
        return settings, shown


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, str) for part in value)


def _is_there(value: object) -> bool:
    """Return whether a value is more than what leaves an optional field out."""
    return value is not None and not (isinstance(value, str) and value.strip() == _OUT.text)
