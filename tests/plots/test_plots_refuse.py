"""Every public function of btflow.plots refuses what it cannot draw with an InputError that names the argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import made
import numpy as np
import pytest
import xarray as xr

import btflow
from btflow import plots
from btflow.errors import InputError
from btflow.paths import load

FUNCTIONS = [name for name in plots.__all__ if inspect.isfunction(getattr(plots, name))]
OF_LINKS = {"call_over_time", "link_overview", "queue", "queue_ccdf", "rates", "windows"}
"""Functions that a result of a link is for; that of a swarm is for the rest."""

WORDS: dict[str, dict[str, Any]] = {
    "beside_published": {"title": "t", "axis": "x"},
    "beside_theory": {"title": "t", "x": "x", "y": "y"},
}
SECOND = {"beside_theory": {"a": ([1.0], [1.0])}, "save": "x.html"}


@pytest.fixture(scope="module")
def link() -> xr.Dataset:
    return btflow.simulate_link(btflow.load_link("latecomer"))


@pytest.fixture(scope="module")
def swarm() -> xr.Dataset:
    return btflow.simulate(btflow.load("flashcrowd", leechers=3, file_size="256 KiB"))


def call(name: str, first: object) -> None:
    """Call a function with something in place of its first argument, and words for the others."""
    function: Callable[..., Any] = getattr(plots, name)
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    rest = [SECOND.get(name, "x") for p in needed[1:] if p.kind is p.POSITIONAL_OR_KEYWORD]
    function(first, *rest, **WORDS.get(name, {}))


def refused(name: str, given: object) -> InputError:
    """Return the error of a call, which names the first argument, and says what is allowed."""
    first = next(iter(inspect.signature(getattr(plots, name)).parameters))
    with pytest.raises(InputError) as caught:
        call(name, given)
    assert caught.value.field.partition("[")[0] in (first, "result"), "one of several may be called a result"
    assert caught.value.allowed or "is not a sweep" in caught.value.reason
    return caught.value


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("given", [None, 3, "x", {"a": "b"}, {"a": None}], ids=str)
def test_what_is_nothing_to_draw_is_refused(
    name: str, given: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(name, given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "verdict"])  # which takes both
def test_a_result_of_the_other_kind_is_refused(name: str, link: xr.Dataset, swarm: xr.Dataset) -> None:
    other = swarm if name in OF_LINKS else link
    refused(name, other)
    refused(name, {"a": other})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rtt": [np.nan]}, r"rtt\[0\]"),
        ({"rtt": [0.1, -1.0]}, r"rtt\[1\]"),
        ({"rtt": []}, "rtt"),
        ({"rtt": "x"}, "rtt"),
        ({"loss": [0.1, 1.5]}, r"loss\[1\]"),
        ({"loss": 3}, r"loss\[0\]"),
    ],
)
def test_measured_paths_are_checked(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=f"^{field} = "):
        plots.path_quantiles(load("iplane"), **changes)


def test_measured_paths_may_be_a_list() -> None:
    measured = [0.1, 0.2, 0.4]
    lists, arrays = (plots.path_quantiles(load("iplane"), rtt=kind(measured)) for kind in (list, np.array))
    assert lists == arrays
    line = next(trace for trace in lists.data if trace.name == "measured")
    assert np.quantile(line.x, 0.5) == pytest.approx(200.0)


A_SWARM, A_LINK = "what btflow.simulate returns", "what btflow.simulate_link returns"
ODD: Any = 3
ODD_TEXT: Any = "b"
WRONG: list[tuple[Callable[[], object], str, str]] = [
    (lambda: plots.beside_published({"a": [1]}, cast("Any", [3]), **WORDS["beside_published"]), "published", ""),
    (lambda: plots.beside_published({"a": [1]}, {"a": ODD_TEXT}, **WORDS["beside_published"]), "published['a']", ""),
    (lambda: plots.rtt_sweep({"a": ([1.0], [2.0], [1.0, 1.0], [3.0])}), "curves['a']", ""),
    (lambda: plots.rtt_sweep({}), "curves = {}", "at least one by label"),
    (lambda: plots.completion_against_buffer([]), "results", ""),
    (lambda: plots.completion_by_rank({}), "results", "in a mapping by label"),
    (lambda: plots.delay_cdf({"a": [np.nan]}), "delays", ""),
    (lambda: plots.delay_cdf({}), "delays", "in a mapping by label"),
    (lambda: plots.beside_theory({}, ODD, **WORDS["beside_theory"]), "theory", ""),
    (lambda: plots.completion_cdf({}), "results = {}", "in a mapping by label"),
    (lambda: plots.why_slow(ODD), "results = 3", "in a mapping by label"),
    (lambda: plots.send_gaps({"a": ODD}), "results['a'] = 3", A_SWARM),
    (lambda: plots.overview(ODD), "result = 3", A_SWARM),
    (lambda: plots.sweep_curves([ODD]), "results[0] = 3", A_SWARM),
    (lambda: plots.sweep_curves([made.dataset()], spread=cast("Any", "zz")), "spread = 'zz'", "peers, replicas"),
    (lambda: plots.sweep_curves([made.dataset()], lines="zz"), "lines = 'zz'", "upload_limit, seed_upload_limit, rtt"),
    (lambda: plots.windows(ODD), "result", A_LINK),
    (lambda: plots.rates(xr.Dataset()), "result", A_LINK),
    (lambda: plots.queue(xr.Dataset()), "result", A_LINK),
    (lambda: plots.link_overview(xr.Dataset()), "result", A_LINK),
    (lambda: plots.queue_ccdf({}), "results", "in a mapping by label"),
    (lambda: plots.queue_ccdf({"a": xr.Dataset()}), "results['a']", A_LINK),
]


@pytest.mark.parametrize(("call_it", "said", "allowed"), WRONG)
def test_the_other_arguments_are_checked(call_it: Callable[[], object], said: str, allowed: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(said)}") as caught:
        call_it()
    assert caught.value.field == said.partition(" = ")[0]
    assert allowed in caught.value.allowed


def test_the_axis_of_queues_is_one_of_two(swarm: xr.Dataset) -> None:
    with pytest.raises(InputError, match="packets, seconds"):
        plots.uplink_queue_ccdf(swarm, axis=cast("Any", "bytes"))
