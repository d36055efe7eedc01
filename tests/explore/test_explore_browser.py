"""The explorer in a real browser, with the network cut: the link panel, links, files, a phone, ten visitors.

One server for all; it is slow to start and each visitor is a process, so the tests share visitors where they can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import LAPTOP, PHONE, SLOWEST, needs_browser, page, screenshot
from explorer_page import choose, controls, drag, drawn, open_page, series, slider, text_of
from explorer_socket import processes, visit
from playwright.sync_api import Browser, Page, expect

import btflow
from btflow.explore import swarm_panel
from btflow.explore.app import PANELS
from btflow.explore.comparison import Compared, compare
from btflow.explore.form import Form
from btflow.explore.link_panel import LinkPanel
from btflow.explore.link_state import LinkState, preset
from btflow.explore.panel import from_query, to_query
from btflow.explore.swarm_panel import SwarmState
from btflow.explore.whatif_panel import WhatIfState, scenario_of, settings
from btflow.explore.work import Look
from btflow.plots import completion_cdf
from validation.served import Served, served

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

VISITORS = 10
KINDS = {name: kind for name, (_, kind, _) in PANELS.items()}

_SAYS_ITS_TEXT = """handle => handle.getAttribute('aria-valuetext') ===
  handle.closest('.btflow-field').querySelector('input[type=text]').value"""


@dataclass(frozen=True)
class Kind:
    """What a visitor drags."""

    panel: str
    state: Any
    name: str
    label: str
    figure: str
    drawn: Callable[[Any], list[float]]
    """The values of the figure's first line, of a state."""


def _windows(state: Any) -> list[float]:
    return _known(LinkPanel(state).figure.shown.data[0].y)


def _completion(state: Any) -> list[float]:
    return _known(completion_cdf(btflow.simulate(swarm_panel.scenario_of(state), seed=int(state.seed))).data[0].x)


def _both(state: Any) -> list[float]:
    both = settings(state)
    *_, last = compare(Compared(scenario_of(both.a), scenario_of(both.b), 0, int(state.pairs)), Look())
    return _known(last.figures["both"].data[0].x)


def _known(values: Any) -> list[float]:
    return [float(value) for value in values if not np.isnan(value)]


_LINK = Kind("link", LinkState(duration="30 s"), "rtt", "Round-trip time", "", _windows)
_SWARM = Kind(
    "swarm",
    SwarmState(leechers="9", file_size="1 MB"),
    "rtt",
    "Round-trip time",
    "Completion time of the leechers",
    _completion,
)
_FEW = "leechers=9&file_size=1+MB"
_WHATIF = Kind(
    "whatif",
    WhatIfState(pairs="2", a=_FEW, b=f"{_FEW}&rtt=300+ms"),
    "pairs",
    "Pairs",
    "Completion time of the leechers",
    _both,
)
_PRESS = """label => {
  const fields = [...document.querySelectorAll('.btflow-field')].filter(f => f.offsetParent);
  const field = fields.find(f => f.querySelector('label')?.textContent === label);
  field.querySelector('.noUi-handle').dispatchEvent(
    new KeyboardEvent('keydown', { key: 'ArrowRight', keyCode: 39, bubbles: true }));
}"""
"""What presses a key on a slider, and waits for nothing."""

_SHOWS = """([title, wanted]) => {
  const shown = [...document.querySelectorAll('.js-plotly-plot')].find(
    g => g.offsetParent && (g.layout?.title?.text ?? '').startsWith(title));
  const line = shown?.data?.[0];
  const found = Array.from((title ? line?.x : line?.y) ?? []).filter(v => v !== null && !Number.isNaN(v));
  return found.length === wanted.length && found.every((v, i) => Math.abs(v - wanted[i]) <= 1e-5 * Math.abs(v));
}"""
"""What returns whether a figure's first line has some values: x by title, y of the link panel's only figure."""


