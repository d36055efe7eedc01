"""What tests do on the explorer's page: find an input, drag a slider, wait for another figure."""

from __future__ import annotations

import json
from typing import Any

from browser import SLOWEST as SLOWEST
from playwright.sync_api import Locator, Page, TimeoutError, expect

from btflow.explore.panel import to_query
from validation.explorer_page import drawn as drawn, open_page as open_folded
from validation.served import Served

FLOW_TITLES = [
    f"{title} (flow)"
    for title in ("Completion time of the leechers", "Pieces held by a leecher", "Queues of the uplinks")
]
"""Of the figures with data that a swarm on access links has in flow: what held connections back it does not know."""

_SERIES = """() => {
  const shown = document.querySelector('.js-plotly-plot');
  return shown?.data ? shown.data.map(t => Array.from(t.y ?? [], v => Number.isNaN(v) ? null : v)) : [];
}"""
FIGURES = """() => Object.fromEntries([...document.querySelectorAll('.js-plotly-plot')]
  .filter(g => g.offsetParent !== null && g.layout?.title?.text && g.data?.length)
  .map(g => [g.layout.title.text, g.data.map(t => [...Array.from(t.x ?? []), ...Array.from(t.y ?? [])].join())]))"""
"""What returns the figures that are shown, by title, with the values of their lines."""
_MOVED = f"""([before, titles]) => {{
  const now = ({FIGURES})();
  return titles.every(t => now[t] !== undefined && JSON.stringify(now[t]) !== JSON.stringify(before[t]));
}}"""
_SHOWN = """() => ({ text: document.body.innerText, figures: [...document.querySelectorAll('[role=figure]')].map(g => ({
  width: g.clientWidth, around: g.parentElement.clientWidth, traces: g.data?.length, title: g.layout?.title?.text
})) })"""
_FIT = """() => [document.documentElement.scrollWidth - innerWidth,
  ...[...document.querySelectorAll('.js-plotly-plot')].filter(g => g.offsetParent !== null)
    .map(g => g.querySelector('.main-svg').getBoundingClientRect().right - innerWidth)]"""


def open_page(shown: Page, url: str) -> None:
    """Open the explorer, its link panel if the address names none, with all inputs, and wait for the first figure."""
    open_folded(shown, url)
    unfold(shown)


def unfold(shown: Page) -> None:
    """Show all inputs of what is in view."""
    folded = shown.get_by_role("button", name="more inputs").filter(visible=True)
    while count := folded.count():
        folded.first.click()
        expect(folded).not_to_have_count(count, timeout=SLOWEST)  # it has another name then


def series(shown: Page) -> list[list[float | None]]:
    """Return the y values of every line of the first figure."""
    found: list[list[float | None]] = shown.evaluate(_SERIES)
    return found


def controls(shown: Page, label: str) -> Locator:
    """Return the input with a label, its slider and its error included."""
    return shown.locator(".btflow-field", has=shown.get_by_text(label, exact=True)).first


def slider(shown: Page, label: str) -> Locator:
    """Return the handle of an input's slider."""
    return controls(shown, label).locator(".noUi-handle")


def text_of(shown: Page, label: str) -> str:
    """Return what an input's text says."""
    return controls(shown, label).locator("input").input_value()


def drag(shown: Page, handle: Locator, pixels: float) -> None:
    """Drag a slider's handle sideways, in several moves."""
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    shown.mouse.move(x, y)
    shown.mouse.down()
    shown.mouse.move(x + pixels, y, steps=6)
    shown.mouse.up()


def open_at(shown: Page, explorer: Served, name: str, state: Any, titles: list[str]) -> None:
    """Open a panel by its link and wait for its figures."""
    answer = shown.goto(f"{explorer.url}&{to_query(name, state)}", wait_until="commit", timeout=SLOWEST)
    assert answer is not None
    assert answer.ok, f"{answer.status}: {answer.text()}"
    moved(shown, {}, titles)
    unfold(shown)


def moved(shown: Page, before: Any, titles: list[str]) -> None:
    """Wait until figures show other data; what the page shows instead is told."""
    try:
        shown.wait_for_function(_MOVED, arg=[before, titles], timeout=SLOWEST)
    except TimeoutError as error:
        error.add_note(json.dumps(shown.evaluate(_SHOWN), indent=1))
        raise


def enter(shown: Page, label: str, text: str, number: int = 0) -> None:
    """Type a value into an input of the open tab."""
    fields = shown.locator(".btflow-field", has=shown.get_by_text(label, exact=True)).filter(visible=True)
    entry = fields.nth(number).locator("input")
    entry.fill(text)
    entry.press("Enter")


def choose(shown: Page, paper: str, entry: str) -> None:
    """Choose a preset of the open tab: its paper, and then its experiment."""
    for label, text in (("From", paper), ("Preset", entry)):
        menu = shown.get_by_label(label, exact=True).filter(visible=True)
        expect(menu.locator("option").filter(has_text=text).first).to_be_attached(timeout=SLOWEST)
        spaced = {one.replace("\u00a0", " "): one for one in menu.locator("option").all_inner_texts()}
        menu.select_option(label=spaced[text])


def wide(shown: Page) -> list[float]:
    """Return by how many pixels the page and its figures are wider than the window."""
    shown.wait_for_timeout(500)  # figures take their width a moment after they are drawn
    found: list[float] = shown.evaluate(_FIT)
    return [pixels for pixels in found if pixels > 1]
