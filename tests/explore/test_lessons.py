"""Lessons: each can be given from the first step to the last, and what it says is what is simulated."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

import btflow
from btflow.errors import InputError
from btflow.explore import link_state, swarm_panel
from btflow.explore.app import PANELS, App
from btflow.explore.lesson import Lesson, read, texts
from btflow.explore.limits import check_link, check_swarm
from btflow.explore.panel import checked, from_query, specs, to_query
from btflow.explore.spots import SPOTS
from btflow.link.run import simulate_link
from btflow.plots.style import counted_times

KINDS = {name: kind for name, (_, kind, _) in PANELS.items()}
ROOT = Path(__file__).parents[2]
TOPICS = (
    "slow-start",
    "sawtooth",
    "bufferbloat",
    "aqm",
    "ledbat",
    "latecomer",
    "flash-crowd",
    "long-round-trips",
    "half-and-half",
)


def lesson(name: str) -> Lesson:
    return read(name, KINDS[texts()[name]["panel"]])


class Found(NamedTuple):
    """What a step's link has: by flow, of the bottleneck, and of the first call."""

    rate: Mapping[str, float]
    used: float
    queue: float
    """Mean queueing delay [ms]."""
    mos: float
    call: float
    """Mean delay of the call's packets [ms]."""
    fall: float
    """When the first window falls [s]."""


@cache
def result(name: str, number: int) -> xr.Dataset:
    found = lesson(name)
    state = found.steps[number - 1].state
    if found.panel == "link":
        return simulate_link(link_state.scenario(state), seed=int(state.seed))
    return btflow.simulate(swarm_panel.scenario_of(state), seed=int(state.seed))


def link(name: str, number: int) -> Found:
    run = result(name, number)
    queue = run.sel(queue=run.attrs["bottleneck"])
    fall = SPOTS["first-fall"](run)
    return Found(
        {str(flow): float(rate) * 8e-3 for flow, rate in zip(run.flow.values, run.goodput.values, strict=True)},
        float(queue.utilisation),
        1000 * float(queue.queue_mean_delay),
        *((float(run.voip_mos[0]), 1000 * float(run.voip_delay_mean[0])) if run.sizes["voip"] else (np.nan, np.nan)),
        fall.x if fall else np.nan,
    )


def swarm(name: str, number: int) -> dict[str, float]:
    """Return the mean completion time of each class of leechers, and of all [s]."""
    run = result(name, number).isel(replica=0)
    leechers = run.peer[run.role.values == "leecher"]
    times = run.completion_time.sel(peer=leechers)
    classes = times.groupby(run.peer_class.sel(peer=leechers)).mean()
    by_class = {str(one): float(classes.sel(peer_class=one)) for one in classes.peer_class.values}
    return by_class | {"all": float(times.mean())}


def near(value: float, within: float = 0.07) -> Any:
    return pytest.approx(value, rel=within)


def test_there_is_a_lesson_for_each_topic() -> None:
    assert tuple(texts()) == TOPICS


@pytest.mark.parametrize("name", TOPICS)
def test_a_lesson_can_be_given(name: str) -> None:
    found = lesson(name)
    assert 3 <= len(found.steps) <= 6
    assert found.title.endswith("?")
    assert set(found.inputs) <= set(specs(found.steps[0].state))
    assert (ROOT / "notebooks" / f"{found.notebook}.ipynb").is_file()
    assert (ROOT / "docs" / f"{found.docs}.md").is_file()
    for number, step in enumerate(found.steps, 1):
        assert step.ask
        assert step.notice
        assert step.why
        assert step.changed
        checked(KINDS[found.panel], step.changed)
        assert number == 1 or set(step.changed) <= {
            *found.inputs,
            "seed_limit",
            "cc1",
            "cc2",
            "stay",
            "leechers",
            "utp_target",
        }
        opened = from_query(to_query(found.panel, step.state, found, number), KINDS)
        assert (opened.lesson, opened.step, opened.state, opened.problems) == (found, number, step.state, ())
        if found.panel == "link":
            check_link(link_state.scenario(step.state))
        else:
            check_swarm(swarm_panel.scenario_of(step.state))


@pytest.mark.parametrize("name", TOPICS)
def test_what_a_step_points_at_is_there(name: str) -> None:
    for number, step in enumerate(lesson(name).steps, 1):
        assert bool(step.spot) == bool(step.said)
        if step.spot:
            run = result(name, number)
            spot = SPOTS[step.spot](run)
            assert spot is not None, f"step {number}"
            assert spot.y > 0
            assert 0 < spot.x <= float(run.time[-1])


