"""Figures of sweeps show what the Dataset holds, with units, scales and every failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import sweeps_made as made
import xarray as xr

from btflow import analysis, plots
from btflow.analysis.design import range_text, rounded, scale_of, short_names, title, value_text
from btflow.errors import InputError

AXES: dict[str, list[Any]] = {
    "rtt": [0.0, 0.1, 0.4],
    "upload_limit": [1e4, 2e4, 5e4],
    "loss": [0.001, 0.01, 0.1],
    "classes.leechers.tcp": ["reno", "cubic"],
}


def exact(rtt: float, limit: float, loss: float, tcp: str) -> float:
    return 3e7 / limit + 300 * rtt + 3000 * loss * (tcp == "reno")


@pytest.fixture(scope="module")
def sweep() -> xr.Dataset:
    return made.grid(AXES, exact, noise=20.0, replicas=3)


@pytest.fixture(scope="module")
def failed(sweep: xr.Dataset) -> xr.Dataset:
    """Return the sweep with a corner in which nothing completed, and one swarm elsewhere that did not."""
    values = sweep["completion_mean"].values.copy()
    values[2, 0, 2] = np.nan
    values[1, 1, 1, 0, 0] = np.nan
    return made.grid(AXES, values=values)


@pytest.fixture(scope="module")
def saltelli() -> xr.Dataset:
    ends = {"rtt": (0.0, 1.0), "upload_limit": (1e4, 1e5), "classes.leechers.loss": (0.0, 0.1)}
    return made.saltelli(lambda x: 3e7 / x[1] + 300 * x[0], ends, 64)


FIGURES: dict[str, Callable[[xr.Dataset], go.Figure]] = {
    "heat_map": lambda ds: plots.heat_map(ds, "completion_mean", "loss", "upload_limit"),
    "response_curve": lambda ds: plots.response_curve(ds, "completion_mean", "loss", "rtt", resamples=100),
    "tornado": lambda ds: plots.tornado(ds, "completion_mean", resamples=100),
}


def titles(drawn: go.Figure) -> tuple[str, str]:
    return drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text


@pytest.mark.parametrize("name", FIGURES)
def test_figures_say_where_they_are_from(sweep: xr.Dataset, name: str) -> None:
    drawn = FIGURES[name](sweep)
    assert drawn.layout.title.text.startswith("Mean completion time")
    assert drawn.layout.title.subtitle.text.startswith("rao2010, 54 points × 3 replicas")
    assert "failed" not in drawn.layout.title.subtitle.text


@pytest.mark.parametrize("name", FIGURES)
def test_figures_count_what_failed(failed: xr.Dataset, name: str) -> None:
    assert "7 swarms failed" in FIGURES[name](failed).layout.title.subtitle.text


def test_a_heat_map_holds_the_means(sweep: xr.Dataset) -> None:
    drawn = FIGURES["heat_map"](sweep)
    (cells,) = drawn.data
    expected = (
        sweep["completion_mean"].mean(("rtt", "classes.leechers.tcp", "replica")).transpose("upload_limit", "loss")
    )
    np.testing.assert_allclose(cells.z, expected.values)
    assert titles(drawn) == ("packets lost [%]", "upload limit of every leecher [kB/s]")
    assert drawn.layout.xaxis.ticktext == ("0.1", "1", "10")
    assert drawn.layout.yaxis.ticktext == ("10", "20", "50")
    assert cells.colorbar.title.text == "mean completion time [s]"
    assert float(cells.text[0][0]) == pytest.approx(float(expected[0, 0]), rel=1e-3)


def test_a_heat_map_marks_cells_without_result(failed: xr.Dataset) -> None:
    drawn = plots.heat_map(failed.sel({"rtt": 0.4}), "completion_mean", "loss", "upload_limit")
    cells, cross = drawn.data
    assert np.argwhere(np.isnan(cells.z)).tolist() == [[0, 2]]
    assert (cross.name, list(cross.x), list(cross.y)) == ("no result", [2], [0])
    cells, ring = plots.heat_map(failed.sel({"rtt": 0.1}), "completion_mean", "loss", "upload_limit").data
    assert np.isfinite(cells.z).all()
    assert (ring.name, list(np.floor(ring.x)), list(np.floor(ring.y))) == ("some swarms missing", [1], [1])


def test_a_response_curve_has_the_means_and_intervals_of_the_analysis(sweep: xr.Dataset) -> None:
    drawn = FIGURES["response_curve"](sweep)
    found = analysis.response(sweep, "completion_mean", "loss", "rtt", resamples=100)
    assert [trace.name for trace in drawn.data] == ["0 s", "100 ms", "400 ms"]
    for trace, rtt in zip(drawn.data, AXES["rtt"], strict=True):
        own = found.sel(rtt=rtt)
        np.testing.assert_allclose(trace.x, [0.1, 1, 10])
        np.testing.assert_allclose(trace.y, own["mean"])
        np.testing.assert_allclose(trace.error_y.array, own["mean_high"] - own["mean"])
        np.testing.assert_allclose(trace.error_y.arrayminus, own["mean"] - own["mean_low"])
    assert titles(drawn) == ("packets lost [%]", "mean completion time [s]")
    assert drawn.layout.xaxis.type == "log"  # the values of loss are spaced so
    assert drawn.layout.legend.title.text == "rtt"


def test_evenly_spaced_numbers_and_words_have_axes_of_their_own(sweep: xr.Dataset) -> None:
    assert plots.response_curve(sweep, "completion_mean", "rtt", resamples=100).layout.xaxis.type is None
    words = plots.response_curve(sweep, "completion_mean", "classes.leechers.tcp", resamples=100)
    assert words.layout.xaxis.ticktext == ("reno", "cubic")
    assert words.layout.xaxis.title.text == "leechers.tcp"
    assert [trace.mode for trace in words.data] == ["markers"]


def test_a_response_curve_marks_what_failed(failed: xr.Dataset) -> None:
    drawn = plots.response_curve(failed.sel({"rtt": 0.4}), "completion_mean", "loss", "upload_limit", resamples=100)
    crosses = next(trace for trace in drawn.data if trace.name == "no result")
    assert (list(crosses.x), crosses.yaxis) == ([pytest.approx(10.0)], "y2")
    assert np.isnan(drawn.data[0].y[2])
    drawn = plots.response_curve(failed.sel({"rtt": 0.1}), "completion_mean", "loss", "upload_limit", resamples=100)
    assert list(drawn.data[1].marker.symbol) == ["square", "square-open", "square"]
    assert drawn.data[-1].name == "some swarms missing"


def test_many_values_have_a_band() -> None:
    rng = np.random.default_rng(0)
    loss = 10 ** rng.uniform(-4, -1, 200)
    ds = made.sample(
        {"loss": loss.tolist(), "cc": ["reno", "cubic"] * 100}, (100 + 1e4 * loss + rng.normal(size=200))[:, None]
    )
    drawn = plots.response_curve(ds, "completion_mean", "loss", "cc", bins=20, resamples=100)
    assert [trace.fill for trace in drawn.data] == ["toself", None] * 2
    assert drawn.layout.xaxis.type == "log"  # sampled so
    assert [trace.name for trace in drawn.data if trace.showlegend] == ["reno", "cubic"]


LONG = [
    "reno with delayed ACKs and SACK",
    "cubic (RFC 9438), HyStart off",
    "bbr version 1, gain 1.25",
    "LEDBAT, 100 ms",
]
LIMITS = [1e4 * 1.4**i for i in range(8)]


@pytest.fixture(scope="module")
def wordy() -> xr.Dataset:
    axes: dict[str, list[Any]] = {"classes.leechers.tcp": LONG, "upload_limit": LIMITS, "rtt": [0.0, 0.4]}
    return made.grid(axes, lambda tcp, limit, rtt: 3e7 / limit + 100 * rtt + 20 * (tcp == LONG[0]), noise=5.0)


def inside(drawn: go.Figure) -> int:
    """Return the height of the axes [px]."""
    return int(drawn.layout.height - drawn.layout.margin.t - drawn.layout.margin.b)


def test_long_words_are_written_in_lines_and_the_axes_stay_as_large(sweep: xr.Dataset, wordy: xr.Dataset) -> None:
    tcp = "classes.leechers.tcp"
    short = plots.response_curve(sweep, "completion_mean", tcp, "rtt", resamples=100)
    for drawn in (
        plots.response_curve(wordy, "completion_mean", tcp, "upload_limit", resamples=100),
        plots.heat_map(wordy, "completion_mean", tcp, "upload_limit"),
    ):
        assert [text.replace("<br>", " ") for text in drawn.layout.xaxis.ticktext] == LONG
        assert max(len(line) for text in drawn.layout.xaxis.ticktext for line in text.split("<br>")) <= 95 // 4
        assert (drawn.layout.xaxis.tickangle, inside(drawn)) == (0, inside(short))
        assert -drawn.layout.legend.y * inside(drawn) > -short.layout.legend.y * inside(short)
    lines = plots.response_curve(wordy, "completion_mean", "rtt", tcp, resamples=100)
    assert [trace.name.replace("<br>", " ") for trace in lines.data] == LONG
    assert inside(lines) == inside(short)


def test_eight_lines_differ_without_colour_and_do_not_hide_each_other_on_words(wordy: xr.Dataset) -> None:
    drawn = plots.response_curve(wordy, "completion_mean", "rtt", "upload_limit", resamples=100)
    looks = {(trace.line.dash, trace.marker.symbol[0]) for trace in drawn.data}
    assert len(looks) == len(drawn.data) == 8
    drawn = plots.response_curve(wordy, "completion_mean", "classes.leechers.tcp", "upload_limit", resamples=100)
    x = np.array([trace.x for trace in drawn.data])
    assert (np.diff(x, axis=0) > 0).all()
    np.testing.assert_allclose(x.mean(axis=0), np.arange(4), atol=1e-12)
    assert (np.abs(x - np.arange(4)) < 0.5).all()


def test_the_words_of_a_tornado_have_the_room_that_they_need(wordy: xr.Dataset) -> None:
    drawn = plots.tornado(wordy, "completion_mean", resamples=100)
    least, greatest = drawn.layout.xaxis.range
    assert least > -0.05 * greatest  # no more room than the words need beside their own bars
    letter = 7.5 / 700 * (greatest - least)  # about, of text of 14 px in axes of 700 px
    below, above, left, right = drawn.data
    assert all(at - len(text) * letter > least for at, text in zip(left.x, left.text, strict=True))
    assert all(at + len(text) * letter < greatest for at, text in zip(right.x, right.text, strict=True))
    assert below.marker.pattern.shape != above.marker.pattern.shape  # to be told apart in grey


def test_a_tornado_has_the_swings_the_largest_on_top(sweep: xr.Dataset) -> None:
    drawn = FIGURES["tornado"](sweep)
    found = analysis.sensitivity(sweep, "completion_mean", resamples=100)
    below, above, left, right = drawn.data
    assert list(above.y) == ["leechers.tcp", "rtt", "loss", "upload_limit"]  # from below
    order = found.isel(parameter=slice(None, None, -1))
    np.testing.assert_allclose(below.base, order["least"])
    np.testing.assert_allclose(np.add(above.base, above.x), order["greatest"])
    np.testing.assert_allclose(np.add(below.base, below.x), above.base)
    tips = np.add(above.base, above.x) + above.error_x.array
    np.testing.assert_allclose(tips, order["least"] + order["swing_high"])
    assert [text.strip() for text in left.text] == order["least_at"].values.tolist()
    assert right.text[-1].strip() == "10 kB/s"
    low, high = drawn.layout.xaxis.range
    assert low < float(order["least"].min())
    assert high > tips.max()
    assert titles(drawn)[0] == "mean completion time [s]"


def test_sobol_bars_are_the_indices(saltelli: xr.Dataset) -> None:
    drawn = plots.sobol(saltelli, "completion_mean", resamples=100)
    found = analysis.sobol_indices(saltelli, "completion_mean", resamples=100)
    bars = {trace.name.split(":")[0]: trace for trace in drawn.data}
    assert list(bars["total"].y) == ["leechers.loss", "rtt", "upload_limit"]
    np.testing.assert_allclose(bars["total"].x[::-1], found["total"].values[[1, 0, 2]])
    np.testing.assert_allclose(bars["first order"].x[::-1], found["first_order"].values[[1, 0, 2]])
    high = found["total_high"].values[[2, 0, 1]]
    np.testing.assert_allclose(np.add(bars["total"].x, bars["total"].error_x.array), high)
    assert drawn.layout.xaxis.title.text == "share of the variance"


def test_values_have_handy_units() -> None:
    assert value_text(0.4, "s") == "400 ms"
    assert value_text(20480.0, "B/s", binary=True) == "20 kB/s"
    assert value_text(20480.0, "B/s") == "20.5 kB/s"
    assert value_text(0.05, share=True) == "5%"
    assert value_text(300) == "300"
    assert (value_text(True), value_text(float("inf"), "B/s"), value_text("cubic")) == ("on", "unlimited", "cubic")
    assert scale_of([0.0, 0.1, 1.0], "s") == (1e-3, "ms")
    assert scale_of([0.5, 3000.0], "s") == (1.0, "s")
    assert scale_of([0.0], "B/s") == (1.0, "B/s")
    assert range_text(10_000.0, 16_300.0, "B/s") == "10 to 16.3 kB/s"
    assert [rounded(x) for x in (1540.0, 0.12345, 1540.4, 2e7)] == ["1540", "0.123", "1540", "2e+07"]


def test_titles_are_cut_where_a_clause_ends() -> None:
    attrs = {"long_name": "chance that a packet is lost, data and ACKs alike; not used when ASes are given"}
    assert title("loss", attrs, "%") == "chance that a packet is lost, data and ACKs alike [%]"
    assert title("loss", attrs, "%", 40) == "chance that a packet is lost [%]"
    assert title("seed_copies", attrs, "", 10) == "seed copies"


def test_names_are_as_short_as_they_can_be_told_apart() -> None:
    short = {"rtt": "rtt", "classes.seed.upload_limit": "seed.upload_limit", "client.unchoke_slots": "unchoke_slots"}
    assert short_names(short) == short
    paths = ["client.upload_limit", "link.home.rate", "links.home.rate"]
    assert short_names(paths, ["upload_limit"]) == {path: path for path in paths}  # of the model, and of each other


def test_whose_limit_an_axis_has_is_said_although_the_model_has_a_parameter_of_that_name() -> None:
    limits = {"classes.seed.upload_limit": ["10 kB/s", "20 kB/s"], "rtt": ["0 ms", "400 ms"]}
    ds = made.real(limits, {"classes.seed.upload_limit": [1e4, 2e4], "rtt": [0.0, 0.4]})
    ds["classes.seed.upload_limit"].attrs |= {
        "long_name": "Upload limit set in the client; ``unlimited``: none",
        "units": "B/s",
    }
    curve = plots.response_curve(ds, "completion_mean", "classes.seed.upload_limit", "rtt", resamples=100)
    assert curve.layout.title.text.endswith("against seed.upload_limit")
    assert titles(curve)[0] == "seed: upload limit set in the client [kB/s]"
    by = plots.response_curve(ds, "completion_mean", "rtt", "classes.seed.upload_limit", resamples=100)
    assert by.layout.legend.title.text == "seed.upload_limit"
    assert "seed.upload_limit" in plots.tornado(ds, "completion_mean", resamples=100).data[0].y


WRONG: list[tuple[Callable[[xr.Dataset], object], str]] = [
    (lambda ds: plots.heat_map(ds, "completion_mean", "rtt", "los"), r"y = 'los'.*did you mean loss\?"),
    (lambda ds: plots.heat_map(ds, "completion_mean", "rtt", "rtt"), "y = 'rtt': is x already"),
    (lambda ds: plots.response_curve(ds, "completion", "rtt"), r"variable = 'completion'.*completion_mean"),
    (lambda ds: plots.sobol(ds, "completion_mean"), "saltelli:N"),
    (
        lambda _: plots.tornado(made.grid({"rtt": [0.0, 1.0]}, values=np.full((2, 1), np.nan)), "completion_mean"),
        "2 failed",
    ),
]


@pytest.mark.parametrize(("call", "text"), WRONG)
def test_bad_input_is_named(sweep: xr.Dataset, call: Callable[[xr.Dataset], object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        call(sweep)


def test_rates_of_links_are_shown_in_bits_and_those_of_clients_in_bytes() -> None:
    swarms = made.grid({"upload_limit": [1.25e5, 6.25e5], "rtt": [0.0, 0.1]}, lambda limit, rtt: limit * (1 - rtt))
    swarms["completion_mean"].attrs["units"] = "B/s"
    links = swarms.assign_attrs(runs="experiments")
    for ds, across, up in ((swarms, "[kB/s]", "[kB/s]"), (links, "[Mbit/s]", "[kbit/s]")):
        drawn = plots.response_curve(ds, "completion_mean", "upload_limit", resamples=100)
        assert (titles(drawn)[0].endswith(across), titles(drawn)[1].endswith(up)) == (True, True)
    np.testing.assert_allclose(drawn.data[0].x, [1.0, 5.0])
    assert [analysis.select(links, {"upload_limit": "5 Mbit/s"}).sizes.get("upload_limit", 1)] == [1]
    with pytest.raises(InputError, match="allowed: 1 Mbit/s, 5 Mbit/s"):
        analysis.select(links, {"upload_limit": "3 Mbit/s"})
