"""Figures of swarms on access links show what the Dataset holds, with a unit on every axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import made
import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr

from btflow import load, plots, simulate
from btflow.errors import InputError
from btflow.plots.swarm import lower_bound
from btflow.plots.uplinks import message_delay

LINKED: dict[str, Callable[[xr.Dataset], go.Figure]] = {
    "uplink_queue_ccdf": plots.uplink_queue_ccdf,
    "uplink_queues": plots.uplink_queues,
    "throughput_against_delay": plots.throughput_against_delay,
    "message_delays": plots.message_delays,
}
"""Figures that need access links."""

VALUES = {"leechers": 6, "file_size": "1 MB", "buffer": "200 ms"}


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    """Return a swarm of four TCP and four uTP leechers, half of whose downloads do not count."""
    scenario = load("testa2011").set(leechers=8, file_size="1 MB", discard=4)
    changes = {"stay": "forever", "replace": False, "discard": 4, "completions": 4}
    departures = scenario.departures.model_copy(update=changes)
    return simulate(scenario.model_copy(update={"departures": departures}), seed=2, replicas=2)


@pytest.fixture(scope="module")
def swarms() -> list[xr.Dataset]:
    """Return the swarm of one's own with three buffers."""
    return [simulate(load("flashcrowd").set(**VALUES | {"buffer": b}), seed=1) for b in ("50 ms", "1 s", "200 ms")]


CLASSES = {"TCP": "tcp", "uTP": "utp"}
"""Classes of leechers in the data, by how they are spelled in figures."""


def named(drawn: go.Figure) -> dict[str, go.Scatter | go.Box]:
    return {trace.name: trace for trace in drawn.data}


def axis_titles(drawn: go.Figure) -> tuple[str, str]:
    return drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text


def test_axes_say_what_and_in_which_unit(result: xr.Dataset, swarms: list[xr.Dataset]) -> None:
    where = "model testa2011, seed 2, 2 replicas, the first 4 completions do not count"
    by_rank = plots.completion_by_rank(result)
    assert axis_titles(by_rank) == ("place in the order of completion", "time from own start to completion [s]")
    assert by_rank.layout.title.subtitle.text == where
    more = "time with more [%] (log scale)"
    assert axis_titles(plots.uplink_queue_ccdf(result)) == ("packets waiting", more)
    assert axis_titles(plots.uplink_queue_ccdf(result, axis="seconds")) == ("time until the queue is empty [ms]", more)
    both = plots.uplink_queues(result)
    assert axis_titles(both) == ("packets waiting", more)
    assert both.layout.xaxis2.title.text == "time until the queue is empty [ms]"
    assert axis_titles(plots.message_delays(result)) == ("delay [ms] (log scale)", "message")
    expected = ("mean delay of REQUEST and HAVE messages [ms]", "goodput of a leecher, mean [kbit/s]")
    assert axis_titles(plots.throughput_against_delay(result)) == expected
    drawn = plots.completion_against_buffer(swarms)
    assert axis_titles(drawn) == ("room in the queues of the access links [ms]", "completion time [s]")
    assert drawn.layout.title.subtitle.text == "median, bars: lower and upper quartile of the leechers"


@pytest.mark.parametrize("name", LINKED)
def test_a_swarm_without_links_is_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        LINKED[name](made.dataset())
    assert str(caught.value) == (
        "result = 'rao2010': has no access links; allowed: a result of a swarm whose peers have access links"
    )
    with pytest.raises(InputError, match=r"results\['old'\] = 'rao2010'"):
        LINKED[name]({"old": made.dataset()})  # type: ignore[arg-type]  # one function of two takes a mapping


