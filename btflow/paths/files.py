"""Reads and writes path models as TOML files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from btflow.errors import InputError
from btflow.options import output_file
from btflow.output import replacing
from btflow.paths.model import LossPoint, PathModel, RttPoint
from btflow.paths.structure import Region, Structure
from btflow.references import read_table
from btflow.tomlfile import inline, split_sources
from btflow.translate import translated

FOLDER = "internet"
"""Of the path models among those that come with btflow."""


def load(model: str | PathLike[str]) -> PathModel:
    """Return a path model.

    Args:
        model: The name of one that comes with btflow, such as ``iplane``, or the path of a ``.toml`` file,
            which may start from another one: ``base = "iplane"``.

    Raises:
        InputError: There is no such model, or its file is not one.
    """
    if not isinstance(model, str | PathLike) or isinstance(os.fspath(model), bytes):
        raise InputError("model", model, "is no path model", 'one, the name of one such as "iplane", or a .toml file')
    return parse(split_sources(read_table(str(model), FOLDER, Path(), "model"))[0])


def parse(content: Any) -> PathModel:
    """Return the model that a file's content, without the sources of its values, describes; InputError if none."""
    try:
        return PathModel.model_validate(content)
    except ValidationError as error:
        raise translated(error, PathModel, {}, {}) from None


def save(model: PathModel, path: str | PathLike[str]) -> None:
    """Write a model; as ``PathModel.save``."""
    file = output_file("path", path, ".toml")
    with replacing(file) as partial:
        partial.write_text(text(model), encoding="utf-8", newline="\n")


def content(model: PathModel) -> dict[str, Any]:
    """Return a model as its file has it; its numbers keep ten digits."""
    structure = {name: getattr(model.structure, name) for name in Structure.model_fields}
    return {
        "name": model.name,
        "title": model.title,
        "source": model.source,
        "tail": model.tail,
        "rtt": [_point(point, _milliseconds(point.value)) for point in model.rtt],
        "loss": [_point(point, point.value) for point in model.loss],
        "structure": structure | {"regions": [_region(region) for region in model.structure.regions]},
    }


def text(model: PathModel, comment: str = "") -> str:
    """Return a model as a TOML file."""
    found = content(model)
    structure = found.pop("structure")
    lines = [*(f"# {line}" for line in comment.splitlines()), *([""] if comment else [])]
    return "\n".join([*lines, *_table(found), "", "[structure]", *_table(structure)]) + "\n"


def _table(fields: dict[str, Any]) -> Iterator[str]:
    """Give the lines of a table: its numbers and texts, then its lists, a line for each entry."""
    for name, value in fields.items():
        if not isinstance(value, list):
            yield f"{name} = {inline(value)}"
    for name, entries in fields.items():
        if isinstance(entries, list):
            yield from ("", f"{name} = [", *(f"  {inline(entry)}," for entry in entries), "]")


def _point(point: RttPoint | LossPoint, value: str | float) -> dict[str, Any]:
    return {"share": point.share, "value": value} | ({"source": point.source} if point.source else {})


def _region(region: Region) -> dict[str, Any]:
    places = {name: _milliseconds(getattr(region, name)) for name in ("x", "y", "spread")}
    return {"share": region.share} | places


def _milliseconds(time: float) -> str:
    """Return a time as a file has it: in as few digits as a measurement has."""
    return f"{1e3 * time:.10g} ms"