_DRAWN = """title => [...document.querySelectorAll('.js-plotly-plot')].some(
  g => g.offsetParent && (g.layout?.title?.text ?? '').startsWith(title) && g.querySelector('path.js-line'))"""
"""What returns whether a figure in view has lines, by its title."""


def text_after(kind: Kind, presses: int) -> str:
    """Return what an input says after so many keys, each of which moves its slider by a step."""
    form = Form(kind.state, lambda _: None)
    field = form.fields[kind.name]
    for _ in range(presses):
        moved_by_one_step(field._slider)
    return field.text


def moved_by_one_step(handle: Any) -> None:
    """Move a slider's value as a browser does."""
    if hasattr(handle, "base"):
        handle.value = handle.base ** (np.log10(handle.value) + handle.step)
    else:
        handle.value = handle.value + handle.step


def _leads_back(shown: Page, state: Any) -> None:
    """Wait until the address of a page leads to a state; it may follow a moment after the figure."""
    shown.wait_for_url(
        lambda url: from_query(url.partition("?")[2], KINDS).state == state, wait_until="commit", timeout=SLOWEST
    )


def _answers_meanwhile(busy: Page) -> None:
    """Check that a page shows another tab while it and nine others are dragged."""
    busy.bring_to_front()
    busy.get_by_role("button", name="One link", exact=True).click()
    expect(slider(busy, _LINK.label)).to_be_visible(timeout=SLOWEST)
    busy.get_by_role("button", name="One swarm", exact=True).click()


@pytest.fixture(scope="module")
def asked() -> list[str]:
    """Return the addresses that the visitor's browser asked for."""
    return []


@pytest.fixture(scope="module")
def visitor(explorer: Served, browser: Browser, asked: list[str]) -> Iterator[Page]:
    """Open the page once for the tests that only use it."""
    with page(browser, LAPTOP) as shown:
        shown.on("request", lambda request: asked.append(request.url))
        open_page(shown, explorer.url)
        yield shown


def strangers(asked: list[str], explorer: Served) -> list[str]:
    """Return the addresses that are not the server's."""
    own = (explorer.bare, explorer.bare.replace("http", "ws"), "blob:", "data:")
    return [url for url in asked if not url.startswith(own)]


def test_it_loads_without_a_network_and_asks_for_nothing_outside(
    visitor: Page, explorer: Served, asked: list[str]
) -> None:
    assert strangers(asked, explorer) == []
    assert len(asked) > 8
    assert max(len(y) for y in series(visitor)) > 100
    assert visitor.evaluate("document.documentElement.scrollHeight") > LAPTOP[1]
    expect(visitor.get_by_label("Preset").first).to_have_value("A LEDBAT upload beside a CUBIC upload on 1 Mbit/s")
    assert "token" not in visitor.url  # it is in a cookie now
    screenshot(visitor, "explorer-link")


def test_dragging_a_slider_redraws_the_data(visitor: Page) -> None:
    before = series(visitor)
    handle = slider(visitor, "Round-trip time")
    drag(visitor, handle, 40)
    drawn(visitor, before)
    assert text_of(visitor, "Round-trip time") != "50 ms"
    expect(handle).to_have_attribute("aria-label", "Round-trip time")
    visitor.wait_for_function(_SAYS_ITS_TEXT, arg=handle.element_handle())  # both, while the last moves still arrive


def test_a_slider_is_moved_by_keyboard(visitor: Page) -> None:
    before = series(visitor)
    handle = slider(visitor, "Buffer")
    handle.focus()
    for _ in range(5):
        visitor.keyboard.press("ArrowLeft")
    drawn(visitor, before)
    outline = handle.evaluate("e => getComputedStyle(e).outlineStyle")
    assert outline != "none"


def test_a_value_is_typed_with_its_unit(visitor: Page) -> None:
    before = series(visitor)
    field = controls(visitor, "Rate").locator("input")
    field.fill("448 kbit/s")
    field.press("Enter")
    drawn(visitor, before)
    visitor.wait_for_function("location.search.includes('rate=448+kbit/s')", timeout=SLOWEST)


