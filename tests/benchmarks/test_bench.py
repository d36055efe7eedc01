"""The benchmark: its arithmetic, its tables, the processes it starts, and the command as a whole."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from btflow.benchmarks import (
    command,
    growth,
    linked,
    machine,
    many,
    measure,
    memory,
    process,
    scale,
    single,
    start,
    sweeping,
    table,
    waits,
)
from btflow.benchmarks.sweeping import Spent
from btflow.benchmarks.table import Goal, Section

import btflow
from btflow import load
from btflow.cli import app
from btflow.errors import SimulationError
from btflow.swarm import run as swarm_run
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.executor import cores

SMALL = dict(measure.SMALL)


def test_the_interval_of_a_power_law_holds_what_another_size_costs() -> None:
    """Exact for an exact law; in nine of ten draws where each cost is off by chance."""
    sizes = [1000, 3000, 10_000, 30_000, 100_000]
    assert measure.interval(sizes, [2e-4 * n**1.2 for n in sizes], 1e6) == pytest.approx([2e-4 * 1e6**1.2] * 3)
    random = np.random.default_rng(1)
    draws = [np.exp(random.normal(0.0, 0.1, len(sizes) + 1)) for _ in range(2000)]
    held = 0
    for *off, last in draws:
        middle, low, high = measure.interval(sizes, [2e-4 * n**1.2 * e for n, e in zip(sizes, off, strict=True)], 1e6)
        assert low < middle < high
        held += low <= 2e-4 * 1e6**1.2 * last <= high
    assert held / len(draws) == pytest.approx(0.9, abs=0.02)


def test_exponent_of_a_power_law() -> None:
    sizes = [75, 150, 300, 3000]
    assert measure.exponent(sizes, [3e-4 * n**1.25 for n in sizes]) == pytest.approx(1.25)


def test_a_measurement_counts_peers_pieces_and_time() -> None:
    cost = measure.measure(SMALL, 2)
    assert (cost.peers, cost.pieces, len(cost.cpu)) == (6, 4, 2)
    assert 0 < cost.least == min(cost.cpu)


# Goals and tables


@pytest.mark.parametrize(
    ("most", "least", "verdict"),
    [
        (60.0, 1.8, "reached"),
        (59.0, 1.81, "reached"),
        (60.1, 1.79, "not reached"),
        (math.nan, math.nan, "not reached"),
        (None, None, "not measured"),
    ],
)
def test_goals_have_an_upper_or_a_lower_limit(most: float | None, least: float | None, verdict: str) -> None:
    assert table.at_most("time", 60.0, most, "s").verdict == table.at_least("ratio", 1.8, least, "").verdict == verdict
    assert table.at_least("ratio", 1.0, math.nan, "").verdict == "not reached"


def test_columns_are_aligned_and_notes_wrapped() -> None:
    section = Section("Title", [("name", "x"), ("a", "10"), ("longer", "5")], ("word " * 60,))
    lines = table.as_text(section).splitlines()
    assert lines[:4] == ["Title", "name     x", "a       10", "longer   5"]
    assert len(lines) > 5
    assert max(map(len, lines)) <= 120


def test_markdown_of_a_section_and_of_one_without_rows() -> None:
    text = table.as_markdown(Section("Title", [("name", "x"), ("a|b", "10")], ("First.", "Last.")))
    assert text == "## Title\n\nFirst.\n\n| name | x |\n| --- | ---: |\n| a\\|b | 10 |\n\nLast."
    assert table.as_markdown(Section("Title", [], ("Nothing.",))) == "## Title\n\nNothing."


def test_the_figures_to_reach_are_those_of_all_sections() -> None:
    goals = [Goal("a", "1", "2", False), Goal("b", "1", "", None), Goal("c", "1", "1", True)]
    made = table.goals_section([Section("", [], (), goals[:2]), Section("", []), Section("", [], (), goals[2:])])
    assert [row[0] for row in made.rows] == ["", "a", "b", "c"]
    assert [row[3] for row in made.rows] == ["", "not reached", "not measured", "reached"]


# Sweeps and processes


def test_a_sweep_runs_every_point_as_often_as_asked() -> None:
    grid: sweeping.Grid = {"upload_limit": ["20 kB/s", "50 kB/s"], "rtt": ["0 ms", "50 ms", "100 ms"]}
    spent = sweeping.sweep(load("rao2010").set(**SMALL), grid, 3, 2)
    assert spent.swarms == 18
    assert spent.cpu > 0
    assert spent.rate == pytest.approx(18 / spent.wall)


def test_bare_calls_run_the_swarms_of_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load("rao2010").set(**SMALL)
    grid: sweeping.Grid = {"upload_limit": ["20 kB/s", "50 kB/s"], "rtt": "0 ms, 50 ms"}
    found: list[float] = []

    def run_swarm(*args: Any) -> None:
        found.append(float(swarm_run.run_swarm(*args).peer.done.max()))

    monkeypatch.setattr(sweeping, "run_swarm", run_swarm)
    assert sweeping.bare(scenario, grid).swarms == 4
    swept = btflow.sweep(scenario, grid, seed=measure.SEED, jobs=1, progress=False)
    assert found == swept.completion_last.values.ravel().tolist()


def test_the_grid_of_mixed_swarms_has_the_points_that_it_says() -> None:
    assert math.prod(map(len, many.MIXED.values())) == many.POINTS
    assert many.POINTS * many.MANY >= many.THOUSAND
    for name, values in many.MIXED.items():
        for value in values:
            load("rao2010").set(**{str(name): value})


@pytest.mark.parametrize(("grid", "points"), [(linked.GRID, linked.THOUSAND), (linked.FEW, linked.SOME)])
def test_the_grids_on_access_links_have_the_points_that_they_say(grid: sweeping.Grid, points: int) -> None:
    swarm = load(linked.MODEL, **linked.SWEPT)
    plan = declare(swarm.document, swarm.given, declaration(grid, {}, "vary", seed=0))
    assert plan.units == points
    for point in (0, points - 1):
        assert swarm.set(**plan.settings(point)).leechers == 50


@pytest.mark.slow
def test_a_swarm_in_a_process_of_its_own_whose_peak_memory_is_that_of_the_process_alone() -> None:
    """A child begins with nothing of its parent's."""
    large = bytearray(b"\1" * 600_000_000)
    found = process.measured("one_swarm", settings=SMALL, model="rao2010")
    assert found["peers"] == 6
    assert found["cpu"] > 0
    assert len(large) > found["peak"] >= found["before"] > 10e6


