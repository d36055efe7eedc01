"""A scenario as a TOML file that `btflow run` and `btflow link` take."""

from __future__ import annotations

from btflow.parametrised import ParametrisedModel
from btflow.tomlfile import inline
from btflow.tree import Tree

_TABLES = ("access", "classes", "flows")
"""Tables whose entries are written as tables of their own."""


def to_toml(scenario: ParametrisedModel) -> str:
    """Return a scenario as a model file that stands alone: what it referred to is written out.

    Raises:
        ScenarioError: The scenario was not made from a model.
    """
    tree = scenario.document.standing_alone(scenario.given)
    plain = {name: value for name, value in tree.items() if not isinstance(value, dict)}
    lines = [f"{name} = {inline(value)}" for name, value in plain.items()]
    for name, table in tree.items():
        if isinstance(table, dict):
            lines += _table(name, table)
    return "\n".join(lines) + "\n"


def _table(name: str, table: Tree) -> list[str]:
    if name in _TABLES:
        return [line for key, entry in table.items() for line in _table(f'{name}."{key}"', entry)]
    return ["", f"[{name}]", *(f"{key} = {inline(value)}" for key, value in table.items())]
