"""Where the files are that a model file's table ``[sweep]`` names: beside it, as for all paths in a model file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from btflow.config.document import Document
from btflow.errors import InputError
from btflow.sweeps.spec import Names, split
from btflow.sweeps.table import Declaration


def located(document: Document[Any], file: Declaration) -> Declaration:
    """Return what a model file declares, with the paths of files as the current folder has them."""
    if document.folder == Path():
        return file
    vary = {names: _spec(document, names, spec) for names, spec in file.vary.items()}
    fixed = {name: _value(document, name, value) for name, value in file.set.items()}
    return replace(file, vary=vary, set=fixed)


def _spec(document: Document[Any], names: Names, spec: object) -> object:
    """Return what one name, or several together, are varied over."""
    if not any(_takes_files(document, name) for name in names):
        return spec
    if len(names) == 1:
        if isinstance(spec, str):  # a list, perhaps within choice(...)
            return "".join(str(_value(document, names[0], part)) for part in re.split(r"([,()])", spec))
        return [_value(document, names[0], value) for value in spec] if isinstance(spec, list) else spec
    rows = [split(text.strip("()"), names[0]) for text in split(spec, names[0])] if isinstance(spec, str) else spec
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return spec
    return [[_value(document, name, value) for name, value in zip(names, row, strict=True)] for row in rows]


def _value(document: Document[Any], name: str, value: object) -> object:
    """Return a value, or the table's ``base``, below the model file's folder if it is the path of a file."""
    if not _takes_files(document, name):
        return value
    if isinstance(value, dict) and "base" in value:
        return value | {"base": _value(document, name, value["base"])}
    is_path = isinstance(value, str) and (value.strip().endswith(".toml") or "/" in value)
    return str(document.folder / str(value).strip()) if is_path else value


def _takes_files(document: Document[Any], name: str) -> bool:
    """Return whether a name is a field's that may name a file; those of a model's parameter are read with the model."""
    try:
        return not document.has_values(name) and document.assigner.places(name)[0].folder is not None
    except InputError:  # said when it is set
        return False
