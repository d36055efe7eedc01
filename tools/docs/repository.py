"""MkDocs hook: the reports of ``make validate`` and other pages of the repository that lie outside ``docs/``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = ("validation/*.md", "validation/*/README.md", "data/*/README.md")
_UP = re.compile(r"\]\(\.\./(?=(?:validation|data)/)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, each at its path in the repository, and the list of notebooks."""
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            source = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, source, content=path.read_text(encoding="utf-8")))
    files.append(File.generated(config, "notebooks.md", content=notebooks()))
    return files


def on_page_markdown(markdown: str, page: Page, **_kwargs: Any) -> str:
    """Return a page of ``docs/`` whose links into the repository lead to the pages added here."""
    return markdown if "/" in page.file.src_uri else _UP.sub("](", markdown)


def notebooks() -> str:
    """Return the page that lists the notebooks, each with its question."""
    rows = [_row(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    return "\n".join(
        [
            "# Notebooks",
            "",
            "`btflow lab` opens JupyterLab on these notebooks (`pip install '.[notebook]'`). Each takes less than a",
            "minute, asks a question, answers it with a picture, and ends with an exercise whose solution is hidden.",
            "",
            "| notebook | question |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )


def _row(path: Path) -> str:
    """Return the row of a notebook: its title, and what the paragraph below it says."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) + "\n\n" for cell in cells if cell["cell_type"] == "markdown")
    title, _, rest = text.partition("\n")
    question = next((part for part in rest.split("\n\n") if part.strip() and not part.startswith("#")), "")
    return f"| `{path.name}`: {title.lstrip('# ')} | {' '.join(question.split()).replace('|', chr(92) + '|')} |"
