"""Numbers of things in words: the command line, figures and pages say "1 packet"."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import btflow
from btflow import plots
from btflow.cli.app import app
from btflow.explore.link_figure import moment, numbers
from btflow.units.formatting import counted, ratio_in_words

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
    lengths = result["queue_length"].sel(queue=result.attrs["bottleneck"]).values
    assert "1 packet waits" in moment(result, int((lengths == 1).argmax()))
    assert "0 packets wait" in moment(result, int((lengths == 0).argmax()))
    assert "at most 1 packet," in numbers(result)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.004, "as long as"),
        (1.12, "12% longer than"),
        (0.88, "12% shorter than"),
        (1.8, "80% longer than"),
        (1.95, "twice as long as"),
        (2.5, "two and a half times as long as"),
        (9.58, "ten times as long as"),
        (25.3, "25 times as long as"),
        (1234, "1,200 times as long as"),
        (0.5, "half as long as"),
        (0.4, "60% shorter than"),
        (0.1, "a tenth as long as"),
        (0.04, "1/25 as long as"),
    ],
)
def test_ratios_are_said_as_people_do(ratio: float, words: str) -> None:
    assert ratio_in_words(ratio, "longer", "shorter", "as long") == words


@given(st.floats(1e-6, 1e6))
def test_a_ratio_is_never_far_from_its_words(ratio: float) -> None:
    said = ratio_in_words(ratio)
    words = ("three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    named = {"twice": 2.0, "half": 0.5, "two and a half times": 2.5, "": 1.0}
    named |= {f"{word} times": float(number) for number, word in enumerate(words, 3)}
    parts = {3: "a third", 4: "a quarter", 5: "a fifth", 6: "a sixth", 8: "an eighth", 10: "a tenth"}
    named |= {part: 1 / number for number, part in parts.items()}
    start = said.removesuffix(" than").removesuffix("as much as").strip()
    if start.endswith(("% more", "% less")):
        value = 1 + float(start.split("%")[0]) / 100 * (1 if start.endswith("more") else -1)
    elif start.startswith("1/"):
        value = 1 / float(start[2:].replace(",", ""))
    else:
        value = named[start] if start in named else float(start.removesuffix(" times").replace(",", ""))
    assert value == pytest.approx(ratio, rel=0.2)


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("inf"), float("nan")])
def test_what_is_no_ratio_is_refused(ratio: float) -> None:
    with pytest.raises(ValueError, match="is no ratio"):
        ratio_in_words(ratio)
