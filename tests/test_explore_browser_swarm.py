"""The swarm and what-if panels in a real browser, with the network cut."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from browser import LAPTOP, PHONE, chromium, needs_browser, page, screenshot
from explorer_page import SLOWEST
from explorer_served import Served
from playwright.sync_api import Browser, Page, expect

from btflow.explore.state import to_query
from btflow.explore.swarm_state import SwarmState
from btflow.explore.whatif_state import WhatIfState

pytestmark = [needs_browser, pytest.mark.xdist_group("explorer")]

SMALL = SwarmState(leechers="9", file_size="1 MB")

# The figures that are shown, by title, with the x values of their lines.
_FIGURES = """() => Object.fromEntries([...document.querySelectorAll('.js-plotly-plot')]
  .filter(g => g.offsetParent !== null && g.layout?.title?.text && g.data?.length)
  .map(g => [g.layout.title.text, g.data.map(t => [...Array.from(t.x ?? []), ...Array.from(t.y ?? [])].join())]))"""
_MOVED = f"""([before, titles]) => {{
  const now = ({_FIGURES})();
  return titles.every(t => now[t] !== undefined && JSON.stringify(now[t]) !== JSON.stringify(before[t]));
}}"""
_FIT = """() => [document.documentElement.scrollWidth - innerWidth,
  ...[...document.querySelectorAll('.js-plotly-plot')].filter(g => g.offsetParent !== null)
    .map(g => g.querySelector('.main-svg').getBoundingClientRect().right - innerWidth)]"""

TITLES = ["Completion time of the leechers", "Pieces held by a leecher", "What held unchoked connections back"]
QUEUES = "Queues of the uplinks"


@pytest.fixture(scope="module")
def server(explorer: Served) -> Served:
    return explorer


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def open_at(shown: Page, server: Served, name: str, state: Any, titles: list[str]) -> None:
    """Open a panel by its link and wait for its figures."""
    shown.goto(f"{server.url}&{to_query(name, state)}", wait_until="commit", timeout=SLOWEST)
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


def wide(shown: Page) -> list[float]:
    """Return by how many pixels the page and its figures are wider than the window."""
    shown.wait_for_timeout(500)  # figures take their width a moment after they are drawn
    found: list[float] = shown.evaluate(_FIT)
    return [pixels for pixels in found if pixels > 1]


@pytest.fixture(scope="module")
def swarm(server: Served, browser: Browser) -> Iterator[Page]:
    with page(browser, LAPTOP) as shown:
        open_at(shown, server, "swarm", SMALL, [*TITLES, QUEUES])
        yield shown


def test_the_swarm_panel_draws_and_fits(swarm: Page) -> None:
    assert wide(swarm) == []
    screenshot(swarm, "explorer-swarm")


def test_an_input_moves_all_figures(swarm: Page) -> None:
    before = swarm.evaluate(_FIGURES)
    enter(swarm, "leechers", "14")
    moved(swarm, before, [*TITLES, QUEUES])
    before = swarm.evaluate(_FIGURES)
    enter(swarm, "uTP share", "100%")
    moved(swarm, before, [TITLES[0], QUEUES])
    assert "utp_share=100" in swarm.url


def test_a_bad_value_is_refused_beside_its_input(swarm: Page) -> None:
    before = swarm.evaluate(_FIGURES)
    enter(swarm, "round-trip time", "5 kg")
    error = swarm.locator(".btflow-field [role=alert]").filter(visible=True)
    error.wait_for(timeout=SLOWEST)
    assert "unit" in error.inner_text()
    assert swarm.evaluate(_FIGURES) == before
    enter(swarm, "round-trip time", "20 ms")
    error.wait_for(state="hidden", timeout=SLOWEST)


def test_a_large_swarm_shows_progress_and_is_cancelled(swarm: Page) -> None:
    enter(swarm, "file size", "4 MB")
    before = swarm.evaluate(_FIGURES)
    enter(swarm, "leechers", "200")
    cancel = swarm.get_by_role("button", name="Cancel").filter(visible=True)
    expect(cancel).to_be_visible(timeout=SLOWEST)
    begun = time.monotonic()
    cancel.click()
    expect(cancel).to_be_hidden(timeout=SLOWEST)
    assert time.monotonic() - begun < 3.0, "a second, on a machine that does nothing else"
    expect(swarm.get_by_text("Cancelled.")).to_be_visible(timeout=SLOWEST)
    assert swarm.evaluate(_FIGURES).keys() == before.keys()
    enter(swarm, "leechers", "9")
    moved(swarm, before, [TITLES[0]])
    expect(swarm.get_by_text("Cancelled.")).to_be_hidden(timeout=SLOWEST)


def test_a_swarm_without_access_links_has_no_figure_of_queues(swarm: Page) -> None:
    before = swarm.evaluate(_FIGURES)
    swarm.get_by_label("swarm", exact=True).filter(visible=True).select_option("capped uploads, no access links")
    moved(swarm, before, TITLES)
    swarm.wait_for_function(f"() => !({_FIGURES})()['{QUEUES}']", timeout=SLOWEST)
    assert wide(swarm) == []


def test_a_what_if_says_the_difference_in_words_and_grows(server: Served, browser: Browser) -> None:
    few = "leechers=6&file_size=1+MB"
    state = WhatIfState(pairs="3", a=f"{few}&utp_share=0%25", b=f"{few}&utp_share=100%25")
    titles = [TITLES[0], "Differences within pairs"]
    with page(browser, LAPTOP) as shown:
        open_at(shown, server, "whatif", state, titles)
        words = shown.locator(".btflow-words [role=status]")
        expect(words).to_contain_text("3 pairs", timeout=SLOWEST)
        assert re.search(r"takes \d.* % (longer|less time) than A .*, 95 % interval .* 3 pairs", words.inner_text())
        before = shown.evaluate(_FIGURES)
        enter(shown, "Pairs", "6")
        expect(words).to_contain_text("6 pairs", timeout=SLOWEST)
        moved(shown, before, titles)
        enter(shown, "round-trip time", "700 ms", 1)
        expect(words).to_contain_text("rtt 700 ms", timeout=SLOWEST)
        assert wide(shown) == []
        screenshot(shown, "explorer-whatif")


@pytest.mark.parametrize(("name", "state"), [("swarm", SMALL), ("whatif", WhatIfState("link", "2"))])
def test_panels_fit_on_a_phone(server: Served, browser: Browser, name: str, state: Any) -> None:
    titles = TITLES if name == "swarm" else ["Differences within pairs"]
    with page(browser, PHONE) as shown:
        open_at(shown, server, name, state, titles)
        assert wide(shown) == []
        screenshot(shown, f"explorer-{name}-phone")
