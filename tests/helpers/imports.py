"""What files of btflow import, at the top or within a function; what only type checkers read is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import btflow

PACKAGE = Path(btflow.__file__).parent


def imported(file: Path) -> Iterator[str]:
    """Give the modules that a file imports when it runs."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typed = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    left_out = {id(node) for block in typed for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def file_of(module: str) -> Path | None:
    """Return the file of a module of btflow, None if it is none."""
    parts = module.split(".")
    if parts[0] != "btflow" or parts[:2] == ["btflow", "models"]:
        return None
    path = PACKAGE.joinpath(*parts[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
