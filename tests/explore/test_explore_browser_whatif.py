"""The what-if panel in a real browser, with the network cut: words, pairs, cancel, another comparison."""

from __future__ import annotations

import re

import pytest
from browser import LAPTOP, SLOWEST, needs_browser, page, screenshot
from explorer_page import FIGURES, enter, moved, open_at, wide
from playwright.sync_api import Browser, expect

from btflow.explore.whatif_panel import WhatIfState
from validation.served import Served

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

COMPLETION = "Completion time of the leechers"
TITLES = [COMPLETION, "Differences within pairs"]
_PAIRS = f"() => ({FIGURES})()['{TITLES[1]}'].at(-1).split(',').length / 2"  # each has a number and a difference


def test_a_what_if_says_the_difference_in_words_and_grows(explorer: Served, browser: Browser) -> None:
    few = "leechers=6&file_size=1+MB"
    state = WhatIfState(pairs="3", a=f"{few}&utp_share=0%25", b=f"{few}&utp_share=100%25")
    with page(browser, LAPTOP) as shown:
        open_at(shown, explorer, "whatif", state, TITLES)
        words = shown.locator(".btflow-words [role=status]")
        said = r"takes .* (than|as) A .*\. 95% interval: .* 3 pairs.*Flow (said|had)"
        expect(words).to_have_text(re.compile(said, re.DOTALL), timeout=SLOWEST)  # flow's three pairs come first
        before = shown.evaluate(FIGURES)
        enter(shown, "Pairs", "6")
        expect(words).to_have_text(re.compile(said.replace("3 pairs", "6 pairs"), re.DOTALL), timeout=SLOWEST)
        moved(shown, before, TITLES)
        enter(shown, "Round-trip time", "700 ms", 1)
        expect(words).to_contain_text("rtt 700 ms", timeout=SLOWEST)
        assert wide(shown) == []
        screenshot(shown, "explorer-whatif")


def test_a_long_comparison_is_cancelled_and_another_one_runs(explorer: Served, browser: Browser) -> None:
    """Two hundred pairs of 50 peers take minutes."""
    with page(browser, LAPTOP) as shown:
        open_at(shown, explorer, "whatif", WhatIfState(pairs="200"), TITLES)
        cancel = shown.get_by_role("button", name="Cancel").filter(visible=True)
        expect(cancel).to_be_visible(timeout=SLOWEST)
        cancel.click()
        expect(cancel).to_be_hidden(timeout=SLOWEST)
        said = shown.get_by_text("Cancelled.")
        expect(said).to_be_visible(timeout=SLOWEST)
        kept = shown.locator(".btflow-words").inner_text()
        found = re.search(r"(\d+) pairs?", kept)
        assert found
        assert 1 <= int(found[1]) < 200
        screenshot(shown, "explorer-whatif-cancelled")
        shown.wait_for_timeout(1500)  # nothing of it goes on
        assert shown.locator(".btflow-words").inner_text() == kept
        before = shown.evaluate(FIGURES)
        enter(shown, "Leechers", "6", 0)
        expect(said).to_be_hidden(timeout=SLOWEST)
        enter(shown, "Leechers", "7", 1)
        enter(shown, "Pairs", "3")
        expect(shown.locator(".btflow-words")).to_contain_text("3 pairs", timeout=SLOWEST)
        moved(shown, before, TITLES)
        shown.wait_for_function(f"() => ({_PAIRS})() === 3", timeout=SLOWEST)
