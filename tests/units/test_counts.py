"""Numbers of things in words: the command line, figures and pages say "1 packet"."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

import btflow
from btflow import plots
from btflow.cli.app import app
from btflow.explore.link_figure import numbers
from btflow.units.formatting import counted

WRONG = re.compile(r"(?<![\d.,])1 (packets|pairs|replicas|seeds|leechers|flows|links|samples|rows|runs|swarms)\b")


@pytest.mark.parametrize(("number", "text"), [(0, "0 packets"), (1, "1 packet"), (2, "2 packets"), (21, "21 packets")])
def test_one_of_a_thing_has_no_s(number: int, text: str) -> None:
    assert counted(number, "packet") == text


def test_what_is_said_of_one_leecher_and_one_replica() -> None:
    done = CliRunner().invoke(app, ["run", "rao2010", "--set", "leechers=1", "--set", "file_size=256 KiB"])
    assert done.exit_code == 0
    assert "1 replica," in done.output
    assert not WRONG.search(done.output)
    title = plots.overview(btflow.simulate(btflow.load("rao2010", leechers=1, file_size="256 KiB"))).layout.title
    assert "1 seed and 1 leecher" in title.text
    assert not WRONG.search(str(title))


def test_what_is_said_of_one_packet_that_waits() -> None:
    result = btflow.simulate_link(rate="1 Mbit/s", rtt="50 ms", buffer="1 packets", flows=["cubic"], duration="20 s")
    assert "at most 1 packet," in numbers(result)
