"""Visitors who leave, or whose page nobody touches: the server's rules for them, with its times made short."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from busy import PATIENCE
from explorer_socket import answers, get, message, visit

from btflow.explore import server
from validation.served import served

pytestmark = [pytest.mark.xdist_group(__name__), pytest.mark.slow]


def wait_for(true: Callable[[], bool]) -> float:
    """Wait until something is so; return how long that took [s]."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < PATIENCE
        time.sleep(0.2)
    return time.monotonic() - begun


def test_the_times_are_those_of_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text(encoding="utf-8")
    assert (server.IDLE, server.GONE, server.AWAY) == (15 * 60, 60, 10)
    assert "15 minutes" in guide
    assert "10 seconds" in guide
    assert "a minute" in guide


def test_the_page_that_is_idle_for_longest_gives_way(tmp_path: Path) -> None:
    with served(tmp_path, "--visitors", "2", IDLE=3) as explorer:
        first, second = visit(explorer.url), visit(explorer.url)
        with closing(first.socket()) as touched, closing(second.socket()):
            time.sleep(3.5)
            opening = {"comm_id": "c", "target_name": "jupyter.widget.control", "data": {}}
            touched.send_binary(message("comm_open", opening, metadata={"version": "1.0.0"}))
            touched.send_binary(message("comm_msg", {"comm_id": "c", "data": {"method": "request_states"}}))
            answers(touched, "comm_msg")
            third = visit(explorer.url)
            assert (first.alive(), second.alive(), third.alive()) == (True, False, True)


def test_a_page_that_was_closed_gives_way_before_one_that_is_open(tmp_path: Path) -> None:
    with served(tmp_path, "--visitors", "2", AWAY=4) as explorer:
        first, second = visit(explorer.url), visit(explorer.url)
        with closing(first.socket()):
            second.socket().close()
            assert get(explorer.url)[0] == 503  # it may come back
            with closing(second.socket()):
                time.sleep(5)
                assert get(explorer.url)[0] == 503
            time.sleep(5)
            third = visit(explorer.url)
            assert (first.alive(), second.alive(), third.alive()) == (True, False, True)
            assert get(explorer.url)[0] == 503  # the third one's page may still load


def test_the_process_of_a_page_that_is_open_stays_and_ends_once_it_is_closed(tmp_path: Path) -> None:
    with served(tmp_path, "--visitors", "1", GONE=2, CULL=1) as explorer:
        visitor = visit(explorer.url)
        with closing(visitor.socket()):
            time.sleep(4)
            assert visitor.alive()
            assert get(explorer.url)[0] == 503
        wait_for(lambda: not visitor.alive())
        assert visit(explorer.url).kernel != visitor.kernel
