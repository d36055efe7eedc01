"""Arguments of `btflow.sweep` of wrong types: one InputError that names the field, the value and what is allowed."""

from __future__ import annotations

import math
import sys
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweep_made import REFUSED, tiny

from btflow import InputError, sweep
from btflow.sweeps import api

RTT: dict[Any, object] = {"rtt": ["0 ms", "1 s"]}

WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"vary": np.array([1, 2])}, "vary = array([1, 2])", '{"rtt"'),
    ({"vary": {5: "0 ms"}}, "vary = 5", "a parameter"),
    ({"vary": {"rtt": {"1 s"}}}, "rtt = {", "a list of values"),
    ({"vary": {"leechers": frozenset({3})}}, "leechers = frozenset({3})", "a list of values"),
    ({"vary": {"leechers": np.array([[3, 4], [5, 6]])}}, "leechers = 'of shape (2, 2)'", "one dimension"),
    ({"vary": {"rtt": np.array([0.0, 1.0])}}, "rtt = 0.0", "0 s to"),
    ({"vary": {"rtt": np.array(None)}}, "rtt", "a time"),
    ({"vary": {"leechers": [np.array([3, 4])]}}, "leechers = array([3, 4])", "a whole number"),
    ({"vary": {"leechers": range(10**9)}}, "leechers = range(0, 1000000000): has too many values", "values separated"),
    ({"vary": {"rtt,loss": repeat(("0 ms", 0.0))}}, "rtt,loss = []: has too many values", "1 to 1,000,000 groups of 2"),
    ({"vary": {"leechers": None}}, "leechers = 'none': does not start with a number", "a whole number"),
    ({"vary": {"leechers": b"3"}}, "leechers = b'3'", "a whole number"),
    ({"vary": {"rtt,loss": {("0 ms", 0.0)}}}, "rtt,loss = {", "groups of 2"),
    ({"vary": {"rtt,loss": [{"1%"}]}}, "rtt,loss = {", "a value for each"),
    ({"vary": {"rtt,loss": np.array(3)}}, "rtt,loss = array(3)", "groups of 2"),
    ({"out": b"a.zarr"}, "out = b'a.zarr': is not a path", "ending in .zarr"),
    ({"progress": None}, "progress: is neither", "True or False"),
    ({"fidelity": None}, "fidelity = 'None': is no fidelity", "full or flow"),
    *REFUSED["swept_arguments"],
]
"""Those that TOML does not have; the others are in ``refused.toml``."""


@pytest.mark.parametrize(("given", "text", "allowed"), WRONG, ids=lambda v: str(v)[:40])
def test_a_wrong_argument_is_one_error_before_any_work(
    given: dict[str, Any], text: str, allowed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was run")

    monkeypatch.setattr(api, "execute", never)
    monkeypatch.chdir(tmp_path)
    arguments: dict[str, Any] = {"vary": RTT, "progress": False} | given
    with pytest.raises(InputError) as caught:
        sweep(tiny(), **arguments)
    said = str(caught.value)
    assert said.startswith(text)
    assert allowed in said.partition("; allowed: ")[2]
    assert "\n" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_what_is_not_wrong() -> None:
    """A value alone, also NumPy's; what is kept as one text; None where it is nothing."""
    two: Any = np.int64(2)
    for leechers in (3, np.int64(3), np.array(3), np.array([3]), (3,), range(3, 4), iter([3])):
        found = sweep(tiny(), {"leechers": leechers}, progress=False, jobs=1, keep=None, seed=two)
        assert found.leechers.values.tolist() == [3]
        assert found.attrs["seed"] == 2
    rows = sweep(tiny(), {("leechers", "initial_window"): np.array([[3, 2], [2, 4]])}, progress=False, jobs=1)
    assert (rows.leechers.values.tolist(), rows.initial_window.values.tolist()) == ([3, 2], [2, 4])
    names: tuple[Any, ...] = ("peers", ["peers"], ("peers",), {"peers"})
    for keep in names:
        assert "peer_completion_time" in sweep(tiny(), RTT, progress=False, jobs=1, keep=keep)
    both = sweep(tiny(), RTT, progress=False, jobs=1, keep="series, peers")
    assert {"peer_completion_time", "pieces_held"} <= set(both.data_vars)


@pytest.mark.parametrize("slots", ["4,none", "none,4", [4, None]])
def test_none_may_stand_anywhere_among_numbers(slots: Any) -> None:
    found = sweep(tiny(), {"slots": slots}, progress=False, jobs=1)
    assert sorted(found.slots.values.tolist(), key=str) == [4.0, pytest.approx(math.nan, nan_ok=True)]
    assert (found.status == 1).all()


@pytest.mark.parametrize("scale", ["lin", "log"])
def test_a_range_without_a_number_of_values_says_how_it_is_written(scale: str) -> None:
    with pytest.raises(InputError) as caught:
        sweep(tiny(), {"rtt": f"{scale}(1 ms, 1 s)"}, progress=False)
    said = str(caught.value)
    assert said.startswith(f"rtt = '{scale}(1 ms, 1 s)': has no number of values")
    assert f"{scale}(1 ms, 1 s, NUMBER)" in said
    assert 'sample="KIND:N"' in said
    assert "uniform" not in said


def test_dask_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask", "dask.config", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "btflow.sweeps.dask", raising=False)
    with pytest.raises(InputError, match=r"needs Dask, which is not installed; allowed: the extra dask"):
        sweep(tiny(), {"rtt": ["0 ms", "50 ms"]}, client="tcp://127.0.0.1:1")
