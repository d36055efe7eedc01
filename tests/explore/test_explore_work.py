"""Background work of widgets: newest wins, progress, cancel, errors, and results on the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest

import btflow
from btflow.errors import InputError, SimulationError
from btflow.explore import work as rules
from btflow.explore.work import Listeners, Look, Work
from validation.served import PATIENCE


class Heard:
    """What the listeners were told."""

    def __init__(self) -> None:
        self.results: list[object] = []
        self.errors: list[str] = []
        self.shares: list[float] = []
        self.busy: list[bool] = []
        self.threads: set[int] = set()

    def listeners(self) -> Listeners[object]:
        return Listeners(
            self._note(self.results), self._note(self.errors), self._note(self.shares), self._note(self.busy)
        )

    def _note(self, into: list[Any]) -> Callable[[Any], None]:
        def note(value: Any) -> None:
            self.threads.add(threading.get_ident())
            into.append(value)

        return note


def steps(request: tuple[str, float], look: Look) -> Iterator[str]:
    """A run that takes a time [s] and yields its name."""
    name, seconds = request
    for step in range(round(seconds / 0.01)):
        look(step * 0.01 / seconds)
        time.sleep(0.01)
    yield name


def test_a_result_comes_on_the_thread_that_takes_it_with_progress_before() -> None:
    heard = Heard()
    work = Work(steps, heard.listeners())
    work.ask(("a", 0.05))
    assert work.wait()
    assert heard.results == ["a"]
    assert heard.shares == sorted(heard.shares)
    assert len(heard.shares) == 5
    assert heard.busy == [True, False]
    assert heard.threads == {threading.get_ident()}


def test_the_newest_request_wins_and_those_between_are_dropped() -> None:
    heard = Heard()
    started: list[str] = []

    def run(request: tuple[str, float], look: Look) -> Iterator[str]:
        started.append(request[0])
        return steps(request, look)

    work = Work(run, heard.listeners())
    work.ask(("first", 0.2))
    while not started:
        time.sleep(0.001)
    for number in range(50):
        work.ask((f"between {number}", 0.2))
    work.ask(("last", 0.05))
    assert work.wait()
    assert started == ["first", "last"]
    assert heard.results == ["first", "last"], "a short run is finished though a newer request waits"


def test_a_long_run_is_given_up_for_a_newer_request() -> None:
    heard = Heard()
    work = Work(steps, heard.listeners())
    work.ask(("long", 2 * PATIENCE))
    assert work.wait(PATIENCE, lambda: bool(heard.shares))
    work.ask(("short", 0.02))
    assert work.wait(PATIENCE)
    assert heard.results == ["short"]


def drafts(request: str, look: Look) -> Iterator[str]:
    """A run that yields a draft at once and, once the inputs rest, what never ends, or takes a moment if final."""
    yield f"draft {request}"
    look.rest()
    for _ in count() if request != "last" else range(1):
        look(0.5)
        time.sleep(0.01)
    yield f"result {request}"


def test_what_follows_a_draft_waits_until_the_inputs_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    work = Work(drafts, heard.listeners())
    monkeypatch.setattr(rules, "REST", 2 * PATIENCE)
    for number in range(8):
        work.ask(str(number))
        assert work.wait(PATIENCE, partial(heard.results.__contains__, f"draft {number}"))
    assert heard.shares == [], "none was begun"
    monkeypatch.setattr(rules, "REST", 0.1)
    work.ask("last")
    assert work.wait(PATIENCE)
    assert heard.results == [*(f"draft {number}" for number in range(8)), "draft last", "result last"]


def test_what_follows_a_draft_ends_at_once_for_a_newer_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "GRACE", 2 * PATIENCE)  # which it is not given
    heard = Heard()
    work = Work(drafts, heard.listeners())
    work.ask("long")
    assert work.wait(PATIENCE, lambda: bool(heard.shares))
    work.ask("last")
    assert work.wait(PATIENCE)
    assert heard.results == ["draft long", "draft last", "result last"]


def test_a_cancel_before_the_inputs_rest_leaves_the_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "REST", 2 * PATIENCE)  # for which it does not wait
    heard = Heard()
    work = Work(drafts, heard.listeners())
    work.ask("long")
    assert work.wait(PATIENCE, lambda: bool(heard.results))
    work.cancel()
    assert work.wait(PATIENCE)
    assert heard.results == ["draft long"]
    assert heard.shares == []


def test_a_cancelled_run_ends_and_gives_nothing() -> None:
    heard = Heard()
    work = Work(steps, heard.listeners())
    work.ask(("long", 2 * PATIENCE))
    assert work.wait(PATIENCE, lambda: bool(heard.shares))
    work.ask(("waiting", 2 * PATIENCE))
    work.cancel()
    assert work.wait(PATIENCE)
    assert heard.results == []
    assert heard.errors == []
    assert heard.busy[-1] is False
    work.ask(("again", 0.02))
    assert work.wait()
    assert heard.results == ["again"]


def test_what_was_found_before_a_cancel_and_not_taken_is_dropped() -> None:
    heard = Heard()
    found = threading.Event()

    def run(_: object, look: Look) -> Iterator[str]:
        yield "old"
        found.set()
        while True:
            look(0.5)
            time.sleep(0.01)

    work = Work(run, heard.listeners())
    work.ask(None)
    assert found.wait(PATIENCE)
    work.cancel()
    assert work.wait(PATIENCE)
    assert heard.results == []


def test_a_swarm_is_cancelled() -> None:
    """Ten thousand take hours."""
    heard = Heard()
    scenario = btflow.load("rao2010")

    def run(_: object, look: Look) -> Iterator[object]:
        look(0.0)
        yield btflow.simulate(scenario, replicas=10_000, progress=look)

    btflow.simulate(btflow.load("rao2010", leechers=9, file_size="1 MB"))
    work = Work(run, heard.listeners())
    work.ask(None)
    assert work.wait(PATIENCE, lambda: any(heard.shares))
    work.cancel()
    assert work.wait(PATIENCE)
    assert heard.results == []


@pytest.mark.slow
def test_the_main_thread_goes_on_while_a_kernel_runs() -> None:
    """It has many turns between two looks of a kernel, which holds Python's lock for none of its CHUNK_SECONDS."""
    scenario, turns, seen = btflow.load("rao2010"), [0], []

    def run(_: None, _look: Look) -> Iterator[object]:
        yield btflow.simulate(scenario, progress=lambda _share: seen.append(turns[0]))

    work = Work(run, Heard().listeners())
    work.ask(None)
    while work.busy:
        time.sleep(0.001)
        turns[0] += 1
    assert max(np.diff(seen)) > 10


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            InputError("rtt", "5 kg", "has the wrong unit", "a time"),
            "rtt = '5 kg': has the wrong unit; allowed: a time",
        ),
        (SimulationError("gave up"), "gave up"),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (MemoryError("no room"), "this needs more memory than one page may take"),
    ],
)
def test_an_error_becomes_a_text_and_the_next_request_runs(error: Exception, text: str) -> None:
    heard = Heard()

    def run(request: bool, _: Look) -> Iterator[str]:
        if request:
            raise error
        yield "fine"

    work = Work(run, heard.listeners())
    work.ask(True)
    assert work.wait()
    assert heard.errors == [text]
    assert heard.results == []
    work.ask(False)
    assert work.wait()
    assert heard.results == ["fine"]
    assert heard.errors == [text]


