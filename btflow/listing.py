"""What ``btflow list`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from btflow.catalog import document, load, names
from btflow.parameters import Parameter

_PREFIX = {
    "decimal": "In this model 1 kB = 1000 B, 1 MB = 10**6 B; 1 KiB = 1024 B.",
    "binary": "In this model 1 kB = 1 KiB = 1024 B, 1 MB = 1 MiB = 2**20 B.",
}
_FORMS = {
    "size": "size",
    "rate": "rate",
    "time": "time",
    "fraction": "fraction",
    "count": "count",
    "packets": "packets",
    "buffer": "buffer",
    "flag": "true/false",
    "choice": "word",
    "text": "text",
    "names": "names",
}


def models() -> str:
    """Return the models that come with btflow, one a line."""
    return _columns([(name, load(name).title) for name in names()])


def parameters(name: str) -> str:
    """Return a model's parameters with kind, unit, default and meaning.

    Raises:
        InputError: There is no such model, or its file is not a valid one.
    """
    read = document(name)
    scenario = read.build({})
    rows = [("parameter", "kind", "unit", "default", "meaning")]
    for p in read.parameters.values():
        default = scenario.parameters[p.name] if p.default_from is None else f"as {p.default_from}"
        rows.append((p.name, _FORMS[p.kind], p.unit or "-", default, _meaning(p)))
    lines = [f"{scenario.name}: {scenario.title}", f"Source: {scenario.source}"]
    return "\n".join([*lines, _PREFIX[read.byte_prefix], "", _columns(rows)])


def _meaning(parameter: Parameter) -> str:
    choices = f" ({', '.join(parameter.words)})" if parameter.words else ""
    return parameter.meaning + choices


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows with their columns aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    )
