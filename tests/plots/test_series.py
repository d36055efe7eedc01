"""Series as they are drawn: nothing is lost that was seen, rates add up to what came, marks are where something was."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st

import btflow
from btflow.kernels.link import sampling
from btflow.plots import series
from btflow.plots.series import envelope, exceedance


@given(st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=1, max_size=120))
def test_an_envelope_keeps_the_extremes_in_order(values: list[float]) -> None:
    series = np.array(values)
    x, y = envelope(np.arange(len(values), dtype=float), series, most=20)
    assert len(x) <= 20
    assert np.all(np.diff(x) > 0)
    np.testing.assert_array_equal(y, series[x.astype(int)])
    if not np.isnan(series).all():
        assert (np.nanmin(y), np.nanmax(y)) == (np.nanmin(series), np.nanmax(series))


def test_exceedance_by_hand() -> None:
    x, y = exceedance(np.arange(5.0), np.array([0.5, 0.25, 0.0, 0.25, 0.0]))
    assert x.tolist() == [0, 1, 2, 3]
    assert y.tolist() == [0.5, 0.25, 0.25, 0.25]  # the step from 2 to 3, drawn to its end
    x, y = exceedance(np.arange(3.0), np.array([1.0, 0.0, 0.0]))
    assert (x.tolist(), y.tolist()) == ([0], [0])
    assert exceedance(np.arange(2.0), np.zeros(2))[0].size == 0


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    """CUBIC beside NewReno and LEDBAT: losses, recoveries by PRR and by RFC 6675."""
    flows = ["cubic:1,name=first", "newreno", "ledbat:1@10s"]
    return btflow.simulate_link(
        rate="1 Mbit/s", rtt="50 ms", buffer="100 packets", flows=flows, voip=["g711"], duration="60 s", seed=1
    )


def of(counts: list[int]) -> series.Marks:
    """Return the marks of a number that grows by counts, over a series that is their numbers."""
    time = np.arange(len(counts), dtype=float)
    return series.marks(time, np.cumsum(counts), time)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=2000))
def test_marks_count_all_that_happened(counts: list[int]) -> None:
    found = of(counts)
    assert found.number.sum() == sum(counts[1:])
    assert len(found.time) <= series.MOST_MARKS
    assert all(np.diff(found.time) > 0)
    if sum(count > 0 for count in counts[1:]) <= series.MOST_MARKS:
        assert found.time.tolist() == [k for k in range(1, len(counts)) if counts[k]]
        assert found.number.tolist() == [count for count in counts[1:] if count]


def test_rates_add_up_to_what_came_and_follow_the_round_trip(result: xr.Dataset) -> None:
    step = float(result["time"][1])
    for k in range(result.sizes["flow"]):
        x, y = series.rates(result, k)
        assert np.all(np.diff(x) > 0)
        assert len(x) <= series.MOST_RATES
        lengths: list[float] = []
        for middle in x:  # a time ends where the next one begins
            lengths.append(2 * (middle - sum(lengths)))
        came = float(result["rate"].values[:, k].sum()) * step
        assert np.array(lengths) @ y == pytest.approx(came, rel=0.05)  # but for the time that is not over at the end
    first = series.rates(result, 0)
    srtt = result["srtt"].values[:, 0]
    late = first[0] > 20
    assert np.diff(first[0])[late[1:]] == pytest.approx(
        np.interp(first[0][1:][late[1:]], result["time"], srtt), rel=0.2
    )


def test_the_doubling_of_slow_start_is_seen() -> None:
    alone = btflow.simulate_link(
        rate="100 Mbit/s", rtt="100 ms", buffer="2000 packets", flows=["reno-linux"], duration="5 s", warmup="0 s"
    )
    x, y = series.rates(alone, 0)
    doubling = y[(x > 0.25) & (x < 0.65)]
    assert np.all(doubling[1:] / doubling[:-1] == pytest.approx(2.0, rel=0.25))


def test_a_window_falls_once_while_losses_are_repaired(result: xr.Dataset) -> None:
    """No hairlines: from the loss to the end of the recovery the window is what it comes to."""
    drawn, phase = series.windows(result), result["phase"].values
    for k, cc in enumerate(result["cc"].values):
        repairs = phase[:, k] == sampling.RECOVERY
        same = repairs[1:] & repairs[:-1] & (np.diff(result["falls_so_far"].values[:, k]) == 0)
        if cc in ("cubic", "newreno"):
            assert same.sum() > 20
        assert np.all(np.diff(drawn[:, k])[same] == 0.0)
        np.testing.assert_array_equal(drawn[~repairs, k], result["window"].values[~repairs, k])
    assert np.any(np.diff(result["window"].values[:, 0])[phase[1:, 0] == sampling.RECOVERY] > 0)  # as it was sampled


def test_slow_start_ends_where_the_window_first_falls(result: xr.Dataset) -> None:
    newreno = list(result["cc"].values).index("newreno")
    window = series.windows(result)[:, newreno]
    marked = np.flatnonzero(np.isfinite(series.slow_start(result, newreno, window)))
    falls = np.flatnonzero(np.diff(result["falls_so_far"].values[:, newreno]) > 0)
    assert 0 < marked[0] < marked[-1] <= falls[0] + 1
