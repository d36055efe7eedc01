"""What flow is off by, and what full would have given: against textbook formulas, and how often intervals hold it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
import sweeps_made as made
import xarray as xr
from numpy.typing import NDArray

from btflow import analysis, plots
from btflow.analysis.against_full import Pairs, fitted
from btflow.errors import InputError
from btflow.sweeps.precheck import checked_points

Floats = NDArray[np.float64]

C = "completion_mean"
RTT = [0.0, 0.1, 0.4, 1.0]
LIMIT = [1e4, 2e4, 5e4, 1e5]
LOSS = [0.0, 0.001, 0.005, 0.01, 0.05]
AXES = {"rtt": RTT, "upload_limit": LIMIT, "loss": LOSS}
POINTS = 80

JOINED: Any = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}

REPETITIONS = 1000
"""With so many the standard error of a coverage of 90 % is 1 %."""


class Shape:
    """A grid, as the choice of points asks for it."""

    shape = (4, 4, 5)

    def places(self, points: NDArray[np.int64]) -> Floats:
        return np.asarray((np.column_stack(np.unravel_index(points, self.shape)) + 0.5) / self.shape)


def spread_points(number: int) -> list[int]:
    design: Any = Shape()
    return list(checked_points(design, number))


def exact(rtt: float, limit: float, loss: float) -> float:
    """Return a completion time [s] that a hundredfold is between the least and the greatest of."""
    return 3e7 / limit * (1 + 0.5 * rtt) * (1 + 4 * loss)


def flow_of(replicas: int = 1, noise: float = 0.02, seed: int = 0) -> Floats:
    """Return what flow gives at each point (points, replicas)."""
    ds = made.grid(AXES, exact, replicas=replicas)
    rng = np.random.default_rng(seed)
    values = ds[C].values.reshape(POINTS, replicas)
    return np.asarray(values * (1 + noise * rng.normal(size=values.shape)))


def swept(flow: Floats, full: Floats, points: list[int]) -> xr.Dataset:
    """Return a sweep of some values of flow (points, replicas), of which some points have one of full (points,)."""
    ds = made.grid(AXES, values=flow.reshape(4, 4, 5, -1))
    return made.with_check(ds, points, full[points])


@pytest.fixture(scope="module")
def sweep() -> xr.Dataset:
    flow = flow_of(replicas=2)
    full = flow[:, 0] * 1.03 * (1 + 0.02 * np.random.default_rng(1).normal(size=POINTS))
    return swept(flow, full, spread_points(20))


def test_the_error_is_that_of_a_t_test_on_the_points(sweep: xr.Dataset) -> None:
    """Each point has one pair, of replica 0; scipy's own t test has the same interval."""
    points = sweep["check"].values
    flow = sweep[C].values.reshape(POINTS, 2)
    differences = flow[points, 0] / sweep["full_completion_mean"].values - 1
    tested = scipy.stats.ttest_1samp(differences, 0.0).confidence_interval(0.8)
    found = analysis.flow_error(sweep, [C], confidence=0.8).sel(statistic=C)
    assert float(found["bias"]) == pytest.approx(differences.mean(), rel=1e-12)
    assert float(found["bias_low"]) == pytest.approx(tested.low, rel=1e-9)
    assert float(found["bias_high"]) == pytest.approx(tested.high, rel=1e-9)
    assert float(found["spread"]) == pytest.approx(np.std(differences, ddof=1), rel=1e-12)
    means = flow.mean(axis=1)
    assert float(found["effect"]) == pytest.approx(np.std(means, ddof=1) / means.mean(), rel=1e-12)
    assert (int(found["points"]), bool(found["exceeds"])) == (20, False)


@pytest.mark.parametrize(
    ("flow", "full", "exceeds"),
    [
        ([100.0, 110.0, 120.0, 130.0], [101.0, 112.0, 119.0, 131.0], False),  # 1 % off, an effect of 11 %
        ([100.0, 110.0, 120.0, 130.0], [125.0, 137.0, 150.0, 163.0], True),  # 20 % off
        ([100.0, 110.0, 120.0, 130.0], [130.0, 100.0, 135.0, 105.0], True),  # right on average, wrong at each point
        ([100.0, 100.5, 99.5, 100.2], [101.0, 100.4, 99.1, 100.3], True),  # no effect to speak of
    ],
)
def test_an_error_above_the_effect_is_told(flow: list[float], full: list[float], exceeds: bool) -> None:
    ds = made.grid({"rtt": RTT}, values=np.array(flow)[:, None])
    found = analysis.flow_error(made.with_check(ds, [0, 1, 2, 3], np.array(full)), [C])
    assert bool(found["exceeds"][0]) == exceeds