def test_the_memory_of_children_and_theirs_counts() -> None:
    program = "import subprocess, sys, time; x = bytearray(b'1' * 200_000_000); {}; time.sleep(0.5)"
    below = program.format("pass")
    above = program.format(f"subprocess.run([sys.executable, '-c', {below!r}])")
    with memory.watched() as peak:
        subprocess.run([sys.executable, "-c", above], check=True)
    assert peak.bytes > memory.resident_memory() + 400e6


@pytest.mark.slow
def test_a_sweep_in_a_process_of_its_own() -> None:
    found = process.measured("many_swarms", settings=SMALL, model="rao2010", replicas=4, workers=1)
    assert found["peak"] > 50e6
    assert found["wall"] > 0


def test_peak_memory_sees_what_was_freed() -> None:
    script = (
        "from btflow.benchmarks import memory; x = bytearray(b'1' * 300_000_000); del x; "
        "print(memory.peak_memory() - memory.resident_memory() > 250e6)"
    )
    output = process.run_module(["timeit", "-n", "1", "-r", "1", script])
    assert output.startswith("True")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("one_swarm", {"settings": {"file_size": "100 GB"}, "model": "rao2010"}, "file_size"),
        ("one_swarm", {"settings": {}, "model": "nosuchmodel"}, "nosuchmodel"),
    ],
)
def test_a_task_that_fails_says_why(task: str, options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        process.measured(task, **options)


def test_a_start_that_fails_says_why() -> None:
    with pytest.raises(SimulationError, match="nosuchmodel"):
        process.start_up(["run", "nosuchmodel"])


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LIMIT", 0.01)
    with pytest.raises(SimulationError, match="longer"):
        process.start_up(["list"])


def test_the_machine_has_a_processor_cores_and_memory() -> None:
    assert machine.processor()
    assert cores() >= 1
    assert machine.memory() > 2**28
    assert machine.processor() in machine.machine()[1]


def test_the_swarm_of_a_tenth_of_a_second_is_the_first_that_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def cost(settings: Mapping[str, int], replicas: int) -> measure.Cost:
        return measure.Cost(0, 0, (1e-3 * settings["leechers"],) * replicas)

    monkeypatch.setattr(many, "measure", cost)
    assert many.tenth_of_a_second() == 100
    monkeypatch.setattr(many, "TENTH", 10.0)
    assert many.tenth_of_a_second() == many.LEECHERS[-1]


# Sections, with what takes time replaced


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str] | None]:
    """Replace what takes time: 1 ms per peer of a 50 MB swarm, 2 % for the sweep, threads without loss."""
    seen: list[Mapping[str, str] | None] = []

    def fake_measure(settings: Mapping[str, object], replicas: int, *_: str, **__: str) -> measure.Cost:
        peers = int(str(settings.get("leechers", 300))) + 1
        size = float(str(settings.get("file_size", "50 MB")).removesuffix(" MB"))
        piece = float(str(settings.get("piece_size", "256 KiB")).removesuffix(" KiB"))
        return measure.Cost(peers, int(1024 * size / piece), (0.001 * peers * size / 50,) * replicas)

    def fake_sweep(_: object, varied: Mapping[str, object], replicas: int, workers: int, *__: object) -> Spent:
        points = {id(linked.GRID): linked.THOUSAND, id(linked.FEW): linked.SOME, id(many.MIXED): many.POINTS}
        swarms = replicas * points.get(id(varied), 1)
        return Spent(swarms, 0.1 * swarms / workers, 0.1 * swarms)

    def fake_task(task: str, **options: Any) -> dict[str, float]:
        if task == "many_swarms":
            return {"wall": 1e-3 * options["replicas"], "peak": 2e8 + 1e3 * options["replicas"]}
        peers = options["settings"]["leechers"] + 1
        if peers > 50_000:
            raise SimulationError("needs 9 GB of memory")
        return {"cpu": 1e-3 * peers**1.05, "before": 1e8, "peak": 1e8 + 2e4 * peers, "peers": peers}

    def fake_start(_: object, environment: Mapping[str, str] | None = None) -> float:
        seen.append(environment)
        return 1.5 if environment is None else 45.0

    for module in (single, growth, command, many, linked, waits):
        monkeypatch.setattr(module, "measure", fake_measure)
    for module in (many, scale, linked):
        monkeypatch.setattr(module, "measured", fake_task)
    for module in (many, linked):
        monkeypatch.setattr(module, "sweep", fake_sweep)
    monkeypatch.setattr(many, "overhead", lambda _: (Spent(100, 10.0, 10.0), Spent(100, 10.5, 10.2)))
    monkeypatch.setattr(many, "cores", lambda: 2)
    monkeypatch.setattr(start, "start_up", fake_start)
    monkeypatch.setattr(start, "explorer", lambda: (50.0, 100.5, 1.0))
    for name, value in {"start_up": lambda _: 0.5, "_stopping": lambda: 0.6, "PEERS": 10, "FEW": 5, "MANY": 50}.items():
        monkeypatch.setattr(waits, name, value)
    return seen


