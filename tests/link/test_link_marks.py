"""What is recorded of senders and queues over time: it adds up to the totals, and a phase is what the window shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import btflow
from btflow.kernels.link import sampling
from btflow.link import voip
from btflow.link.results import PHASES
from btflow.options import FIDELITIES, Fidelity

OPTIONS: dict[str, Any] = {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "30 packets", "duration": "40 s"}
FLOWS = ["cubic:2", "newreno", "ledbat:1@5s", "utp-2013", "bbr"]


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return btflow.simulate_link(flows=FLOWS, voip=["g711:1@4s,stop=30s"], warmup="0 s", **OPTIONS)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_counts_grow_to_the_totals(fidelity: Fidelity) -> None:
    laws = FLOWS if fidelity == "full" else ["cubic:2", "newreno"]
    found = btflow.simulate_link(flows=laws, warmup="0 s", fidelity=fidelity, **OPTIONS)
    for series, total in (("falls_so_far", "window_falls"), ("timeouts_so_far", "timeouts"), ("drops_so_far", "drops")):
        assert np.all(np.diff(found[series].values, axis=0) >= 0)
        np.testing.assert_array_equal(found[series].values[-1], found[total].values)
    assert found["drops"].sum() > 0
    assert int(found["flow_drops_so_far"][-1].sum()) == int(found["drops_so_far"][-1].sum()), "no ACK was dropped"


def test_counts_begin_before_the_warm_up(result: xr.Dataset) -> None:
    later = btflow.simulate_link(flows=FLOWS, voip=["g711:1@4s,stop=30s"], warmup="20 s", **OPTIONS)
    for name in ("phase", "falls_so_far", "timeouts_so_far", "flow_drops_so_far", "drops_so_far", "ssthresh", "window"):
        np.testing.assert_array_equal(later[name].values, result[name].values)
    half = int(np.searchsorted(result["time"].values, 20.0))
    np.testing.assert_allclose(later["drops"], result["drops_so_far"][-1] - result["drops_so_far"][half], atol=3)


def test_a_phase_has_a_name(result: xr.Dataset) -> None:
    phase = result["phase"]
    assert phase.attrs["flag_meanings"].split() == list(PHASES)
    assert (
        phase.attrs["flag_values"].tolist()
        == list(range(len(PHASES)))
        == [sampling.NO_PHASE, sampling.SLOW_START, sampling.AVOIDANCE, sampling.RECOVERY, sampling.TIMEOUT]
    )
    assert set(np.unique(phase)) == set(phase.attrs["flag_values"])


def test_windows_do_what_their_phases_say(result: xr.Dataset) -> None:
    window, threshold, phase = (result[name].values for name in ("window", "ssthresh", "phase"))
    voice = list(result["kind"].values).index("voip")
    assert set(phase[:, voice]) == {sampling.NO_PHASE}
    assert set(phase[result["time"].values < 5, list(result["flow"].values).index("ledbat")]) == {sampling.NO_PHASE}
    for k in np.flatnonzero(np.isin(result["cc"].values, ["cubic", "newreno"])):
        opens = (phase[:, k] == sampling.SLOW_START) & ~np.isnan(threshold[:, k])
        assert np.all(window[opens, k] < threshold[opens, k])
        steady = phase[:, k] == sampling.AVOIDANCE
        assert np.all(window[steady, k] >= threshold[steady, k] - 1e-9)
        assert phase[:, k].tolist().index(sampling.SLOW_START) <= 4


def test_a_call_over_time(result: xr.Dataset) -> None:
    delay, score = result["voip_delay"].values[:, 0], result["voip_mos_recent"].values[:, 0]
    time, judged = result["time"].values, result["voip_time"].values
    assert np.isnan(delay[time < 4]).all()
    assert np.isfinite(delay[time > 4.5]).all()
    assert np.nanmean(delay[time < 30]) == pytest.approx(float(result["voip_delay_mean"][0]), rel=0.03)
    assert np.isnan(score[(judged < 4) | (judged > 30.1)]).all()
    assert np.isfinite(score[(judged > 4.1) & (judged < 29.5)]).all()


@pytest.mark.parametrize("codec", ["g711", "g729"])
@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_recent_score_is_that_of_a_call_of_eight_seconds(codec: str, loss: float) -> None:
    random = np.random.default_rng(3)
    speech = voip.codec(codec)
    written = 2.0 + speech.interval * np.arange(2000)
    delays = 0.03 + np.abs(np.cumsum(random.normal(0.0, 0.01, 2000))) + random.exponential(0.01, 2000)
    delays[random.random(2000) < loss] = np.nan
    times = np.array([1.0, 2.01, 5.0, 12.0, 30.0, 41.9, 50.0])
    found = voip.recent_scores(speech, written, delays, times)
    assert np.isnan(found[[0, -1]]).all()
    for time, score in zip(times[1:-1], found[1:-1], strict=True):
        last = delays[written <= time][-round(voip.RECENT / speech.interval) :]
        assert score == pytest.approx(voip.playout(speech, last).mos, abs=0.05 if len(last) < 400 else 0.01)
