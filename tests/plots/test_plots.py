"""Figures show what the Dataset holds, say the unit on every axis, and need no network."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import figures_made
import link_dataset
import made
import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr

from btflow import plots
from btflow.errors import InputError
from btflow.plots.style import COLOURS, MOST_POINTS, distribution
from btflow.plots.swarm import MOST_REPLICAS

SINGLE: dict[str, Callable[[xr.Dataset], go.Figure]] = {
    "completion_cdf": plots.completion_cdf,
    "pieces_over_time": plots.pieces_over_time,
    "why_slow": plots.why_slow,
    "send_gaps": plots.send_gaps,
    "segment_payloads": plots.segment_payloads,
}


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return made.dataset()


def named(drawn: go.Figure) -> dict[str, go.Scatter | go.Bar]:
    """Return the traces by name."""
    return {trace.name: trace for trace in drawn.data}


def axis_titles(drawn: go.Figure) -> tuple[str, str]:
    return drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text


@pytest.mark.parametrize("name", SINGLE)
def test_axes_say_what_and_in_which_unit(result: xr.Dataset, name: str) -> None:
    drawn = SINGLE[name](result)
    assert drawn.layout.title.text
    assert drawn.layout.title.subtitle.text == "model rao2010, seed 7, 2 replicas"
    expected = {
        "completion_cdf": ("completion time [s]", "leechers that have completed [%]"),
        "pieces_over_time": ("time [s]", "pieces held, mean over the leechers"),
        "why_slow": ("share of the time of unchoked connections [%]", "sender"),
        "send_gaps": ("time between sends [s] (log scale)", "sends at or below [%]"),
        "segment_payloads": ("payload [B]", "segments at or below [%]"),
    }
    assert axis_titles(drawn) == expected[name]


def test_completion_times_are_those_of_the_leechers(result: xr.Dataset) -> None:
    traces = named(plots.completion_cdf(result))
    assert list(traces) == ["leechers, each replica", "leechers, replicas together", "lower bound of the last"]
    assert traces["leechers, replicas together"].x.tolist() == [40, 40, 50, 80, 90, 100, 200]
    np.testing.assert_allclose(traces["leechers, replicas together"].y, 100 * np.arange(7) / 6)
    assert traces["leechers, replicas together"].line.shape == "hv"


def test_the_bound_is_drawn_only_where_it_holds(result: xr.Dataset) -> None:
    # 1 MiB to three leechers at 20 KiB/s each, the seed's included: 3 * 51.2 s / 4 < 51.2 s, the seed's time alone
    assert named(plots.completion_cdf(result))["lower bound of the last"].x == pytest.approx((51.2, 51.2))
    assert "lower bound of the last" not in named(plots.completion_cdf(result, bound=False))
    late = made.dataset(made.replica(start=np.array([0.0, 0.0, 5.0, 0.0])))
    assert list(named(plots.completion_cdf(late))) == ["leechers"]


def test_several_results_are_told_apart() -> None:
    drawn = plots.completion_cdf({"old": made.dataset(made.replica()), "new": made.dataset(made.replica())})
    assert list(named(drawn)) == ["old: leechers", "new: leechers"]
    first, second = drawn.data
    assert first.line.color != second.line.color
    assert first.line.dash != second.line.dash
    assert drawn.layout.showlegend


def test_long_distributions_are_thinned_without_moving_a_point() -> None:
    values = np.random.default_rng(1).exponential(size=50_000)
    x, share = distribution(values)
    assert len(x) == MOST_POINTS + 1
    assert (x[0], x[-1], share[0], share[-1]) == (values.min(), values.max(), 0.0, 1.0)
    for at in (1, 700, MOST_POINTS):
        assert share[at] == pytest.approx(np.mean(values <= x[at]))


def test_missing_times_are_left_out() -> None:
    x, share = distribution(np.array([[np.nan, 3.0], [np.nan, 1.0]]))
    assert (x.tolist(), share.tolist()) == ([1, 1, 3], [0, 0.5, 1])


def test_pieces_over_time_shows_mean_and_range(result: xr.Dataset) -> None:
    traces = named(plots.pieces_over_time(result))
    names = ["range of the replicas, least", "range of the replicas", "mean"]
    assert list(traces) == [*names, "choker round"]
    held = result["pieces_held"]
    for name, values in zip(names, (held.min("replica"), held.max("replica"), held.mean("replica")), strict=True):
        np.testing.assert_array_equal(traces[name].x, held["time"])
        np.testing.assert_array_equal(traces[name].y, values)
    assert traces["range of the replicas"].fill == "tonexty"
    several = plots.pieces_over_time({"a": made.dataset(made.replica()), "b": made.dataset(made.replica())})
    assert list(named(several)) == ["a: mean", "b: mean"]


def test_completions_and_the_rounds_of_the_seed_are_marked() -> None:
    alone = made.dataset(made.replica())
    traces = named(plots.pieces_over_time(alone))
    ends = (alone["start_time"] + alone["completion_time"]).values[0]
    done = np.unique(ends[np.isfinite(ends) & (alone["role"].values == "leecher")])
    assert traces["completion"].x.tolist() == done.tolist()
    rounds, every = traces["choker round"].x, float(alone["choke_interval"][0])
    assert rounds.tolist() == [every * (k + 1) for k in range(len(rounds))]
    assert rounds[-1] < float(alone["time"][-1]) <= rounds[-1] + every
    assert {trace.meta.partition(":")[0] for trace in traces.values() if trace.meta} == {"choker round", "completion"}


def test_why_slow_stacks_mean_shares_to_a_hundred(result: xr.Dataset) -> None:
    drawn = plots.why_slow(result)
    traces = named(drawn)
    assert list(traces) == ["upload limit", "TCP window", "loss", "no request", "no interest"]
    assert all(list(trace.y) == ["seed", "leechers"] for trace in drawn.data)
    np.testing.assert_allclose(np.sum([trace.x for trace in drawn.data], axis=0), 100)
    # the seed: 6, 2, 1, 1, 0 of 10 s; leechers: means of 1, 0, 0, 1, 2 of 4 s and 3, 0, 0, 0, 1 of 4 s
    np.testing.assert_allclose(traces["upload limit"].x, [60, 50])
    np.testing.assert_allclose(traces["no interest"].x, [0, 37.5])
    assert drawn.layout.barmode == "stack"


def test_why_slow_says_nothing_of_a_class_that_unchoked_nobody() -> None:
    held_for = np.zeros((made.PEERS, 5))
    held_for[0, 0] = 1.0
    traces = named(plots.why_slow(made.dataset(made.replica(held_for=held_for))))
    assert traces["upload limit"].x[0] == 100
    assert np.isnan(traces["upload limit"].x[1])


def test_send_gaps_are_a_distribution_on_a_log_axis(result: xr.Dataset) -> None:
    drawn = plots.send_gaps(result)
    assert drawn.layout.xaxis.type == "log"
    leechers = named(drawn)["leechers"]
    unit = 1380 / 20480
    np.testing.assert_allclose(leechers.x, [unit, unit, 2 * unit])
    np.testing.assert_allclose(leechers.y, [0, 25, 100])
    low, high = (10**end for end in drawn.layout.xaxis.range)
    assert low < unit < 4 * unit < high
    assert {0.1, 0.2} <= set(drawn.layout.xaxis.tickvals)


def test_segment_payloads_are_a_distribution(result: xr.Dataset) -> None:
    (segments,) = plots.segment_payloads(result).data
    np.testing.assert_array_equal(segments.x, [1244, 1244, 1312, 1380, 1448])
    np.testing.assert_allclose(segments.y, 100 * np.array([0, 1, 5, 15, 21]) / 21)
    both = plots.segment_payloads({"TSO off": result, "TSO on": made.dataset(tso=True)})
    assert list(named(both)) == ["TSO off", "TSO on"]
    assert both.data[1].x.max() == 4140


def test_without_any_sends_there_is_an_overview_but_no_figure_of_the_times_between() -> None:
    quiet = made.dataset(made.replica(gaps=0 * made.replica().gaps, bursts=0 * made.replica().bursts))
    with pytest.raises(InputError, match="has no sends whose time apart is known"):
        plots.send_gaps(quiet)
    assert len(plots.segment_payloads(quiet).data) == 0
    assert len(plots.overview(quiet).data) > 0


def test_sweep_points_are_means_with_bars_to_the_ends(result: xr.Dataset) -> None:
    other = made.dataset(rtt="400 ms")
    fast = made.dataset(upload_limit="50 kB/s")
    curves = plots.sweep_curves([other, result, fast])
    mean = (40 + 80 + 100 + 50 + 90 + 200) / 6
    assert curves == {
        "20 kB/s": plots.Curve([0.0, 0.4], [mean, mean], [40, 40], [200, 200], "peers"),
        "50 kB/s": plots.Curve([0.0], [mean], [40], [200], "peers"),
    }
    by_replica = plots.sweep_curves([result], spread="replicas")["20 kB/s"]
    assert (*by_replica.low, *by_replica.high) == pytest.approx(((40 + 80 + 100) / 3, (50 + 90 + 200) / 3))
    subtitle = {
        "peers": "bars: least and greatest completion time of a leecher",
        "replicas": "bars: least and greatest mean of a replica",
        "": "bars: least and greatest",
    }
    for spread, text in subtitle.items():
        found = {"any": curves["20 kB/s"]._replace(spread=spread)}
        assert plots.rtt_sweep(found).layout.title.subtitle.text == text
    drawn = plots.rtt_sweep(curves)
    assert axis_titles(drawn) == ("round-trip time between any two peers [ms]", "completion time [s]")
    first = drawn.data[0]
    assert (first.name, list(first.x), list(first.y)) == ("20 kB/s", [0, 400], [mean, mean])
    assert (list(first.error_y.array), list(first.error_y.arrayminus)) == ([200 - mean] * 2, [mean - 40] * 2)


def test_a_sweep_over_something_else() -> None:
    curves = plots.sweep_curves([made.dataset(loss="5%"), made.dataset()], x="loss", lines="rtt")
    (curve,) = curves.values()
    assert curve.x == [0.0, 0.05]
    assert (
        plots.rtt_sweep({"any": ([0.01], [3.0], [1.0], [4.0])}, x="loss").layout.xaxis.title.text == "packets lost [%]"
    )
    for call in (lambda: plots.sweep_curves([], x="tso"), lambda: plots.rtt_sweep({}, x="tso")):
        with pytest.raises(InputError, match=r"x = 'tso'.*rtt, loss"):
            call()


def test_several_replicas_have_a_line_each_and_one_together(result: xr.Dataset) -> None:
    first, second, together = plots.completion_cdf(result, bound=False).data
    assert (first.name, second.name, together.name) == (*2 * ("leechers, each replica",), "leechers, replicas together")
    assert (first.showlegend, second.showlegend) == (True, False)
    assert list(first.x) == [40, 40, 80, 100]
    assert list(second.x) == [50, 50, 90, 200]
    assert list(together.x) == [40, 40, 50, 80, 90, 100, 200]
    names = list(named(plots.completion_cdf({"old": result, "new": made.dataset(made.replica())})))
    assert names == ["old: leechers, replicas together", "new: leechers"]
    many = plots.completion_cdf(made.dataset(*[made.replica()] * 30), bound=False)
    assert len(many.data) == MOST_REPLICAS + 1


def test_overview_has_the_four_views_with_a_legend_each(result: xr.Dataset) -> None:
    drawn = plots.overview(result)
    views = (plots.completion_cdf, plots.pieces_over_time, plots.why_slow, plots.send_gaps)
    for number, view in enumerate(views):
        suffix = "" if number == 0 else str(number + 1)
        alone = view(result)
        traces = [t for t in drawn.data if t.xaxis == f"x{suffix}"]
        assert [t.name for t in traces] == [t.name for t in alone.data]
        assert {t.legend for t in traces} == {f"legend{suffix}"}
        assert drawn.layout[f"xaxis{suffix}"].title.text == alone.layout.xaxis.title.text
        assert drawn.layout[f"yaxis{suffix}"].title.text == alone.layout.yaxis.title.text
        assert drawn.layout[f"legend{suffix}"].y < drawn.layout[f"yaxis{suffix}"].domain[0]
    places = {(drawn.layout[f"legend{n}"].x, drawn.layout[f"legend{n}"].y) for n in ("", 2, 3, 4)}
    assert len(places) == 4
    assert drawn.layout.xaxis4.type == "log"
    assert drawn.layout.barmode == "stack"
    assert drawn.layout.title.text == "rao2010: 1 seed and 3 leechers"  # not the 300 of the model's title
    assert drawn.layout.width <= 1200
    assert "file_size = 1 MB" in drawn.layout.title.subtitle.text
    assert "2 replicas, seed 7" in drawn.layout.title.subtitle.text


def test_colours_are_distinct_and_none_is_yellow() -> None:
    assert len(set(COLOURS)) == len(COLOURS) == 7
    assert "#F0E442" not in COLOURS


@pytest.mark.parametrize("name", figures_made.FIGURES)
def test_figures_are_pure(name: str) -> None:
    results = [of() for of in (figures_made.sweep, figures_made.few, figures_made.link, figures_made.swarm)]
    before = [result.copy(deep=True) for result in results]
    draw = figures_made.FIGURES[name]
    assert draw() == draw()
    for result, was in zip(results, before, strict=True):
        xr.testing.assert_identical(result, was)


@pytest.mark.parametrize(
    ("draw", "title", "width"),
    [
        (lambda: plots.overview(made.dataset()), "rao2010: 1 seed and 3 leechers</title>", "1200px"),
        (lambda: plots.link_overview(link_dataset.dataset()), "1 Mbit/s, 50 ms, 100 packets</title>", ""),
        (figures_made.FIGURES["heat_map"], "Mean completion time", ""),
    ],
)
def test_html_needs_no_network(draw: Callable[[], go.Figure], title: str, width: str, tmp_path: Path) -> None:
    plots.save(draw(), tmp_path / "figure.html")
    text = (tmp_path / "figure.html").read_text(encoding="utf-8")
    assert not re.search(r"<script[^>]*\bsrc=", text)
    assert not re.search(r"<link[^>]*\bhref=", text)
    assert "Plotly.newPlot" in text
    assert f"<title>{title}" in text
    assert f"max-width: {width}" in text
    assert '"responsive": true' in text
    assert not re.search(r'"width":\s*(900|1200)', text)  # as wide as the window
    assert len(text) > 3_000_000  # plotly.js itself
