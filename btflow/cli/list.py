"""``btflow list`` and ``schema``: models and what they are made of, parameters and fields of one, and its schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from btflow.columns import paragraph, table
from btflow.errors import InputError, brief, unknown

if TYPE_CHECKING:
    from btflow.config.kinds import ModelKind
    from btflow.config.parameters import Parameter

PARTS = {
    "Access links (--access)": "access",
    "Congestion controls (--flow)": "congestion",
    "Speech codecs (--voip)": "codecs",
    "BitTorrent clients (of a swarm's classes)": "clients",
    "Paths between peers (--set internet=...)": "internet",
    "Round-trip times between groups of peers (--set paths.matrix=...)": "paths",
    "TCP of peers without access links (--set transport=...)": "transports",
    "Sockets of peers (--set sockets=...)": "sockets",
}
"""What models are made of: a heading, and the folder of its files."""
_PREFIX = {
    "decimal": "In this model 1 kB = 1000 B, 1 MB = 10**6 B; 1 KiB = 1024 B.",
    "binary": "In this model 1 kB = 1 KiB = 1024 B, 1 MB = 1 MiB = 2**20 B.",
}
_ALSO = "Any field can be set too, by its path: btflow list {name} --fields"
_HOW = (
    "Set with --set FIELD=VALUE; * in place of a name stands for all: classes.*.client=libtorrent-2.",
    "none leaves a field out. A field with - is left out: btflow schema says what it is then.",
)
_DESCRIPTIVE = ("name", "title", "source")
_FORMS = {
    "size": "size",
    "rate": "rate",
    "bitrate": "rate",
    "time": "time",
    "fraction": "fraction",
    "count": "count",
    "packets": "packets",
    "buffer": "buffer",
    "flag": "true/false",
    "choice": "word",
    "text": "text",
    "names": "names",
    "file": "file",
}


def list_models(
    model: Annotated[str | None, typer.Argument(help="Model whose parameters to list, or what else is listed.")] = None,
    fields: Annotated[bool, typer.Option("--fields", help="List every field of the model that can be set.")] = False,
) -> None:
    """List the models, access links and congestion controls, or one model's parameters with unit, default, meaning."""
    if fields and model is None:
        raise InputError("--fields", None, "is given without a model", "btflow list MODEL --fields")
    from btflow.config.files import names, names_path

    read = fields_of if fields else parameters_of
    if model is None:
        typer.echo(everything())
    elif found := "\n\n".join(parts_of(model)):
        typer.echo(found)
    elif not names_path(model) and model not in (*names(), *names("links")):
        known = [*names(), *names("links"), *(name for folder in PARTS.values() for name in names(folder))]
        reason = unknown(model, known, "name in btflow list").reason
        raise InputError("NAME", model, reason, "a name that btflow list shows, or the path of a .toml file")
    else:
        typer.echo(read(model))


def schema(kind: Annotated[str, typer.Argument(help="Kind of model: swarm or link.")] = "swarm") -> None:
    """Print the JSON Schema of a model file."""
    from btflow import files
    from btflow.config import schema as json_schema

    typer.echo(files.to_json(json_schema.schema(kind)))


def everything() -> str:
    """Return the models and what they are made of, one a line."""
    from btflow.config.catalog import load, load_link, names, title_of

    parts = {
        "Swarms (btflow run)": [(name, load(name).title) for name in names()],
        "Links (btflow link)": [(name, load_link(name).title) for name in names("links")],
        **{heading: [(name, title_of(name, kind)) for name in names(kind)] for heading, kind in PARTS.items()},
    }
    width = max(len(name) for rows in parts.values() for name, _ in rows)
    return "\n\n".join(
        f"{heading}\n{table([(name.ljust(width), title) for name, title in rows], indent='  ')}"
        for heading, rows in parts.items()
    )


def parts_of(name: str) -> Iterator[str]:
    """Give the fields, with value and source, of each access link, congestion control or other part of that name."""
    from btflow.config.files import ALIASES, names, read_table, split_sources

    for heading, kind in PARTS.items():
        if (known := ALIASES.get(name, name)) in names(kind):
            tree, sources = split_sources(read_table(known, kind, Path(), "model"))
            rows = [(path, brief(_shown(value)), sources.get(path, "-")) for path, value in _leaves(tree)]
            head = [f"{name}: {tree['title']}", f"Source: {tree['source']}", f"One of: {heading}"]
            yield "\n".join(
                [*(paragraph(line, "  ") for line in head), "", table([("field", "value", "source"), *rows])]
            )


def _leaves(tree: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Give path and value of each field of a table and of those in it, but for those that describe it."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{key}.")
        elif key not in _DESCRIPTIVE:
            yield above + key, value


def parameters_of(name: str) -> str:
    """Return the parameters of a swarm or link model with kind, unit, default and meaning.

    Raises:
        InputError: There is no such model, or its file is not a valid one.
    """
    from btflow.config.catalog import any_document
    from btflow.config.schema import describe

    read = any_document(name)
    scenario = read.build({})
    rows = [("parameter", "kind", "unit", "default", "meaning")]
    for p in read.parameters.values():
        default = f"as {p.default_from}" if p.default_from else scenario.parameters.get(p.name)
        default = default or describe(read, p.name).text(p.default)  # of one that has no effect by default
        rows.append((p.name, _FORMS[p.kind], _unit(p.kind, p.unit), default, _meaning(p, read.kind)))
    lines = [paragraph(f"{scenario.name}: {scenario.title}", "  "), paragraph(f"Source: {scenario.source}", "  ")]
    lines += [_PREFIX[read.byte_prefix], "", table(rows), "", paragraph(_ALSO.format(name=name), "  ")]
    return "\n".join(lines)


def fields_of(name: str) -> str:
    """Return every field of a swarm or link model that its path sets, with kind, unit and present value.

    Raises:
        InputError: There is no such model, or its file is not a valid one.
    """
    from btflow.config.catalog import any_document
    from btflow.config.fields import everywhere
    from btflow.config.files import present
    from btflow.config.schema import describe

    read = any_document(name)
    tree = read.assigner.assign({}).tree
    rows = [("field", "kind", "unit", "value")]
    for place in everywhere(read.kind, tree):
        if place.keys[-1] in _DESCRIPTIVE:
            continue
        path = ".".join(place.keys)
        variable = describe(read, path)
        kind = f"name in {place.folder}" if place.folder else _FORMS[variable.kind]
        rows.append((path, kind, _unit(place.shape.kind, variable.unit), _shown(present(tree, place.keys))))
    return "\n".join([_PREFIX[read.byte_prefix], *map(paragraph, _HOW), "", table(rows)])


def _unit(kind: str, si: str) -> str:
    """Return the unit that values of a kind are shown in, but for its multiples."""
    return "bit/s" if kind == "bitrate" else si or "-"


def _shown(value: Any) -> str:
    """Return a value of a model file on one line: a table's name if it has one, - for what is left out."""
    from btflow.config.files import inline

    if isinstance(value, dict) and value.get("name"):
        return str(value["name"])
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return ",".join(value) or "none"
    return "-" if value is None else value if isinstance(value, str) else inline(value)


def _meaning(parameter: Parameter, kind: ModelKind[Any]) -> str:
    from btflow.config.files import names

    words = list(parameter.words)
    if parameter.kind == "file":
        words = [*names(kind.folder_of(parameter.sets[0].split(".")) or ""), "a .toml file", "none"]
    return parameter.meaning + (f" ({', '.join(words)})" if words else "")