def test_an_error_of_a_listener_is_told_and_does_not_stop_the_rest() -> None:
    heard = Heard()

    def broken(_: object) -> None:
        raise ValueError("no such trace")

    work = Work(steps, Listeners(broken, heard.errors.append, busy=heard.busy.append))
    work.ask(("a", 0.01))
    assert work.wait()
    assert heard.errors == ["ValueError: no such trace"]
    assert heard.busy == [True, False]


def test_on_an_event_loop_results_come_by_themselves_while_it_turns() -> None:
    heard = Heard()
    turns = 0

    async def program() -> None:
        nonlocal turns
        work = Work(steps, heard.listeners())
        work.ask(("a", 0.1))
        while work.busy or not heard.results:
            await asyncio.sleep(0.002)
            turns += 1

    asyncio.run(asyncio.wait_for(program(), PATIENCE))
    assert heard.results == ["a"]
    assert heard.threads == {threading.get_ident()}
    assert turns > 0


def test_several_results_of_one_request_come_in_order_until_a_newer_one_is_asked_for() -> None:
    heard = Heard()

    def numbers(start: int, look: Look) -> Iterator[int]:
        for number in range(start, start + 5) if start else count():
            look(0.0)
            time.sleep(0.01)
            yield number

    work = Work(numbers, heard.listeners())
    work.ask(0)
    assert work.wait(PATIENCE, lambda: len(heard.results) > 5)
    work.ask(10**9)
    assert work.wait(PATIENCE)
    first = heard.results[:-5]
    assert first == list(range(len(first)))
    assert heard.results[-5:] == list(range(10**9, 10**9 + 5))
