"""The player in a real browser without a network: exported pages, keyboard, themes, sizes, and the widget."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import LAPTOP, PHONE, SLOWEST, needs_browser, screenshot
from playwright.sync_api import Browser, Page, expect

import btflow
from btflow import motion
from btflow.link.options import scenario_from
from btflow.motion import trace as traces

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

_COLOURS = """() => { const c = document.querySelector("canvas");
  const d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
  const counts = new Map(); d.forEach((v) => counts.set(v, (counts.get(v) ?? 0) + 1));
  return [...counts].filter(([v, n]) => n > 30).length; }"""
"""What returns how many colours cover more than a few pixels of the canvas."""

_DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_SPEED = "(power) => { const s = document.querySelector('.btflow-motion-speed input'); s.value = power; s.oninput(); }"


@pytest.fixture(scope="module")
def recorded() -> dict[str, motion.Trace]:
    """Record a link, one with a fair queue and a download beside the uploads, and a swarm on access links."""
    common: Any = {"rate": "1 Mbit/s", "rtt": "50 ms", "duration": "8 s", "voip": ["g729:1"]}
    one = scenario_from(buffer="40 packets", flows=["cubic:2", "ledbat:1"], **common)
    fair = scenario_from(aqm="fq-codel", buffer="1000 packets", flows=["cubic:2", "cubic:1,direction=down"], **common)
    swarm = btflow.load("flashcrowd", leechers=99, file_size="3 MB")
    return {"link": motion.record(one), "fair": motion.record(fair), "swarm": motion.record(swarm)}


@contextmanager
def opened(browser: Browser, file: Path, *, calm: bool = True, **context: Any) -> Iterator[Page]:
    """Open a page from disk, the network off; nothing may be said to the console."""
    motion_wanted = "reduce" if calm else "no-preference"
    made = browser.new_context(offline=True, reduced_motion=motion_wanted, **context)  # type: ignore[arg-type]
    shown, said = made.new_page(), []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    try:
        shown.goto(file.as_uri())
        shown.locator("canvas").wait_for()
        until(shown, "document.querySelector('.btflow-motion-words').textContent.length > 10")
        yield shown
        assert said == []
    finally:
        made.close()


@pytest.fixture
def file(recorded: dict[str, motion.Trace], tmp_path: Path) -> Path:
    """Export the link."""
    motion.save(recorded["link"], path := tmp_path / "link.html")
    return path


def at(shown: Page) -> float:
    """Return the time that is shown once it is drawn, since the start of the trace [s]."""
    return float(shown.evaluate(_DRAWN + ".then(() => Number(document.querySelector('.btflow-motion-scrub').value))"))


def until(shown: Page, expression: str) -> None:
    """Wait until something is true; Playwright's own way to wait is what the page's policy forbids."""
    for _ in range(int(SLOWEST) // 25):
        if shown.evaluate(expression):
            return
        shown.wait_for_timeout(25)
    pytest.fail(f"never true: {expression}")


def go(shown: Page, time: float) -> None:
    """Go to a time with the slider and wait until it is drawn."""
    shown.evaluate("t => { const s = document.querySelector('.btflow-motion-scrub'); s.value = t; s.oninput(); }", time)
    shown.evaluate(_DRAWN)


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["link", "fair", "swarm"])
def test_an_exported_page_plays_from_disk(
    recorded: dict[str, motion.Trace], browser: Browser, tmp_path: Path, kind: str, scheme: Any, size: tuple[int, int]
) -> None:
    trace = recorded[kind]
    motion.save(trace, file := tmp_path / f"{kind}.html")
    view = {"width": size[0], "height": size[1]}
    with opened(browser, file, viewport=view, color_scheme=scheme) as shown:
        go(shown, 0.45 * trace.about["length"])
        assert shown.evaluate(_COLOURS) >= 6
        wide, high = shown.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        assert wide <= size[0]
        assert size is PHONE or high <= size[1]  # all of it in view
        back = shown.evaluate("getComputedStyle(document.querySelector('.btflow-motion')).backgroundColor")
        assert back == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 22, 22)")
        screenshot(shown, f"motion-{kind}-{scheme}-{size[0]}")


def test_words_say_what_is_seen(recorded: dict[str, motion.Trace], browser: Browser, file: Path) -> None:
    trace = recorded["link"]
    c, about = trace.columns, trace.about
    look = len(c["time"]) // 2
    with opened(browser, file) as shown:
        go(shown, float(c["time"][look]))
        words = shown.locator(".btflow-motion-words").inner_text()
        assert f"Queue {c['waiting'][look, about['queue']]} of 40 packets" in words
        window = round(float(c["window"][look, 0]))
        assert f"cubic-1: {window} segments, {about['phases'][c['phase'][look, 0]]}" in words
        assert f"Dropped so far: {c['dropped'][look].sum()}." in words


def test_the_keyboard_plays_and_steps(recorded: dict[str, motion.Trace], browser: Browser, file: Path) -> None:
    with opened(browser, file) as shown:
        group = shown.get_by_role("group", name="Playback of")
        assert at(shown) == 0.0  # who prefers less motion starts it
        group.focus()
        shown.keyboard.press("ArrowRight")
        first = at(shown)
        shown.keyboard.press("ArrowRight")
        second = at(shown)
        assert 0 <= first < second < 0.2
        shown.keyboard.press("ArrowLeft")
        assert at(shown) == pytest.approx(first)
        shown.keyboard.press("End")
        assert at(shown) == pytest.approx(recorded["link"].about["length"], rel=1e-5)
        shown.keyboard.press("Home")
        shown.keyboard.press("Space")
        expect(shown.get_by_role("button", name="Pause")).to_be_visible()
        until(shown, "Number(document.querySelector('.btflow-motion-scrub').value) > 0.02")
        shown.keyboard.press("Space")
        expect(shown.get_by_role("button", name="Play")).to_be_visible()
        for name in ("Time", "Speed"):
            expect(shown.get_by_role("slider", name=name)).to_be_visible()
        assert shown.get_by_role("img").get_attribute("aria-label")


def test_it_starts_by_itself_unless_less_motion_is_wanted(browser: Browser, file: Path) -> None:
    with opened(browser, file, calm=False) as shown:
        until(shown, "Number(document.querySelector('.btflow-motion-scrub').value) > 0.01")
        expect(shown.get_by_role("button", name="Pause")).to_be_visible()


def test_it_ends_and_begins_anew_at_any_speed(recorded: dict[str, motion.Trace], browser: Browser, file: Path) -> None:
    length, pace = (recorded["link"].about[name] for name in ("length", "pace"))
    with opened(browser, file) as shown:
        shown.evaluate(_SPEED, 2)
        expect(shown.get_by_text(f"each second shows {100 * pace:g} s")).to_be_visible()
        go(shown, 0.7 * length)
        shown.get_by_role("button", name="Play").click()
        expect(shown.get_by_role("button", name="Play")).to_be_visible()  # it has ended
        assert at(shown) == pytest.approx(length, rel=1e-5)
        shown.evaluate(_SPEED, -1)
        expect(shown.get_by_text(f"each second shows {100 * pace:g} ms")).to_be_visible()
        shown.get_by_role("button", name="Play").click()
        shown.wait_for_timeout(200)
        assert at(shown) < 0.1 * length


def test_what_is_under_the_pointer_is_said(recorded: dict[str, motion.Trace], browser: Browser, tmp_path: Path) -> None:
    motion.save(recorded["swarm"], file := tmp_path / "swarm.html")
    with opened(browser, file, viewport={"width": 1366, "height": 768}) as shown:
        length = recorded["swarm"].about["length"]
        box = shown.locator("canvas").bounding_box()
        assert box
        tip = shown.locator(".btflow-motion-tip")
        shown.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 200)
        expect(tip).to_contain_text("pieces")
        shown.mouse.down()
        assert 0.1 * length < at(shown) < 0.9 * length  # a click on the map goes there
        shown.mouse.up()
        shown.mouse.move(box["x"] + 235, box["y"] + 238)
        expect(tip).to_contain_text("(seed)")
        shown.get_by_label("map of").select_option("pieces over time")
        shown.mouse.move(5, 5)
        screenshot(shown, "motion-swarm-pieces")


_WIDGET = """async ([code, css, traces]) => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const state = { packed: bytes(traces[0]), time: 1.25, playing: false }, heard = {}, saved = [];
  const set = (name, value) => { state[name] = value; heard[`change:${name}`]?.(); };
  const model = { get: (name) => state[name], set: (name, value) => { state[name] = value; },
    save_changes: () => saved.push(state.time), on: (name, call) => { heard[name] = call; } };
  const style = document.head.appendChild(document.createElement("style"));
  style.textContent = css;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const el = document.body.appendChild(document.createElement("div"));
  const stop = widget.render({ model, el });
  Object.assign(globalThis, { state, set, saved, el, stop, other: bytes(traces[1]) });
}"""


def test_the_widget_shares_time_and_takes_other_traces(recorded: dict[str, motion.Trace], browser: Browser) -> None:
    contents = [base64.b64encode(recorded[kind].packed()).decode() for kind in ("link", "swarm")]
    made = browser.new_context(offline=True, reduced_motion="no-preference")
    shown, said = made.new_page(), []
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.set_content("<body></body>")
    shown.evaluate(_WIDGET, [traces.script(), traces.style(), contents])
    assert at(shown) == pytest.approx(1.25)
    shown.evaluate("set('time', 2.5)")  # Python goes there
    until(shown, "Number(document.querySelector('.btflow-motion-scrub').value) === 2.5")
    go(shown, 3.5)  # the visitor
    assert shown.evaluate("state.time") == 3.5
    shown.evaluate("begun = performance.now(); set('playing', true)")
    until(shown, "saved.filter((time) => time > 3.55).length > 3")
    told, seconds = shown.evaluate("[saved.filter((time) => time > 3.5).length, (performance.now() - begun) / 1000]")
    assert told <= 10 * seconds + 1  # ten times a second, not with each picture
    shown.evaluate("set('packed', other)")
    shown.get_by_text("peers complete").wait_for()
    assert shown.evaluate("state.playing")  # it plays on
    shown.evaluate("stop()")
    assert shown.evaluate("el.childElementCount") == 0
    assert said == []
    made.close()


def test_an_exported_notebook_plays(recorded: dict[str, motion.Trace], browser: Browser, tmp_path: Path) -> None:
    (file := tmp_path / "notebook.html").write_text(f"<p>Above</p>{recorded['link']._repr_html_()}<p>Below</p>")
    made = browser.new_context(offline=True, viewport={"width": 900, "height": 700})
    shown = made.new_page()
    shown.goto(file.as_uri())
    frame = shown.frame_locator("iframe")
    expect(frame.locator(".btflow-motion-words")).to_contain_text("Queue")
    frame.get_by_role("button", name="Play").click()  # it waits to be started
    expect(frame.get_by_role("button", name="Pause")).to_be_visible()
    inside = frame.locator("html").evaluate("(html) => [html.scrollHeight, html.clientHeight]")
    assert inside[0] <= inside[1]  # the frame is as high as what it holds
    made.close()
