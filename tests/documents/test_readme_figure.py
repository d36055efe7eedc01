"""The README's figure shows what btflow gives now, and what the committed report says."""

from __future__ import annotations

import csv
import re
from collections import defaultdict

import numpy as np
import pytest
from docs_pages import ROOT

from btflow import load, simulate
from validation.cases import MODEL, Case
from validation.experiments import TABLE_RTTS, sweep
from validation.readme_figure import FIGURE

ROW = re.compile(r"^\| (\d+) kB/s, RTT (\d+) ms \| \d+ \| (\d+) ± \d+ \((\d+) to (\d+)\)", re.MULTILINE)


def shown() -> dict[Case, list[float]]:
    """Return the mean completion times [s] that the figure shows, by replica."""
    found = defaultdict(list)
    with FIGURE.with_suffix(".csv").open(encoding="utf-8", newline="") as lines:
        for limit, rtt, _, time in list(csv.reader(lines))[1:]:
            found[Case(int(limit), int(rtt))].append(float(time))
    return dict(found)


def test_the_table_beside_the_figure_is_whole() -> None:
    assert FIGURE.is_file()
    assert set(shown()) == set(sweep())
    found = {case: len(times) for case, times in shown().items() if case.rtt in TABLE_RTTS}
    assert found == dict.fromkeys(found, 8) | {Case(20, 400): 32}  # which R10 runs more often


def test_the_report_has_the_figures_points() -> None:
    report = (ROOT / "validation" / "details" / "summary.md").read_text(encoding="utf-8")
    said = {Case(int(limit), int(rtt)): tuple(map(int, times)) for limit, rtt, *times in ROW.findall(report)}
    assert len(said) == 12
    for case, times in said.items():
        found = shown()[case]
        assert times == pytest.approx((np.mean(found), min(found), max(found)), abs=0.51)


def test_a_point_is_what_comes_out_now() -> None:
    case = Case(100)
    result = simulate(load(MODEL).set(**case.settings()), seed=case.seed)
    assert float(result.completion_time.mean()) == pytest.approx(shown()[case][0], abs=1e-5)
