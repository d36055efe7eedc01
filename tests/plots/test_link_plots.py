"""Figures of link experiments show what the Dataset holds, with units on every axis, second ones included."""

from __future__ import annotations

from collections.abc import Callable

import link_dataset
import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr

import btflow
from btflow import plots
from btflow.errors import InputError
from btflow.plots.series import MOST_POINTS, rates as rates_of

VIEWS: dict[str, Callable[[xr.Dataset], go.Figure]] = {
    "windows": plots.windows,
    "rates": plots.rates,
    "queue": plots.queue,
    "queue_ccdf": plots.queue_ccdf,
}
FLOWS = ["cubic-1", "ledbat-2", "vegas-3"]
NAMES = ["CUBIC 1", "LEDBAT 2", "Vegas 3"]


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return link_dataset.dataset()


def named(drawn: go.Figure) -> dict[str, go.Scatter]:
    """Return the traces with data by name."""
    return {trace.name: trace for trace in drawn.data if trace.name}


@pytest.mark.parametrize("name", VIEWS)
def test_axes_say_what_and_in_which_unit(result: xr.Dataset, name: str) -> None:
    drawn = VIEWS[name](result)
    expected = {
        "windows": ("time [s]", "congestion window [segments]"),
        "rates": ("time [s]", "rate [kbit/s]"),
        "queue": ("time [s]", "packets waiting"),
        "queue_ccdf": ("packets waiting", "time with more waiting [%] (log scale)"),
    }
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == expected[name]
    shaded = "" if name == "queue_ccdf" else ", shaded: the first 30 s, which do not count"
    assert drawn.layout.title.subtitle.text == f"1 Mbit/s, 50 ms, 100 packets, seed 7{shaded}"
    assert drawn.layout.title.text


def test_windows_are_those_of_the_flows(result: xr.Dataset) -> None:
    traces = named(plots.windows(result))
    assert list(traces) == NAMES
    for name, flow in zip(NAMES, FLOWS, strict=True):
        np.testing.assert_array_equal(traces[name].x, result["time"])
        np.testing.assert_array_equal(traces[name].y, result["window"].sel(flow=flow))
    assert len({(t.line.color, t.line.dash) for t in traces.values()}) == 3
    voice = result.copy(deep=True)
    voice["window"].loc[{"flow": "ledbat-2"}] = np.nan
    left = named(plots.windows(voice))
    assert list(left) == ["CUBIC 1", "Vegas 3"]
    assert left["Vegas 3"].line == traces["Vegas 3"].line


def test_ten_flows_are_told_apart() -> None:
    drawn = plots.windows(link_dataset.dataset(10))
    assert len({(t.line.color, t.line.dash) for t in drawn.data}) == 10
    assert drawn.layout.showlegend


def test_rates_in_bits_beside_the_capacity(result: xr.Dataset) -> None:
    traces = named(plots.rates(result))
    assert list(traces) == [*NAMES, "capacity"]
    x, y = rates_of(result, 0)
    np.testing.assert_allclose(traces["CUBIC 1"].x, x)
    np.testing.assert_allclose(traces["CUBIC 1"].y, 8e-3 * y)
    assert list(traces["capacity"].y) == [1000, 1000]
    fast = result.assign(rate=result["rate"] * 10).assign_attrs({"rate_home.uplink": 1.25e6})
    drawn = plots.rates(fast)
    assert drawn.layout.yaxis.title.text == "rate [Mbit/s]"
    assert list(named(drawn)["capacity"].y) == [10, 10]
    del fast.attrs["rate_home.uplink"]
    assert list(named(plots.rates(fast))) == NAMES


def test_queue_in_packets_and_milliseconds(result: xr.Dataset) -> None:
    drawn = plots.queue(result)
    (name,) = named(drawn)
    assert name == "home.uplink"
    np.testing.assert_array_equal(drawn.data[0].y, result["queue_length"].sel(queue="home.uplink"))
    second = drawn.layout.yaxis2
    assert second.title.text == "wait in home.uplink [ms]"
    assert (second.overlaying, second.side) == ("y", "right")
    assert second.range == pytest.approx([12 * end for end in drawn.layout.yaxis.range])  # 1500 B at 1 Mbit/s
    assert drawn.layout.yaxis.range[1] >= result["queue_length"].max()
    assert any(trace.yaxis == "y2" for trace in drawn.data)  # else Plotly would not draw the axis


