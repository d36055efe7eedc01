"""Measures the player of traces in a real browser: what is recorded, how large its page is, how smoothly it plays.

    python -m validation.motion
    python -m validation.motion --images docs/figures

It needs the extra dev and a Chromium, and takes half a minute. Run it on a machine that does nothing else. With
--images it only draws the pictures of the documentation, motion-link.png and motion-swarm.png.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from validation.chromium import chromium as installed
from validation.command import application, run_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from btflow.motion import Trace

SIZE = (1100, 620)
PLAYED = 4.0
"""Time that each is played [s]."""

_COUNT = """(speed) => new Promise((done) => {
  const slider = document.querySelector(".btflow-motion-speed input");
  slider.value = speed;
  slider.oninput();
  document.querySelector("button[title=Play]").click();
  const times = [], first = performance.now();
  const note = (now) => { times.push(now); now - first < PLAYED ? requestAnimationFrame(note) : done(times); };
  requestAnimationFrame(note);
})"""
_GO = "(time) => { const s = document.querySelector('.btflow-motion-scrub'); s.value = time; s.oninput(); }"


class Played(NamedTuple):
    """What is recorded, and the speed at which it is played, as a power of ten."""

    model: str
    parameters: dict[str, Any]
    speed: float = 0.0


MEASURED = {
    "a call beside an upload on ADSL": Played("bufferbloat", {}),
    "the same, ten times slower": Played("bufferbloat", {}, speed=-1.0),
    "100 peers, upload limits, 50 MB": Played("rao2010", {"leechers": 99}),
    "100 peers on access links, 50 MB": Played("flashcrowd", {"leechers": 99}),
    "300 peers, upload limits, 10 MB": Played("rao2010", {"leechers": 299, "file_size": "10 MB"}),
}

app = application()


@app.command()
def measure(
    images: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw the pictures instead.")] = None,
) -> None:
    """Measure how smoothly traces play in a real browser, or draw pictures of them."""
    installed()
    from validation.browser import chromium

    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "page.html"
        if images is not None:
            draw(browser, file, images)
            return
        for what in MEASURED.values():
            recorded(what)  # so that no time is that of compiling
        for name, what in MEASURED.items():
            begun = time.process_time()
            trace = recorded(what)
            took = time.process_time() - begun
            frames = played(browser, trace, file, what.speed)
            size = file.stat().st_size / 1000
            found = f"{took:.1f} s of CPU time, {trace.nbytes / 1000:.0f} kB, page {size:.0f} kB; {frames}"
            print(f"{name}: {found}", flush=True)


def recorded(what: Played) -> Trace:
    """Return a trace of a model."""
    from btflow import load, load_link, motion

    link = what.model == "bufferbloat"
    scenario = load_link(what.model, **what.parameters) if link else load(what.model, **what.parameters)
    return motion.record(scenario, seed=1)


def played(browser: Browser, trace: Trace, file: Path, speed: float) -> str:
    """Play a trace's page and return how many pictures a second the browser draws, and the longest time of one."""
    from btflow import motion

    motion.save(trace, file)
    context = browser.new_context(viewport={"width": 1366, "height": 768}, reduced_motion="reduce")
    shown = context.new_page()
    shown.goto(file.as_uri())
    shown.locator("canvas").wait_for()
    times = shown.evaluate(_COUNT.replace("PLAYED", str(1000 * PLAYED)), speed)
    context.close()
    gaps = sorted(b - a for a, b in itertools.pairwise(times))
    return f"{1000 * len(gaps) / sum(gaps):.0f} pictures a second, 95% within {gaps[int(0.95 * len(gaps))]:.0f} ms"


def draw(browser: Browser, file: Path, folder: Path) -> None:
    """Draw a picture of a link and one of a swarm."""
    from btflow import motion

    fixed: dict[str, Any] = {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "100 packets", "duration": "60 s"}
    link = motion.record(seed=1, length="20 s", flows=["cubic:2", "ledbat:1"], voip=["g729:1"], **fixed)
    swarm = recorded(MEASURED["100 peers on access links, 50 MB"])
    for trace, share in ((link, 0.615), (swarm, 0.82)):
        motion.save(trace, file)
        context = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]}, reduced_motion="reduce")
        shown = context.new_page()
        shown.goto(file.as_uri())
        shown.locator("canvas").wait_for()
        shown.evaluate(_GO, share * trace.about["length"])
        shown.wait_for_timeout(300)
        image = folder / f"motion-{trace.about['kind']}.png"
        shown.locator("main").screenshot(path=image)
        context.close()
        print(f"figure: {image}")


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.motion"))
