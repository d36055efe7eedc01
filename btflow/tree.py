"""The content of a model file, in which fields are set by sharing all that does not change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from btflow.errors import ScenarioError

Tree = dict[str, Any]
Keys = tuple[str, ...]
"""Where a field is: the keys of the tables it is in, and its own."""


class _Nothing:
    """Stands for a field that is left out."""


NOTHING = _Nothing()


def present(tree: Any, keys: Iterable[str]) -> Any:
    """Return what a tree has at a place, None if nothing."""
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def put(tree: Any, keys: Keys, content: Any, parameter: str = "") -> Any:
    """Return a tree with one field set, or taken out if the content is ``NOTHING``.

    Args:
        tree: What is there; it is shared, not changed.
        keys: Where the field is.
        content: What it holds.
        parameter: The parameter that sets it, for which the tables it is in must be there; without one they are made.

    Raises:
        ScenarioError: The field is in something that is no table.
    """
    if not keys:
        return content
    if tree is None and not parameter:
        tree = {}
    if not isinstance(tree, dict):
        field = f"parameters.{parameter}.sets" if parameter else ".".join(keys)
        raise ScenarioError(field, None, "is in a table that is not there")
    key, *inner = keys
    if content is NOTHING and not inner:
        return {name: value for name, value in tree.items() if name != key}
    return {**tree, key: put(tree.get(key), tuple(inner), content, parameter)}


def matching(tree: Any, pattern: Sequence[str], at: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Give the places, and what is there, for which a pattern stands in which ``*`` is any key."""
    if not pattern:
        yield at, tree
    elif isinstance(tree, dict):
        for key in tree if pattern[0] == "*" else tree.keys() & {pattern[0]}:
            yield from matching(tree[key], pattern[1:], (*at, key))
