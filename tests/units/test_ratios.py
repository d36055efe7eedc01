"""Ratios as people say them: "ten times as long", never "958 %"."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, strategies as st

from btflow.units.formatting import interval_in_words, ratio_in_words

LONG = ("longer", "shorter", "as long")

PARTS = {"half": 2, "a third": 3, "a quarter": 4, "a fifth": 5, "a sixth": 6}
PARTS |= {"a seventh": 7, "an eighth": 8, "a ninth": 9, "a tenth": 10}
TIMES = {"twice": 2, "three times": 3, "four times": 4, "five times": 5, "six times": 6, "seven times": 7}
TIMES |= {"eight times": 8, "nine times": 9, "ten times": 10, "eleven times": 11, "twelve times": 12}


def read(words: str) -> float:
    """Return the ratio that words tell."""
    amount = words.removesuffix(" as long").removesuffix(" longer").removesuffix(" shorter")
    if amount in PARTS:
        return 1 / PARTS[amount]
    if amount in TIMES:
        return TIMES[amount]
    if amount == "just":
        return 1.0
    number = float(re.sub(r"^1/|%$| times$|,", "", amount))
    if amount.endswith("%"):
        return 1 + number / 100 if words.endswith("longer") else 1 - number / 100
    return 1 / number if amount.startswith("1/") else number


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (10.1, "ten times as long"),
        (9.58, "9.6 times as long"),
        (2.0, "twice as long"),
        (1.12, "12% longer"),
        (1.034, "3.4% longer"),
        (1.0, "just as long"),
        (0.5, "half as long"),
        (0.335, "a third as long"),
        (0.42, "58% shorter"),
        (0.04, "1/25 as long"),
        (0.0, "100% shorter"),
        (1234.0, "1,200 times as long"),
    ],
)
def test_what_is_said(ratio: float, said: str) -> None:
    assert ratio_in_words(ratio, *LONG) == said


@given(st.floats(1e-3, 1e4))
def test_words_tell_the_ratio_to_two_digits_and_no_percentage_is_of_a_multiple(ratio: float) -> None:
    words = ratio_in_words(ratio, *LONG)
    told = read(words)
    near = abs(told - ratio) <= (0.0051 if "%" in words else 0.051 * ratio)
    assert near or (words == "just as long" and abs(ratio - 1) < 0.0006)
    assert "%" not in words or 0.1 < told < 2


@given(st.floats(1e-3, 1e4))
def test_what_it_is_compared_with_comes_after_than_or_as(ratio: float) -> None:
    assert re.search(r"(longer|shorter) than A$|as long as A$", ratio_in_words(ratio, *LONG, to="A"))


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.081, 1.152, "8.1% to 15% longer"),
        (1.118, 1.122, "11.8% to 12.2% longer"),
        (1.8, 2.12, "80% longer to 2.1 times as long"),
        (9.2, 11.3, "9.2 to 11 times as long"),
        (0.3, 0.6, "40% to 70% shorter"),
        (0.95, 1.1, "5% shorter to 10% longer"),
        (3.0, 3.0, "3 times as long"),
    ],
)
def test_what_is_said_of_an_interval(low: float, high: float, said: str) -> None:
    assert interval_in_words(low, high, *LONG) == said


@pytest.mark.parametrize("ratio", [-0.1, math.inf, math.nan])
def test_what_is_no_ratio_of_amounts_is_refused(ratio: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        ratio_in_words(ratio)
