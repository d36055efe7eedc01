"""What is shown of how far a sweep is, to the letter."""

from __future__ import annotations

import sys

import pytest
from sweep_made import tiny

from btflow import sweep
from btflow.sweeps import running
from btflow.sweeps.results import Part, Shape
from btflow.sweeps.running import Bar, Lines, Progress


class Clock:
    """A clock that is set."""

    now = 1000.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(running, "time", made)
    return made


def part(done: int, failed: int = 0) -> Part:
    """Return the part of some swarms that are done and some that failed."""
    made = Shape(1).empty(0, done + failed)
    for number in range(failed):
        made.fail(number, "odd")
    return made


def test_lines_tell_rate_time_left_and_failures_of_this_run_alone(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 10,000 swarms 2,000 were there when it was resumed, 5 of them failed: they do not count for the rate."""
    monkeypatch.setattr(running, "PERIOD", 0.0)
    with running.progress(True, 10_000, 2000, 5) as shown:
        assert isinstance(shown, Lines)
        clock.now += 1.0
        shown.look()
        shown.add(part(3))
        shown.add(part(0, 1))
        clock.now += 1.0
        shown.look()
        shown.add(part(7996))
        clock.now += 3598.0
    with Lines(100, 0, 0) as shown:
        clock.now += 99.0
        shown.add(part(99))
        clock.now += 83.0
        shown.look()
    assert capsys.readouterr().err.splitlines() == [
        "btflow: 2,000 of 10,000 swarms, 5 failed, 0 swarms/s",
        "btflow: 2,004 of 10,000 swarms, 6 failed, 2 swarms/s, 1:06:38 left",
        "btflow: 10,000 of 10,000 swarms, 6 failed, 2.22 swarms/s, 1:00:00",
        "btflow: 99 of 100 swarms, 0.544 swarms/s, nothing new for 1:23",
        "btflow: 99 of 100 swarms, 0.544 swarms/s, 3:02",
    ]


def test_a_line_comes_every_ten_seconds_and_none_of_a_short_sweep(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Lines(100, 0, 0) as shown:
        for _ in range(99):
            clock.now += 0.25
            shown.add(part(1))
            shown.look()
    assert capsys.readouterr().err.splitlines() == [
        "btflow: 40 of 100 swarms, 4 swarms/s, 0:15 left",
        "btflow: 80 of 100 swarms, 4 swarms/s, 0:05 left",
        "btflow: 99 of 100 swarms, 4 swarms/s, 0:25",
    ]
    with Lines(8, 0, 0) as shown:
        clock.now += 2.0
        shown.add(part(8))
        shown.look()
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal_goes_on_where_the_sweep_was(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with running.progress(True, 400, 100, 0) as shown:
        assert isinstance(shown, Bar)
        assert (shown.bar.n, shown.bar.total) == (100, 400)
        shown.add(part(99, 1))
        shown.look()
        assert shown.bar.n == 200
    drawn = capsys.readouterr().err
    first, *_, last = drawn.strip().split("\r")
    assert first.strip().startswith("25% of 400 swarms |")
    assert last.strip().startswith("50% of 400 swarms |")
    assert last.rstrip().endswith(", 1 failed")


def test_nothing_is_shown_where_nothing_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert type(running.progress(False, 1, 0, 0)) is Progress
    sweep(tiny(), {"rtt": "0ms"}, jobs=1, progress=False)
    assert capsys.readouterr().err == ""


def test_a_sweep_counts_each_swarm_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(running, "PERIOD", 0.0)
    sweep(tiny(), {"rtt": "0ms,50ms"}, replicas=5, jobs=1)
    assert "btflow: 10 of 10 swarms, " in capsys.readouterr().err
