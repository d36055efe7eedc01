"""What an engine finds is a function of (scenario, seed, replica), to the last bit; and a stale cache is never used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import engines
import link_made
import plain
import pytest
from engines import ENGINES, EVERY
from numpy.testing import assert_array_equal

import btflow
import btflow.kernels
import btflow.swarm
from btflow.kernels.compiler import cache as kernel_cache
from btflow.kernels.flow import engine as flow_engine
from btflow.kernels.swarm import engine as swarm_engine
from btflow.swarm import flow
from btflow.swarm.report import summary
from btflow.swarm.run import run_swarm, simulate
from btflow.swarm.state import build, grow, more_rows

SCRIPT = """
import sys
sys.path.insert(0, {helpers!r})
from engines import ENGINES
engine = ENGINES[sys.argv[1]]
for case in sys.argv[2:]:
    print(case, engine.found(case), sep="=")
"""

every_case = pytest.mark.parametrize(("engine", "case"), EVERY)


@cache
def expected(engine: str, case: str) -> str:
    return ENGINES[engine].found(case)


@pytest.mark.parametrize(
    ("engine", "case", "size"), [(name, case, size) for name, case in EVERY for size in ENGINES[name].pieces]
)
def test_it_does_not_matter_how_many_events_are_handled_at_a_time(engine: str, case: str, size: int) -> None:
    """A kernel may stop after any event or look, for Ctrl-C or a larger pool, and go on as if it had not."""
    of = ENGINES[engine]
    assert of.cut is not None
    assert of.digest(of.cut(of.program(case), size)) == expected(engine, case)


def in_another_process(engine: str, *cases: str, **environment: str) -> dict[str, str]:
    """Return the digests another interpreter finds."""
    script = SCRIPT.format(helpers=str(Path(engines.__file__).parent))
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", script, engine, *cases],
        env=os.environ | {"PYTHONPATH": str(Path(btflow.__file__).parents[1])} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split("=") for line in done.stdout.splitlines())


@pytest.mark.parametrize("engine", ENGINES)
def test_another_process_finds_the_same(engine: str) -> None:
    """Neither addresses nor the order of imports come into the result."""
    cases = ENGINES[engine].cases
    assert in_another_process(engine, *cases) == {case: expected(engine, case) for case in cases}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "cases"), [("swarm", list(ENGINES["swarm"].cases)), ("link", ["applications", "FQ-CoDel"])]
)
def test_the_kernels_find_the_same_without_the_jit(engine: str, cases: list[str]) -> None:
    """Interpreted; the other cases of links would take a minute."""
    found = in_another_process(engine, *cases, NUMBA_DISABLE_JIT="1")
    assert found == {case: expected(engine, case) for case in cases}


@pytest.mark.parametrize("case", ENGINES["swarm"].cases)
def test_plain_kernels_of_the_tests_find_the_same(case: str) -> None:
    of = ENGINES["swarm"]
    assert of.digest(plain.simulate.run_with_links(of.program(case), 7, 2)) == expected("swarm", case)


@pytest.mark.slow
@pytest.mark.parametrize("case", ENGINES["access"].cases)
def test_plain_kernels_find_the_same_on_access_links(case: str) -> None:
    of, tiny = ENGINES["access"], engines.on_links(case, leechers=2, file_size="100 kB")
    assert of.digest(plain.simulate.run_with_links(tiny, 7, 0)) == of.digest(of.run(tiny, 7, 0))


@every_case
def test_threads_and_replicas_in_any_order_find_the_same(engine: str, case: str) -> None:
    """Replicas share no state, whether they run at the same time, twice, or in another order."""
    of = ENGINES[engine]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda replica: of.found(case, 7, replica), [2, 3, 2, 2, 1, 2]))
    assert [found[i] for i in (0, 2, 3, 5)] == [expected(engine, case)] * 4
    assert len(set(found)) == 3
    assert [of.found(case, 7, replica) for replica in (3, 1)] == [found[1], found[4]]


@pytest.mark.parametrize(("engine", "case"), [(name, case) for name, case in EVERY if name in ("swarm", "flow")])
def test_a_replica_does_not_depend_on_the_others(engine: str, case: str) -> None:
    of = ENGINES[engine]
    together = [of.digest((run_swarm(of.program(case), 7, replica), None)) for replica in range(4)]
    assert together == [of.found(case, 7, replica) for replica in range(4)]
    assert len(set(together)) == 4


def test_fewer_replicas_are_the_first_of_more() -> None:
    scenario = btflow.load("rao2010", leechers=40, file_size="1 MB", rtt="100 ms", loss=0.05)
    results = [simulate(scenario, seed=7, replicas=n) for n in (1, 2, 3)]
    for name in ("completion_time", "bytes_sent", "unchokes"):
        assert_array_equal(results[0][name][0], results[2][name][0])
    means = [summary(result)["completion_s"]["replica_means"] for result in results]
    assert means[0] == means[2][:1]
    assert means[1] == means[2][:2]


@pytest.mark.parametrize(
    ("engine", "case"), [("swarm", "no delay"), ("flow", "no delay"), ("link", "loss on both ways")]
)
def test_other_seeds_give_other_results(engine: str, case: str) -> None:
    assert len({ENGINES[engine].found(case, seed, 0) for seed in range(20)}) == 20


def test_the_seed_does_not_matter_where_nothing_is_random() -> None:
    """No loss, no spread of round-trip times or starts: only the generator's own state differs."""
    results = [link_made.run("cubic", "ledbat", duration="20 s", seed=seed) for seed in (0, 2010)]
    assert len({s.flow.tobytes() for s in results}) == 1
    assert len({s.queue_time.tobytes() for s in results}) == 1