def test_other_queues_are_drawn_if_they_are_used() -> None:
    both = link_dataset.dataset(down=3.0)
    assert list(named(plots.queue(both))) == ["home.uplink", "home.downlink"]
    assert list(named(plots.queue_ccdf(both))) == ["home.uplink", "home.downlink"]
    down = plots.queue(both.assign_attrs(bottleneck="home.downlink"))
    assert list(named(down)) == ["home.downlink", "home.uplink"]
    assert down.layout.yaxis2.title.text == "wait in home.downlink [ms]"
    assert down.layout.yaxis2.range[1] / down.layout.yaxis.range[1] == pytest.approx(1.5)


@pytest.fixture(scope="module")
def simulated() -> xr.Dataset:
    """Losses, timeouts, slow start and a call."""
    flows = ["cubic:1,name=first", "newreno:3", "ledbat:1@5s"]
    return btflow.simulate_link(rate="1 Mbit/s", buffer="30 packets", flows=flows, voip=["g711"], duration="40 s")


def test_losses_and_timeouts_are_marked_where_they_were_found(simulated: xr.Dataset) -> None:
    traces = named(plots.windows(simulated))
    for term, variable in (("recovery", "falls_so_far"), ("timeout", "timeouts_so_far")):
        found = simulated[variable].values
        when = [np.flatnonzero(np.diff(column) > 0) + 1 for column in found[:, :5].T]
        assert sum(map(len, when)) > 0
        times = np.concatenate([simulated["time"].values[at] for at in when])
        np.testing.assert_array_equal(traces[term].x, times)
        names = ["first, CUBIC", "NewReno 1", "NewReno 2", "NewReno 3", "LEDBAT"]
        assert list(traces[term].text) == [name for name, at in zip(names, when, strict=True) for _ in at]
    opening = traces["slow start"]
    assert np.nanmin(opening.x) < 0.5
    assert opening.hoverinfo == "skip"


def test_drops_are_marked_on_the_queue(simulated: xr.Dataset) -> None:
    drop = named(plots.queue(simulated))["drop"]
    lost = int(simulated["drops_so_far"].sel(queue="home.uplink")[-1])
    assert sum(int(text.split()[0]) for text in drop.customdata) == lost > 0
    assert max(drop.y) <= 30
    line = plots.queue(simulated).data[0]
    wait = 1000 * simulated["queue_delay"].sel(queue="home.uplink").values
    assert line.customdata.max() == pytest.approx(wait.max())


def test_a_call_over_time_ends_in_its_own_score(simulated: xr.Dataset) -> None:
    delay, score = plots.call_over_time(simulated).data
    assert np.nanmax(delay.y) == pytest.approx(1000 * float(simulated["voip_delay"].max()))
    known = score.y[np.isfinite(score.y)]
    assert 1.0 <= known.min() <= float(simulated["voip_mos"][0]) + 0.3
    with pytest.raises(InputError, match="has no voice call"):
        plots.call_over_time(link_dataset.dataset().assign(voip_mos_recent=("voip_time", [np.nan])))


def test_an_empty_queue_has_one_axis() -> None:
    empty = link_dataset.dataset()
    empty = empty.assign(queue_length=0 * empty["queue_length"], queue_delay=0 * empty["queue_delay"])
    drawn = plots.queue(empty)
    assert "yaxis2" not in drawn.layout
    assert drawn.layout.yaxis.range == (0, 1.05)
    assert "xaxis2" not in plots.queue_ccdf(empty).layout


def test_warm_up_is_shaded(result: xr.Dataset) -> None:
    (shade,) = plots.windows(result).layout.shapes
    assert (shade.x0, shade.x1, shade.yref) == (0, 30, "y domain")
    cold = result.assign_attrs(warmup=0.0)
    assert not plots.windows(cold).layout.shapes
    assert plots.windows(cold).layout.title.subtitle.text == "1 Mbit/s, 50 ms, 100 packets, seed 7"


def test_ccdf_is_the_share_of_time_with_more(result: xr.Dataset) -> None:
    drawn = plots.queue_ccdf(result)
    (trace,) = named(drawn).values()
    waiting = result["queue_length"].sel(queue="home.uplink").values
    for x, y in zip(trace.x[:-1], trace.y[:-1], strict=True):
        assert y == pytest.approx(100 * np.mean(waiting > x))
    assert trace.x[-1] == waiting.max()
    assert (drawn.layout.yaxis.type, trace.line.shape) == ("log", "hv")
    assert drawn.layout.xaxis2.title.text == "wait in home.uplink [ms]"
    assert drawn.layout.xaxis2.range == pytest.approx([12 * end for end in drawn.layout.xaxis.range])
    assert "0.01" in drawn.layout.yaxis.ticktext
    assert not drawn.layout.showlegend