def test_downloads_of_the_warm_up_are_shaded_and_not_in_the_distribution(result: xr.Dataset) -> None:
    drawn = plots.completion_by_rank(result)
    (shade,) = drawn.layout.shapes
    assert (shade.x0, shade.x1) == (0.5, 4.5)
    x = np.concatenate([trace.x for trace in drawn.data])
    assert sorted(x) == sorted(2 * [*range(1, 9)])
    for name, trace in named(drawn).items():
        of_class = result.isel(peer=(result.peer_class == CLASSES[name]).values)
        assert sorted(trace.y) == sorted(of_class.completion_time.values.ravel())
    shown = {name: trace.x for name, trace in named(plots.completion_cdf(result)).items() if "together" in name}
    for name, known in CLASSES.items():
        counts = result.completion_time.where(result.counted).isel(peer=(result.peer_class == known).values).values
        np.testing.assert_allclose(np.sort(counts[np.isfinite(counts)]), shown[f"{name}, replicas together"][1:])
    flash = made.dataset()
    assert plots.completion_by_rank(flash).layout.shapes == ()


def test_a_class_of_which_nothing_counts_has_no_line() -> None:
    rows = [made.replica(counted=np.zeros(made.PEERS, bool))]
    assert named(plots.completion_cdf(made.dataset(*rows), bound=False)) == {}


@pytest.mark.parametrize(
    ("axis", "variable", "scale"), [("packets", "queue_packets", 1), ("seconds", "queue_delay", 1000)]
)
def test_a_queue_is_longer_than_x_for_the_share_shown(
    result: xr.Dataset, axis: Literal["packets", "seconds"], variable: str, scale: float
) -> None:
    drawn = plots.uplink_queue_ccdf(result, axis=axis)
    assert list(named(drawn)) == [*CLASSES]  # the seed's uplink is not looked at
    assert drawn.layout.yaxis.type == "log"
    values = result[variable].values
    for name, trace in named(drawn).items():
        counts = result[f"{variable}_count"].sel(sender_class=CLASSES[name]).sum("replica").values
        for at in (0, 3, len(trace.x) - 2):
            above = counts[at + 1 :].sum() / counts.sum()
            assert trace.y[at] == pytest.approx(100 * above)
            end = values[at] if axis == "packets" else values[at] + values[1]
            assert trace.x[at] == pytest.approx(scale * end)
    np.testing.assert_array_equal(plots.uplink_queues(result).data[0].y, plots.uplink_queue_ccdf(result).data[0].y)


def test_both_axes_of_a_queue_have_one_legend(result: xr.Dataset) -> None:
    drawn = plots.uplink_queues(result)
    assert [(trace.name, trace.xaxis, trace.showlegend) for trace in drawn.data] == [
        ("TCP", "x", True),
        ("uTP", "x", True),
        ("TCP", "x2", False),
        ("uTP", "x2", False),
    ]


def test_buffers_are_in_order_with_median_and_quartiles(swarms: list[xr.Dataset]) -> None:
    drawn = plots.completion_against_buffer(swarms)
    assert list(named(drawn)) == [*CLASSES]
    for name, trace in named(drawn).items():
        assert list(trace.x) == [50, 200, 1000]
        for place, swarm in enumerate((swarms[0], swarms[2], swarms[1])):
            times = swarm.completion_time.isel(peer=(swarm.peer_class == CLASSES[name]).values).values
            low, middle, high = np.percentile(times, (25, 50, 75))
            assert trace.y[place] == pytest.approx(middle)
            assert trace.error_y.array[place] == pytest.approx(high - middle)
            assert trace.error_y.arrayminus[place] == pytest.approx(middle - low)
    labelled = {f"{group}, {i}": swarm for group in ("old", "new") for i, swarm in enumerate(swarms)}
    names = list(named(plots.completion_against_buffer(labelled)))
    assert names == ["old: TCP", "old: uTP", "new: TCP", "new: uTP"]


def test_buffers_of_different_units_are_refused(result: xr.Dataset, swarms: list[xr.Dataset]) -> None:
    with pytest.raises(InputError, match="not in one unit"):
        plots.completion_against_buffer([swarms[0], result])
    with pytest.raises(InputError, match="not in one unit"):
        plots.completion_against_buffer({"a": swarms[0], "b": result})
    with pytest.raises(InputError, match=r"x = 'buffer': is not a parameter"):
        plots.completion_against_buffer([made.dataset()])


