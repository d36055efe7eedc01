"""MkDocs hook: a page of the API for each public module, from its ``__all__``."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

MODULES = ("btflow", "btflow.analysis", "btflow.analytic", "btflow.plots", "btflow.paths")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name in MODULES:
        files.append(File.generated(config, f"api/{name.rpartition('.')[2]}.md", content=page(name)))
    return files


def page(name: str) -> str:
    """Return the page of a module: mkdocstrings puts the docstring of each name in its place."""
    module = import_module(name)
    public = getattr(module, "__all__", ())
    entries = [f"::: {name}.{public_name}" for public_name in public if _documented(module, public_name)]
    return "\n\n".join([f"# {name}", module.__doc__ or "", *entries]) + "\n"


def _documented(module: ModuleType, name: str) -> bool:
    """Return whether a name has its place on this page: modules have pages of their own."""
    return not name.startswith("__") and not isinstance(getattr(module, name), ModuleType)