def test_a_buffer_is_typed_in_any_unit_after_any_other(visitor: Page) -> None:
    """The slider gets other ends with each unit: it moves to the value, and the value stays as it was typed."""
    before = text_of(visitor, "Buffer")
    for text in ("1.5 BDP", "400 ms", "100 packets", "64 kB", "2 BDP", "50 packets", before):
        entry = controls(visitor, "Buffer").locator("input")
        entry.fill(text)
        entry.press("Enter")
        expect(visitor.locator(".btflow-command")).to_contain_text(text, timeout=SLOWEST)
        visitor.wait_for_timeout(700)  # what a browser tells of a slider comes later
        assert text_of(visitor, "Buffer") == text
        assert text in visitor.locator(".btflow-command").inner_text()


def test_a_figure_follows_though_its_script_came_late(explorer: Served, browser: Browser) -> None:
    """anywidget drops all messages to a widget whose script took more than two seconds: here none is left to any."""
    with page(browser) as shown:
        shown.add_init_script(
            "{ const wait = AbortSignal.timeout.bind(AbortSignal);"
            " AbortSignal.timeout = (ms) => wait(ms <= 2000 ? 0 : ms); }"
        )
        open_page(shown, explorer.url)
        before = series(shown)
        slider(shown, "Rate").press("ArrowRight")
        drawn(shown, before)


def test_a_bad_value_is_refused_next_to_its_field(visitor: Page) -> None:
    before = series(visitor)
    field = controls(visitor, "Round-trip time").locator("input")
    good = field.input_value()
    field.fill("3 parsecs")
    field.press("Enter")
    error = controls(visitor, "Round-trip time").locator("[role=alert]")
    error.wait_for(timeout=SLOWEST)
    assert "unknown unit 'parsecs'" in error.inner_text()
    expect(field).to_have_attribute("aria-invalid", "true")
    box, place = error.bounding_box(), field.bounding_box()
    assert box is not None
    assert place is not None
    assert 0 < box["y"] - place["y"] < 80
    assert series(visitor) == before
    screenshot(visitor, "explorer-refused")
    field.fill(good)
    field.press("Enter")
    error.wait_for(state="detached", timeout=SLOWEST)


def test_a_preset_is_shown_as_it_is_published(visitor: Page) -> None:
    choose(visitor, "Yin et al., GENI project", "iperf beside two TCP seeds")
    visitor.wait_for_function(_SHOWS, arg=["", _windows(preset("geni"))], timeout=SLOWEST)
    _leads_back(visitor, preset("geni"))


def test_saved_files_give_the_same_result(visitor: Page, tmp_path: Path) -> None:
    with visitor.expect_download(timeout=SLOWEST) as toml:
        visitor.get_by_role("button", name="Save scenario").click()
    with visitor.expect_download(timeout=SLOWEST) as csv:
        visitor.get_by_role("button", name="Save data").click()
    toml.value.save_as(tmp_path / "saved.toml")
    csv.value.save_as(tmp_path / "saved.csv")
    result = btflow.simulate_link(btflow.load_link(tmp_path / "saved.toml"))
    table = np.genfromtxt(tmp_path / "saved.csv", delimiter=",", names=True, deletechars="", replace_space=" ")
    assert np.array_equal(table["iperf window [segments]"], result["window"].sel(flow="iperf").values)


def test_no_tab_asks_for_anything_outside(visitor: Page, explorer: Served, asked: list[str]) -> None:
    for tab, figures in {"One swarm": [_SWARM.figure, "Queues"], "What if": [_WHATIF.figure, "Differences"]}.items():
        visitor.get_by_role("button", name=tab, exact=True).click()
        for title in figures:
            visitor.wait_for_function(_DRAWN, arg=title, timeout=SLOWEST)
        assert strangers(asked, explorer) == []
    visitor.get_by_role("button", name="One link", exact=True).click()


