"""What a page refuses, in a real browser: settings that contradict each other, and what needs too much memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import LAPTOP, SLOWEST, needs_browser, page, screenshot
from explorer_page import FIGURES, FLOW_TITLES, enter, moved, open_at, open_page, series
from playwright.sync_api import Browser, Locator, Page, expect

from btflow.explore.swarm_panel import SwarmState
from btflow.explore.whatif_panel import WhatIfState
from validation.served import Served, served

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

TITLES = ["Completion time of the leechers"]


def refused(shown: Page, label: str, number: int = 0) -> Locator:
    """Return what is said right below an input of the open tab."""
    fields = shown.locator(".btflow-field", has=shown.get_by_text(label, exact=True)).filter(visible=True)
    return fields.nth(number).locator("[role=alert]")


def test_a_swarm_whose_settings_contradict_is_refused_at_the_one_to_mend(explorer: Served, browser: Browser) -> None:
    with page(browser, LAPTOP) as shown:
        open_at(shown, explorer, "swarm", SwarmState(leechers="30", file_size="1 MB"), TITLES)
        before = shown.evaluate(FIGURES)
        enter(shown, "Buffer", "1000000 packets")
        expect(refused(shown, "Leechers")).to_contain_text("GB of memory", timeout=SLOWEST)
        enter(shown, "Buffer", "3 packets")
        expect(refused(shown, "Leechers")).to_be_hidden(timeout=SLOWEST)
        moved(shown, before, TITLES)
        before = shown.evaluate(FIGURES)
        enter(shown, "Leechers", "300")
        enter(shown, "File size", "50 MB")  # together too many blocks
        expect(refused(shown, "File size")).to_contain_text("at most 38 MB for 300 leechers", timeout=SLOWEST)
        enter(shown, "Leechers", "5")
        enter(shown, "File size", "1 MB")
        expect(refused(shown, "File size")).to_be_hidden(timeout=SLOWEST)
        moved(shown, before, TITLES)


def test_a_what_if_is_refused_in_the_setting_that_contradicts_itself(explorer: Served, browser: Browser) -> None:
    titles = ["Differences within pairs"]
    with page(browser, LAPTOP) as shown:
        open_at(shown, explorer, "whatif", WhatIfState("link", "1"), ["How long the queue is", *titles])
        before = shown.evaluate(FIGURES)
        enter(shown, "Buffer", "1 BDP", 1)
        moved(shown, before, titles)
        before = shown.evaluate(FIGURES)
        enter(shown, "Round-trip time", "0 s", 1)  # one of its bandwidth-delay products is nothing now
        expect(refused(shown, "Buffer", 1)).to_contain_text("holds no packet", timeout=SLOWEST)
        expect(refused(shown, "Buffer", 0)).to_be_hidden()
        enter(shown, "Flows 2: start", "70 s", 0)
        expect(refused(shown, "Flows 2: start", 0)).to_contain_text("not before the end", timeout=SLOWEST)
        assert shown.evaluate(FIGURES) == before
        screenshot(shown, "explorer-whatif-refused")
        enter(shown, "Flows 2: start", "10 s", 0)
        enter(shown, "Buffer", "30 packets", 1)
        expect(refused(shown, "Buffer", 1)).to_be_hidden(timeout=SLOWEST)
        expect(refused(shown, "Flows 2: start", 0)).to_be_hidden(timeout=SLOWEST)
        moved(shown, before, titles)


def test_a_what_if_link_with_a_bad_value_is_told_at_the_top_and_opens_without_it(
    explorer: Served, browser: Browser
) -> None:
    asked = "v=1&panel=whatif&pairs=2&a=leechers%3D6&b=rtt%3D5+kg%26leechers%3D7"
    with page(browser, LAPTOP) as shown:
        shown.goto(f"{explorer.url}&{asked}", wait_until="commit", timeout=SLOWEST)
        told = shown.locator("[role=alert]").filter(visible=True)
        expect(told).to_contain_text("setting B: Round-trip time = '5 kg'", timeout=SLOWEST)
        expect(told).to_contain_text("allowed: 0 ms to 1 s")
        expect(told).to_contain_text("Nothing is drawn of it.")
        assert told.count() == 1
        shown.get_by_role("button", name="Open it without that").click()
        moved(shown, {}, ["Differences within pairs"])
        leechers = shown.get_by_label("Leechers", exact=True).and_(shown.locator("input")).filter(visible=True)
        expect(leechers.nth(0)).to_have_value("6", timeout=SLOWEST)
        expect(leechers.nth(1)).to_have_value("7", timeout=SLOWEST)
        shown.wait_for_function("location.search.includes('leechers%3D7')", timeout=SLOWEST)
        screenshot(shown, "explorer-whatif-bad-link")


def test_what_needs_too_much_memory_is_told_and_the_page_goes_on(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, "--memory", "1800", "--visitors", "2") as server, page(browser, LAPTOP) as shown:
        open_page(shown, server.url)
        assert series(shown)
        shown.get_by_role("button", name="One swarm", exact=True).click()
        moved(shown, {}, TITLES)
        before = shown.evaluate(FIGURES)
        enter(shown, "Leechers", "150")
        moved(shown, before, FLOW_TITLES)
        drawn = shown.evaluate(FIGURES)
        told = shown.locator(".btflow-status [role=alert]").filter(visible=True)
        says = "Full: this needs more memory than one page may take. The figures are those of flow."
        expect(told).to_have_text(says, timeout=SLOWEST)
        assert shown.evaluate(FIGURES) == drawn
        expect(shown.locator(".btflow-words").filter(visible=True)).to_contain_text("Flow, an approximation")
        screenshot(shown, "explorer-memory")
        enter(shown, "Leechers", "6")
        moved(shown, before, TITLES)
        expect(told).to_be_hidden(timeout=SLOWEST)
        assert shown.locator(".btflow-gone").count() == 0
        assert "Traceback" not in server.log.read_text(encoding="utf-8")
