"""A preset of the swarm panel and one of the what-if, chosen and saved in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser import LAPTOP, SLOWEST, needs_browser, page
from explorer_page import FIGURES, choose, moved, open_at
from playwright.sync_api import Browser, Download, Page, expect

import btflow
from btflow.explore.panel import to_query
from btflow.explore.swarm_panel import PRESETS as SWARMS, SwarmState, scenario_of as swarm_of
from btflow.explore.whatif_panel import PRESETS as WHATIFS, WhatIfState, scenario_of, settings
from validation.served import Served

pytestmark = [needs_browser, pytest.mark.xdist_group(__name__), pytest.mark.slow]

COMPLETION, DIFFERENCES = "Completion time of the leechers", "Differences within pairs"


def saved(shown: Page, button: str, folder: Path) -> list[Path]:
    """Save what a button saves, one file or several, and return the files."""
    found: list[Download] = []

    def keep(one: Download) -> None:
        found.append(one)

    shown.on("download", keep)
    with shown.expect_download(timeout=SLOWEST):
        shown.get_by_role("button", name=button).click()
    shown.wait_for_timeout(1000)  # a second file comes right behind the first
    shown.remove_listener("download", keep)
    paths = [folder / one.suggested_filename for one in found]
    for one, path in zip(found, paths, strict=True):
        one.save_as(path)
    return sorted(paths)


def test_a_preset_of_swarms_is_shown_and_saved_as_it_is_published(
    explorer: Served, browser: Browser, tmp_path: Path
) -> None:
    preset = next(one for one in SWARMS if one.entry == "Table IV: RTT 400 ms and 5% loss")
    with page(browser, LAPTOP) as shown:
        open_at(shown, explorer, "swarm", SwarmState(leechers="5", file_size="1 MB"), [COMPLETION])
        before = shown.evaluate(FIGURES)
        choose(shown, preset.paper, preset.entry)
        moved(shown, before, [COMPLETION])
        expect(shown.get_by_label("File size", exact=True).filter(visible=True).first).to_have_value("50 MB")
        expect(shown.get_by_label("Loss", exact=True).filter(visible=True).first).to_have_value("5%")
        expect(shown.get_by_role("button", name="Cancel").filter(visible=True)).to_be_hidden(timeout=SLOWEST)
        shown.wait_for_function("part => location.search.endsWith(part)", arg=to_query("swarm", preset.state))
        (scenario,) = saved(shown, "Save scenario", tmp_path)
        tables = saved(shown, "Save data", tmp_path)
        result = btflow.simulate(btflow.load(scenario), seed=int(preset.state.seed))
        assert btflow.load(scenario).digest() == swarm_of(preset.state).digest()
        times = result.completion_time.values[0][result.role.values == "leecher"]
        assert [path.name for path in tables] == ["causes.csv", "peers.csv", "pieces.csv"]
        table = tables[1]
        rows = np.genfromtxt(table, delimiter=",", names=True, deletechars="", replace_space=" ")
        assert rows.dtype.names
        column = next(name for name in rows.dtype.names if name.startswith("completion time"))
        known = rows[column][np.isfinite(rows[column])]
        np.testing.assert_allclose(np.sort(known), np.sort(times), rtol=1e-12)


def test_a_preset_of_what_ifs_is_shown_and_saved_as_it_is_published(
    explorer: Served, browser: Browser, tmp_path: Path
) -> None:
    preset = next(one for one in WHATIFS if one.paper.startswith("Yin"))
    with page(browser, LAPTOP) as shown:
        open_at(shown, explorer, "whatif", WhatIfState("link", "2", "duration=20+s"), [DIFFERENCES])
        before = shown.evaluate(FIGURES)
        choose(shown, preset.paper, preset.entry)
        moved(shown, before, [DIFFERENCES])
        pairs = int(preset.state.pairs)
        expect(shown.locator(".btflow-words")).to_contain_text(f"{pairs} pairs", timeout=SLOWEST)
        scenarios = saved(shown, "Save scenario", tmp_path)
        for path, setting in zip(scenarios, settings(preset.state), strict=True):
            assert btflow.load_link(path).digest() == scenario_of(setting).digest()
        table = next(path for path in saved(shown, "Save data", tmp_path) if path.name == "pairs.csv")
        rows = np.genfromtxt(table, delimiter=",", skip_header=1)
        for column, path in enumerate(scenarios, 1):
            first = btflow.simulate_link(btflow.load_link(path), seed=0)
            delays = first["queue_mean_delay"].sel(queue=first.attrs["bottleneck"])
            assert rows[0, column] == pytest.approx(float(delays), rel=1e-6)
        assert len(rows) == pairs