def test_a_link_opens_its_state_on_a_phone(explorer: Served, browser: Browser) -> None:
    state = LinkState(rate="2 Mbit/s", buffer="30 packets", cc2="vegas")
    with page(browser, PHONE) as shown:
        open_page(shown, f"{explorer.url}&{to_query('link', state)}&colour=red")
        shown.wait_for_function(
            "document.querySelector('.js-plotly-plot').data.some(t => t.name === 'second, Vegas')", timeout=SLOWEST
        )
        assert text_of(shown, "Rate") == "2 Mbit/s"
        assert shown.get_by_text("colour: is no input of this panel").is_visible()
        assert shown.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        figure = shown.locator(".js-plotly-plot").bounding_box()
        assert figure is not None
        assert figure["width"] <= PHONE[0]
        screenshot(shown, "explorer-phone")


def test_ten_visitors_drag_at_once(explorer: Served, browser: Browser) -> None:
    """All move before any is waited for; in the end each page shows its own last value, as its panel has it."""
    kinds = [(_SWARM, _LINK, _WHATIF, _LINK)[number % 4] for number in range(VISITORS)]
    opened = [page(browser) for _ in kinds]
    visitors = [one.__enter__() for one in opened]
    asked: list[str] = []
    try:
        for one in visitors:
            one.on("request", lambda request: asked.append(request.url))
        for one, kind in zip(visitors, kinds, strict=True):
            one.goto(f"{explorer.url}&{to_query(kind.panel, kind.state)}", wait_until="commit", timeout=SLOWEST)
        for one, kind in zip(visitors, kinds, strict=True):
            one.bring_to_front()  # one in the background may get no frames, and figures are drawn with them
            one.wait_for_function(_SHOWS, arg=[kind.figure, kind.drawn(kind.state)], timeout=SLOWEST)
            slider(one, kind.label).focus()
        for step in range(2 * VISITORS):
            for number, one in enumerate(visitors):
                if step < VISITORS + number:  # each ends at a value of its own
                    one.evaluate(_PRESS, kinds[number].label)
        _answers_meanwhile(visitors[0])
        for number, (one, kind) in enumerate(zip(visitors, kinds, strict=True)):
            one.bring_to_front()
            expected = text_after(kind, VISITORS + number)
            expect(controls(one, kind.label).locator("input")).to_have_value(expected, timeout=SLOWEST)
            wanted = kind.drawn(replace(kind.state, **{kind.name: expected}))
            one.wait_for_function(_SHOWS, arg=[kind.figure, wanted], timeout=SLOWEST)
            _leads_back(one, replace(kind.state, **{kind.name: expected}))
        assert strangers(asked, explorer) == []
    finally:
        for context in opened:
            context.__exit__(None, None, None)


def test_a_page_whose_process_is_killed_says_so(explorer: Served, browser: Browser) -> None:
    """Those of all pages are killed, as the system does where there is no memory: this is the last test."""
    with page(browser) as shown:
        open_page(shown, explorer.url)
        for process in processes(explorer):
            process.kill()
        line = shown.locator(".btflow-gone[role=alert]")
        line.wait_for(timeout=SLOWEST)
        assert "has ended" in line.inner_text()
        screenshot(shown, "explorer-gone")
        with shown.expect_navigation(timeout=SLOWEST):
            line.get_by_role("button").click()
        drawn(shown, [])


def test_a_page_whose_server_is_stopped_says_so(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as server, page(browser) as shown:
        open_page(shown, server.url)
        server.interrupt()
        expect(shown.locator(".btflow-gone[role=alert]")).to_contain_text("was stopped", timeout=SLOWEST)
        assert series(shown), "figures stay"


def test_a_page_too_many_says_so(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, "--visitors", "1") as server, visit(server.url), page(browser) as shown:
        shown.goto(server.url)
        expect(shown.locator(".btflow-gone[role=alert]")).to_contain_text("is busy", timeout=SLOWEST)
