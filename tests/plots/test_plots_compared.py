"""Simulated figures beside published ones."""

from __future__ import annotations

import numpy as np
import pytest

from btflow import InputError, plots

TEXTS = {"title": "Rate of the flow", "axis": "rate [Mbit/s]"}


def test_rows_are_drawn_from_above_with_the_interval_of_their_mean() -> None:
    drawn = plots.beside_published({"two": [1.0, 2.0, 3.0], "one": [5.0, np.nan]}, {"two": 2.5}, **TEXTS)
    ours, paper = drawn.data
    assert list(ours.x) == [2.0, 5.0]
    assert list(ours.y) == ["two", "one"]
    assert list(drawn.layout.yaxis.categoryarray) == ["one", "two"]  # categories are counted from below
    # Student's t: 4.303 for 2 degrees of freedom, times a standard error of 1 / sqrt(3); none for one value
    assert ours.error_x.array == pytest.approx([4.303 / np.sqrt(3), 0.0], abs=1e-3)
    assert (list(paper.x), list(paper.y)) == ([2.5], ["two"])
    assert drawn.layout.xaxis.title.text == "rate [Mbit/s]"


def test_without_published_numbers_only_ours_are_drawn() -> None:
    drawn = plots.beside_published({"one": [1.0, 2.0]}, None, **TEXTS)
    assert [trace.name for trace in drawn.data] == ["btflow"]


@pytest.mark.parametrize(
    ("values", "published", "words"),
    [
        ({}, {}, "values.*holds nothing"),
        ({"one": []}, {}, r"values\['one'\].*has no number"),
        ({"one": [1.0]}, {"two": 2.0}, "published = 'two': is not among the rows; allowed: one"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    values: dict[str, list[float]], published: dict[str, float], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        plots.beside_published(values, published, **TEXTS)
