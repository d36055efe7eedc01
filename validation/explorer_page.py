"""What pictures and tests do first on the explorer's page: open it, and wait for its figures."""

from __future__ import annotations

from playwright.sync_api import Page

from validation.browser import SLOWEST

_CHANGED = """before => {
  const shown = document.querySelector('.js-plotly-plot');
  if (!shown?.data || !shown.querySelector('path.js-line')) return false;
  const now = shown.data.map(t => Array.from(t.y ?? [], v => Number.isNaN(v) ? null : v));
  return JSON.stringify(now) !== JSON.stringify(before) && now.some(y => y.length > 50);
}"""


def open_page(shown: Page, url: str) -> None:
    """Open the explorer, its link panel if the address names none, and wait for the first figure."""
    panel = "" if "panel=" in url else f"{'&' if '?' in url else '?'}v=1&panel=link"
    shown.goto(url + panel, wait_until="commit", timeout=SLOWEST)
    drawn(shown, [])


def drawn(shown: Page, before: list[list[float | None]]) -> None:
    """Wait until the first figure shows other data."""
    shown.wait_for_function(_CHANGED, arg=before, timeout=SLOWEST)