def test_a_point_is_goodput_over_the_mean_delay_of_requests_and_haves(result: xr.Dataset) -> None:
    drawn = plots.throughput_against_delay({"run": result})
    assert list(named(drawn)) == ["run: TCP", "run: uTP"]
    assert [trace.text[0] for trace in drawn.data] == ["run: TCP", "run: uTP"]
    assert len({trace.marker.symbol for trace in drawn.data}) == 2  # told apart in print, too
    for shown, name in CLASSES.items():
        trace = named(drawn)[f"run: {shown}"]
        times = result.completion_time.where(result.counted).isel(peer=(result.peer_class == name).values).values
        assert trace.y[0] == pytest.approx(np.nanmean(8e-3 * 1e6 / times))
        number = result.message_delay_count.sel(sender_class=name).sum("delay")
        total = number * result.message_delay.sel(sender_class=name)
        both = ["request", "have"]
        mean = float(total.sel(message=both).sum() / number.sel(message=both).sum())
        assert trace.x[0] == pytest.approx(1000 * mean)
        assert message_delay(result, name) == pytest.approx(mean)
    assert np.isnan(message_delay(result, "seed"))  # it asks for nothing, and shows its pieces by offers
    assert message_delay(result, "seed", ["offer"]) > 0.0


def test_boxes_are_quantiles_of_the_histograms(result: xr.Dataset) -> None:
    drawn = plots.message_delays(result)
    assert drawn.layout.xaxis.type == "log"
    assert drawn.layout.boxmode == "group"
    assert "boxes: quartiles" in drawn.layout.title.subtitle.text
    for name, trace in named(drawn).items():
        assert "piece" not in trace.y
        assert {"request", "have", "unchoke"} <= set(trace.y)
        at = list(trace.y).index("request")
        counts = result.message_delay_count.sel(sender_class=CLASSES[name], message="request").sum("replica").values
        below = np.cumsum(counts) / counts.sum()
        edges = 1000 * result.delay.values
        for part, q in (("lowerfence", 0.05), ("q1", 0.25), ("median", 0.5), ("q3", 0.75), ("upperfence", 0.95)):
            place = int(np.searchsorted(below, q))
            assert edges[place] <= trace[part][at] <= 1.05 * edges[place]


def test_the_overview_has_the_views_of_links(result: xr.Dataset) -> None:
    drawn = plots.overview(result)
    titles = [a.text for a in drawn.layout.annotations]
    assert titles == [
        "Completion time of the leechers",
        "Pieces held by a leecher",
        "What held unchoked connections back",
        "Completion time by rank",
        "Queues of the uplinks",
        "Delay of control messages",
    ]
    assert drawn.layout.title.text == "testa2011: 1 seed and 8 leechers"
    assert [shape.xref for shape in drawn.layout.shapes] == ["x4"]
    assert "full socket" in named(drawn)
    assert "TCP window" not in named(drawn)


def test_figures_of_any_swarm_take_swarms_on_links(result: xr.Dataset, swarms: list[xr.Dataset]) -> None:
    with pytest.raises(InputError, match=r"results = 'testa2011': has no sends whose time apart is known"):
        plots.send_gaps(result)  # nobody has an upload limit
    capped = simulate(load("flashcrowd").set(**VALUES, upload_limit="100 kB/s"), seed=1)
    assert len(plots.send_gaps(capped).data) == 3
    with pytest.raises(InputError, match="has no segments counted"):
        plots.segment_payloads(result)
    (curve,) = plots.sweep_curves(swarms[:1], x="rtt", lines="utp_share").values()
    assert curve.x == [0.02]
    assert curve.low[0] <= curve.mean[0] <= curve.high[0]


def test_the_bound_is_that_of_the_uplinks(swarms: list[xr.Dataset]) -> None:
    assert lower_bound(swarms[0]) is None  # the peers do not start together
    start = xr.zeros_like(swarms[0].start_time)
    together = swarms[0].assign(start_time=start)
    assert together.uplink_rate.values.tolist() == [250_000] + 6 * [125_000]
    assert lower_bound(together) == pytest.approx(8.0 * 0.75)  # 6 MB at 6 * 125 + 250 kB/s
    endless = together.assign_coords(uplink_rate=together.uplink_rate + np.inf)
    assert lower_bound(endless) is None
