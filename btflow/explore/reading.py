"""Chapters of the documentation and notebooks as pages to read, made of their sources when they are asked for.

The explorer serves them, so that a lesson can lead to them where there is no network. The whole documentation, with
outputs of the notebooks, is the site that `make docs` builds.
"""

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from nbformat import NotebookNode, reads
from nbformat.v4 import new_markdown_cell, new_notebook

from btflow.explore.export import NotebookExporter

CHAPTERS = files("btflow.docs")
NOTEBOOKS = files("btflow.notebooks")

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#|figures/)([^)#]*)(?:#[^)]*)?\)")
_NOT_RUN = "*To read; `btflow lab` opens the notebooks with JupyterLab, which runs them and draws their figures.*"


@cache
def chapter(name: str) -> bytes | None:
    """Return a chapter of the documentation as HTML; None if there is none of that name."""
    source = CHAPTERS / f"{name}.md"
    return _page(new_notebook(cells=[new_markdown_cell(_linked(source))])) if source.is_file() else None


@cache
def notebook(name: str) -> bytes | None:
    """Return a notebook that has not run as HTML; None if there is none of that name."""
    source = NOTEBOOKS / f"{name}.ipynb"
    if not source.is_file():
        return None
    found: NotebookNode = reads(source.read_text(encoding="utf-8"), as_version=4)
    found.cells.insert(1, new_markdown_cell(_NOT_RUN))
    return _page(found)


def _linked(source: Traversable) -> str:
    """Return a chapter whose links lead to other chapters; those that lead elsewhere are text."""

    def link(found: re.Match[str]) -> str:
        there = found[2].endswith(".md") and "/" not in found[2] and (CHAPTERS / found[2]).is_file()
        return f"[{found[1]}]({found[2].removesuffix('.md')}.html)" if there else found[1]

    return _LINK.sub(link, source.read_text(encoding="utf-8"))


def _page(shown: NotebookNode) -> bytes:
    return str(NotebookExporter().from_notebook_node(shown)[0]).encode()
