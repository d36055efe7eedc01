"""Analyses of real sweeps: one that was stopped, and those of the documentation, run as they are written there."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from sweep_made import tiny

from btflow import analysis, plots
from btflow.sweeps import runs, store
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.store import open_store

DOCS = Path(__file__).parents[2] / "docs" / "analysis.md"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of a sweep of 12 swarms of which units 1 to 7 were run."""
    path = tmp_path_factory.mktemp("stopped") / "s.zarr"
    scenario = tiny()
    vary: dict[str, object] = {"rtt": ["0 ms", "50 ms", "100 ms"], "upload_limit": "20 kB/s,50 kB/s"}
    plan = declare(scenario.document, scenario.given, declaration(vary, {}, "vary", replicas=2))
    with store.opened(path, plan) as made:
        made.add(runs.run(plan.job, plan.task(1, 7), lambda: False, budget=60.0))
    return path


def test_a_sweep_that_was_stopped_is_analysed_and_says_what_is_missing(stopped: Path) -> None:
    ds = open_store(stopped, "store")
    times = ds["completion_mean"].values
    found = analysis.mean_effect(ds, "completion_mean", "upload_limit", resamples=100)
    lost = {key: found.attrs[key] for key in ("swarms", "failed", "not_run", "no_value")}
    assert lost == {"swarms": 12, "failed": 0, "not_run": 5, "no_value": 0}
    assert found["missing"].values.tolist() == [3, 2]
    np.testing.assert_allclose(found["mean"], [(times[0, 0, 1] + times[1, 0].mean()) / 2, times[:2, 1].mean()])
    drawn = plots.heat_map(ds, "completion_mean", "rtt", "upload_limit")
    assert drawn.layout.title.subtitle.text == "rao2010, 6 points × 2 replicas, 5 swarms not run"
    assert np.isnan(drawn.data[0].z).tolist() == [[False, False, True], [False, False, True]]


def test_a_sweep_that_was_stopped_is_exported_with_what_is_pending(stopped: Path, tmp_path: Path) -> None:
    assert analysis.write_table(stopped, tmp_path / "t.csv") == 12
    with (tmp_path / "t.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    done = [row["status"] == "done" for row in rows]
    assert done == [1 <= number < 8 for number in range(12)]
    assert [bool(row["completion_mean [s]"]) for row in rows] == done


@pytest.mark.slow
def test_the_page_on_analyses_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "both.html",
        "flow.html",
        "loss.html",
        "results.csv",
        "sobol.html",
        "tornado.html",
    ]
    grid: xr.Dataset = names["grid"]
    shares = sum(grid[f"limited_{cause}"] for cause in ("limiter", "window", "loss", "pipeline", "idle"))
    np.testing.assert_allclose(shares, 1.0)
    assert names["rows"] == grid.sel(rtt=0.4)["status"].size
    for call in re.findall(
        r"`((?:analysis|plots)\.[a-z_]+\((?:grid|design|flow)\b.*?\))`", DOCS.read_text(encoding="utf-8")
    ):
        assert eval(call, names) is not None
