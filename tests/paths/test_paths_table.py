"""The table of a path model as a distribution: shares and values, lines and power laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from btflow import InputError
from btflow.paths import draw, load
from btflow.paths.model import Table, parse

IPLANE = load("iplane")
ALIKE = {"rtt": "80 ms", "loss": 0.01}


@st.composite
def tables(drawn: st.DrawFn) -> Table:
    count = drawn(st.integers(1, 6))
    shares = sorted(drawn(st.lists(st.integers(1, 99), min_size=count, max_size=count, unique=True)))
    values = np.cumsum(drawn(st.lists(st.integers(0, 5), min_size=count, max_size=count))) + 1.0
    tail = drawn(st.sampled_from([1.0, *(share / 100 for share in shares)]))
    return Table(np.array(shares) / 100, values, tail)


@given(tables(), st.floats(0.001, 0.999))
def test_the_share_below_a_quantile_is_its_share(table: Table, share: float) -> None:
    value = table.quantile(np.array([share]))
    low, high = (float(table.share_below(value * (1 + sign * 1e-9))[0]) for sign in (-1, 1))
    assert low - 1e-6 <= share <= high + 1e-6  # a value that many have is at all their shares


def test_a_share_on_a_line_and_on_a_power_law() -> None:
    table = Table(np.array([0.5, 0.9, 0.99]), np.array([1.0, 3.0, 30.0]), 0.9)
    found = table.share_below(np.array([0.5, 1.0, 2.0, 3.0, np.sqrt(90.0), 30.0]))
    assert found == pytest.approx([0.0, 0.5, 0.7, 0.9, 1 - 0.1 / np.sqrt(10), 1.0])


@pytest.mark.parametrize("share", ["x", None, -0.1, 1.5, np.nan, [0.5, 2.0], {}])
def test_what_is_no_share_is_refused(share: object) -> None:
    for at in (IPLANE.rtt_at, IPLANE.loss_at):
        with pytest.raises(InputError, match="is no share of the paths; allowed: numbers from 0 to 1"):
            at(share)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="quantity = 'los': is unknown; allowed: rtt or loss"):
        IPLANE.table("los")  # type: ignore[arg-type]


def test_a_share_may_be_a_number_or_a_list() -> None:
    assert float(IPLANE.rtt_at(0.98)) == pytest.approx(0.4)
    assert IPLANE.loss_at([0.0, 1.0]) == pytest.approx([0.0, 0.224])


def test_a_table_of_a_single_value_needs_no_point_where_the_tail_of_the_other_begins() -> None:
    without = parse(IPLANE.content() | {"loss": [{"share": 1.0, "value": 0.0}]})
    assert without.tail == IPLANE.tail < 1.0
    shares = np.linspace(0.0, 1.0, 2001)
    np.testing.assert_array_equal(without.rtt_at(shares), IPLANE.rtt_at(shares))
    np.testing.assert_array_equal(without.loss_at(shares), 0.0)
    both = parse(IPLANE.content() | {name: [{"share": 1.0, "value": value}] for name, value in ALIKE.items()})
    np.testing.assert_array_equal(both.rtt_at(shares), 0.08)
    np.testing.assert_array_equal(both.loss_at(shares), 0.01)
    few = draw(without, 300, seed=1)
    np.testing.assert_array_equal(few.rtt, draw(IPLANE, 300, seed=1).rtt)
    assert not few.loss.any()
