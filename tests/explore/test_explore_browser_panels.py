"""What panels have in common in a real browser: named lines, a figure in view on a phone, the keyboard, notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import LAPTOP, PHONE, SLOWEST, needs_browser, page, screenshot
from explorer_page import drawn, open_page, series, slider, wide
from playwright.sync_api import Browser, expect
from test_lab_browser import TOKEN, lab, run_all

from btflow.explore.link_state import LinkState
from btflow.explore.panel import to_query
from btflow.plots.words import spelled
from validation.served import Served, served

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

_LEGEND = "() => [...document.querySelectorAll('.js-plotly-plot .legendtext')].map(e => e.textContent)"
_FOCUSED = """() => { const e = document.activeElement; return e.getAttribute('aria-label') ??
  e.closest('.btflow-field')?.querySelector('label')?.textContent ?? e.textContent; }"""
_EXPLORED = [
    'import btflow\nbtflow.load("rao2010").set(leechers=6, file_size="1 MB").explore()',
    'btflow.load_link("latecomer").explore()',
]
_MARKS = {"slow start", "recovery", "timeout", "drop"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("panels"), "--visitors", "8") as found:
        yield found


@pytest.mark.parametrize("size", [PHONE, LAPTOP])
@pytest.mark.parametrize("second", ["vegas", "bbr"])
def test_every_line_of_a_linked_page_has_its_name(
    server: Served, browser: Browser, size: tuple[int, int], second: str
) -> None:
    query = to_query("link", LinkState(rate="2 Mbit/s", cc2=second))
    with page(browser, size) as shown:
        shown.goto(f"{server.url}&{query}", wait_until="commit", timeout=SLOWEST)
        names = {"capacity", "first, CUBIC", f"second, {spelled(second)}"}
        shown.wait_for_function(f"() => ({_LEGEND})().includes('second, {spelled(second)}')", timeout=SLOWEST)
        assert names < set(shown.evaluate(_LEGEND)) <= names | _MARKS


_FLUID = """() => (document.querySelector('.js-plotly-plot')?.data ?? []).filter(
  t => t.visible === true && t.name?.endsWith(', fluid') && t.y?.length > 10).map(t => `${t.name} ${t.line.dash}`)"""
"""What returns the lines of a fluid that are shown."""


def test_a_fluid_is_drawn_beside_packets_until_flow_refuses(server: Served, browser: Browser) -> None:
    with page(browser, LAPTOP) as shown:
        open_page(shown, server.url)
        assert shown.evaluate(_FLUID) == []
        shown.get_by_label("Fluid", exact=True).select_option("beside the packets")
        shown.wait_for_function(f"() => ({_FLUID})().length === 5", timeout=SLOWEST)
        assert {line.rpartition(" ")[2] for line in shown.evaluate(_FLUID)} == {"dash"}
        legend = {"capacity", "first, CUBIC", "fluid (dashed)", "second, LEDBAT"}
        shown.wait_for_function(f"() => ({_LEGEND})().includes('fluid (dashed)')", timeout=SLOWEST)
        assert legend < set(shown.evaluate(_LEGEND)) <= legend | _MARKS
        shown.wait_for_function("location.search.includes('fluid=true')", timeout=SLOWEST)
        expect(shown.locator(".btflow-command")).to_contain_text("--fidelity flow", timeout=SLOWEST)
        assert wide(shown) == []
        screenshot(shown, "explorer-link-fluid")
        address = shown.url
        shown.get_by_label("Queue discipline", exact=True).select_option("codel")
        told = shown.get_by_text("Packets only. Queue discipline = 'codel': is no discipline of flow fidelity")
        expect(told).to_be_visible(timeout=SLOWEST)
        shown.wait_for_function(f"() => ({_FLUID})().length === 0", timeout=SLOWEST)
        screenshot(shown, "explorer-link-fluid-refused")
    with page(browser, PHONE) as shown:
        shown.goto(f"{server.url}&{address.partition('?')[2]}", wait_until="commit", timeout=SLOWEST)
        shown.wait_for_function(f"() => ({_FLUID})().length === 5", timeout=SLOWEST)
        assert wide(shown) == []
        screenshot(shown, "explorer-link-fluid-phone")


def test_on_a_phone_the_figure_stays_in_view_and_moves_with_a_slider(server: Served, browser: Browser) -> None:
    with page(browser, PHONE) as shown:
        open_page(shown, server.url)
        handle = slider(shown, "Duration")  # far below
        handle.scroll_into_view_if_needed()
        figure, control = shown.locator(".js-plotly-plot").first.bounding_box(), handle.bounding_box()
        assert figure is not None
        assert control is not None
        assert figure["y"] >= 0
        assert figure["y"] + figure["height"] <= control["y"] < PHONE[1]
        before = series(shown)
        handle.focus()
        shown.keyboard.press("ArrowLeft")
        drawn(shown, before)
        assert shown.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        screenshot(shown, "explorer-phone-slider")


def test_the_tab_key_reaches_every_input_in_order(server: Served, browser: Browser) -> None:
    with page(browser, LAPTOP) as shown:
        open_page(shown, server.url)
        shown.get_by_label("Preset").first.focus()
        passed: list[str] = []
        while "Copy link" not in passed:
            assert len(passed) < 80, passed
            shown.keyboard.press("Tab")
            passed.append(str(shown.evaluate(_FOCUSED)))
        order = list(dict.fromkeys(passed))
        wanted = [
            "Experiment",
            "Rate",
            "Round-trip time",
            "Buffer",
            "Flows 1: control",
            "Duration",
            "Seed",
            "Copy link",
        ]
        assert [name for name in order if name in wanted] == wanted
        assert passed.count("Rate") == 2  # the text and the slider


def test_two_lines_in_a_notebook_draw_figures_that_follow_a_slider(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "id": f"c{i}", "execution_count": None, "metadata": {}, "outputs": [], "source": text}
        for i, text in enumerate(_EXPLORED)
    ]
    kernel = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "two.ipynb").write_text(json.dumps(notebook))
    with lab(folder) as address, page(browser, LAPTOP) as shown:
        shown.set_default_timeout(2 * SLOWEST)
        shown.goto(f"{address}/lab/tree/two.ipynb?reset&token={TOKEN}")
        shown.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        shown.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        run_all(shown)
        for cell in range(len(_EXPLORED)):
            output = shown.locator(".jp-CodeCell").nth(cell)
            output.locator(".js-plotly-plot .trace").first.wait_for()
            before = output.evaluate(_DATA)
            handle = output.locator(".noUi-handle").first
            handle.focus()
            for _ in range(3):
                shown.keyboard.press("ArrowRight")
            shown.wait_for_function(
                f"([cell, before]) => ({_DATA})(document.querySelectorAll('.jp-CodeCell')[cell]) !== before",
                arg=[cell, before],
            )
        screenshot(shown, "jupyterlab-explore")


_DATA = """cell => JSON.stringify([...cell.querySelectorAll('.js-plotly-plot')].map(
  g => (g.data ?? []).map(t => [...Array.from(t.x ?? []), ...Array.from(t.y ?? [])])))"""
