"""What words that are varied stand for: files of the user's own, such as ``transport=my.toml``, and a model's choices.

A sweep takes the content of files, so that a worker elsewhere needs none, and a change of one is a change of the sweep.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from btflow.config.document import Document
from btflow.config.files import inline
from btflow.sweeps.design import Design

Contents = Mapping[tuple[str, str], str]
"""Content of files as TOML on one line, by the name that is varied and the path."""


def contained(document: Document[Any], settings: Mapping[str, object]) -> dict[str, object]:
    """Return settings with the content of files in place of their paths.

    Raises:
        InputError: A file cannot be read, or is not what its field takes.
    """
    return {name: _content(document, name, value) for name, value in settings.items()}


def contents(document: Document[Any], design: Design) -> dict[tuple[str, str], str]:
    """Return the content of every file that a varied value names; errors as in ``contained``."""
    named = ((name, text) for name, text in _words(design) if not document.has_values(name) and _names_file(text))
    return {(name, text): str(_content(document, name, text)) for name, text in named}


def digests(document: Document[Any], design: Design, found: Contents) -> dict[str, str]:
    """Return a digest of what each varied word stands for, by ``name = word``: of a file, or of a model's choice."""
    meanings = {
        f"{name} = {text}": found.get((name, text)) or _meaning(document, name, text) for name, text in _words(design)
    }
    return {what: hashlib.sha256(text.encode()).hexdigest()[:16] for what, text in meanings.items() if text}


def _words(design: Design) -> Iterator[tuple[str, str]]:
    """Give the names that are varied over words, and each of the words once."""
    for coordinate in design.coordinates():
        if coordinate.values.dtype == object:
            for text in dict.fromkeys(coordinate.values.tolist()):
                yield coordinate.name, str(text)


def _meaning(document: Document[Any], name: str, text: str) -> str:
    """Return what a word makes of fields, those of parameters that follow too; empty if it stands for itself."""
    if not document.has_values(name):
        content = document.assigner.by_path(name, text).setting.content
        return inline(content) if isinstance(content, dict) else ""
    follow = {p.name for p in document.parameters.values() if p.default_from == name}
    settings = document.assigner.assign({name: text}).settings
    return repr([(keys, s.content) for keys, s in settings.items() if s.parameter in {name, *follow}])


def _names_file(value: object) -> bool:
    """Return whether a value may be the path of a file, or a table that starts from one."""
    if not isinstance(value, str):
        return False
    text = value.strip()
    return text.startswith("{") or text.endswith(".toml") or "/" in text or "\\" in text


def _content(document: Document[Any], name: str, value: object) -> object:
    if isinstance(value, dict) and "base" in value:
        value = inline(value)
    if document.has_values(name) or not _names_file(value):
        return value
    content = document.assigner.by_path(name, value).setting.content
    return inline(content) if isinstance(content, dict) else value
