"""The golden runs come out as they were written; tests/helpers/golden.py says how to write them anew."""

from __future__ import annotations

import json
from types import ModuleType

import golden
import golden_flow
import golden_links
import pytest

RUNS = (golden, golden_flow, golden_links)


@pytest.mark.parametrize("runs", RUNS, ids=lambda runs: runs.__name__)
def test_every_case_is_on_file(runs: ModuleType) -> None:
    assert list(json.loads(runs.FILE.read_text())) == runs.NAMES


@pytest.mark.parametrize(("runs", "case"), [(runs, case) for runs in RUNS for case in runs.NAMES])
def test_a_golden_run_is_as_it_was(runs: ModuleType, case: str) -> None:
    assert runs.run(case) == json.loads(runs.FILE.read_text())[case]