def test_what_is_not_above_zero_is_over_the_mean_size_of_full() -> None:
    ds = made.grid({"rtt": RTT}, values=np.array([0.0, 2.0, 4.0, 6.0])[:, None])
    found = analysis.flow_error(made.with_check(ds, [0, 1, 3], np.array([1.0, 2.0, 9.0])), [C])
    assert float(found["bias"][0]) == pytest.approx((-1 + 0 - 3) / 3 / 4.0)
    none = made.with_check(ds * 0 + ds.assign({C: ds[C] * 0}), [0, 1, 3], np.zeros(3))
    assert float(analysis.flow_error(none.assign_attrs(ds.attrs), [C])["bias"][0]) == 0.0


@pytest.mark.slow
def test_the_interval_of_the_bias_holds_it_as_often_as_it_says() -> None:
    """Of five points alone, whose differences are a little skewed."""
    ds = made.grid({"rtt": [*RTT, 2.0]}, values=np.full((5, 1), 100.0))
    truth = 1.02 * float(np.exp(-0.1) * (1 - 0.05 * 0.5) ** -4) - 1  # the mean of exp of a gamma variable

    def holds(seed: int) -> bool:
        skewed = 0.05 * (np.random.default_rng(seed).gamma(4.0, 0.5, size=5) - 2.0)
        found = analysis.flow_error(made.with_check(ds, [0, 1, 2, 3, 4], 100.0 / (1.02 * np.exp(skewed))), [C])
        return bool(found["bias_low"][0] <= truth <= found["bias_high"][0])

    assert 0.84 <= np.mean([holds(seed) for seed in range(400)]) <= 0.94


FULL: dict[str, tuple[Callable[[Floats, np.random.Generator], Floats], float]] = {
    "line": (lambda flow, rng: 20.0 + 0.95 * flow * (1 + 0.02 * rng.normal(size=flow.shape)), 0.02),
    "bent": (
        lambda flow, rng: flow * (1.1 - 0.03 * np.log(flow / 300.0)) * (1 + 0.02 * rng.normal(size=flow.shape)),
        0.03,
    ),
    "skewed": (lambda flow, rng: 1.05 * flow * (1 + 0.02 * (rng.gamma(2.0, size=flow.shape) - 2.0)), 0.05),
}
"""What full has for a mean over seeds, given flow's, and how far below 90 % coverage may be: on a line, on a curve, and
with differences far from normal."""

SWARM = 0.05
"""Standard deviation of one swarm in full, over the mean of its point."""


