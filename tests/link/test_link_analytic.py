"""The closed forms of btflow.analytic against the kernels, where each is said to hold."""

from __future__ import annotations

import itertools
from typing import Any

import link_made as made
import numpy as np
import pytest
from link_made import MBIT, PACKET, PAYLOAD, control, flow

from btflow import analytic

TEN: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "100 ms"}


def under_loss(cc: str | made.Table, loss: float, rtt: int, duration: float = 3000.0) -> tuple[float, float]:
    """Goodput and rate of sending of one flow on a fast link with random loss [B/s]."""
    s = made.run(
        flow(cc), rate="200 Mbit/s", rtt=f"{rtt} ms", buffer="10000 packets", loss=loss, duration=f"{duration} s",
        warmup="100 s", sample="10 s",
    )  # fmt: skip
    f = s.flow[0]
    return float(f["goodput"]) / (duration - 100), float(f["sent"]) * PAYLOAD / (duration - 100)


RENO = [(control("newreno", ack_every=1), 1), (control("newreno"), 2)]


# -- random loss


@pytest.mark.parametrize("rtt", [50, 200, 400])
@pytest.mark.parametrize("loss", [0.001, 0.003, 0.01, 0.02])
@pytest.mark.parametrize(("cc", "acked"), RENO, ids=["every ACK", "delayed ACKs"])
def test_reno_under_random_loss(cc: made.Table, acked: int, loss: float, rtt: int) -> None:
    """Mathis up to 0.3 %, and below it by 3 % at most; PFTK with its timeouts over all of it."""
    found, sent = under_loss(cc, loss, rtt)
    square_root = float(analytic.mathis(loss, rtt / 1000, mss=PAYLOAD, acked=acked))
    assert found == pytest.approx(square_root, rel=0.1) if loss < 0.005 else 0.7 < found / square_root < 1.03
    rto = 0.2 + rtt / 1000
    assert sent == pytest.approx(float(analytic.pftk_full(loss, rtt / 1000, rto, mss=PAYLOAD, acked=acked)), rel=0.15)


@pytest.mark.parametrize(
    ("loss", "rtt"), [(0.0003, 200), (0.001, 200), (0.003, 400), (0.001, 50), (0.01, 50), (0.01, 200)]
)
def test_cubic_under_random_loss(loss: float, rtt: int) -> None:
    """In the cubic region and, at 50 ms, in the friendly one."""
    found, _ = under_loss("cubic", loss, rtt)
    assert 1.0 < found / float(analytic.cubic_response(loss, rtt / 1000, mss=PAYLOAD)) < 1.27


# -- sawtooths


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("cc", ["newreno", "reno-linux", "cubic"])
def test_a_flow_alone_draws_its_sawtooth(cc: str, ratio: float) -> None:
    rate, rtt = 10 * MBIT, 0.1 + PACKET / (10 * MBIT)
    buffer = round(ratio * rate * 0.1 / PACKET)
    data = made.results(cc, **TEN, buffer=f"{buffer} packets", duration="1500 s", warmup="200 s", sample="1 s")
    used, queue = float(data.utilisation[0]), float(data.queue_mean_packets[0])
    if cc == "cubic":
        expected = analytic.cubic_sawtooth(rate, rtt, buffer)
        assert expected.utilisation - 0.05 < used <= expected.utilisation + 0.005
        low = 0.75 if ratio >= 0.5 else 0.4
        assert low * expected.mean_queue < queue < expected.mean_queue
    else:
        expected = analytic.reno_sawtooth(rate, rtt, buffer, growth=0.5 if cc == "newreno" else 1.0)
        assert used == pytest.approx(expected.utilisation, abs=0.02)
        assert queue == pytest.approx(expected.mean_queue, rel=0.03, abs=0.6)


@pytest.mark.slow
def test_cubics_fast_convergence_acts_at_every_second_loss() -> None:
    """As the docstring of cubic_sawtooth says."""
    steps = made.Steps(made.program("cubic", **TEN, buffer="83 packets", duration="130 s", warmup="50 s"))
    f = steps.state.flow[0]
    seen, before, ratios = 0, 0.0, []
    while steps.step():
        if int(f["losses"]) > seen:
            seen = int(f["losses"])
            ratios.append(float(f["w_max"]) / before)
        before = float(f["cwnd"])
    assert len(ratios) > 10
    assert sorted({round(ratio, 3) for ratio in ratios}) == [0.85, 1.0]
    assert all({round(a, 3), round(b, 3)} == {0.85, 1.0} for a, b in itertools.pairwise(ratios))


# -- delay


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("mbit", "rtt"), [(2, 40), (10, 60)])
def test_vegas_holds_its_backlog(count: int, mbit: int, rtt: int) -> None:
    """If all know the base: here they are told, since those that start together measure it in each other's queue."""
    base = rtt / 1000 + PACKET / (mbit * MBIT)
    program = made.program(
        flow("vegas", count=count), rate=f"{mbit} Mbit/s", rtt=f"{rtt} ms", buffer="500 packets", duration="300 s",
        warmup="100 s",
    )  # fmt: skip
    steps = made.Steps(program)
    while steps.now < 5.0:
        steps.step()
    steps.state.flow["base_delay"][:] = base
    while steps.step(10_000):
        pass
    bounds = analytic.vegas_backlog(mbit * MBIT, base, flows=count)
    queue = float(steps.state.queue_time[0] @ np.arange(steps.state.queue_time.shape[1])) / 200
    assert bounds.low - 0.5 <= queue <= bounds.high + 0.5


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("mbit", [2, 10])
def test_ledbat_rests_at_its_fixed_point(count: int, mbit: int) -> None:
    """Flows that start together share one target, and the windows add up to the path and the queue."""
    flows = flow("ledbat", count=count)
    s = made.run(flows, rate=f"{mbit} Mbit/s", buffer="1000 packets", duration="500 s", warmup="300 s")
    expected = analytic.ledbat_fixed_point(mbit * MBIT, 0.05 + PACKET / (mbit * MBIT), flows=count)
    delay = float(s.queue["byte_seconds"][0] / s.queue["rate"][0]) / 200
    assert delay == pytest.approx(expected.queueing_delay, rel=0.03)
    assert float(s.flow["cwnd"].sum()) * PACKET == pytest.approx(count * expected.window, rel=0.03, abs=count * PACKET)
    np.testing.assert_allclose(s.flow["cwnd"] * PACKET, expected.window, rtol=0.2)
