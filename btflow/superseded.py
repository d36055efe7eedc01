"""Finds the fields that another one takes the place of: nothing reads them, so nobody may set them beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from btflow.errors import ScenarioError, shorten
from btflow.kinds import ModelKind
from btflow.settings import Setting
from btflow.tree import NOTHING, Keys, Tree, present

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
