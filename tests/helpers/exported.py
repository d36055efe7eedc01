"""Opens a notebook's page in a browser and counts what is drawn."""

from __future__ import annotations

from pathlib import Path

from browser import SLOWEST
from playwright.sync_api import Page

_DRAWN = """() => {
  const found = [...document.querySelectorAll('.btflow-still')].filter((el) => el.clientWidth && el.checkVisibility());
  return found.length && found.every((el) => el.querySelector('.main-svg'));
}"""


def figures_shown(page: Page, file: Path) -> int:
    """Return how many figures a page from disk draws, once all that are in view are; it must ask for nothing else."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_function(_DRAWN, timeout=SLOWEST)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert wrong == []
    return page.locator(".btflow-still .plot-container").count()
