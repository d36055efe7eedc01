"""Measures the explorer in a real browser: from the command to the first figure, and from a slider to a redrawn figure.

    python -m validation.explorer

It needs the extra dev and a Chromium, and takes a minute or two. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"
MOVES = 21
SLIDERS = {"link": "Base RTT", "swarm": "Base RTT"}
SWARM = "v=1&panel=swarm&leechers=100"


def main() -> None:
    """Print the medians."""
    sys.path.insert(0, str(TESTS))
    from browser import chromium, page
    from explorer_page import latencies, open_page
    from explorer_served import served

    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        with served(Path(folder), "--preheat", "0") as server, chromium() as browser, page(browser) as shown:
            ready = time.monotonic() - start
            open_page(shown, server.url)
            print(f"command to ready server: {ready:.1f} s; to the first figure: {time.monotonic() - start:.1f} s")
            report("link panel", latencies(shown, SLIDERS["link"], MOVES))


def report(name: str, times: list[float]) -> None:
    """Print the median of times [s] and the 90th percentile."""
    deciles = statistics.quantiles(times, n=10)
    print(
        f"{name}: slider to redrawn figure {1000 * statistics.median(times):.0f} ms (median of {len(times)}), ", end=""
    )
    print(f"90% within {1000 * deciles[-1]:.0f} ms")


if __name__ == "__main__":
    main()
