"""Measures the explorer in a real browser: from the command to the first figure, and from a slider to redrawn figures.

    python -m validation.explorer
    python -m validation.explorer --image docs/figures/explorer.png

It needs the extra dev and a Chromium, and takes a minute or two. Run it on a machine that does nothing else. With
--image it only takes a picture of the link panel.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from btflow.options import output_file
from validation.chromium import chromium as installed
from validation.command import application, run_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from validation.explorer_page import Latency

MOVES = 21
SIZE = (1366, 900)
SWARMS = {
    "300 peers, upload limits, 10 MB": "model=rao2010&leechers=299&file_size=10+MB&rtt=50+ms",
    "100 peers, upload limits, 10 MB": "model=rao2010&leechers=99&file_size=10+MB&rtt=50+ms",
    "100 peers on access links, 2 MB": "leechers=99",
}
"""Swarms by name: what their link says. While the slider moves they are drawn from flow, at rest from full."""

_FIGURES = """() => [...document.querySelectorAll('.js-plotly-plot')]
  .filter(g => g.offsetParent && g.layout?.title?.text && g.data?.length).length > 2"""


app = application()


@app.command()
def measure(
    image: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Take a picture of the link panel instead.")
    ] = None,
) -> None:
    """Measure in a real browser how long a slider takes to redrawn figures, a minute or two."""
    if image is not None:
        output_file("--image", image, ".png")
    installed()
    from validation.browser import chromium, page
    from validation.explorer_page import latencies, open_page, words_of_full
    from validation.served import served

    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        with served(Path(folder)) as server, chromium() as browser, page(browser, SIZE) as shown:
            ready = time.monotonic() - start
            open_page(shown, server.url)
            first = time.monotonic() - start
            if image is not None:
                take(shown, image)
                return
            print(f"command to ready server: {ready:.1f} s; to the first figure: {first:.1f} s")
            print(f"another page to its first figure: {opened(browser, server.url):.1f} s", flush=True)
            report("link panel", latencies(shown, "Round-trip time", MOVES))
            for name, query in SWARMS.items():
                shown.goto(f"{server.bare}?v=1&panel=swarm&{query}")
                shown.wait_for_function(_FIGURES)
                words_of_full(shown)  # what is drawn first is drawn whole
                report(name, latencies(shown, "Round-trip time", MOVES))
                print(f"  at rest: {words_of_full(shown)}", flush=True)


def opened(browser: Browser, url: str) -> float:
    """Return how long a page takes until its first figure in a browser that has none of its files [s]."""
    from validation.browser import page
    from validation.explorer_page import open_page

    with page(browser, SIZE) as shown:
        start = time.monotonic()
        open_page(shown, url)
        return time.monotonic() - start


def take(shown: Page, image: Path) -> None:
    """Take a picture of what is in view."""
    shown.mouse.move(0, 0)
    shown.wait_for_timeout(1000)
    shown.screenshot(path=image)
    print(f"figure: {image}")


def report(name: str, times: list[Latency]) -> None:
    """Print the medians of times and the 90th percentile of that to all figures."""
    first, last = ([1000 * getattr(one, which) for one in times] for which in ("first", "all"))
    medians = f"first figure after {statistics.median(first):.0f} ms, all after {statistics.median(last):.0f} ms"
    print(
        f"{name}: {medians} (medians of {len(times)}), 90% within {statistics.quantiles(last, n=10)[-1]:.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.explorer"))