def test_the_round_of_least_cpu_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = iter([Spent(100, 9.0, 3.0), Spent(100, 5.0, 2.0), Spent(100, 5.0, 2.5)])
    swept = iter([Spent(100, 9.0, 2.2), Spent(100, 5.0, 2.1), Spent(100, 5.0, 2.5)])
    monkeypatch.setattr(many, "bare", lambda *_: next(alone))
    monkeypatch.setattr(many, "sweep", lambda *_: next(swept))
    assert many.overhead(100) == (Spent(100, 5.0, 2.0), Spent(100, 5.0, 2.1))


def goals(section: Section) -> Iterator[tuple[str, str]]:
    return ((goal.measured, goal.verdict) for goal in section.goals)


@pytest.mark.usefixtures("starts")
def test_throughput_and_machinery_judge_what_was_measured() -> None:
    assert list(goals(many.throughput(False))) == [("0.1 CPU s", "reached"), ("50 s", "reached"), ("2.00", "reached")]
    found = list(goals(many.machinery(False)))
    assert found[0][0].endswith(" %")
    assert found[0] == ("2 %", "reached")
    assert found[1:] == [("10.0 s", "reached"), ("", "not measured")]
    assert list(goals(many.machinery(True)))[2] == ("300 MB", "reached")


@pytest.mark.usefixtures("starts")
def test_swarms_on_access_links_are_held_to_what_is_to_be_reached() -> None:
    few, all_of_them = linked.of_today(False), linked.of_today(True)
    assert [row[0] for row in few.rows[1:]] == ["100 leechers, flow"]
    assert len(all_of_them.rows) == 4
    assert list(goals(few)) == [("0.127 CPU s", "reached"), ("", "not measured")]
    assert [verdict for _, verdict in goals(all_of_them)] == ["reached", "reached"]
    assert list(goals(linked.swept(False))) == list(goals(linked.swept(True))) == [("50 s", "reached")]


