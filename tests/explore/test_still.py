"""Figures without a kernel on a telephone: titles are folded and have room, nothing is cut off, dark pages are dark."""

from __future__ import annotations

import json

import plotly.io as pio
import pytest
from browser import needs_browser
from figures_made import FIGURES
from playwright.sync_api import Browser
from plotly.offline import get_plotlyjs

from btflow.explore import still
from btflow.explore.figure import HEIGHT, fitted

NAMES = ("tornado", "sobol", "response_curve", "queue_ccdf", "heat_map", "full_against_flow", "message_delays")

PARTS = """() => [...document.querySelectorAll('.btflow-still')].map((still) => {
  const parts = (name, all) => [...still.querySelectorAll(all)].map((e) => [name, e.getBoundingClientRect()])
    .filter(([_, r]) => r.width > 0 && r.height > 0).map(([n, r]) => [n, r.left, r.top, r.right, r.bottom]);
  const top = still.getBoundingClientRect().top;
  return [...parts('title', '.gtitle'), ...parts('subtitle', '.gtitle-subtitle'), ...parts('axes', '.nsewdrag'),
    ...parts('mark', '.annotation-text'), ...parts('axis title', '[class^="g-x"] > text, [class^="g-y"] > text'),
    ...parts('beside a bar', '.textpoint text')].map(([n, l, t, r, b]) => [n, l, t - top, r, b - top]);
})"""


def _page(names: tuple[str, ...], scheme: str) -> str:
    """Return a page with figures as a notebook's widget and as a cell shows them."""
    drawn = [FIGURES[name]() for name in names]
    low = [json.loads(pio.to_json({"data": f.data, "layout": fitted(f, HEIGHT)}, validate=False)) for f in drawn]
    stills = "".join(still.still(one) for one in [*low, *(json.loads(f.to_json()) for f in drawn)])
    start = f"<script>{get_plotlyjs()}</script><script>{still.script()}</script><script>btflowStills(Plotly)</script>"
    return f"<!doctype html><meta charset=utf-8><body style='margin:0; background: {scheme}'>{stills}{start}"


@pytest.mark.slow
@needs_browser
def test_at_the_width_of_a_telephone_nothing_overlaps_and_nothing_is_cut_off(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_content(_page(NAMES, "white"))
    page.wait_for_function(f"document.querySelectorAll('.gtitle').length === {2 * len(NAMES)}")
    found = page.evaluate(PARTS)
    for name, parts in zip(2 * NAMES, found, strict=True):
        boxes = {what: box for what, *box in parts}
        assert {"title", "subtitle", "axes"} <= boxes.keys(), name
        for what, left, top, right, _ in parts:
            assert left >= -1, (name, what)
            assert right <= 391, (name, what)
            assert top >= -1, (name, what)
        below = [box for what, *box in parts if what not in ("title", "subtitle", "beside a bar")]
        assert boxes["title"][3] <= boxes["subtitle"][1] + 2, name
        for _, top, right, _ in below:
            assert top >= boxes["subtitle"][3] - 2 or right < boxes["subtitle"][0], name


@pytest.mark.slow
@needs_browser
def test_whiskers_are_light_on_a_dark_page(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_content(_page(("sobol", "tornado"), "#17191c"))
    page.wait_for_function("document.querySelectorAll('.gtitle').length === 4")
    colours = page.evaluate("() => [...document.querySelectorAll('.xerror')].map((e) => getComputedStyle(e).stroke)")
    assert colours
    assert set(colours) == {"rgb(200, 204, 210)"}
