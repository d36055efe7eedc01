"""The swarm and what-if panels in a real browser, with the network cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser import LAPTOP, PHONE, SLOWEST, needs_browser, page, screenshot
from explorer_page import FIGURES, FLOW_TITLES, enter, moved, open_at, wide
from playwright.sync_api import Browser, Page, expect

from btflow.explore.swarm_panel import SwarmState
from btflow.explore.whatif_panel import WhatIfState
from validation.served import Served

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

SMALL = SwarmState(leechers="9", file_size="1 MB")

TITLES = ["Completion time of the leechers", "Pieces held by a leecher", "What held unchoked connections back"]
QUEUES = "Queues of the uplinks"


@pytest.fixture(scope="module")
def swarm(explorer: Served, browser: Browser) -> Iterator[Page]:
    with page(browser, LAPTOP) as shown:
        open_at(shown, explorer, "swarm", SMALL, [*TITLES, QUEUES])
        yield shown


def test_the_swarm_panel_draws_and_fits(swarm: Page) -> None:
    assert wide(swarm) == []
    screenshot(swarm, "explorer-swarm")


def test_an_input_moves_all_figures(swarm: Page) -> None:
    before = swarm.evaluate(FIGURES)
    enter(swarm, "Leechers", "14")
    moved(swarm, before, [*TITLES, QUEUES])
    before = swarm.evaluate(FIGURES)
    enter(swarm, "uTP share", "100%")
    moved(swarm, before, [TITLES[0], QUEUES])
    assert "utp_share=100" in swarm.url


def test_a_bad_value_is_refused_beside_its_input(swarm: Page) -> None:
    before = swarm.evaluate(FIGURES)
    enter(swarm, "Round-trip time", "5 kg")
    error = swarm.locator(".btflow-field [role=alert]").filter(visible=True)
    error.wait_for(timeout=SLOWEST)
    assert "unit" in error.inner_text()
    assert swarm.evaluate(FIGURES) == before
    enter(swarm, "Round-trip time", "20 ms")
    error.wait_for(state="hidden", timeout=SLOWEST)


PROGRESS = """() => [...document.querySelectorAll(".btflow-status .progress-bar")].some(
  bar => bar.offsetParent && parseFloat(bar.style.width) > 0)"""
"""Whether a bar is there that shows that some is done."""


def test_a_large_swarm_shows_progress_and_is_cancelled(swarm: Page) -> None:
    before = swarm.evaluate(FIGURES)
    enter(swarm, "File size", "4 MB")
    moved(swarm, before, [*TITLES, QUEUES])
    before = swarm.evaluate(FIGURES)
    enter(swarm, "Leechers", "200")
    moved(swarm, before, FLOW_TITLES)
    drawn = swarm.evaluate(FIGURES)
    cancel = swarm.get_by_role("button", name="Cancel").filter(visible=True)
    expect(cancel).to_be_visible(timeout=SLOWEST)
    swarm.wait_for_function(PROGRESS, timeout=SLOWEST)
    cancel.click()
    expect(cancel).to_be_hidden(timeout=SLOWEST)
    expect(swarm.get_by_text("Cancelled.")).to_be_visible(timeout=SLOWEST)
    assert swarm.evaluate(FIGURES) == drawn, "of flow: a run of full that was cancelled leaves nothing"
    assert list(drawn) == FLOW_TITLES
    expect(swarm.locator(".btflow-command").filter(visible=True)).to_contain_text("--fidelity flow", timeout=SLOWEST)
    enter(swarm, "Leechers", "9")
    moved(swarm, before, [TITLES[0]])
    expect(swarm.get_by_text("Cancelled.")).to_be_hidden(timeout=SLOWEST)


def test_a_swarm_without_access_links_has_no_figure_of_queues(swarm: Page) -> None:
    before = swarm.evaluate(FIGURES)
    swarm.get_by_label("Swarm", exact=True).filter(visible=True).select_option("upload limits, no access links")
    moved(swarm, before, TITLES)
    swarm.wait_for_function(f"() => !({FIGURES})()['{QUEUES}']", timeout=SLOWEST)
    assert wide(swarm) == []


NOTES = """() => {
  window.notes = [];
  const words = [...document.querySelectorAll('.btflow-words')].find(w => w.offsetParent);
  const first = [...document.querySelectorAll('.js-plotly-plot')].find(g => g.offsetParent);
  const note = () => window.notes.push(words.innerText.trim());
  new MutationObserver(note).observe(words, { childList: true, characterData: true, subtree: true });
  first.on('plotly_afterplot', () => window.notes.push(first.layout.title.text));
}"""
"""What notes each change of the words, and the title of the first figure each time that it is drawn."""


def test_a_capped_swarm_is_flow_s_while_a_slider_is_dragged_and_full_s_at_rest(
    explorer: Served, browser: Browser
) -> None:
    state = SwarmState(model="rao2010", leechers="60", file_size="4 MB", rtt="50 ms")
    with page(browser, LAPTOP) as shown:
        open_at(shown, explorer, "swarm", state, TITLES)
        words = shown.locator(".btflow-words").filter(visible=True)
        expect(words).to_contain_text("Full: ", timeout=SLOWEST)
        shown.evaluate(NOTES)
        handle = shown.locator(".btflow-field", has=shown.get_by_text("Round-trip time", exact=True)).filter(
            visible=True
        )
        handle = handle.locator(".noUi-handle")
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        shown.mouse.move(x, y)
        shown.mouse.down()
        for step in range(1, 60):
            shown.mouse.move(x + step, y)
            if f"{TITLES[0]} (flow)" in shown.evaluate("() => window.notes"):
                break
            shown.wait_for_timeout(50)  # still dragging: on a busy machine it takes a while
        assert f"{TITLES[0]} (flow)" in shown.evaluate("() => window.notes")
        screenshot(shown, "explorer-swarm-flow")
        shown.mouse.up()
        expect(words).to_contain_text("Full: mean completion", timeout=SLOWEST)
        expect(words).to_contain_text("; flow said ", timeout=SLOWEST)
        shown.wait_for_function(f"() => ({FIGURES})()['{TITLES[2]}']", timeout=SLOWEST)
        screenshot(shown, "explorer-swarm-full")
        notes = shown.evaluate("() => window.notes")
        said = [note for note in notes if "Flow, an" in note or "Full: " in note]
        titles = [note for note in notes if note.startswith(TITLES[0])]
        assert "Flow, an approximation: mean completion" in said[0], notes
        assert "Full: mean completion" in said[-1], notes
        assert titles[-1] == TITLES[0], notes
        assert wide(shown) == []


@pytest.mark.parametrize(("name", "state"), [("swarm", SMALL), ("whatif", WhatIfState("link", "2"))])
def test_panels_fit_on_a_phone(explorer: Served, browser: Browser, name: str, state: Any) -> None:
    titles = TITLES if name == "swarm" else ["Differences within pairs"]
    with page(browser, PHONE) as shown:
        open_at(shown, explorer, name, state, titles)
        assert wide(shown) == []
        screenshot(shown, f"explorer-{name}-phone")
