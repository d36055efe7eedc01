"""Arguments of `btflow.sweep` of wrong types: one InputError that names the field, the value and what is allowed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweep_made import tiny

from btflow import InputError, sweep
from btflow.sweeps import api
from btflow.sweeps.store import check_path

RTT: dict[Any, object] = {"rtt": ["0 ms", "1 s"]}

WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"vary": ["rtt"]}, "vary = ['rtt']: is not a mapping", '{"rtt"'),
    ({"vary": "rtt=0ms,1s"}, "vary = 'rtt=0ms,1s': is not a mapping", '{"rtt"'),
    ({"vary": 5}, "vary = 5", '{"rtt"'),
    ({"vary": np.array([1, 2])}, "vary = array([1, 2])", '{"rtt"'),
    ({"vary": {5: "0 ms"}}, "vary = 5", "a parameter"),
    ({"vary": {"rtt": {"1 s"}}}, "rtt = {", "a list of values"),
    ({"vary": {"leechers": frozenset({3})}}, "leechers = frozenset({3})", "a list of values"),
    ({"vary": {"leechers": np.array([[3, 4], [5, 6]])}}, "leechers = 'of shape (2, 2)'", "one dimension"),
    ({"vary": {"rtt": np.array([0.0, 1.0])}}, "rtt = 0.0", "0 s to"),
    ({"vary": {"rtt": np.array(None)}}, "rtt", "a time"),
    ({"vary": {"leechers": [[3, 4]]}}, "leechers = [3, 4]", "a whole number"),
    ({"vary": {"leechers": [np.array([3, 4])]}}, "leechers = array([3, 4])", "a whole number"),
    ({"vary": {"leechers": None}}, "leechers = 'none': does not start with a number", "a whole number"),
    ({"vary": {"leechers": b"3"}}, "leechers = b'3'", "a whole number"),
    ({"vary": {"rtt,loss": {("0 ms", 0.0)}}}, "rtt,loss = {", "groups of 2"),
    ({"vary": {"rtt,loss": [{"1%"}]}}, "rtt,loss = {", "a value for each"),
    ({"vary": {"rtt,loss": np.array(3)}}, "rtt,loss = array(3)", "groups of 2"),
    ({"vary": {"rtt,loss": 3}}, "rtt,loss = 3", "groups of 2"),
    ({"keep": 5}, "keep = 5: is not a list of names", "peers, series"),
    ({"keep": "all"}, "keep = 'all'", "peers, series"),
    ({"keep": "peers,all"}, "keep = 'all'", "peers, series"),
    ({"keep": [5]}, "keep = 5", "peers, series"),
    ({"out": 5}, "out = 5: is not a path", "ending in .zarr"),
    ({"out": b"a.zarr"}, "out = b'a.zarr': is not a path", "ending in .zarr"),
    ({"out": ""}, "out = '': is empty", "ending in .zarr"),
    ({"out": "a"}, "out = 'a': has the wrong ending", "ending in .zarr"),
    ({"client": 5}, "client = 5: is not a Dask client", "tcp://"),
    ({"common": "no"}, "common = 'no': is neither true nor false", "True or False"),
    ({"common": 1}, "common = 1", "True or False"),
    ({"yes": "yes"}, "yes = 'yes'", "True or False"),
    ({"progress": None}, "progress: is neither", "True or False"),
    ({"resume": 1, "out": "a.zarr"}, "resume = 1", "True or False"),
    ({"resume": True}, "resume = True: is given without out", "out=PATH"),
    ({"replicas": "3"}, "replicas = '3'", "from 1 to"),
    ({"replicas": True}, "replicas = True", "from 1 to"),
    ({"replicas": 2.0}, "replicas = 2.0", "from 1 to"),
    ({"seed": "7"}, "seed = '7'", "from 0 to"),
    ({"seed": ""}, "seed = ''", "from 0 to"),
    ({"seed": False}, "seed = False", "from 0 to"),
    ({"seed": 0.0}, "seed = 0.0", "from 0 to"),
    ({"seed": []}, "seed = []", "from 0 to"),
    ({"jobs": "2"}, "jobs = '2'", "from 1 to"),
    ({"backend": 5}, "backend = 5", "threads or processes"),
    ({"sample": 64}, "sample = 64: is not a sample", "KIND:N"),
    ({"seed": -1}, "seed = -1: is out of range", "from 0 to"),
    ({"replicas": 0}, "replicas = 0: is out of range", "from 1 to"),
    ({"jobs": 0}, "jobs = 0: is out of range", "from 1 to"),
    ({"jobs": -1}, "jobs = -1: is out of range", "from 1 to"),
    ({"backend": "gpu"}, "backend = 'gpu': is unknown", "threads or processes"),
    ({"keep": ["everything"]}, "keep = 'everything': cannot be kept", "peers, series"),
    ({"out": "a.nc"}, "out = 'a.nc': has the wrong ending", "ending in .zarr"),
    ({"client": "tcp://127.0.0.1:1", "jobs": 2}, "jobs = 2: is of this machine, and the sweep runs on a cluster", ""),
    ({"retry_failed": True}, "retry_failed: is said of a sweep that is not resumed", "resume too"),
    ({"fidelity": "fluid"}, "fidelity = 'fluid': is no fidelity", "full or flow"),
    ({"fidelity": None}, "fidelity = 'None': is no fidelity", "full or flow"),
    ({"fidelity": ["flow"]}, "fidelity = ['flow']: is no fidelity", "full or flow"),
    ({"check": 1}, "check = 1: is of flow", 'fidelity="flow" too'),
    ({"check": 1, "fidelity": "full"}, "check = 1: is of flow", 'fidelity="flow" too'),
    ({"check": 3, "fidelity": "flow"}, "check = 3: is more than the sweep's 2 points", "at most 2"),
    ({"check": 0, "fidelity": "flow"}, "check = 0: is out of range", "from 1 to"),
    ({"check": -1, "fidelity": "flow"}, "check = -1: is out of range", "from 1 to"),
    ({"check": "2", "fidelity": "flow"}, "check = '2': is not a whole number", "from 1 to"),
    ({"check": 1.0, "fidelity": "flow"}, "check = 1.0: is not a whole number", "from 1 to"),
    ({"check": True, "fidelity": "flow"}, "check = True: is not a whole number", "from 1 to"),
]


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


def test_distributions_and_choices_without_a_sample() -> None:
    for text in ("uniform(1 ms, 1 s)", "lognormal(80 ms, 0.5)", "iplane", "choice(1 s, 2 s)"):
        with pytest.raises(InputError) as caught:
            sweep(tiny(), {"rtt": text}, progress=False)
        assert str(caught.value).startswith(f"rtt = '{text}': is a distribution, and there is no sample")


def test_an_empty_path_is_shown_as_it_was_given() -> None:
    with pytest.raises(InputError, match="out = '': is empty"):
        check_path(Path(""), resume=False)
