"""MkDocs hook: the reports of ``make validate`` and other pages of the repository that lie outside ``docs/``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = ("validation/*.md", "validation/details/*.md", "validation/*/README.md", "data/*/README.md")
_UP = re.compile(r"\]\(\.\./(?=(?:validation|data)/)")
_INTO_DOCS = re.compile(r"(\]\((?:\.\./)+)docs/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, each at its path in the repository."""
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            source = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, source, content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, **_kwargs: Any) -> str:
    """Return a page whose links between ``docs/`` and the pages added here are those of the site."""
    return _INTO_DOCS.sub(r"\1", markdown) if "/" in page.file.src_uri else _UP.sub("](", markdown)