def test_slow_start() -> None:
    window, time = result("slow-start", 1).window.values[:, 0], result("slow-start", 1).time.values
    assert window[np.searchsorted(time, 0.15)] == 10
    for trip in (0.25, 0.35, 0.45):
        ratio = window[np.searchsorted(time, trip)] / window[np.searchsorted(time, trip - 0.1)]
        assert ratio == pytest.approx(2, abs=0.2)
    first = link("slow-start", 1).fall
    assert first < 1
    assert np.nanmax(window) > 300
    assert 4 <= link("slow-start", 2).fall / first <= 5
    assert link("slow-start", 3).fall / first == near(4 / 3)
    assert (link("slow-start", 3).fall - first) / 0.1 == pytest.approx(3, abs=0.5)
    assert 2 <= link("slow-start", 4).fall / 0.1 < 3
    assert link("slow-start", 4).used < 0.6


def test_sawtooth() -> None:
    one, small, large, many = (link("sawtooth", step) for step in (1, 2, 3, 4))
    assert one.used > 0.99
    assert small.used == near(6 / 7)
    assert large.used > 0.99
    assert large.queue == pytest.approx(500, rel=0.15)
    assert many.used == near(0.95, 0.02)
    assert lesson("sawtooth").steps[3].state.buffer == "4 packets"


def test_bufferbloat() -> None:
    alone, beside, bloated, faster = (link("bufferbloat", step) for step in (1, 2, 3, 4))
    assert (alone.mos, alone.call) == (near(4.4, 0.01), near(28))
    assert (beside.mos, beside.call) == (near(4.2, 0.02), near(150))
    assert (bloated.mos, bloated.call) == (near(1.5), near(1500))
    assert bloated.rate["first"] == near(beside.rate["first"], 0.01)
    longest = [float(result("bufferbloat", step)["queue_delay"].max()) for step in (2, 3)]
    assert longest == pytest.approx([0.2, 1.8], rel=0.02)
    assert faster.mos == near(3.8, 0.02)


def test_aqm() -> None:
    tail, codel, pie, fair = (link("aqm", step) for step in (1, 2, 3, 4))
    assert (tail.mos, tail.call) == (near(1.5), near(1500))
    assert (codel.mos, codel.call) == (near(3.5, 0.02), near(50))
    assert pie.mos == near(3.8, 0.02)
    assert fair.mos == near(4.4, 0.01)
    assert fair.rate["first"] == near(tail.rate["first"], 0.01)
    assert fair.used > 0.99


def test_ledbat() -> None:
    alone, yields, shallow, utp = (link("ledbat", step) for step in (1, 2, 3, 4))
    assert alone.queue == near(100)
    assert int(result("ledbat", 1).drops.sum()) == 0
    assert yields.rate["second"] < 0.02 * yields.rate["first"]
    assert yields.queue == near(900)
    share = shallow.rate["second"] / sum(shallow.rate.values())
    assert share == near(0.4)
    assert utp.rate["second"] > utp.rate["first"]


def test_latecomer() -> None:
    late = {}
    for number in (1, 2, 3, 4):
        run = result("latecomer", number)
        late[number] = run.rate.values[run.time.values > 80].mean(axis=0)
    assert late[1][0] < 0.06 * late[1][1]
    assert link("latecomer", 1).queue == pytest.approx(190, abs=15)
    assert 1 < late[2][0] / late[2][1] < 1.5
    assert link("latecomer", 2).queue == near(900)
    for number in (3, 4):
        assert 0.7 < late[number][0] / late[number][1] < 1.4
        assert link("latecomer", number).queue < 60


def test_flash_crowd() -> None:
    few, more, larger, uplinks, seed = (swarm("flash-crowd", step)["all"] for step in (1, 2, 3, 4, 5))
    assert few == pytest.approx(25, abs=3)
    times = result("flash-crowd", 1)["completion_time"].values
    assert np.nanmin(times) > 0.63 * np.nanmax(times)
    assert more / few == pytest.approx(3, abs=0.2)
    assert 1.5 < larger / more < 1.9
    assert uplinks / larger == pytest.approx(0.9, abs=0.05)
    assert uplinks / seed == pytest.approx(3, abs=0.3)


def test_long_round_trips() -> None:
    near_by, far, farther, fast = (swarm("long-round-trips", step)["all"] for step in (1, 2, 3, 4))
    assert near_by == near(3450, 0.01)
    assert far / near_by == pytest.approx(1.05, abs=0.02)
    assert near_by < farther < far
    assert fast < near_by


