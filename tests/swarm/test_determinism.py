"""A swarm is a function of (scenario, seed, replica), to the last bit; and a stale cache is never used."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import plain
import pytest
import states
from numpy.testing import assert_array_equal

import btflow
import btflow.kernels
import btflow.swarm
from btflow.kernels.compiler import cache
from btflow.kernels.swarm import engine
from btflow.kernels.swarm.state import Swarm
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.report import summary
from btflow.swarm.run import run_replicas, run_swarm, simulate
from btflow.swarm.state import build, more_rows

CASES: dict[str, dict[str, Any]] = {
    "no delay": {"leechers": 6, "file_size": "700 kB"},
    "delay and loss": {"leechers": 6, "file_size": "700 kB", "rtt": "120 ms", "loss": 0.04, "upload_limit": "50 kB/s"},
    "large blocks": {"leechers": 4, "file_size": "1 MB", "piece_size": "128 KiB", "block_size": "64 KiB"},
    "ASes": {"leechers": 5, "file_size": "500 kB", "leecher_as": ["AS1", "AS4"], "seed_as": ["AS2"], "loss": 0.02},
}

SCRIPT = """
import sys
sys.path[:0] = {tests!r}
from test_determinism import CASES, digest, program
from btflow.swarm.run import run_swarm
for case in CASES:
    print(case, digest(run_swarm(program(case), 7, 2)))
"""


def program(case: str) -> Program:
    return compile_scenario(states.scenario(seeds=2, **CASES[case]))


def digest(s: Swarm) -> str:
    """Return a hash of the results of a swarm, bit by bit."""
    found = hashlib.sha256()
    for array in (s.have_time, s.have_log, s.peer, s.share, s.gaps, s.bursts, s.copies, s.rng):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return {case: digest(run_swarm(program(case), 7, 2)) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_lists_of_requests_may_be_collected_and_added_at_any_time(case: str, expected: dict[str, str]) -> None:
    s, outcome, stops = build(program(case), 7, 2), engine.MORE, 0
    while outcome != engine.FINISHED:
        outcome = engine.run(s, 7)
        assert outcome in (engine.MORE, engine.FINISHED)
        stops += 1
        used = int((s.row_owner >= 0).sum())
        plain.ends.collect_rows(s, s.clock[0].now)
        assert s.row_owner.size - s.clock[0].n_free_rows == int((s.row_owner >= 0).sum()) <= used
        if stops in (3, 30):
            s = more_rows(s)
    assert stops > 30
    assert digest(s) == expected[case]


def in_another_process(**environment: str) -> dict[str, str]:
    """Return the digests another interpreter finds."""
    script = SCRIPT.format(tests=[str(Path(__file__).parent), str(Path(plain.__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


def test_another_process_finds_the_same(expected: dict[str, str]) -> None:
    assert in_another_process() == expected


@pytest.mark.slow
def test_the_kernels_find_the_same_without_the_jit(expected: dict[str, str]) -> None:
    assert in_another_process(NUMBA_DISABLE_JIT="1") == expected


@pytest.mark.parametrize("case", CASES)
def test_plain_kernels_of_the_tests_find_the_same(case: str, expected: dict[str, str]) -> None:
    assert digest(plain.simulate.run_swarm(program(case), 7, 2)) == expected[case]


@pytest.mark.parametrize("case", CASES)
def test_threads_find_the_same(case: str, expected: dict[str, str]) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda replica: digest(run_swarm(program(case), 7, replica)), [2, 3, 2, 2, 1, 2]))
    assert [found[i] for i in (0, 2, 3, 5)] == [expected[case]] * 4
    assert len(set(found)) == 3


@pytest.mark.parametrize("case", CASES)
def test_a_replica_does_not_depend_on_the_others(case: str, expected: dict[str, str]) -> None:
    together = [digest(s) for s, _ in run_replicas(program(case), 7, 4)]
    assert together[2] == expected[case]
    assert together == [digest(run_swarm(program(case), 7, k)) for k in (3, 1, 0, 2)][2:3] + together[1:]
    assert len(set(together)) == 4


def test_fewer_replicas_are_the_first_of_more() -> None:
    scenario = states.scenario(**CASES["delay and loss"])
    few, more = simulate(scenario, seed=3, replicas=1), simulate(scenario, seed=3, replicas=3)
    for name in ("completion_time", "bytes_sent", "unchokes"):
        assert_array_equal(few[name][0], more[name][0])


def test_other_seeds_give_other_swarms() -> None:
    assert len({digest(run_swarm(program("no delay"), seed, 0)) for seed in range(20)}) == 20


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("factor", [0.5, 2.0, 37.0])
def test_the_calendars_bucket_width_changes_nothing(
    case: str, factor: float, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine has no event tolerance and no time step; the width of a bucket is all that could be one."""
    monkeypatch.setattr(btflow.swarm.state, "EVENTS_PER_BUCKET", btflow.swarm.state.EVENTS_PER_BUCKET * factor)
    assert digest(run_swarm(program(case), 7, 2)) == expected[case]


def test_an_edit_of_any_kernel_makes_a_new_cache(tmp_path: Path) -> None:
    kernels = Path(btflow.kernels.__file__).parent
    shutil.copytree(kernels, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "kernels" / "swarm"
    names = {cache.folder(folder)}
    assert names == {cache.folder(kernels / "swarm")}  # the same sources, whatever their place
    reached = {name for name in sys.modules if name.startswith("btflow.kernels.")}
    assert {"btflow.kernels.bits", "btflow.kernels.compiler.intrinsics", "btflow.kernels.swarm.tcp"} <= reached
    sources = sorted(file for room in ("swarm", "compiler") for file in (tmp_path / "kernels" / room).glob("*.py"))
    sources += [tmp_path / "kernels" / name for name in ("bits.py", "calendar.py", "random.py")]
    for source in sources:
        source.write_text(source.read_text() + "\n# edited\n")
        names.add(cache.folder(folder))
    assert len(names) == 1 + len(sources)
    other = tmp_path / "kernels" / "fluid" / "flows.py"
    other.write_text(other.read_text() + "\n# edited\n")
    assert cache.folder(folder) in names  # no swarm in full calls it


def test_the_figures_of_a_replica_do_not_depend_on_how_many_are_run() -> None:
    scenario = btflow.load("rao2010", leechers=40, file_size="1 MB", rtt="100 ms", loss=0.05)
    means = [summary(simulate(scenario, seed=7, replicas=n))["completion_s"]["replica_means"] for n in (1, 2, 3)]
    assert means[0] == means[2][:1]
    assert means[1] == means[2][:2]