def test_ccdfs_of_several_results_are_of_their_bottlenecks(result: xr.Dataset) -> None:
    drawn = plots.queue_ccdf({"three": result, "five": link_dataset.dataset(5, down=2.0)})
    assert list(named(drawn)) == ["three", "five"]
    assert drawn.layout.xaxis2.title.text == "wait [ms]"
    slower = result.assign(queue_delay=2 * result["queue_delay"])
    assert "xaxis2" not in plots.queue_ccdf({"three": result, "slower": slower}).layout


def test_long_runs_are_thinned() -> None:
    long = link_dataset.dataset(10, 30_001)
    for drawn in (plots.windows(long), plots.rates(long), plots.queue(long)):
        assert all(len(trace.x) <= MOST_POINTS for trace in drawn.data)
    waiting = long["queue_length"].sel(queue="home.uplink").values
    assert (plots.queue(long).data[0].y.min(), plots.queue(long).data[0].y.max()) == (waiting.min(), waiting.max())


def test_delays_are_a_distribution() -> None:
    drawn = plots.delay_cdf({"voice": [0.02, np.nan, 0.01], "probe": [0.5], "lost": [np.nan]}, "Delays")
    traces = named(drawn)
    assert list(traces) == ["voice", "probe"]
    assert (list(traces["voice"].x), list(traces["voice"].y)) == ([10, 10, 20], [0, 50, 100])
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == ("delay [ms]", "delivered at or below [%]")


@pytest.mark.parametrize(("flows", "down"), [(1, 0.0), (3, 0.0), (10, 3.0), (30, 0.0)])
def test_overview_has_the_four_views(flows: int, down: float) -> None:
    result = link_dataset.dataset(flows, down=down)
    drawn = plots.link_overview(result)
    for number, view in enumerate(VIEWS.values()):
        suffix = "" if number == 0 else str(number + 1)
        alone = view(result)
        traces = [t for t in drawn.data if t.xaxis == f"x{suffix}" and t.yaxis == f"y{suffix}"]
        assert [t.name for t in traces] == [t.name for t in alone.data if t.name]
        for axis in ("xaxis", "yaxis"):
            assert drawn.layout[axis + suffix].title.text == alone.layout[axis].title.text
            assert drawn.layout[axis + suffix].range == alone.layout[axis].range
        assert [a.text for a in drawn.layout.annotations][number] == alone.layout.title.text
    right, top = drawn.layout.yaxis5, drawn.layout.xaxis6
    assert (right.overlaying, right.anchor, right.title.text) == ("y3", "x3", "wait in home.uplink [ms]")
    assert (top.overlaying, top.anchor, top.title.text) == ("x4", "y4", "wait in home.uplink [ms]")
    assert {shape.xref for shape in drawn.layout.shapes} == {"x", "x2", "x3"}
    assert {shape.yref for shape in drawn.layout.shapes} == {"y domain", "y2 domain", "y3 domain"}
    assert drawn.layout.width <= 1200
    assert drawn.layout.title.text == "1 Mbit/s, 50 ms, 100 packets"


def test_each_line_of_the_overview_is_in_one_legend() -> None:
    drawn = plots.link_overview(link_dataset.dataset(3, down=3.0))
    shown = [(t.legend, t.name) for t in drawn.data if t.showlegend is not False]
    assert shown == [
        *(("legend", name) for name in [*NAMES, "capacity"]),
        *(("legend2", name) for name in ("home.uplink", "home.downlink")),
    ]
    # the first legend lies between the rows, the second below them
    assert drawn.layout.yaxis3.domain[1] < drawn.layout.legend.y < drawn.layout.yaxis.domain[0]
    assert drawn.layout.legend2.y < 0
    one = plots.link_overview(link_dataset.dataset(3))
    assert [t.legend for t in one.data if t.showlegend is not False] == ["legend"] * 4
    assert {t.legendgroup for t in one.data if t.name in NAMES} == set(FLOWS)  # hidden in both views at once
