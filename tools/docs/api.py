"""MkDocs hook: a page of the API for each public module, from its ``__all__``."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

MODULES = (
    "btflow",
    "btflow.analysis",
    "btflow.analytic",
    "btflow.plots",
    "btflow.motion",
    "btflow.paths",
    "btflow.lines",
    "btflow.explore",
)
_DOCSTRING_ALONE = "\n    options: { members: false, show_root_heading: false, show_root_toc_entry: false }"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name in MODULES:
        files.append(File.generated(config, f"api/{name.rpartition('.')[2]}.md", content=page(name)))
    return files


def page(name: str) -> str:
    """Return the page of a module: mkdocstrings puts the docstring of each name in its place."""
    module = import_module(name)
    public = [found for found in getattr(module, "__all__", ()) if _documented(module, found)]
    entries = [f"::: {path(module, found)}" for found in public]
    return "\n\n".join([f"# {name}", f"::: {name}{_DOCSTRING_ALONE}", *entries]) + "\n"


def path(module: ModuleType, name: str) -> str:
    """Return where a public name is found: where it is made, if a module has the same name where it is public."""
    public = f"{module.__name__}.{name}"
    found = getattr(module, name)
    return f"{found.__module__}.{found.__qualname__}" if public in sys.modules else public


def _documented(module: ModuleType, name: str) -> bool:
    """Return whether a name has its place on this page: modules have pages of their own."""
    return not name.startswith("__") and not isinstance(getattr(module, name), ModuleType)
