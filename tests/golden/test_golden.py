"""The golden runs come out as they were written; tests/helpers/golden.py says how to write them anew."""

from __future__ import annotations

import json

import pytest
from golden import CASES, FILE, LINKED, run

EXPECTED = json.loads(FILE.read_text())


def test_every_case_is_on_file() -> None:
    assert list(EXPECTED) == [*CASES, *LINKED]


@pytest.mark.parametrize("case", [*CASES, *LINKED])
def test_a_golden_run_is_as_it_was(case: str) -> None:
    assert run(case) == EXPECTED[case]
