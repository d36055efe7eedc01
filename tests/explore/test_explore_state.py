"""The state of a panel, a query string and back; what a bad link does; what inputs accept."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from btflow.errors import InputError
from btflow.explore.inputs import Amount, Choice, Line, value
from btflow.explore.link_state import LinkState
from btflow.explore.panel import checked, differences, from_query, specs, to_query
from btflow.explore.swarm_panel import SwarmState
from btflow.units import parse_quantity


def _no_digits(text: str) -> None:
    if any(c.isdigit() for c in text):
        raise InputError("text", text, "has a digit", "words")


@dataclass(frozen=True)
class Made:
    rate: str = value(Amount("capacity", "rate", "1 Mbit/s", "64 kbit/s", "20 Mbit/s", log=True))
    buffer: str = value(Amount("buffer", "buffer", "100 packets", "1 packets", "500 packets"))
    peers: str = value(Amount("peers", "count", "20", "1", "100"))
    aqm: str = value(Choice("discipline", ("drop-tail", "codel"), "drop-tail"))
    words: str = value(Line("words", "cubic", _no_digits))


@dataclass(frozen=True)
class Other:
    aqm: str = value(Choice("discipline", ("pie", "codel"), "pie"))


PANELS = {"made": Made, "other": Other}

rates = st.floats(8_000, 2_500_000).map(Amount("", "rate", "1 Mbit/s", "64 kbit/s", "20 Mbit/s").written)
states = st.builds(
    Made,
    rate=rates,
    buffer=st.sampled_from(["1 packets", "200 ms", "1.5 BDP", "150 kB"]),
    peers=st.integers(1, 100).map(str),
    aqm=st.sampled_from(["drop-tail", "codel"]),
    words=st.text(st.characters(exclude_categories=("Nd", "Nl", "No", "Cs"))).map(str.strip),
)


@given(states)
def test_a_link_brings_back_the_state(state: Made) -> None:
    opened = from_query(to_query("made", state), PANELS)
    assert (opened.panel, opened.state, opened.problems) == ("made", state, ())


@given(st.text(max_size=300))
def test_no_link_raises_or_gives_a_bad_state(query: str) -> None:
    opened = from_query(query, PANELS)
    assert checked(PANELS[opened.panel], differences(opened.state, PANELS[opened.panel]())) == opened.state


@given(st.sampled_from(["rate", "peers", "aqm", "words", "panel", "v", "x"]), st.text(max_size=20))
def test_a_bad_value_in_a_link_is_told_and_left_out(name: str, text: str) -> None:
    opened = from_query(to_query("made", Made(peers="7")) + "&" + "&".join([f"{name}=%00{len(text)}7foo"]), PANELS)
    first = name in ("panel", "v", "peers")  # the first of a name counts
    assert ("more than once" in "".join(opened.problems)) == first
    assert len(opened.problems) == 1
    assert opened.state == Made(peers="7")


def test_links_are_short_and_readable() -> None:
    assert to_query("made", Made()) == "v=1&panel=made"
    assert to_query("made", Made(rate="2 Mbit/s", words="a&b")) == "v=1&panel=made&rate=2+Mbit/s&words=a%26b"


def test_what_is_wrong_with_a_link_is_said() -> None:
    def problems(query: str) -> str:
        return "\n".join(from_query(query, PANELS).problems)

    assert problems("") == problems("token=abc") == problems("?v=1&panel=other&aqm=codel") == ""
    assert "version 9" in problems("v=9&rate=2+Mbit/s")
    assert "'nothere'" in problems("panel=nothere")
    assert "rate = '3 Mb/s'" in problems("rate=3+Mb/s")
    assert "out of range; allowed: 64 kbit/s to 20 Mbit/s" in problems("rate=3+Gbit/s")
    assert "no input of this panel" in problems("colour=red")
    assert problems("peers=7&peers=8&peers=9") == "The link says 'peers' more than once: '7', the first, counts."
    assert problems("peers=7&peers=7") == ""
    assert "longer than 500" in problems("words=" + "a" * 501)
    assert "longer than 8000" in problems("words=" + "a" * 9000)
    assert "more than 100 parts" in problems("&".join(f"a{i}=1" for i in range(101)))


@pytest.mark.parametrize("step", ["0", "99", "0001999", "1e1", "+1", "\u00b2", "", "9" * 500])
def test_a_step_that_a_lesson_has_not_is_told(step: str) -> None:
    opened = from_query(f"lesson=aqm&step={step}", {"link": LinkState})
    assert (opened.step, opened.refused) == (1, True)
    assert "allowed: 1 to" in opened.problems[0] or "longer than" in opened.problems[0]


def test_a_wrong_value_of_an_older_link_is_refused_like_one_of_today() -> None:
    for name in ("cap", "limit"):
        opened = from_query(f"panel=swarm&model=rao2010&{name}=banana", {"swarm": SwarmState})
        assert opened.refused
        assert "limit = 'banana'" in opened.problems[0]


def test_every_problem_of_a_state_is_found() -> None:
    with pytest.raises(InputError) as caught:
        checked(Made, {"rate": "fast", "aqm": "red", "words": "a1"})
    assert [p.field for p in caught.value.problems] == ["rate", "aqm", "words"]


@given(states)
def test_the_slider_of_an_amount_stands_where_the_text_says(state: Made) -> None:
    spec = specs(Made)["rate"]
    assert isinstance(spec, Amount)
    slid = spec.slid(state.rate)
    assert slid is not None
    assert spec.written(slid) == spec.written(spec.slid(spec.written(slid)) or 0)
    assert spec.slid(spec.written(slid)) == pytest.approx(slid, rel=0.005)


@pytest.mark.parametrize(
    ("shown", "amount", "text"),
    [
        ("7 packets", 20.0, "20 packets"),
        ("200 ms", 0.35, "350 ms"),
        ("1 BDP", 2.5, "2.5 BDP"),
        ("3 kB", 4500.0, "4500 B"),
    ],
)
def test_the_slider_of_a_buffer_moves_over_what_its_text_is_in(shown: str, amount: float, text: str) -> None:
    spec = specs(Made)["buffer"]
    assert isinstance(spec, Amount)
    low, high, _ = spec.span(shown)
    assert low < amount < high
    written = spec.written(amount, shown)
    assert parse_quantity(written, "buffer") == parse_quantity(text, "buffer")
    assert spec.slid(written) == amount
