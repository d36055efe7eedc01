"""What the page is to those who cannot see it, or have no mouse; and Plotly's buttons, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser import LAPTOP, PHONE, needs_browser, page, screenshot
from explorer_page import SLOWEST, open_at
from playwright.sync_api import Browser, Page, expect

from btflow.explore.link_state import LinkState
from btflow.explore.swarm_panel import SwarmState
from btflow.explore.whatif_panel import WhatIfState
from validation.served import Served

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

PANELS: dict[str, tuple[Any, list[str]]] = {
    "swarm": (SwarmState(leechers="9", file_size="1 MB"), ["Pieces held by a leecher"]),
    "whatif": (WhatIfState("link", "2"), ["Differences within pairs"]),
    "link": (LinkState(duration="30 s"), []),
}
_USED = ("button", "combobox", "figure", "group", "navigation", "slider", "textbox")
"""Roles of what is used, or looked at, by its name."""
_COVERED = """() => [...document.querySelectorAll('.js-plotly-plot')].filter(g => g.offsetParent).flatMap(g => {
  const bar = [...g.querySelectorAll('.modebar-group')].map(e => e.getBoundingClientRect());
  const said = [...g.querySelectorAll('.gtitle, .gtitle-subtitle, .legendtext')].map(e => e.getBoundingClientRect());
  const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const axes = [...g.querySelectorAll('[class^=g-x], [class^=g-y]')].map(e => e.getBoundingClientRect());
  const all = g.getBoundingClientRect();
  const beyond = axes.filter(a => a.width &&
    (a.left < all.left || a.right > all.right || a.top < all.top || a.bottom > all.bottom));
  const on = [...bar, ...axes].filter(part => part.width && said.some(text => over(part, text)));
  return [...beyond, ...on].map(() => g.layout.title?.text ?? '');
})"""
"""What returns the figures whose title or legend is under a button or an axis title, or whose axis title is cut off."""

_AXIS_TITLES = """() => [...document.querySelectorAll('.js-plotly-plot')].filter(g => g.offsetParent).flatMap(g =>
  ['x', 'y'].filter(letter => g.querySelector(`.${letter}title`)).map(letter => {
    const title = g.querySelector(`.${letter}title`), lines = [...title.querySelectorAll('tspan.line')];
    const drawn = g.querySelector('.nsewdrag[data-subplot="xy"]').getBoundingClientRect();
    return { lines: (lines.length ? lines : [title]).map(e => e.textContent),
      widths: (lines.length ? lines : [title]).map(e => e.getComputedTextLength()),
      room: letter === 'x' ? drawn.width : drawn.height };
  }))"""
"""What returns the lines of each axis title, their widths, and how long the axis is drawn [px]."""


@pytest.fixture(scope="module")
def visitor(browser: Browser) -> Iterator[Page]:
    """Make one page for the tests on a laptop."""
    with page(browser, LAPTOP) as shown:
        yield shown


def open_panel(shown: Page, explorer: Served, name: str) -> None:
    """Open a panel and wait for its figures."""
    state, titles = PANELS[name]
    open_at(shown, explorer, name, state, titles)
    shown.locator("path.js-line, .bars path").filter(visible=True).first.wait_for(timeout=SLOWEST)
    shown.wait_for_timeout(700)  # names come by a clock


def roles(shown: Page) -> list[tuple[str, str]]:
    """Return role and name of all that is used on the page, groups of inputs in their order among them."""
    found = re.findall(r"^ *- '?([a-z]+)(?: \"([^\"]*)\")?", shown.locator("body").aria_snapshot(), re.M)
    return [(role, name) for role, name in found if role in _USED]


@pytest.mark.parametrize("name", PANELS)
def test_all_that_is_used_has_a_name_of_its_own(visitor: Page, explorer: Served, name: str) -> None:
    open_panel(visitor, explorer, name)
    found = roles(visitor)
    assert [role for role, said in found if not re.search("[A-Za-z]", said)] == []
    assert {"button", "combobox", "figure", "navigation", "slider", "textbox"} <= {role for role, _ in found}
    side, passed = "", set()
    for role, said in found:
        side = said if role == "group" else side
        if role in ("combobox", "figure", "group", "slider", "textbox"):
            assert (side, role, said) not in passed, "two of a name"
            passed.add((side, role, said))
    assert ({said for role, said in found if role == "group"} == {"Setting A", "Setting B"}) == (name == "whatif")


def test_a_figure_is_saved_as_a_picture_and_nothing_is_sent_away(visitor: Page, explorer: Served) -> None:
    open_panel(visitor, explorer, "swarm")
    plots = visitor.locator(".js-plotly-plot").filter(visible=True)
    for number in range(plots.count()):
        plots.nth(number).hover()
        expect(plots.nth(number).get_by_role("button", name="Download plot as a PNG")).to_be_visible()
    assert visitor.evaluate(_COVERED) == []
    assert visitor.get_by_role("button", name="Share").count() == 0
    with visitor.expect_download(timeout=SLOWEST) as saved:
        plots.first.get_by_role("button", name="Download plot as a PNG").click()
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")
    screenshot(visitor, "explorer-swarm-buttons")


def test_on_a_phone_nothing_lies_on_the_titles(explorer: Served, browser: Browser) -> None:
    with page(browser, PHONE) as shown:
        for name in PANELS:
            open_panel(shown, explorer, name)
            assert shown.locator(".js-plotly-plot").filter(visible=True).count() >= 1
            assert shown.locator(".modebar-btn").filter(visible=True).count() == 0
            assert shown.evaluate(_COVERED) == []


def test_axis_titles_on_a_phone_have_no_more_lines_than_they_need(explorer: Served, browser: Browser) -> None:
    found = []
    with page(browser, PHONE) as shown:
        for name in PANELS:
            open_panel(shown, explorer, name)
            found += shown.evaluate(_AXIS_TITLES)
    words = [" ".join(title["lines"]) for title in found]
    assert {"time with more waiting [%] (log scale)", "mean queueing delay: B against A [%]", "time [s]"} <= set(words)
    assert {len(title["lines"]) for title in found} == {1, 2}
    for title in found:
        assert max(title["widths"]) <= 1.05 * title["room"], title["lines"]  # rooms are those before margins grow
        assert len(title["lines"]) == 1 or sum(title["widths"]) > 0.9 * title["room"], title["lines"]
