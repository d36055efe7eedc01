"""``python -m validation.pictures``: takes the documentation's pictures of the explorer and of the player of traces.

It needs the extra dev and a Chromium, and writes explorer.png, motion-link.png and motion-swarm.png.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from validation.browser import chromium, page
from validation.command import application, run_app
from validation.docs_figures import FOLDER

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EXPLORER, PLAYER = (1366, 900), (1100, 620)
"""Sizes of what is in view [px]."""
_GO = "(time) => { const s = document.querySelector('.btflow-motion-scrub'); s.value = time; s.oninput(); }"

app = application()


@app.command()
def take(folder: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the pictures go.")] = FOLDER) -> None:
    """Take the pictures of pages that the documentation shows."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        explorer(browser, Path(scratch), folder / "explorer.png")
        player(browser, Path(scratch) / "page.html", folder)


def explorer(browser: Browser, scratch: Path, image: Path) -> None:
    """Take a picture of the explorer's link panel."""
    from validation.explorer_page import open_page
    from validation.served import served

    with served(scratch) as server, page(browser, EXPLORER) as shown:
        open_page(shown, server.url)
        shown.mouse.move(0, 0)
        shown.wait_for_timeout(1000)
        shown.screenshot(path=image)
    typer.echo(f"figure: {image}")


def player(browser: Browser, file: Path, folder: Path) -> None:
    """Take a picture of a link and one of a swarm, as a page of its own plays them."""
    from btflow import load, motion

    fixed: dict[str, Any] = {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "100 packets", "duration": "60 s"}
    link = motion.record(seed=1, length="20 s", flows=["cubic:2", "ledbat:1"], voip=["g729:1"], **fixed)
    swarm = motion.record(load("flashcrowd", leechers=99), seed=1)
    for trace, share in ((link, 0.615), (swarm, 0.82)):
        motion.save(trace, file)
        with page(browser, PLAYER, reduced_motion="reduce") as shown:
            shown.goto(file.as_uri())
            shown.locator("canvas").wait_for()
            shown.evaluate(_GO, share * trace.about["length"])
            shown.wait_for_timeout(300)
            image = folder / f"motion-{trace.about['kind']}.png"
            shown.locator("main").screenshot(path=image)
        typer.echo(f"figure: {image}")


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.pictures"))
