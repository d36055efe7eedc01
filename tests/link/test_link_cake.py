"""CAKE on a whole link: its constants by the rate, a call beside uploads, and hosts that get the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import btflow
from btflow.kernels.link import state as k
from btflow.link.options import scenario_from
from btflow.link.program import compile_link
from btflow.link.state import build, complete

PACKET = 1514.0  # Linux's MTU of Ethernet, its header included


@pytest.mark.parametrize(
    ("mbit", "quantum", "target", "interval"),
    [
        # tc-cake(8): what tc prints of the three tins at 100 Mbit/s
        (6.25, 300, 0.005, 0.1),
        (25, 762, 0.005, 0.1),
        (100, 1514, 0.005, 0.1),
        # cake_set_rate: one and a half packets take 18 ms, and 182 ms, of which the interval is twice as much
        (1, 300, 0.018168, 0.113168),
        (0.1, 300, 0.18168, 0.36336),
    ],
)
def test_cakes_constants_follow_the_rate(mbit: float, quantum: float, target: float, interval: float) -> None:
    queue = np.zeros(2, k.QUEUE)
    queue["kind"], queue["rate"], queue["target"], queue["interval"] = (k.CAKE, k.FQ_CODEL), mbit * 125e3, 0.005, 0.1
    complete(queue, PACKET)
    cake, other = queue
    assert (cake["quantum"], other["quantum"], other["target"], other["interval"]) == (quantum, 0.0, 0.005, 0.1)
    assert (cake["target"], cake["interval"]) == pytest.approx((target, interval), rel=1e-9)


def test_each_host_is_counted_once_in_each_queue() -> None:
    flows = ["cubic:2,host=pc", "cubic,host=tv", "cubic,host=pc,direction=down"]
    s = build(compile_link(scenario_from(flows=flows, aqm="cake", duration="1 s")), 1)
    pipes, up, down = int(k.PIPES), int(k.DATA) + 1, int(k.ACKS) + 1
    lines = [i * pipes + way for way in (up, down) for i in range(4)]  # data and ACKs of the four
    mine, others = 0, 2 * pipes  # the pc's are counted at its first flow, the tv's at its own
    assert s.subqueue.host[lines].tolist() == [
        mine + up, mine + up, others + up, mine + down,  # the download's data comes down, where ACKs of the others do
        mine + down, mine + down, others + down, mine + up,
    ]  # fmt: skip


def test_a_call_beside_ten_uploads_hardly_waits() -> None:
    """Its packets come before those of flows that have more to send; FQ-CoDel's turns are five times as long."""
    link: dict[str, Any] = {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "200 packets", "duration": "60 s", "seed": 1}
    runs = {
        aqm: btflow.simulate_link(aqm=aqm, flows=["cubic:10"], voip=["g729"], **link)
        for aqm in ("drop-tail", "fq-codel", "cake")
    }
    wait = {aqm: float(run.voip_delay_mean[0]) - 0.025 for aqm, run in runs.items()}  # over half of the round trip
    assert wait["cake"] < 0.012 < 3 * wait["cake"] < wait["fq-codel"] < 0.1 < 1.0 < wait["drop-tail"]
    assert float(runs["cake"].voip_mos[0]) > 4.0
    assert float(runs["cake"].utilisation[0]) > 0.99


@pytest.mark.parametrize(("aqm", "isolation", "least", "most"), [
    ("cake", "triple-isolate", 0.35, 0.5), ("cake", "flows", 0.08, 0.1), ("fq-codel", None, 0.08, 0.1),
])  # fmt: skip
def test_a_host_with_one_upload_has_as_much_as_one_with_ten(
    aqm: str, isolation: str | None, least: float, most: float
) -> None:
    flows = ["newreno:10,host=pc", "newreno,host=tv"]
    link: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "50 ms", "buffer": "500 packets", "duration": "60 s"}
    scenario = scenario_from(flows=flows, aqm=aqm, **link)
    if isolation is not None:
        scenario = scenario.set(**{"access.home.uplink.isolation": isolation})
    run = btflow.simulate_link(scenario, seed=1)
    assert least < float(run.goodput[-1] / run.goodput.sum()) < most
    mine = run.goodput[:10]
    assert float(mine.max() / mine.min()) < 1.1