def chances(flow: Floats, full: Floats, shared: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return swarms in flow (points, replicas) and one in full (points,), of which a share of the variance is common.

    Args:
        flow: What they have for a mean (points, 1).
        full: The same in full (points,).
        shared: The share.
        rng: Their chance.
    """
    common, flow_own, full_own = rng.normal(size=(3, POINTS, 4))
    own = np.sqrt(1 - shared)
    swarms = flow * (1 + SWARM * (np.sqrt(shared) * common + own * flow_own))
    return swarms, full * (1 + SWARM * (np.sqrt(shared) * common + own * full_own)[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("number", [3, 6, 20])
@pytest.mark.parametrize("kind", FULL)
def test_corrected_estimates_hold_what_full_gives_as_often_as_they_say(kind: str, number: int, shared: float) -> None:
    """The mean over the design that endlessly many seeds would give, by four replicas in flow and one swarm in full.

    Over a group of points and at each point an interval may be too wide, not too short: the chance of one swarm is
    taken for the point's own. Over the design it is hardly so.
    """
    full_of, band = FULL[kind]
    points, group = np.array(spread_points(number)), np.arange(40, 60)
    exactly = flow_of(noise=0.0)
    held = np.zeros(3)
    for seed in range(REPETITIONS):
        rng = np.random.default_rng(seed)
        full = full_of(exactly[:, 0], rng)
        swarms, in_full = chances(exactly, full, shared, rng)
        fit = fitted(Pairs(points, swarms[points, 0], in_full[points]), swarms, 0.9)
        for which, members in enumerate((np.arange(POINTS), group)):
            _, low, high = fit.mean(members)
            held[which] += low <= full[members].mean() <= high
        _, low, high = fit.points().T
        held[2] += ((low <= full) & (full <= high)).mean()
    held /= REPETITIONS
    assert 0.9 - band <= held[0] <= 0.95, held
    assert (held[1:] >= 0.9 - band).all(), held


def test_a_correction_is_the_regression_of_the_textbooks() -> None:
    """Errors that do not grow with flow, which is not above zero: scipy's line, and its prediction interval."""
    rng = np.random.default_rng(3)
    flow = rng.normal(size=POINTS)
    full = 2.0 + 0.7 * flow + 0.3 * rng.normal(size=POINTS)
    points = spread_points(12)
    found = analysis.corrected(swept(flow[:, None], full, points), C, confidence=0.8)
    line = scipy.stats.linregress(flow[points], full[points])
    assert found.attrs["coefficient"] == pytest.approx(line.slope, rel=1e-9)
    assert found.attrs["intercept"] == pytest.approx(line.intercept, rel=1e-9)
    assert found.attrs["correlation"] == pytest.approx(line.rvalue, rel=1e-9)
    assert (found.attrs["checked"], found.attrs["freedom"]) == (12, 10)
    errors = full[points] - line.intercept - line.slope * flow[points]
    deviation, middle = np.sqrt((errors**2).sum() / 10), flow[points].mean()
    squares = ((flow[points] - middle) ** 2).sum()
    rest = np.setdiff1d(np.arange(POINTS), points)
    half = scipy.stats.t.ppf(0.9, 10) * deviation * np.sqrt(1 + 1 / 12 + (flow - middle) ** 2 / squares)
    predicted = line.intercept + line.slope * flow
    point, low, high = (found[name].values.ravel() for name in ("point", "point_low", "point_high"))
    assert np.allclose(point, predicted)
    assert np.allclose(np.array([low, high])[:, rest], np.array([predicted - half, predicted + half])[:, rest])
    assert (half[points] > (high - low)[points] / 2).all()
    assert float(found["mean"]) == pytest.approx(predicted.mean())
    of_mean = deviation**2 * (1 / 12 + (flow.mean() - middle) ** 2 / squares)
    assert float(found["mean_high"] - found["mean"]) == pytest.approx(scipy.stats.t.ppf(0.9, 10) * np.sqrt(of_mean))


def test_errors_that_grow_with_flow_are_weighted_so() -> None:
    """The fit is that of full over flow against one over flow, an ordinary one (numpy.polyfit)."""
    flow, points = flow_of(), spread_points(15)
    full = noisy(flow)
    found = analysis.corrected(swept(flow, full, points), C)
    y, z = flow[points, 0], full[points]
    intercept, slope = np.polyfit(1 / y, z / y, 1)
    assert found.attrs["coefficient"] == pytest.approx(slope, rel=1e-6)
    assert found.attrs["intercept"] == pytest.approx(intercept, rel=1e-6)


def noisy(flow: Floats) -> Floats:
    return np.asarray(20.0 + 0.9 * flow[:, 0] * (1 + 0.05 * np.random.default_rng(4).normal(size=len(flow))))


def test_means_along_names_are_those_of_the_points(sweep: xr.Dataset) -> None:
    whole = analysis.corrected(sweep, C)
    for names in (("rtt",), ("rtt", "upload_limit"), ("loss", "rtt")):
        found = analysis.corrected(sweep, C, *names)
        over = [name for name in AXES if name not in names]
        assert np.allclose(found["mean"], whole["point"].mean(over).transpose(*names))
        assert np.allclose(found["flow_mean"], sweep[C].mean([*over, "replica"]).transpose(*names))
        assert int(found["checks"].sum()) == 20
        assert (found["points"] == POINTS // found["mean"].size).all()
        assert found["rtt"].attrs["units"] == "s"
    assert (found["mean_low"] < found["mean_high"]).all()
    assert found["mean"].attrs["units"] == whole["point_low"].attrs["units"] == "s"


def test_all_points_checked_leave_the_chance_of_one_swarm_each() -> None:
    flow = np.random.default_rng(7).normal(size=(POINTS, 1))
    full = 3.0 + 0.8 * flow[:, 0] + np.random.default_rng(8).normal(size=POINTS)
    found = analysis.corrected(swept(flow, full, list(range(POINTS))), C)
    assert float(found["mean"]) == pytest.approx(full.mean())
    errors = full - found["point"].values.ravel()
    half = scipy.stats.t.ppf(0.95, POINTS - 2) * np.sqrt((errors**2).sum() / (POINTS - 2) / POINTS)
    assert float(found["mean_high"] - found["mean"]) == pytest.approx(half)


def test_what_is_said_of_one_point_is_what_is_said_of_its_mean(sweep: xr.Dataset) -> None:
    """Of those that were run in full, too."""
    whole = analysis.corrected(sweep, C)
    flow = sweep[C].values.reshape(POINTS, 2)
    points = sweep["check"].values
    fit = fitted(Pairs(points, flow[points, 0], sweep["full_completion_mean"].values), flow, 0.9)
    ends = np.column_stack([whole[name].values.ravel() for name in ("point", "point_low", "point_high")])
    assert np.allclose(ends, [fit.mean(np.array([point])) for point in range(POINTS)], rtol=1e-12)


def test_a_control_narrows_the_interval_as_theory_has_it() -> None:
    """By the root of one less the squared correlation, nearly; a control without a correlation does not."""
    rng = np.random.default_rng(5)
    flow = 1000.0 + rng.normal(size=(POINTS, 1))
    points = spread_points(40)
    for share in (0.0, 0.95):
        full = 1000.0 + share * (flow[:, 0] - 1000.0) + np.sqrt(1 - share**2) * rng.normal(size=POINTS)
        found = analysis.corrected(swept(flow, full, points), C)
        wanted = np.sqrt(1 - found.attrs["correlation"] ** 2)
        assert found.attrs["narrowing"] == pytest.approx(wanted, rel=0.1)


def test_an_exact_line_leaves_no_error() -> None:
    flow = flow_of()
    found = analysis.corrected(swept(flow, 7.0 + 1.2 * flow[:, 0], spread_points(4)), C)
    assert np.allclose(found["point"].values.ravel(), 7.0 + 1.2 * flow[:, 0], rtol=1e-9)
    assert float(found["mean_high"] - found["mean_low"]) < 1e-6 * float(found["mean"])


def test_where_flow_does_not_vary_full_has_its_mean() -> None:
    """No slope can be told: one degree of freedom less is taken."""
    flow, points = np.full((POINTS, 1), 100.0), spread_points(9)
    full = 100.0 + 10.0 * np.random.default_rng(6).normal(size=POINTS)
    found = analysis.corrected(swept(flow, full, points), C)
    assert np.allclose(found["point"], full[points].mean())
    assert found.attrs["freedom"] == 8


@pytest.mark.parametrize(
    "part",
    [
        lambda ds: ds.transpose(),
        lambda ds: ds.isel(rtt=[3, 0, 2, 1], loss=slice(None, None, -1)),
        lambda ds: ds.isel(check=slice(None, None, -1)),
        lambda ds: xr.concat([ds.isel(rtt=[1]), ds.isel(rtt=[0, 2, 3])], "rtt", **JOINED),
        lambda ds: ds.load().copy(),
    ],
)  # fmt: skip
def test_a_sweep_in_another_order_gives_the_same(part: Callable[[xr.Dataset], xr.Dataset], sweep: xr.Dataset) -> None:
    one, other = analysis.corrected(sweep, C), analysis.corrected(part(sweep), C)
    assert float(one["mean_low"]) == pytest.approx(float(other["mean_low"]), rel=1e-12)
    assert np.allclose(one["point"], other["point"].sel(rtt=RTT, loss=LOSS).transpose(*one["point"].dims))
    bias = (analysis.flow_error(ds)["bias"].item() for ds in (sweep, part(sweep)))
    assert next(bias) == pytest.approx(next(bias), rel=1e-12)


def test_a_part_of_a_sweep_has_its_own_pairs(sweep: xr.Dataset) -> None:
    inside = (sweep["check_rtt"] == 0.4).values
    for part in (sweep.sel(rtt=0.4), sweep.sel(rtt=[0.4]), sweep.isel(rtt=2)):
        error = analysis.flow_error(part)
        assert int(error["points"][0]) == inside.sum() > 2
    bias = float(analysis.flow_error(sweep)["bias"][0])
    for replicas in (0, [0], [1, 0]):
        assert float(analysis.flow_error(sweep.isel(replica=replicas))["bias"][0]) == bias
    for replicas in (1, [1]):
        none = analysis.flow_error(sweep.isel(replica=replicas))
        assert int(none["points"][0]) == 0
        assert np.isnan(none["bias"][0])
    few = analysis.flow_error(sweep.isel(check=[0, 3, 5]))
    assert int(few["points"][0]) == 3


def test_swarms_that_failed_in_either_fidelity_are_no_pairs(sweep: xr.Dataset) -> None:
    """Nor those of which the first replica failed in flow, whatever the others gave."""
    flow, full = sweep[C].values.copy(), sweep["full_completion_mean"].values.copy()
    points = sweep["check"].values
    full[0] = np.nan
    flow.reshape(POINTS, 2)[points[2]] = np.nan
    flow.reshape(POINTS, 2)[points[3], 0] = np.nan
    flow.reshape(POINTS, 2)[points[1], 1] = np.nan
    broken = made.with_check(made.grid(AXES, values=flow), points.tolist(), full)
    found = analysis.flow_error(broken)
    assert int(found["points"][0]) == 17
    pair = flow.reshape(POINTS, 2)[points[1], 0] / full[1]
    alone = analysis.flow_error(broken.isel(check=[1]))
    assert float(alone["bias"][0]) == pytest.approx(pair - 1)
    assert np.isnan(alone["bias_low"][0])
    corrected = analysis.corrected(broken, C)
    assert int(corrected["points"]) == POINTS - 1
    assert np.isnan(corrected["point"].values.ravel()[points[2]])


def test_points_of_a_sample_are_told_by_their_numbers() -> None:
    """Though two of them have the same values; of a Saltelli design the mean is that of A and B."""
    columns: dict[str, Any] = {"rtt": [0.0, 0.0, 0.4, 0.4, 1.0, 1.0, 2.0, 2.0], "loss": [0.0] * 8}
    flow = np.arange(100.0, 180.0, 10.0)[:, None]
    ds = made.with_check(made.sample(columns, flow, design="saltelli:2"), [1, 2, 5, 7], 1.1 * flow[[1, 2, 5, 7], 0])
    found = analysis.corrected(ds, C)
    assert np.allclose(found["point"], 1.1 * flow[:, 0])
    assert float(found["mean"]) == pytest.approx(1.1 * flow[:4].mean())
    assert int(found["checks"]) == 2
    assert analysis.flow_error(ds.isel(sample=[7, 5, 0]))["points"].item() == 2
    assert analysis.corrected(ds, C, "rtt", bins=2)["mean"].sizes == {"rtt": 2}


def without(*names: str) -> Callable[[xr.Dataset], xr.Dataset]:
    return lambda ds: ds.drop_vars(names)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("full_status", "full_completion_mean"), "ds: has no check: no point of it was run in full, too"),
        (without("check_rtt"), "ds: has lost check_rtt, which tells its points"),
        (lambda ds: ds.isel(rtt=0, drop=True), "ds: has lost rtt, which tells its points"),
        (lambda ds: ds.where(ds["status"] == 1), "ds: has lost the form of its check"),
        (lambda ds: ds.isel(check=[0, 1]), "ds: has values in full at 2 points"),
        (lambda ds: ds.isel(replica=[1]), "ds: has values in full at 0 points"),
        (lambda ds: ds.assign(full_status=ds["full_status"] * 0), "ds: has values in full at 0 points"),
        (without("full_completion_mean"), "variable = 'completion_mean': was not found in full"),
    ],
)  # fmt: skip
def test_a_sweep_that_cannot_be_corrected_is_one_error(
    change: Callable[[xr.Dataset], xr.Dataset], said: str, sweep: xr.Dataset
) -> None:
    test_bad_input_names_the_field(lambda ds: analysis.corrected(change(ds), C), said, sweep)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ds: analysis.corrected(ds, "completion"), "variable = 'completion': is not a statistic"),
        (lambda ds: analysis.corrected(ds, C, "rrt"), "x = 'rrt': is not a varied parameter"),
        (lambda ds: analysis.corrected(ds, C, by="rtt"), "by = 'rtt': is given without x"),
        (lambda ds: analysis.corrected(ds, C, "rtt", "rtt"), "by = 'rtt': is x already"),
        (lambda ds: analysis.corrected(ds, C, "rtt", bins=1), "bins = 1"),
        (lambda ds: analysis.corrected(ds, C, confidence=90), "confidence = 90"),
        (lambda ds: analysis.corrected(ds[C], C), "is not a sweep"),
        (lambda ds: analysis.flow_error(ds, ["completion"]), "variable = 'completion': is not a statistic"),
        (lambda ds: analysis.flow_error(ds, confidence=1.0), "confidence = 1.0"),
        (lambda ds: analysis.flow_error(ds.drop_vars("full_status")), "ds: has no check"),
        (lambda ds: plots.full_against_flow(ds.drop_vars("full_status"), C), "ds: has no check"),
        (lambda ds: plots.full_against_flow(ds, "completion"), "variable = 'completion': is not a statistic"),
        (lambda ds: plots.full_against_flow(ds.assign(full_status=ds["full_status"] * 0), C), "has no value in both"),
    ],
)
def test_bad_input_names_the_field(call: Callable[[xr.Dataset], object], said: str, sweep: xr.Dataset) -> None:
    with pytest.raises(InputError) as caught:
        call(sweep)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_full_against_flow_has_every_pair_in_one_unit(sweep: xr.Dataset) -> None:
    drawn = plots.full_against_flow(sweep, C)
    line, marks = drawn.data
    flow = sweep[C].values.reshape(POINTS, 2)[sweep["check"].values, 0]
    assert np.allclose(marks.x, flow)
    assert np.allclose(marks.y, sweep["full_completion_mean"])
    assert list(line.x) == list(line.y)
    assert line.x[0] < min(flow.min(), min(marks.y)) < max(flow.max(), max(marks.y)) < line.x[1]
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == ("in flow [s]", "in full [s]")
    assert drawn.layout.xaxis.type == drawn.layout.yaxis.type == "log"  # a hundredfold
    assert drawn.layout.xaxis.range == drawn.layout.yaxis.range
    assert "20 checked points, one swarm each; flow is off by -" in drawn.layout.title.subtitle.text
    rtt, limit, _ = (sweep[f"check_{name}"].values[0] for name in AXES)
    assert marks.text[0].startswith(f"rtt {1000 * rtt:g} {'ms' if rtt else 's'}, upload_limit {limit / 1000:g} kB/s")
    narrow = plots.full_against_flow(sweep.sel(upload_limit=1e4), C)
    assert narrow.layout.xaxis.type is None
    assert list(narrow.layout.xaxis.range) == list(narrow.layout.yaxis.range)


