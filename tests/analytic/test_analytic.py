"""Closed forms against published tables, textbook examples and calculations done by hand here."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import solve_ivp

from btflow import analytic
from btflow.analytic.tcp import mean_window, slow_start_segments, timeout_length, timeout_probability
from btflow.errors import InputError

KB = 1000.0


def first_rto(rtt: float) -> float:
    """Return 200 ms more than the round-trip time, or half as much again if that is longer [s]."""
    return max(0.2 + rtt, 1.5 * rtt)


# Full and approximate model in kB/s, MSS 1460 B, two segments per ACK, T0 as above; worked out apart from this code.
PFTK = [
    (0.001, 0.02, 1935, 1951),
    (0.001, 0.1, 394, 397),
    (0.001, 0.4, 99, 100),
    (0.01, 0.02, 499, 506),
    (0.01, 0.1, 116, 118),
    (0.01, 0.4, 30, 31),
    (0.02, 0.02, 296, 298),
    (0.02, 0.1, 77, 79),
    (0.02, 0.4, 20, 21),
    (0.05, 0.02, 129, 121),
    (0.05, 0.1, 42, 41),
    (0.05, 0.4, 12, 12),
]


@pytest.mark.parametrize(("loss", "rtt", "full", "approximate"), PFTK)
def test_pftk_gives_the_worked_values(loss: float, rtt: float, full: float, approximate: float) -> None:
    # printed to the kB/s, so within 0.5 and the last digit of rounding
    assert analytic.pftk_full(loss, rtt, first_rto(rtt)) / KB == pytest.approx(full, abs=0.6)
    assert analytic.pftk_approx(loss, rtt, first_rto(rtt)) / KB == pytest.approx(approximate, abs=0.6)


def test_pftk_full_by_hand() -> None:
    # p = 0.02, b = 1: E[W] = 1 + sqrt(8 * 0.98 / 0.06 + 1) = 12.4746; three = 0.98^3 = 0.941192
    # Q = (1 - three)(1 + three (1 - 0.98^9.4746)) / (1 - 0.98^12.4746) = 0.058808 * 1.163958 / 0.222774 = 0.30727
    # G = 1 + 0.02 + 2 * 0.0004 + 4 * 8e-6 + ... = 1.020833; Q / 0.98 = 0.31354
    # (49 + 12.4746 + 0.31354) / (0.1 * 7.2373 + 0.31354 * 1.020833) = 59.19 segments/s
    p = np.asarray(0.02)
    assert mean_window(p, 1) == pytest.approx(12.4746, abs=1e-4)
    assert timeout_probability(p, mean_window(p, 1)) == pytest.approx(0.3073, abs=1e-4)
    assert timeout_length(p) == pytest.approx(1.020833, abs=1e-6)
    assert analytic.pftk_full(0.02, 0.1, 1.0, mss=1000, acked=1) == pytest.approx(1000 * 59.19, rel=1e-3)


def test_a_receiver_window_caps_pftk() -> None:
    assert analytic.pftk_approx(1e-6, 0.1, 0.3, window_max=10) == pytest.approx(10 * 1460 / 0.1)
    assert analytic.pftk_full(1e-6, 0.1, 0.3, window_max=10) == pytest.approx(10 * 1460 / 0.1, rel=1e-3)
    free = analytic.pftk_full(0.01, 0.1, 0.3)
    assert analytic.pftk_full(0.01, 0.1, 0.3, window_max=1000) == free
    assert analytic.pftk_full(0.01, 0.1, 0.3, window_max=6) < free


@given(st.floats(1e-5, 0.3), st.floats(0.005, 1.0))
def test_goodput_is_less_than_what_is_sent(loss: float, rtt: float) -> None:
    rto = first_rto(rtt)
    assert 0 < analytic.pftk_full(loss, rtt, rto, goodput=True) < analytic.pftk_full(loss, rtt, rto)


def test_pftk_tends_to_the_square_root_law_as_losses_get_rare() -> None:
    ratio = analytic.pftk_full(1e-8, 0.1, 0.3) / analytic.mathis(1e-8, 0.1)
    assert ratio == pytest.approx(1.0, rel=1e-3)


def test_mathis_by_hand() -> None:
    # 1460 B / 0.1 s * sqrt(3/2) / sqrt(0.01) = 14600 * 12.247; sqrt(2) less with delayed ACKs
    assert analytic.mathis(0.01, 0.1, acked=1) == pytest.approx(178_813, rel=1e-5)
    assert analytic.mathis(0.01, 0.1) == pytest.approx(178_813 / math.sqrt(2), rel=1e-5)


# RFC 8312, table 1: mean windows at an RTT of 0.1 s with C = 0.4, cut to whole segments.
@pytest.mark.parametrize(("loss", "window"), [(1e-2, 12), (1e-3, 38), (1e-4, 187), (1e-5, 1054), (1e-6, 5926)])
def test_cubic_gives_the_windows_of_rfc_8312(loss: float, window: float) -> None:
    assert analytic.cubic_response(loss, 0.1) * 0.1 / 1460 == pytest.approx(window, abs=1)


def test_cubic_is_reno_on_short_paths_and_above_it_on_long_ones() -> None:
    reno = 1.2 / math.sqrt(0.01) * 1460
    assert analytic.cubic_response(0.01, 0.02) == pytest.approx(reno / 0.02)
    # 1.0539 * (0.4 / 0.01)^0.75 = 16.8 segments
    assert analytic.cubic_response(0.01, 0.4) == pytest.approx(16.76 * 1460 / 0.4, rel=1e-3)


def test_ledbat_fills_the_queue_to_its_target() -> None:
    # 125 kB/s for 100 ms is 12.5 kB; with 50 ms of base RTT 18.75 kB under way, over five flows
    rest = analytic.ledbat_fixed_point(125e3, 0.05, flows=5)
    assert rest == pytest.approx((0.1, 12_500, 3_750))
    assert rest.window * 5 == pytest.approx(125e3 * (0.05 + rest.queueing_delay))
    assert analytic.ledbat_fixed_point(125e3, 0.05, target=0.025).queue == pytest.approx(3_125)


def test_cardwell_without_loss_is_slow_start() -> None:
    # 10 segments, windows 2, 3, 4.5...: log_1.5(10 * 0.5 / 2 + 1) = 3.0897 rounds of 0.1 s after one for the handshake
    found = analytic.cardwell(14_600, 0.0, 0.1, 0.3, initial_window=2)
    assert found == pytest.approx((0.1, 0.30897, 0, 0, 0), abs=1e-5)
    assert found.total == pytest.approx(0.40897, abs=1e-5)


def test_cardwell_with_a_receiver_window() -> None:
    # windows 2, then 4 for the rest: log_1.5(4 / 2) + 1 + (100 - (1.5 * 4 - 2) / 0.5) / 4 = 1.7095 + 1 + 23 rounds
    found = analytic.cardwell(146_000, 0.0, 0.1, 0.3, initial_window=2, window_max=4)
    assert found.slow_start == pytest.approx(2.57095, abs=1e-5)


def test_cardwell_by_hand_at_five_per_cent() -> None:
    # Handshake: each way 0.95 / 0.9 - 1 = 0.05556 lost SYNs of 3 s each.
    # 12 segments: E[d] = (1 - 0.95^12) * 19 + 1 = 9.7332; window 9.7332 / 3 + 3 / 1.5 = 5.2444
    # Q(5.2444) = 0.142625 (1 + 0.857375 * 0.108743) / 0.235858 = 0.661085; G = 1.0555555
    # recovery = 0.459640 (0.661085 * 1.0555555 * 0.6 / 0.95 + 0.338915 * 0.4) = 0.459640 * 0.576289
    found = analytic.cardwell(12 * 1460, 0.05, 0.4, 0.6)
    assert found.handshake == pytest.approx(0.4 + 3 * 2 * 0.0555556, abs=1e-6)
    assert found.slow_start == pytest.approx(0.4 * math.log(9.73315 / 6 + 1, 1.5), abs=1e-5)
    assert found.recovery == pytest.approx(0.264885, abs=2e-6)
    rate = analytic.pftk_full(0.05, 0.4, 0.6, goodput=True)
    assert found.congestion_avoidance == pytest.approx((12 - 9.73315) * 1460 / rate, abs=1e-5)


def test_cardwell_is_continuous_as_loss_goes() -> None:
    none, tiny = (analytic.cardwell(50_000, loss, 0.1, 0.3).total for loss in (0.0, 1e-9))
    assert tiny == pytest.approx(none, rel=1e-5)


@given(st.integers(1, 10_000), st.floats(1e-6, 0.4))
def test_slow_start_sends_at_least_one_segment_and_at_most_all(segments: int, loss: float) -> None:
    assert 1 <= slow_start_segments(segments, loss) <= segments


def test_kumar_ross_by_the_textbook() -> None:
    # 15 Gbit to 10 peers at 2 Mbit/s down and 0.3 up, server 30 up: max(500, 7500, 150e9 / 33e6 = 4545.45) s
    f, up, down = 15e9 / 8, np.full(10, 0.3e6 / 8), 2e6 / 8
    assert analytic.kumar_ross_bound(f, 30e6 / 8, up, down) == pytest.approx(7500)
    assert analytic.kumar_ross_bound(f, 30e6 / 8, up) == pytest.approx(4545.4545, abs=1e-3)
    assert analytic.kumar_ross_bound(f, 1e6 / 8, up) == pytest.approx(150e9 / 4e6)
    assert analytic.kumar_ross_bound(f, 1e6 / 8, np.full(10, 2e6 / 8)) == pytest.approx(15000)  # the seed's own time


def rounds_needed(leechers: int, pieces: int) -> int:
    """Return the fewest rounds in which each peer uploads one piece, found by trying (small cases only)."""
    goal = frozenset(range(pieces))
    states = {tuple([goal] + [frozenset[int]()] * leechers)}
    for rounds in range(1, 10):
        states = {after for state in states for after in _after_a_round(state)}
        if any(all(held == goal for held in state) for state in states):
            return rounds
    raise AssertionError


def _after_a_round(state: tuple[frozenset[int], ...]) -> set[tuple[frozenset[int], ...]]:
    """Return the states after each peer in turn sent a piece it held at the start, or none; receivers may take many."""
    found = {state}
    for held in state:
        found |= {
            tuple(peer | {piece} if i == to else peer for i, peer in enumerate(before))
            for before in found
            for piece in held
            for to in range(1, len(state))
            if piece not in before[to]
        }
    return {(one[0], *sorted(one[1:], key=sorted)) for one in found}


@pytest.mark.parametrize(("leechers", "pieces"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1)])
def test_mundinger_is_the_best_of_all_schedules(leechers: int, pieces: int) -> None:
    # a round takes F / (u M)
    bound = analytic.mundinger_bound(float(pieces), 1.0, leechers, pieces)
    assert bound == pytest.approx(rounds_needed(leechers, pieces))


@given(st.integers(1, 500), st.integers(1, 2000))
def test_mundinger_is_never_below_the_fluid_bound(leechers: int, pieces: int) -> None:
    fluid = analytic.kumar_ross_bound(1e6, 1e3, np.full(leechers, 1e3))
    assert analytic.mundinger_bound(1e6, 1e3, leechers, pieces) >= fluid * (1 - 1e-12)


@pytest.mark.parametrize(
    ("download", "departure", "abort"), [(2e5, 1e-3, 0.0), (2e5, 1e-3, 5e-4), (3e3, 2e-4, 1e-4), (2e5, math.inf, 0.0)]
)
def test_qiu_srikant_is_where_their_equations_settle(download: float, departure: float, abort: float) -> None:
    size, upload, arrivals, eta = 5e7, 2e4, 0.05, 0.9
    rest = analytic.qiu_srikant(size, upload, download, arrivals, departure, abort_rate=abort, effectiveness=eta)
    mu, c, gamma = upload / size, download / size, min(departure, 1.0)  # a second of seeding stands for none

    def change(_: float, state: np.ndarray) -> list[float]:
        x, y = state
        done = min(c * x, mu * (eta * x + y))
        return [arrivals - abort * x - done, done - gamma * y]

    end = solve_ivp(change, (0, 3e5), [1.0, 1.0], method="LSODA", rtol=1e-8, atol=1e-8).y[:, -1]
    assert rest.leechers == pytest.approx(end[0], rel=2e-3)
    assert rest.seeds == pytest.approx(end[1] if departure < 1 else 0.0, rel=2e-3)
    assert rest.leechers == pytest.approx(arrivals * rest.download_time)  # Little's law


def test_arrays_broadcast_and_numbers_stay_numbers() -> None:
    loss, rtt = np.array([0.01, 0.05]), np.array([[0.02], [0.4]])
    grid = analytic.pftk_full(loss, rtt, rtt + 0.2)
    assert isinstance(grid, np.ndarray)
    assert grid.shape == (2, 2)
    assert grid[1, 0] == pytest.approx(analytic.pftk_full(0.01, 0.4, 0.6), rel=1e-12)
    assert isinstance(analytic.mathis(0.01, 0.1), float)
    assert np.shape(analytic.cubic_response(loss, 0.1)) == (2,)
    assert np.shape(analytic.pftk_approx(loss, 0.1, 0.3)) == (2,)


BAD: list[tuple[str, Callable[[], object]]] = [
    ("loss", lambda: analytic.mathis(0.0, 0.1)),
    ("loss", lambda: analytic.mathis([0.1, 1.0], 0.1)),
    ("loss", lambda: analytic.mathis(math.nan, 0.1)),
    ("rtt", lambda: analytic.mathis(0.1, -1.0)),
    ("rtt", lambda: analytic.mathis(0.1, "100 ms")),
    ("acked", lambda: analytic.mathis(0.1, 0.1, acked=0)),
    ("mss", lambda: analytic.mathis(0.1, 0.1, mss=0)),
    ("rto", lambda: analytic.pftk_approx(0.1, 0.1, 0.0)),
    ("window_max", lambda: analytic.pftk_full(0.1, 0.1, 0.3, window_max=0)),
    ("beta", lambda: analytic.cubic_response(0.1, 0.1, beta=1.0)),
    ("c", lambda: analytic.cubic_response(0.1, 0.1, c=-1)),
    ("capacity", lambda: analytic.ledbat_fixed_point(math.inf, 0.1)),
    ("flows", lambda: analytic.ledbat_fixed_point(1e5, 0.1, flows=0)),
    ("loss", lambda: analytic.cardwell(1e4, 0.5, 0.1, 0.3)),
    ("ack_loss", lambda: analytic.cardwell(1e4, 0.1, 0.1, 0.3, ack_loss=-0.1)),
    ("size", lambda: analytic.cardwell(0, 0.1, 0.1, 0.3)),
    ("delayed_ack", lambda: analytic.cardwell(1, 0.1, 0.1, 0.3, delayed_ack=-1)),
    ("leecher_upload", lambda: analytic.kumar_ross_bound(1e6, 1e3, [-1.0])),
    ("leecher_download", lambda: analytic.kumar_ross_bound(1e6, 1e3, [1.0], 0.0)),
    ("number of leechers", lambda: analytic.kumar_ross_bound(1e6, 1e3, [])),
    ("leechers", lambda: analytic.mundinger_bound(1e6, 1e3, 0, 4)),
    ("pieces", lambda: analytic.mundinger_bound(1e6, 1e3, 2, 1.5)),  # type: ignore[arg-type]  # wrong on purpose
    ("effectiveness", lambda: analytic.qiu_srikant(1e6, 1e3, 1e4, 1.0, 1.0, effectiveness=1.1)),
    ("abort_rate", lambda: analytic.qiu_srikant(1e6, 1e3, 1e4, 1.0, 1.0, abort_rate=math.inf)),
]


@pytest.mark.parametrize(("name", "call"), BAD, ids=[f"{name}-{i}" for i, (name, _) in enumerate(BAD)])
def test_errors_name_the_argument(name: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=f"^{name} = .*allowed") as caught:
        call()
    assert isinstance(caught.value, InputError)
    assert caught.value.field == name
