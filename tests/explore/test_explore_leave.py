"""Visitors who leave, or whose page nobody touches: the server's rules for them, with its times made short."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from explorer_socket import connect, end_of, processes, visit
from no_clock import until

from btflow.explore import visitors
from validation.served import served

pytestmark = [pytest.mark.xdist_group(__name__), pytest.mark.slow]


def test_the_time_is_that_of_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text(encoding="utf-8")
    assert visitors.IDLE == 15 * 60
    assert "15 minutes" in guide


def test_the_page_that_is_idle_for_longest_gives_way(tmp_path: Path) -> None:
    with served(tmp_path, "--visitors", "2", IDLE=15) as server, visit(server.url) as touched:
        with visit(server.url) as idle:
            assert "busy" in end_of(connect(server.url))[1]
            time.sleep(15.5)
            assert touched.answers()
            with visit(server.url) as third:
                assert "idle for long" in idle.ended()[1]
                assert touched.answers()
                assert third.answers()
        assert "has ended" not in server.log.read_text(encoding="utf-8")  # nothing to worry about


def test_a_page_that_is_closed_takes_its_process_with_it(tmp_path: Path) -> None:
    with served(tmp_path, "--visitors", "1") as server:
        with visit(server.url) as first:
            assert end_of(connect(server.url))[0] == 1013
            assert first.answers()
            until(lambda: len(processes(server)) == 2)  # the next one is ready
            before = processes(server)
        with visit(server.url) as second:
            assert second.answers()
            until(lambda: sum(process.is_running() for process in before) == 1)