def test_delays_are_drawn_per_peer_and_replica() -> None:
    """Each peer has a propagation delay of its own, the same both ways, from the range that is given."""
    found = []
    for replica in (0, 1):
        s, x = ENGINES["access"].run(engines.on_links("lossy"), 7, replica)
        among_links = 0.005  # half of the one-way delay between two access links
        delay = x.net.pipe["delay"].reshape(-1, 2)[: s.rules.peers] - among_links
        assert (delay[:, 0] == delay[:, 1]).all()
        assert ((delay >= 0.001) & (delay <= 0.03)).all()
        found += delay[:, 0].tolist()
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("case", ENGINES["swarm"].cases)
def test_lists_of_requests_may_be_collected_and_added_at_any_time(case: str) -> None:
    of = ENGINES["swarm"]
    s, outcome, stops = build(of.program(case), 7, 2), swarm_engine.MORE, 0
    while outcome != swarm_engine.FINISHED:
        outcome = swarm_engine.run(s, 7)
        assert outcome in (swarm_engine.MORE, swarm_engine.FINISHED)
        stops += 1
        used = int((s.row_owner >= 0).sum())
        plain.ends.collect_rows(s, s.clock[0].now)
        assert s.row_owner.size - s.clock[0].n_free_rows == int((s.row_owner >= 0).sum()) <= used
        if stops in (3, 30):
            s = more_rows(s)
    assert stops > 30
    assert of.digest((s, None)) == expected("swarm", case)


@pytest.mark.parametrize("case", ENGINES["swarm"].cases)
@pytest.mark.parametrize("factor", [0.5, 2.0, 37.0])
def test_the_calendars_bucket_width_changes_nothing(case: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine has no event tolerance and no time step; the width of a bucket is all that could be one."""
    found = expected("swarm", case)
    monkeypatch.setattr(btflow.swarm.state, "EVENTS_PER_BUCKET", btflow.swarm.state.EVENTS_PER_BUCKET * factor)
    assert ENGINES["swarm"].found(case) == found


@pytest.mark.parametrize("case", ENGINES["flow"].cases)
def test_a_longer_calendar_of_flow_finds_the_same(case: str) -> None:
    of = ENGINES["flow"]
    s = grow(grow(flow.build(of.program(case), 7, 2)))
    while (outcome := flow_engine.run(s, 10_000)) != flow_engine.FINISHED:
        assert outcome == flow_engine.MORE
    assert of.digest((s, None)) == expected("flow", case)


def test_an_edit_of_any_kernel_makes_a_new_cache(tmp_path: Path) -> None:
    kernels = Path(btflow.kernels.__file__).parent
    shutil.copytree(kernels, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "kernels" / "swarm"
    names = {kernel_cache.folder(folder)}
    assert names == {kernel_cache.folder(kernels / "swarm")}  # the same sources, whatever their place
    reached = {name for name in sys.modules if name.startswith("btflow.kernels.")}
    assert {"btflow.kernels.bits", "btflow.kernels.compiler.intrinsics", "btflow.kernels.swarm.tcp"} <= reached
    sources = sorted(file for room in ("swarm", "compiler") for file in (tmp_path / "kernels" / room).glob("*.py"))
    sources += [tmp_path / "kernels" / name for name in ("bits.py", "calendar.py", "random.py")]
    for source in sources:
        source.write_text(source.read_text() + "\n# edited\n")
        names.add(kernel_cache.folder(folder))
    assert len(names) == 1 + len(sources)
    other = tmp_path / "kernels" / "fluid" / "flows.py"
    other.write_text(other.read_text() + "\n# edited\n")
    assert kernel_cache.folder(folder) in names  # no swarm in full calls it
