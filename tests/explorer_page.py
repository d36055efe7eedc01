"""What tests do on the explorer's page: find an input, drag a slider, wait for another figure."""

from __future__ import annotations

import statistics
from contextlib import suppress
from typing import Any, NamedTuple

import psutil
from browser import SLOWEST as SLOWEST
from busy import slowdown
from explorer_served import Served
from playwright.sync_api import Locator, Page, expect

from btflow.explore.state import to_query

_SERIES = """() => {
  const shown = document.querySelector('.js-plotly-plot');
  return shown?.data ? shown.data.map(t => Array.from(t.y ?? [], v => Number.isNaN(v) ? null : v)) : [];
}"""
_CHANGED = """before => {
  const shown = document.querySelector('.js-plotly-plot');
  if (!shown?.data || !shown.querySelector('path.js-line')) return false;
  const now = shown.data.map(t => Array.from(t.y ?? [], v => Number.isNaN(v) ? null : v));
  return JSON.stringify(now) !== JSON.stringify(before) && now.some(y => y.length > 50);
}"""
_LATENCY = """([name, key]) => new Promise((found, failed) => {
  const inView = selector => [...document.querySelectorAll(selector)].filter(e => e.offsetParent !== null);
  const field = inView('.btflow-field').find(f => f.querySelector('label')?.textContent === name);
  const handle = field.querySelector('.noUi-handle');
  setTimeout(() => failed(new Error('not all figures were drawn')), 120000);
  let start;
  Promise.all(inView('.js-plotly-plot').map(g => new Promise(drawn => g.once('plotly_afterplot', drawn))))
    .then(() => requestAnimationFrame(() => found(performance.now() - start)));
  handle.focus();
  start = performance.now();
  handle.dispatchEvent(new KeyboardEvent('keydown', { key, keyCode: key === 'ArrowRight' ? 39 : 37, bubbles: true }));
})"""


FIGURES = """() => Object.fromEntries([...document.querySelectorAll('.js-plotly-plot')]
  .filter(g => g.offsetParent !== null && g.layout?.title?.text && g.data?.length)
  .map(g => [g.layout.title.text, g.data.map(t => [...Array.from(t.x ?? []), ...Array.from(t.y ?? [])].join())]))"""
"""What returns the figures that are shown, by title, with the values of their lines."""
_MOVED = f"""([before, titles]) => {{
  const now = ({FIGURES})();
  return titles.every(t => now[t] !== undefined && JSON.stringify(now[t]) !== JSON.stringify(before[t]));
}}"""
_FIT = """() => [document.documentElement.scrollWidth - innerWidth,
  ...[...document.querySelectorAll('.js-plotly-plot')].filter(g => g.offsetParent !== null)
    .map(g => g.querySelector('.main-svg').getBoundingClientRect().right - innerWidth)]"""


def open_page(shown: Page, url: str) -> None:
    """Open the explorer and wait for its first figure."""
    shown.goto(url, wait_until="commit", timeout=SLOWEST)
    drawn(shown, [])


def series(shown: Page) -> list[list[float | None]]:
    """Return the y values of every line of the first figure."""
    found: list[list[float | None]] = shown.evaluate(_SERIES)
    return found


def drawn(shown: Page, before: list[list[float | None]]) -> None:
    """Wait until the first figure shows other data."""
    shown.wait_for_function(_CHANGED, arg=before, timeout=SLOWEST)


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


def latencies(shown: Page, label: str, count: int) -> list[float]:
    """Return the times from a key on a slider to all redrawn figures in view [s]."""
    keys = ("ArrowRight", "ArrowLeft")
    return [float(shown.evaluate(_LATENCY, [label, keys[i // 4 % 2]])) / 1000 for i in range(count)]


def open_at(shown: Page, explorer: Served, name: str, state: Any, titles: list[str]) -> None:
    """Open a panel by its link and wait for its figures."""
    shown.goto(f"{explorer.url}&{to_query(name, state)}", wait_until="commit", timeout=SLOWEST)
    moved(shown, {}, titles)


def moved(shown: Page, before: Any, titles: list[str]) -> None:
    """Wait until figures show other data."""
    shown.wait_for_function(_MOVED, arg=[before, titles], timeout=SLOWEST)


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


class Redraws(NamedTuple):
    """What redraws of all figures in view took.

    A machine that runs other tests makes everything late, but hardly changes the processor time that a redraw takes,
    and now and then lets one pass: what a redraw costs is told from both.
    """

    times: list[float]
    """From a key on a slider to the redrawn figures [s]."""
    processor: float
    """Mean processor time of the browser and the server, visitors' processes included [s]."""
    slowdown: float
    """Seconds that pass in one second of processor time, beside whatever else runs."""

    @property
    def median(self) -> float:
        """Median time from a key on a slider to the redrawn figures [s]."""
        return statistics.median(self.times)

    def check(self, most: float) -> None:
        """Check that a redraw takes at most so long [s] on a machine that does nothing else."""
        print(f"slider to redrawn figures: {1000 * self.median:.0f} ms, median of {len(self.times)};")
        print(f"{1000 * self.processor:.0f} ms of processors; a machine {self.slowdown:.1f} times as slow as when idle")
        assert self.processor < most
        assert self.median < most * self.slowdown


def redraws(shown: Page, label: str, count: int) -> Redraws:
    """Move a slider by keys and return what that took."""
    slow, before = slowdown(), _processor_times()
    times = latencies(shown, label, count)
    after = _processor_times()
    spent = sum(seconds - before.get(process, 0.0) for process, seconds in after.items())
    return Redraws(times, spent / count, max(slow, slowdown()))


def _processor_times() -> dict[int, float]:
    """Return the processor time of each process that the tests have started [s]."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            times = process.cpu_times()
            found[process.pid] = times.user + times.system
    return found
