"""MkDocs hook: pages that lie outside ``docs/``, such as the reports of ``make validate``, and the links to such.

Pages of ``docs/`` link to files of the sources, so that their links work in a clone, too. Of some the site has a page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = ("validation/*.md", "validation/details/*.md", "validation/*/README.md", "data/*/README.md")
SITE = {
    r"((?:validation|data)/[^)#]+)": r"\1",
    r"models/(?:swarms|links)": "parameters/models.md",
    r"models/(\w+)": r"parameters/\1.md",
    r"notebooks": "notebooks.md",
    r"notebooks/(\w+)\.ipynb": r"notebooks/\1.md",
    r"btflow/explore/lessons": "lessons.md",
    r"btflow/explore/lessons/\d-([\w-]+)\.toml": r"lessons.md#\1",
    r"btflow/(swarm|link)/scenario\.py": r"parameters/\1.md",
    r"btflow/__init__\.py": "api/btflow.md",
    r"btflow/(\w+)/__init__\.py": r"api/\1.md",
}
"""By what a page of ``docs/`` links to, behind ``../``: the site's page of it. """

WIDE = "validation/README.md"
"""One table that needs the room of the column of contents, which would be empty."""

_INTO_DOCS = re.compile(r"(\]\((?:\.\./)+)docs/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, each at its path in the repository."""
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            source = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, source, content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, **_kwargs: Any) -> str:
    """Return a page whose links to files of the sources are those of the site."""
    if page.file.src_uri == WIDE:
        page.meta["hide"] = ["toc"]
    if "/" in page.file.src_uri:
        return _INTO_DOCS.sub(r"\1", markdown)
    for source, there in SITE.items():
        markdown = re.sub(rf"(?<=\]\()\.\./{source}(?=[)#])", there, markdown)
    return markdown