@pytest.mark.usefixtures("starts")
def test_large_swarms_that_do_not_fit_are_said_to_and_not_judged() -> None:
    section = scale.large_swarms(True)
    rows = {row[0]: row for row in section.rows}
    assert rows["100000"][1] == "needs 9 GB of memory"
    assert rows["1000"][4] == "20.0"
    assert [verdict for _, verdict in goals(section)] == ["not measured"] * 3


def test_the_exponent_is_that_between_a_thousand_and_a_hundred_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    def cheap_when_small(_: str, **options: Any) -> dict[str, float]:
        peers = options["settings"]["leechers"] + 1
        return {"cpu": 1.0 if peers < 1000 else 1e-3 * peers**1.05, "before": 0, "peak": 3e9, "peers": peers}

    monkeypatch.setattr(scale, "measured", cheap_when_small)
    cpu, peak, growth_goal = goals(scale.large_swarms(True))
    assert cpu[1] == "reached"
    assert peak == ("3000 MB", "reached")
    assert growth_goal == ("1.05", "reached")


def test_the_command(starts: list[Mapping[str, str] | None], capsys: pytest.CaptureFixture[str]) -> None:
    command.main()
    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = {line.split("  ")[0]: line.split() for line in lines if line}
    assert rows["RTT 0"][-4:] == ["301", "200", "0.301", "0.301"]
    # 1 ms * 76 peers, so 1 ms / 200 pieces = 5 us per peer and piece
    assert rows["76"] == ["76", "0.076", "5.00"]
    assert "Cost grows as peers^1.00." in out
    assert "Cost grows as MB^1.00." in out
    assert "Figures to reach" in lines
    assert rows["a second `btflow run`"][-1] == "1.50"
    assert "compilation included" not in out
    assert starts == [None, None]
    assert all(line.startswith(("btflow bench: ", "btflow: ")) for line in err.splitlines())
    assert max(map(len, lines)) <= 120


def test_a_cold_start_has_its_own_cache_and_scale_its_hundred_thousand(
    starts: list[Mapping[str, str] | None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["btflow", "bench", "--cold", "--scale"])
    with pytest.raises(SystemExit) as exit_:
        app.main()
    assert exit_.value.code == 0
    cold = starts[-1]
    assert cold is not None
    assert list(cold) == ["NUMBA_CACHE_DIR"]
    out = capsys.readouterr().out
    assert "compilation included" in out
    assert "45.00" in out
    assert "100.5" in out
    assert "needs 9 GB of memory" in out


@pytest.mark.slow
def test_how_long_a_sweep_takes_to_stop_is_measured_of_a_sweep() -> None:
    assert waits._stopping() > 0.0


def test_costs_of_one_swarm_are_the_least_and_the_median() -> None:
    cost = replace(measure.measure(SMALL, 1), cpu=(3.0, 1.0, 2.0))
    assert cost.least == 1.0