def test_half_and_half() -> None:
    """The lesson speaks of the swarm that it shows, the first, and of eight."""
    old, shallow, today, other = (ahead(step.state) for step in lesson("half-and-half").steps)
    assert old[0] == pytest.approx(0.5, abs=0.05)
    assert 0.45 < old.min() < old.max() < 0.7
    assert shallow[0] == pytest.approx(1.0, abs=0.05)
    assert shallow.mean() == pytest.approx(0.96, abs=0.005)
    assert today.mean() == pytest.approx(1.04, abs=0.005)
    assert (today > 1).sum() == 8
    assert other[0] == pytest.approx(1.08, abs=0.02)
    assert other.mean() == pytest.approx(1.07, abs=0.005)


def ahead(state: swarm_panel.SwarmState) -> NDArray[np.float64]:
    """Return the mean completion time of uTP peers over that of TCP peers, in each of eight swarms (8,)."""
    runs = btflow.simulate(swarm_panel.scenario_of(state), seed=int(state.seed), replicas=8)
    utp, tcp = (np.nanmean(counted_times(runs, name), axis=1) for name in ("utp", "tcp"))
    return np.asarray(utp / tcp, np.float64)


def test_what_each_lesson_says_is_checked() -> None:
    assert all(f"test_{name.replace('-', '_')}" in globals() for name in TOPICS)


def test_the_page_leads_through_a_lesson() -> None:
    app = App()
    app._share.opened = "1?"
    assert app._share.query == "v=1"
    app._teach("bufferbloat")
    frame = app._frames["link"]
    guide, steps = frame.guide, lesson("bufferbloat").steps
    assert app._share.query == "v=1&lesson=bufferbloat&step=1"
    assert steps[0].notice in guide._told.value
    guide.go(1)
    assert guide._do.description == "Do it: Flows 1: number 1"
    assert guide._told.value == "", "there is something to guess first"
    assert "lesson=bufferbloat&step=2&n1=0" in app._share.query
    assert frame.panel.figure.shown.layout.annotations == ()  # type: ignore[attr-defined]
    frame.panel.form.fields["n1"]._control.value = "1"
    assert steps[1].notice in guide._told.value
    (note,) = frame.panel.figure.shown.layout.annotations  # type: ignore[attr-defined]
    assert note.text == steps[1].said
    guide.go(1)
    guide.do()
    assert app._share.query == "v=1&lesson=bufferbloat&step=3"
    frame.panel.form.fields["buffer"]._control.value = "3 parsecs"
    assert frame.panel.stage.text.startswith("Buffer: refused")  # type: ignore[attr-defined]
    guide.go(-1)
    assert frame.panel.state == steps[1].state
    assert frame.panel.stage.text == ""  # type: ignore[attr-defined]
    app._leave()
    assert app._share.query == "v=1"
    assert frame.widget.layout.display == "none"


def test_a_link_that_is_refused_draws_nothing_until_it_is_wanted() -> None:
    app = App()
    app._share.opened = "1?v=1&lesson=aqm&step=9"
    assert "step = &#x27;9&#x27;: is none of this lesson; allowed: 1 to 4" in app._problems.value
    assert app._frames == {}
    app._mended.click()
    assert app._share.query == "v=1&lesson=aqm&step=1"
    assert app._refused.layout.display == "none"
    shown = app._frames["link"].panel.result
    app._share.opened = "2?v=1&panel=link&rate=fast"
    assert "rate" in app._problems.value
    assert app._frames["link"].panel.result is shown, "nothing drawn is lost"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("panel=link&n1=30&n2=30", "flows = 60"),
        ("panel=link&start1=100+s", "start1 = '100 s'"),
        ("panel=swarm&leechers=300&file_size=50+MB", "file_size = '50 MB'"),
        ("lesson=aqm&step=2&n1=30&n2=30", "flows = 61"),
    ],
)
def test_a_link_whose_values_do_not_go_together_draws_nothing_until_it_is_mended(query: str, said: str) -> None:
    app = App()
    app._share.opened = f"1?v=1&{query}"
    assert f"The link's {said}" in html.unescape(app._problems.value)
    assert not app._frames
    app._mended.click()
    kept = query.partition("&n1")[0].partition("&start1")[0].partition("&leechers")[0]
    assert app._share.query == f"v=1&{kept}"


def test_a_panel_that_is_opened_by_its_tab_has_its_inputs() -> None:
    app = App()
    app._share.opened = "1?v=1"
    app._tabs.value = "whatif"
    assert app._frames["whatif"].panel.form.shown == ["of", "pairs"]


def test_an_input_says_of_all_that_it_takes() -> None:
    for kind, name, words in ((swarm_panel.SwarmState, "upload_limit", "unlimited"), (KINDS["link"], "target", "own")):
        with pytest.raises(InputError, match=f"or {words}"):
            checked(kind, {name: "much"})
        checked(kind, {name: words})
    assert "unlimited" not in swarm_panel.meanings("flashcrowd")["uplink"]
