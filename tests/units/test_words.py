"""Numbers of things in texts."""

from __future__ import annotations

import pytest

from btflow.units.formatting import counted


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (1, ("link",), "1 link"),
        (0, ("link",), "0 links"),
        (2000, ("pair of peers",), "2,000 pairs of peers"),
        (1, ("pair of peers",), "1 pair of peers"),
        (2, ("loss", "losses"), "2 losses"),
        (1, ("loss", "losses"), "1 loss"),
    ],
)
def test_one_thing_is_said_in_the_singular(number: int, words: tuple[str, ...], said: str) -> None:
    assert counted(number, *words) == said
