"""What measuring and tests do on the explorer's page: open it, wait for its figures, move a slider."""

from __future__ import annotations

from typing import NamedTuple

from playwright.sync_api import Page

from validation.browser import SLOWEST

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
  const figures = inView('.js-plotly-plot').filter(g => g.data?.length);  // one without data may stay as it is
  const redrawn = figures.map(g => new Promise(drawn => g.once('plotly_afterplot', drawn)));
  const shown = some => some.then(() => new Promise(requestAnimationFrame)).then(() => performance.now() - start);
  Promise.all([shown(Promise.race(redrawn)), shown(Promise.all(redrawn))]).then(found);
  handle.focus();
  start = performance.now();
  handle.dispatchEvent(new KeyboardEvent('keydown', { key, keyCode: key === 'ArrowRight' ? 39 : 37, bubbles: true }));
})"""


def open_page(shown: Page, url: str) -> None:
    """Open the explorer, its link panel if the address names none, and wait for the first figure."""
    panel = "" if "panel=" in url else f"{'&' if '?' in url else '?'}v=1&panel=link"
    shown.goto(url + panel, wait_until="commit", timeout=SLOWEST)
    drawn(shown, [])


def drawn(shown: Page, before: list[list[float | None]]) -> None:
    """Wait until the first figure shows other data."""
    shown.wait_for_function(_CHANGED, arg=before, timeout=SLOWEST)


class Latency(NamedTuple):
    """Times from a key on a slider [s]."""

    first: float
    """To the first figure that is redrawn."""
    all: float
    """To all figures in view."""


def latencies(shown: Page, label: str, count: int) -> list[Latency]:
    """Return how long figures took to be redrawn after each of several keys on a slider."""
    keys = ("ArrowRight", "ArrowLeft")
    found = [shown.evaluate(_LATENCY, [label, keys[i // 4 % 2]]) for i in range(count)]
    return [Latency(*(float(milliseconds) / 1000 for milliseconds in times)) for times in found]


def words_of_full(shown: Page) -> str:
    """Return what the page says of a swarm drawn from full, once the inputs rest."""
    words = shown.locator(".btflow-words").filter(visible=True, has_text="Full")
    words.wait_for(timeout=SLOWEST)
    return words.inner_text()
