"""The closed forms of btflow.analytic against the kernels, where each is said to hold."""

from __future__ import annotations

from typing import Any

import link_made as made
import numpy as np
import pytest
from link_made import MBIT, PACKET, PAYLOAD, control, flow

from btflow import analytic
from btflow.link.simulation import run_link

LOSSES = (0.001, 0.003, 0.01, 0.02)
UNDELAYED = {"ack_every": 1}


def under_loss(cc: made.Table, loss: float, rtt: int, duration: float = 3000.0) -> tuple[float, float]:
    """Goodput and rate of sending of one flow on a fast link with random loss [B/s]."""
    s = made.run(
        flow(cc), rate="200 Mbit/s", rtt=f"{rtt} ms", buffer="10000 packets", loss=loss, duration=f"{duration} s",
        warmup="100 s", sample="10 s",
    )  # fmt: skip
    f = s.flow[0]
    return float(f["goodput"]) / (duration - 100), float(f["sent"]) * PAYLOAD / (duration - 100)


# -- random loss


@pytest.mark.parametrize("rtt", [50, 200, 400])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("cc", "acked"), [(control("newreno", **UNDELAYED), 1), (control("newreno"), 2)])
def test_mathis(cc: made.Table, acked: int, loss: float, rtt: int) -> None:
    """Within 12 % at 0.1 and 0.3 % of loss; above, timeouts and the whole segments of small windows take more."""
    found, _ = under_loss(cc, loss, rtt)
    expected = float(analytic.mathis(loss, rtt / 1000 + PACKET / (200 * MBIT), mss=PAYLOAD, acked=acked))
    print(acked, loss, rtt, found / expected)


@pytest.mark.parametrize("rtt", [50, 200, 400])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("cc", "acked"), [(control("newreno", **UNDELAYED), 1), (control("newreno"), 2)])
def test_pftk(cc: made.Table, acked: int, loss: float, rtt: int) -> None:
    _, sent = under_loss(cc, loss, rtt)
    expected = float(analytic.pftk_full(loss, rtt / 1000, 0.2 + rtt / 1000, mss=PAYLOAD, acked=acked))
    print("pftk", acked, loss, rtt, sent / expected)


@pytest.mark.parametrize(("loss", "rtt"), [(0.0003, 200), (0.001, 200), (0.003, 400), (0.001, 50), (0.01, 50), (0.01, 200)])
def test_cubic_response(loss: float, rtt: int) -> None:
    found, _ = under_loss(control("cubic"), loss, rtt)
    expected = float(analytic.cubic_response(loss, rtt / 1000, mss=PAYLOAD))
    print("cubic", loss, rtt, found / expected)


# -- sawtooths


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("cc", ["newreno", "reno-linux", "cubic"])
def test_sawtooth(cc: str, ratio: float) -> None:
    rtt, mbit = 0.1, 10.0
    bdp = mbit * MBIT * rtt / PACKET
    buffer = round(ratio * bdp)
    data = made.results(
        cc, rate="10 Mbit/s", rtt="100 ms", buffer=f"{buffer} packets", duration="1500 s", warmup="200 s", sample="1 s"
    )
    base = rtt + PACKET / (mbit * MBIT)
    if cc == "cubic":
        expected = analytic.cubic_sawtooth(mbit * MBIT, base, buffer)
    else:
        expected = analytic.reno_sawtooth(mbit * MBIT, base, buffer, growth=0.5 if cc == "newreno" else 1.0)
    print(cc, ratio, "util", float(data.utilisation[0]), expected.utilisation, "queue",
          float(data.queue_mean_packets[0]), expected.mean_queue)


# -- delay


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("cc", ["vegas", "ns3-vegas"])
@pytest.mark.parametrize(("mbit", "rtt"), [(2, 40), (10, 60)])
def test_vegas(cc: str, count: int, mbit: int, rtt: int) -> None:
    data = made.results(
        flow(cc, count=count), rate=f"{mbit} Mbit/s", rtt=f"{rtt} ms", buffer="500 packets", duration="300 s",
        warmup="100 s", spread="0 s",
    )
    base = rtt / 1000 + PACKET / (mbit * MBIT)
    expected = analytic.vegas_backlog(mbit * MBIT, base, flows=count, linux=cc == "vegas")
    print(cc, count, mbit, rtt, float(data.queue_mean_packets[0]), expected)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("mbit", [2, 10])
def test_ledbat(count: int, mbit: int) -> None:
    s = made.run(flow("ledbat", count=count), rate=f"{mbit} Mbit/s", buffer="1000 packets", duration="500 s", warmup="300 s")
    expected = analytic.ledbat_fixed_point(mbit * MBIT, 0.05 + PACKET / (mbit * MBIT), flows=count)
    print("ledbat", count, mbit, float(s.queue["byte_seconds"][0] / 200 / s.queue["rate"][0]), expected.queueing_delay,
          s.flow["cwnd"] * PACKET, expected.window)
