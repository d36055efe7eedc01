"""Voice: packets of the codecs, the E-model against published values and another implementation, jitter by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from btflow.errors import InputError
from btflow.link import voip

G711, G711_PLAIN, G729 = (voip.codec(name) for name in ("g711", "g711-no-plc", "g729"))
DELAYS = st.floats(0.01, 2.0)  # at 1 ms the talker echo of G.107 sets in with a step of 0.1 upwards
LOSSES = st.floats(0.0, 1.0)


def test_packets_are_those_of_the_standards() -> None:
    # 160 B and 20 B of speech each 20 ms, 40 B of headers: 80 and 24 kbit/s
    assert (G711.payload, G711.packet, G711.interval, 8 * G711.rate) == pytest.approx((160, 200, 0.02, 80e3))
    assert (G729.payload, G729.packet, G729.interval, 8 * G729.rate) == pytest.approx((20, 60, 0.02, 24e3))
    assert voip.codec("g729", 3).payload == 30
    assert voip.HEADERS == 40


def test_delay_before_a_packet_leaves() -> None:
    assert G711.sender_delay == pytest.approx(0.020)
    assert G729.sender_delay == pytest.approx(0.035)  # (N + 1) frames and the look-ahead, G.114
    assert voip.codec("g729", 1).sender_delay == pytest.approx(0.025)
    assert voip.mouth_to_ear(G729, [0.1, 0.2]) == pytest.approx([0.135, 0.235])


def test_an_undisturbed_call() -> None:
    assert voip.rating(G711, 0.0) == pytest.approx(93.2, abs=0.05)  # G.107, clause 7.7
    assert voip.mos(G711, 0.0) == pytest.approx(4.41, abs=0.005)
    assert voip.rating(G729, 0.0) == pytest.approx(93.2 - 11, abs=0.05)


# The implementation of G.107 (06/2015) of github.com/manucorporat/e-model, commit e6b8411, run with these parameters:
# T = Ta and Tr = 2 Ta [ms], Ie, Bpl, loss [%], BurstR.
ELSEWHERE = [
    (20, 0, 25.1, 0, 1, 92.531343),
    (50, 0, 4.3, 0, 1, 91.756161),
    (100, 0, 25.1, 2, 1, 83.652660),
    (150, 0, 25.1, 1, 1, 85.899285),
    (250, 11, 19, 3, 1, 56.722555),
    (400, 0, 25.1, 0, 1, 62.246827),
    (400, 11, 19, 5, 2, 31.711943),
    (700, 0, 4.3, 1, 1.5, 26.515692),
]


@pytest.mark.parametrize(("ta", "ie", "bpl", "percent", "burst", "expected"), ELSEWHERE)
def test_rating_agrees_with_another_implementation(
    ta: float, ie: float, bpl: float, percent: float, burst: float, expected: float
) -> None:
    codec = G711._replace(ie=ie, bpl=bpl)
    assert voip.rating(codec, ta / 1e3, percent / 100, burst_ratio=burst) == pytest.approx(expected, abs=1e-6)


# Janssen, De Vleeschauwer, Petit and others, "Controlling voice quality in packet-based telephony", Telektronikk 2/3
# 2001, table 3: the delay [ms] at which R falls to 70, without echo and with an echo loss of 50 dB, that is TELR = 60.
# Theirs is the G.107 of 1998 to 2000, in which an undisturbed call has R = 94 instead of 93.2.
TOLERABLE = [(0, 400, 291), (5, 342, 256), (7, 322, 243), (10, 294, 223), (15, 251, 187)]


@pytest.mark.parametrize(("ie", "without_echo", "with_echo"), TOLERABLE)
def test_delays_that_leave_a_rating_of_70(ie: float, without_echo: float, with_echo: float) -> None:
    codec = G711._replace(ie=ie)
    assert voip.rating(codec, without_echo / 1e3, telr=math.inf) + 0.8 == pytest.approx(70, abs=1.3)
    assert voip.rating(codec, with_echo / 1e3, telr=60.0) + 0.8 == pytest.approx(70, abs=1.3)


@pytest.mark.parametrize("ms", [0, 50, 100, 150, 177, 200, 250, 300])
def test_delay_impairment_is_near_the_fit_of_cole_and_rosenbluth(ms: float) -> None:
    # "Voice over IP performance monitoring", ACM CCR 31(2), 2001: Id = 0.024 d + 0.11 (d - 177.3)+, good to 400 ms
    fit = 0.024 * ms + 0.11 * max(0.0, ms - 177.3)
    assert voip.rating(G711, 0.0) - voip.rating(G711, ms / 1e3) == pytest.approx(fit, abs=1.0)


def test_loss_by_hand() -> None:
    # Ie,eff = 11 + 84 * 2 / (2 + 19) = 19; with bursts twice as long 11 + 84 * 2 / (1 + 19) = 19.4
    clean = voip.rating(G711, 0.1)
    assert clean - voip.rating(G729, 0.1, 0.02) == pytest.approx(19)
    assert clean - voip.rating(G729, 0.1, 0.02, burst_ratio=2) == pytest.approx(19.4)
    assert clean - voip.rating(G711_PLAIN, 0.1, 0.01) == pytest.approx(95 / 5.3)
    assert clean - voip.rating(G711, 0.1, 0.01) == pytest.approx(95 / 26.1)


def test_a_rating_by_hand() -> None:
    # docs/speech.md: Ro 94.769, Is 1.414, Id 3.571 + 0.935 + 3.044, Ie,eff 19
    assert voip.rating(G729, 0.2, 0.02) == pytest.approx(66.805, abs=0.001)
    assert voip.mos(G729, 0.2, 0.02) == pytest.approx(3.444, abs=0.001)
    assert voip.rating(G729, 0.2, 0.02, telr=math.inf) == pytest.approx(66.805 + 3.571, abs=0.001)
    assert voip.rating(G729, 0.1) == pytest.approx(94.769 - 1.414 - 1.964 - 0.728 - 11, abs=0.002)  # no Idd yet


@pytest.mark.parametrize(("r", "mos"), [(-5, 1.0), (0, 1.0), (3, 1.0), (50, 2.575), (60, 3.1), (80, 4.024), (100, 4.5)])
def test_score_by_hand(r: float, mos: float) -> None:
    # G.107, annex B: R = 90, 80, 70, 60, 50 are MOS 4.34, 4.03 (4.02), 3.60, 3.10, 2.58
    assert voip.score(r) == pytest.approx(mos)


def test_scores_of_the_table_of_annex_b() -> None:
    assert voip.score([90, 80, 70, 60, 50]) == pytest.approx([4.34, 4.03, 3.60, 3.10, 2.58], abs=0.0075)


@given(st.sampled_from([G711, G711_PLAIN, G729]), DELAYS, DELAYS, LOSSES, LOSSES)
def test_more_delay_and_more_loss_never_sound_better(
    codec: voip.Codec, delay: float, more_delay: float, loss: float, more_loss: float
) -> None:
    base = voip.mos(codec, min(delay, more_delay), min(loss, more_loss))
    assert 1.0 <= voip.mos(codec, max(delay, more_delay), max(loss, more_loss)) <= base + 1e-9
    assert base <= 4.5


@given(st.floats(0.01, 1.0), st.floats(0.0, 0.5))
def test_echo_does_not_help(delay: float, loss: float) -> None:
    # below 10 ms G.107's curve lets the rating rise by some 0.01
    assert voip.rating(G711, delay, loss) <= voip.rating(G711, delay, loss, telr=math.inf)


def test_a_steady_delay_is_played_without_loss() -> None:
    found = voip.playout(G729, np.full(1000, 0.05))
    assert found == pytest.approx((0.05, 0.085, 0.0, voip.rating(G729, 0.085), voip.mos(G729, 0.085)))


def test_few_stragglers_are_left_behind() -> None:
    delays = np.full(1000, 0.05)
    delays[::100] = 1.0
    assert voip.playout(G711, delays)[:3] == pytest.approx((0.05, 0.07, 0.01))
    # of G.711 without concealment a call of 1 s delay still is better than one with 30 % lost
    delays = np.where(np.arange(1000) % 10 < 3, 0.15, 0.05)
    assert voip.playout(G711_PLAIN, delays)[:3] == pytest.approx((0.15, 0.17, 0.0))


def test_what_the_network_lost_stays_lost() -> None:
    delays = np.full(100, 0.03)
    delays[:7] = np.nan
    assert voip.playout(G711, delays).loss == pytest.approx(0.07)
    assert voip.playout(G711, np.full(10, np.nan)) == (math.inf, math.inf, 1.0, 0.0, 1.0)


def test_a_quantile_leaves_the_rest_behind() -> None:
    delays = np.arange(1, 101) / 1000
    assert voip.playout(G711, delays, quantile=0.95)[:3] == pytest.approx((0.095, 0.115, 0.05))
    assert voip.playout(G711, delays, quantile=1.0)[:3] == pytest.approx((0.1, 0.12, 0.0))


@given(
    st.lists(st.floats(0.0, 0.6) | st.just(math.nan), min_size=1, max_size=60),
    st.floats(0.5, 1.0),
    st.sampled_from([G711, G711_PLAIN, G729]),
)
def test_no_quantile_beats_the_best_playout(delays: list[float], quantile: float, codec: voip.Codec) -> None:
    best, fixed = voip.playout(codec, delays), voip.playout(codec, delays, quantile=quantile)
    assert best.rating >= fixed.rating - 1e-9
    assert best.mos >= fixed.mos - 1e-9
    lost = np.count_nonzero(np.isnan(delays)) / len(delays)
    assert lost - 1e-12 <= best.loss <= 1.0


def test_jitter_by_hand() -> None:
    # D = 16, 16, 0 ms: J = 1, 1 + 15/16, 1.9375 * 15/16
    expected = [1.0, 1.9375, 1.81640625]
    found = voip.jitter([0.020, 0.036, 0.020, 0.020])
    assert found == pytest.approx((np.mean(expected) / 1e3, expected[-1] / 1e3))
    assert voip.jitter([5.020, np.nan, 5.036, 5.020, 5.020]) == pytest.approx(found)
    assert voip.jitter([0.1]) == voip.jitter([]) == (0.0, 0.0)


def test_jitter_settles_at_the_mean_difference() -> None:
    found = voip.jitter(np.tile([0.0, 0.004], 5000))
    assert found.final == pytest.approx(0.004)
    assert found.mean == pytest.approx(0.004, rel=0.01)


@given(st.lists(st.floats(0.0, 10.0), min_size=2, max_size=40), st.floats(-100.0, 100.0))
def test_jitter_ignores_the_clocks_offset(transit: list[float], offset: float) -> None:
    assert voip.jitter(np.array(transit) + offset) == pytest.approx(voip.jitter(transit), abs=1e-9)


def test_figures_of_a_call() -> None:
    delays = np.append(np.arange(1, 101) / 1000, [np.nan] * 25)
    found = voip.call(G711, delays)
    assert (found.delay_mean, found.delay_p50, found.delay_p95) == pytest.approx((0.0505, 0.0505, 0.09505))
    assert found.loss == pytest.approx(0.2)
    assert found.jitter == voip.jitter(delays).mean
    assert found.playout == voip.playout(G711, delays)
    silent = voip.call(G711, [np.nan])
    assert math.isnan(silent.delay_mean)
    assert (silent.loss, silent.jitter, silent.playout.mos) == (1.0, 0.0, 1.0)


BAD: list[tuple[str, Callable[[], object]]] = [
    ("codec", lambda: voip.codec("g722")),
    ("frames", lambda: voip.codec("g729", 0)),
    ("delay", lambda: voip.mos(G711, -0.1)),
    ("delay", lambda: voip.mos(G711, math.inf)),
    ("loss", lambda: voip.mos(G711, 0.1, 1.1)),
    ("burst_ratio", lambda: voip.mos(G711, 0.1, 0.1, 0.0)),
    ("telr", lambda: voip.rating(G711, 0.1, telr=0.0)),
    ("network_delay", lambda: voip.mouth_to_ear(G711, -0.1)),
    ("delays", lambda: voip.playout(G711, [-0.1])),
    ("number of packets", lambda: voip.playout(G711, [])),
    ("quantile", lambda: voip.playout(G711, [0.1], quantile=0.0)),
    ("transit", lambda: voip.jitter(["a"])),
]


@pytest.mark.parametrize(("name", "call"), BAD, ids=[f"{name}-{i}" for i, (name, _) in enumerate(BAD)])
def test_errors_name_the_argument(name: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.field == name