@pytest.mark.parametrize("by", [None, "upload_limit"])
def test_response_curves_show_full_over_flow(by: str | None, sweep: xr.Dataset) -> None:
    """As ``corrected`` has it at the same level, at each value where a point was run in full; once in the legend."""
    drawn = plots.response_curve(sweep, C, "rtt", by, resamples=100, confidence=0.8)
    found = analysis.corrected(sweep, C, "rtt", by, confidence=0.8)
    black = [trace for trace in drawn.data if trace.legendgroup == "full"]
    assert len(black) == (1 if by is None else 4)
    assert [trace.showlegend for trace in black] == [True] + [False] * (len(black) - 1)
    assert black[0].name == "full, estimated by 20 checked points"
    for number, trace in enumerate(black):
        part = found if by is None else found.isel({by: number})
        some = (part["checks"] > 0).values
        assert np.allclose(trace.y, part["mean"].values[some])
        assert np.allclose(np.array(trace.y) + trace.error_y.array, part["mean_high"].values[some])
        assert np.allclose(np.array(trace.y) - trace.error_y.arrayminus, part["mean_low"].values[some])
        assert np.allclose(trace.x, 1000 * part["rtt"].values[some])
    assert "in flow" in drawn.layout.title.subtitle.text
    few = plots.response_curve(sweep.isel(check=[0, 1]), C, "rtt", by, resamples=100)
    assert not [trace for trace in few.data if trace.legendgroup == "full"]
