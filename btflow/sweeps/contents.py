"""Files of the user's own that values name, such as ``transport=my.toml``.

A sweep takes their content, so that a worker elsewhere needs no such file and a change of one is a change of the sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btflow.document import Document
from btflow.tomlfile import inline


def contained(document: Document[Any], settings: Mapping[str, object]) -> dict[str, object]:
    """Return settings with the content of files in place of their paths.

    Raises:
        InputError: A file cannot be read, or is not what its field takes.
    """
    return {name: _content(document, name, value) for name, value in settings.items()}


def names_file(value: object) -> bool:
    """Return whether a value may be the path of a file, or a table that starts from one."""
    return isinstance(value, str) and (value.endswith(".toml") or "/" in value or "\\" in value)


def _content(document: Document[Any], name: str, value: object) -> object:
    if name in document.parameters or not names_file(value):
        return value
    content = document.assigner.by_path(name, value).setting.content
    return inline(content) if isinstance(content, dict) else value
