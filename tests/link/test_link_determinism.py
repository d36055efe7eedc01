"""A link experiment is a function of (scenario, seed), to the last bit; the golden runs come out as written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import golden_links
import link_made as made
import pytest
from golden_links import CASES, FILE, SEED, digest, program

from btflow.kernels.link import engine
from btflow.link.run import run_link
from btflow.link.state import build

EXPECTED = json.loads(FILE.read_text())

SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import golden_links
from btflow.link.run import run_link
for case in sys.argv[1:]:
    print(case, golden_links.digest(run_link(golden_links.program(case), 7)), sep="=")
"""


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return {case: digest(run_link(program(case), 7)) for case in CASES}


def in_another_process(*cases: str, **environment: str) -> dict[str, str]:
    """Return the digests another interpreter finds."""
    script = SCRIPT.format(tests=str(FILE.parent))
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", script, *cases],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split("=") for line in done.stdout.splitlines())


def test_every_golden_case_is_on_file() -> None:
    assert list(EXPECTED) == list(CASES)


@pytest.mark.parametrize("case", CASES)
def test_a_golden_run_is_as_it_was(case: str) -> None:
    assert golden_links.run(case) == EXPECTED[case]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("events", [1, 7, 10_000_000])
def test_the_result_does_not_depend_on_the_chunks(case: str, events: int, expected: dict[str, str]) -> None:
    state = build(program(case), 7)
    while engine.run(state, events) != engine.DONE:
        pass
    assert digest(state) == expected[case]


def test_another_process_finds_the_same(expected: dict[str, str]) -> None:
    assert in_another_process(*CASES) == expected


@pytest.mark.slow
def test_the_kernels_find_the_same_without_the_jit(expected: dict[str, str]) -> None:
    """Interpreted, one of them at least; the other cases would take a minute."""
    cases = ("applications", "FQ-CoDel")
    assert in_another_process(*cases, NUMBA_DISABLE_JIT="1") == {case: expected[case] for case in cases}


@pytest.mark.parametrize("case", ["loss on both ways", "PIE"])
def test_threads_find_the_same(case: str, expected: dict[str, str]) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: digest(run_link(program(case), seed)), [7, 8, 7, 9]))
    assert [found[i] for i in (0, 2)] == [expected[case]] * 2
    assert len(set(found)) == 3


def test_other_seeds_give_other_results_under_loss() -> None:
    assert len({digest(run_link(program("loss on both ways"), seed)) for seed in range(20)}) == 20


def test_the_seed_does_not_matter_where_nothing_is_random() -> None:
    """No loss, no spread of round-trip times or starts: only the generator's own state differs."""
    results = [made.run("cubic", "ledbat", duration="20 s", seed=seed) for seed in (0, SEED)]
    assert len({s.flow.tobytes() for s in results}) == 1
    assert len({s.queue_time.tobytes() for s in results}) == 1
