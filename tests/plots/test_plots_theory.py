"""Points and lines of `beside_theory` hold what was given, in one colour for a label, on axes that show it all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from btflow import plots
from btflow.errors import InputError

WORDS: Any = {"title": "Goodput", "x": "loss [%]", "y": "goodput [kB/s]"}


def test_a_label_has_one_colour_as_points_and_as_line() -> None:
    curves = {"near": ([1, 2], [3.0, 4.0]), "far": ([1, 2], [5.0, 6.0])}
    drawn = plots.beside_theory({"far": ([1.5], [5.4])}, curves, **WORDS)
    found = {trace.name: trace for trace in drawn.data}
    assert list(found) == ["near, formula", "far, formula", "far"]
    assert found["far"].mode == "markers"
    assert found["far, formula"].mode == "lines"
    assert found["far"].marker.color == found["far, formula"].line.color != found["near, formula"].line.color
    assert (list(found["far"].x), list(found["far"].y)) == ([1.5], [5.4])
    assert (list(found["near, formula"].x), list(found["near, formula"].y)) == ([1, 2], [3.0, 4.0])
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == ("loss [%]", "goodput [kB/s]")


@given(values=st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=20))
def test_a_log_axis_shows_all_values_and_a_tick(values: list[float]) -> None:
    drawn = plots.beside_theory({"a": (values, values)}, {}, log="xy", **WORDS)
    for axis in (drawn.layout.xaxis, drawn.layout.yaxis):
        assert axis.type == "log"
        assert axis.title.text.endswith("(log scale)")
        assert axis.range[0] <= math.log10(min(values)) <= math.log10(max(values)) <= axis.range[1]
        assert all(
            float(text) == pytest.approx(value) for text, value in zip(axis.ticktext, axis.tickvals, strict=True)
        )
    wide = max(values) / min(values) >= 10
    inside = [t for t in drawn.layout.xaxis.tickvals if min(values) <= t <= max(values)]
    assert inside or not wide


@pytest.mark.parametrize(
    ("simulated", "theory", "log", "field"),
    [
        ({}, {}, "", "simulated"),
        ({"a": ([1, 2], [1])}, {}, "", "simulated"),
        ({}, {"a": (np.ones((2, 2)), np.ones((2, 2)))}, "", "theory"),
        ({"a": ([1], [1])}, {}, "z", "log"),
    ],
)
def test_refuses(simulated: Any, theory: Any, log: Any, field: str) -> None:
    with pytest.raises(InputError, match=field):
        plots.beside_theory(simulated, theory, log=log, **WORDS)
