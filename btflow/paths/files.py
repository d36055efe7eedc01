"""Reads and writes path models as TOML files."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from btflow.errors import InputError
from btflow.options import output_file
from btflow.output import replacing
from btflow.paths.model import LossPoint, PathModel, RttPoint
from btflow.paths.structure import Region
from btflow.references import find
from btflow.tomlfile import inline, read_toml, split_sources
from btflow.translate import translated

FOLDER = "internet"
"""Of the path models among those that come with btflow."""


def load(model: str | PathLike[str]) -> PathModel:
    """Return a path model.

    Args:
        model: The name of one that comes with btflow, such as ``iplane``, or the path of a ``.toml`` file.

    Raises:
        InputError: There is no such model, or its file is not one.
    """
    if not isinstance(model, str | PathLike) or isinstance(os.fspath(model), bytes):
        raise InputError("model", model, "is no path model", 'one, the name of one such as "iplane", or a .toml file')
    file, _ = find(str(model), FOLDER, Path(), "model")
    return parse(split_sources(read_toml(file))[0])


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


def text(model: PathModel, comment: str = "") -> str:
    """Return a model as a TOML file; its numbers keep ten digits."""
    structure = model.structure
    head = {"name": model.name, "title": model.title, "source": model.source, "tail": model.tail}
    tables = {
        "rtt": [_point(point, f"{_number(1e3 * point.value)} ms") for point in model.rtt],
        "loss": [_point(point, point.value) for point in model.loss],
    }
    shared = {name: getattr(structure, name) for name in ("detour", "loss", "loss_with_rtt")}
    lines = [
        *(f"# {line}" for line in comment.splitlines()),
        *([""] if comment else []),
        *(f"{name} = {inline(value)}" for name, value in head.items()),
        *(line for name, points in tables.items() for line in ("", f"{name} = [", *points, "]")),
        "",
        "[structure]",
        *(f"{name} = {inline(value)}" for name, value in shared.items()),
        "regions = [",
        *(_region(region) for region in structure.regions),
        "]",
    ]
    return "\n".join(lines) + "\n"


def _point(point: RttPoint | LossPoint, value: str | float) -> str:
    content = {"share": point.share, "value": value} | ({"source": point.source} if point.source else {})
    return f"  {inline(content)},"


def _region(region: Region) -> str:
    places = {name: f"{_number(1e3 * getattr(region, name))} ms" for name in ("x", "y", "spread")}
    return f"  {inline({'share': region.share} | places)},"


def _number(value: float) -> str:
    """Return a number in as few digits as a measurement has."""
    return f"{value:.10g}"
