"""Lessons in a real browser, with the network cut: steps, motion, back and forward, dark pages, and a look at each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import PHONE, SLOWEST, needs_browser, page, screenshot
from explorer_page import controls, enter, wide
from playwright.sync_api import Browser, Page, expect

from btflow.explore.app import PANELS
from btflow.explore.handout import save
from btflow.explore.lesson import read, texts
from validation.served import Served

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

SCREEN = (1366, 768)
_DRAWN = """() => [...document.querySelectorAll('.js-plotly-plot')].some(
  g => g.offsetParent && g.querySelector('path.js-line, .bars path'))"""
_DIMMED = """() => getComputedStyle(document.querySelector('.btflow-views .btflow-drawn')).opacity"""
_BOTTOM = """() => [...document.querySelectorAll('.js-plotly-plot')].filter(g => g.offsetParent)[0]
  .querySelector('.main-svg').getBoundingClientRect().bottom"""
_PAINTED = """() => { const c = document.querySelector('.btflow-motion canvas'), g = c.getContext('2d');
  const d = g.getImageData(0, 0, c.width, c.height).data; let sum = 0;
  for (let i = 0; i < d.length; i += 4) sum += d[i + 3] && (d[i] * 3 + d[i + 1] * 5 + d[i + 2] * 7) % 9973;
  return sum; }"""


def begin(shown: Page, server: Served, name: str, step: int) -> None:
    """Open a step of a lesson and wait for its figure."""
    shown.goto(f"{server.url}&v=1&lesson={name}&step={step}", wait_until="commit", timeout=SLOWEST)
    shown.wait_for_function(_DRAWN, timeout=SLOWEST)


@pytest.mark.parametrize("size", [SCREEN, PHONE])
def test_each_lesson_is_told_beside_its_figure(explorer: Served, browser: Browser, size: tuple[int, int]) -> None:
    with page(browser, size) as shown:
        for name, said in texts().items():
            found = read(name, PANELS[said["panel"]][1])
            begin(shown, explorer, name, len(found.steps))
            told = shown.locator(".btflow-told").filter(visible=True)
            expect(told).to_contain_text(found.steps[-1].notice, timeout=SLOWEST)
            expect(told).to_contain_text(found.notebook)
            arrow = shown.locator(".annotation-text").filter(visible=True)
            expect(arrow.filter(has_text=found.steps[-1].said).first).to_be_visible(timeout=SLOWEST)
            assert wide(shown) == []
            if size == SCREEN:
                assert shown.evaluate(_BOTTOM) <= SCREEN[1], "the main figure is in view"
            for scheme in ("light", "dark"):
                shown.emulate_media(color_scheme=scheme)
                screenshot(shown, f"lesson-{name}-{size[0]}-{scheme}")
            shown.emulate_media(color_scheme="light")


def test_a_reader_guesses_sees_and_goes_back(explorer: Served, browser: Browser) -> None:
    first, second, third = (read("bufferbloat", PANELS["link"][1]).steps[n] for n in range(3))
    with page(browser, SCREEN) as shown:
        shown.goto(explorer.url, wait_until="commit", timeout=SLOWEST)
        card = shown.get_by_role("button", name="What does an upload do to a call?")
        card.wait_for(timeout=SLOWEST)
        assert shown.locator(".btflow-card").count() == len(texts())
        screenshot(shown, "lessons")
        card.click()
        told = shown.locator(".btflow-told").filter(visible=True)
        expect(told).to_contain_text(first.notice, timeout=SLOWEST)
        shown.wait_for_function("location.search.includes('lesson=bufferbloat&step=1')", timeout=SLOWEST)
        shown.wait_for_timeout(1200)  # what follows within a second is the same state of the history
        shown.get_by_role("button", name="Next").filter(visible=True).click()
        expect(shown.locator(".btflow-ask").filter(visible=True)).to_contain_text(second.ask, timeout=SLOWEST)
        expect(told).to_be_hidden()
        shown.wait_for_timeout(1200)
        enter(shown, "Flows 1: number", "1")  # by hand
        expect(told).to_contain_text(second.notice, timeout=SLOWEST)
        shown.wait_for_timeout(1200)
        shown.get_by_role("button", name="Next").filter(visible=True).click()
        do = shown.locator(".btflow-do").filter(visible=True)
        expect(do).to_have_text("Do it: Buffer 200 packets", timeout=SLOWEST)
        shown.wait_for_timeout(1200)
        do.click()
        expect(told).to_contain_text(third.notice, timeout=SLOWEST)
        shown.wait_for_function("location.search.endsWith('lesson=bufferbloat&step=3')", timeout=SLOWEST)
        shown.go_back()
        expect(told).to_be_hidden(timeout=SLOWEST)
        shown.go_back()
        expect(told).to_contain_text(second.notice, timeout=SLOWEST)
        shown.go_back()
        expect(told).to_be_hidden(timeout=SLOWEST)
        shown.go_back()
        expect(told).to_contain_text(first.notice, timeout=SLOWEST)
        shown.go_forward()
        expect(told).to_be_hidden(timeout=SLOWEST)
        shown.go_forward()
        expect(told).to_contain_text(second.notice, timeout=SLOWEST)
        shown.get_by_role("button", name="All lessons").filter(visible=True).click()
        expect(card).to_be_visible(timeout=SLOWEST)


def test_what_is_refused_dims_the_figure_and_says_so(explorer: Served, browser: Browser) -> None:
    with page(browser, SCREEN) as shown:
        begin(shown, explorer, "bufferbloat", 3)
        assert shown.evaluate(_DIMMED) == "1"
        enter(shown, "Buffer", "3 parsecs")
        message = shown.locator(".btflow-message").filter(visible=True)
        expect(message).to_contain_text("Buffer: refused", timeout=SLOWEST)
        expect(message).to_contain_text("The figures are of the inputs before.")
        shown.wait_for_function(f"() => Number(({_DIMMED})()) < 0.5", timeout=SLOWEST)
        assert controls(shown, "Buffer").locator("[role=alert]").inner_text()
        screenshot(shown, "dimmed")
        enter(shown, "Buffer", "100 packets")
        shown.wait_for_function(f"() => ({_DIMMED})() === '1'", timeout=SLOWEST)


def test_a_link_that_is_refused_draws_nothing_until_it_is_wanted(explorer: Served, browser: Browser) -> None:
    with page(browser, SCREEN) as shown:
        shown.goto(f"{explorer.url}&v=1&panel=link&rate=fast", wait_until="commit", timeout=SLOWEST)
        told = shown.locator("[role=alert]").filter(visible=True)
        expect(told).to_contain_text("The link's rate = 'fast'", timeout=SLOWEST)
        expect(told).to_contain_text("Nothing is drawn of it.")
        assert not shown.evaluate(_DRAWN)
        screenshot(shown, "link-refused")
        shown.get_by_role("button", name="Open it without that").click()
        shown.wait_for_function(_DRAWN, timeout=SLOWEST)
        expect(told).to_be_hidden(timeout=SLOWEST)


@pytest.mark.parametrize(
    ("name", "step", "words"), [("bufferbloat", 3, "of 200 packets"), ("flash-crowd", 1, "of 10 peers")]
)
def test_a_run_is_watched(explorer: Served, browser: Browser, name: str, step: int, words: str) -> None:
    with page(browser, SCREEN) as shown:
        begin(shown, explorer, name, step)
        shown.get_by_role("button", name="Motion", exact=True).filter(visible=True).click()
        said = shown.locator(".btflow-motion-words").filter(visible=True)
        expect(said).to_contain_text(words, timeout=SLOWEST)
        before = shown.evaluate(_PAINTED)
        shown.wait_for_function(f"before => ({_PAINTED})() !== before", arg=before, timeout=SLOWEST)
        assert wide(shown) == []
        screenshot(shown, f"motion-{name}")
        shown.get_by_role("button", name="Pause").filter(visible=True).press("Enter")
        shown.get_by_role("button", name="Figures", exact=True).filter(visible=True).click()
        shown.wait_for_function(_DRAWN, timeout=SLOWEST)


def test_a_handout_needs_no_network(browser: Browser, tmp_path: Path) -> None:
    save("bufferbloat", tmp_path / "call.html", site="../")
    steps = read("bufferbloat", PANELS["link"][1]).steps
    with page(browser, SCREEN) as shown:
        problems: list[str] = []
        shown.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        shown.goto((tmp_path / "call.html").as_uri())
        shown.wait_for_function(_DRAWN, timeout=SLOWEST)
        expect(shown.locator(".told")).to_contain_text(steps[0].notice)
        expect(shown.locator("#verdict")).to_contain_text("the call's MOS is 4.4")
        for step in steps[1:3]:
            shown.get_by_role("button", name="Next").click()
            expect(shown.locator(".told")).to_be_hidden()
            shown.get_by_role("button", name="Show what happens").click()
            expect(shown.locator(".told")).to_contain_text(step.notice)
            expect(shown.locator(".annotation-text").first).to_have_text(step.said)
        expect(shown.locator(".btflow-motion-words")).to_contain_text(re.compile(r"of 200 packets"))
        linked = [link.get_attribute("href") for link in shown.locator("a").all()]
        assert {"../notebooks/03_bufferbloat.html", "../speech.html"} <= set(linked)
        screenshot(shown, "handout")
        assert problems == []
