"""MkDocs hook: the lessons of the explorer, to be read; and as pages with motion, where ``build/lessons`` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from btflow.explore.lesson import texts

MOVING = Path(__file__).parents[2] / "build" / "lessons"
"""Where pages with motion are, one HTML file for each lesson, named after it."""

_HEAD = """# Lessons

A lesson is a question with a few steps. `btflow explore` has them beside figures that follow you; here they are to be
read. Guess before you unfold what happens."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the list of lessons, and the pages that there are."""
    for path in sorted(MOVING.glob("*.html")):
        files.append(File.generated(config, f"lessons/{path.name}", abs_src_path=str(path)))
    files.append(File.generated(config, "lessons.md", content=page()))
    return files


def page() -> str:
    """Return the list of lessons as Markdown."""
    found = (_lesson(number, name, said) for number, (name, said) in enumerate(texts().items(), start=1))
    return "\n\n".join([_HEAD, *(part for parts in found for part in parts)]) + "\n"


def _lesson(number: int, name: str, said: Mapping[str, Any]) -> Iterator[str]:
    """Give the parts of a lesson's section."""
    moving = f"[Watch it](lessons/{name}.html). " if (MOVING / f"{name}.html").is_file() else ""
    more = f"[notebook {said['notebook'][:2]}](notebooks/{said['notebook']}.md), [reference]({said['docs']}.md)"
    yield f"## {number}. {said['title']} {{ #{name} }}"
    yield f"{said['about']} {moving}More: {more}. In the explorer: `?v=1&lesson={name}`."
    for step in said["steps"]:
        yield f'<details markdown="1"><summary>{step["ask"]}</summary>\n\n{step["notice"]} {step["why"]}\n\n</details>'
