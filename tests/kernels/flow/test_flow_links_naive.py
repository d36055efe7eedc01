"""The parts of the kernels of access links at flow fidelity, and a whole sender, against brute force."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import access_made as made
import naive_flow_links as naive
import numpy as np
import plain
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from btflow.kernels.flow.state import LINK, PULL
from btflow.kernels.swarm.state import FOREVER, MESSAGES, PREFER_TCP
from btflow.swarm.program import compile_scenario
from btflow.swarm.run import run_swarm

links, queues = plain.flow.links, plain.flow.queues


# -- the queue --------------------------------------------------------------------------------------------------------


@given(st.floats(-2.0, 3.0), st.floats(0.01, 1.0), st.floats(0.01, 2.0))
def test_a_normal_queue_that_is_cut_off_has_the_mean_of_its_slices(mean: float, spread: float, room: float) -> None:
    expected = naive.mean_of_clipped(mean, spread, room, 400)
    assert queues.clipped_mean(mean, spread, room) == pytest.approx(expected, abs=1e-4 * room + 1e-6 * abs(mean))


QUEUES = st.fixed_dictionaries(
    {
        "rate": st.sampled_from([16e3, 125e3, 2.5e6]),  # [B/s]
        "room": st.floats(0.02, 2.0),  # [s]
        "start": st.floats(0.0, 1.0),  # of the buffer
        "load": st.floats(0.0, 3.0),  # of the link, at the start
        "trip": st.floats(0.02, 0.5),  # [s]
        "away": st.floats(1.0, 100.0),  # full packets
        "dt": st.floats(0.01, 0.3),  # [s]
    }
)


def stepped(q: dict[str, float], n: int) -> float:
    """Return the mean of the queue after `n` of the kernel's steps in `dt`: a window over a round trip comes."""
    link = np.zeros(1, LINK).view(np.recarray)[0]
    link.per_byte = 1.0 / q["rate"]
    link.queue = q["start"] * q["room"]
    first = q["trip"] + link.queue
    for _ in range(n):
        trip = q["trip"] + max(link.queue, 0.0)
        came = q["load"] * q["rate"] * first / trip
        queues.step(link, came, came / trip, q["away"] * naive.PACKET**2, q["dt"] / n, q["room"])
    return float(link.queue)


@settings(max_examples=60, deadline=None)
@given(QUEUES)
def test_a_step_of_a_queue_is_a_thousand_small_ones(q: dict[str, float]) -> None:
    """A step of h is off by no more than h^2 S |q'|, S the greatest slope of q': both go the same way, none further.

    So are n steps of h / n, by an n-th of it.
    """
    spread = naive.scatter(q["away"] * naive.PACKET**2, q["rate"], q["room"])
    start = q["start"] * q["room"]
    first = q["trip"] + start

    def load(mean: float) -> float:
        return q["load"] * first / (q["trip"] + max(mean, 0.0))

    expected, steepest = naive.queue_after(start, spread, q["room"], q["dt"], load)
    fastest = max(load(start), 1.0)
    for n in (1, 10, 100):
        within = fastest * q["dt"] ** 2 * steepest * (1.0 / n + 1e-3)
        assert stepped(q, n) == pytest.approx(expected, abs=within + 1e-6)


# -- the rates --------------------------------------------------------------------------------------------------------

LANES = st.lists(st.tuples(st.floats(1.0, 40.0), st.floats(0.02, 1.0)), min_size=1, max_size=6)
"""Windows [segments] and round trips but for the uplink's queue [s]."""
MSS, HEADER = 1448.0, 52.0
"""Of a segment [B]."""
BLOCK, MESSAGE = 16384, 13
"""A block and the header of its message [B]."""


def sender(lanes: list[tuple[float, float]], rate: float, cap: float, waits: float) -> Any:
    """Return a peer whose lanes send to as many others, its uplink's queue being of so many seconds."""
    links = [SimpleNamespace(**dict.fromkeys(LINK.names or (), 0.0)) for _ in range(len(lanes) + 1)]
    link = SimpleNamespace(**dict.fromkeys(LINK.names or (), 0.0))
    link.per_byte, link.seen, link.queue, link.spread, link.step = 1.0 / rate, waits, waits, 0.01 * waits, 0.1
    pulls = [
        SimpleNamespace(
            **dict.fromkeys(PULL.names or (), 0.0)
            | {"window": window, "base": base, "most": FOREVER, "mss": MSS, "per_mss": 1.0 / MSS}
            | {"bytes": MSS + HEADER, "to": k + 1, "hole": FOREVER, "hole_before": FOREVER, "rest": BLOCK},
        )
        for k, (window, base) in enumerate(lanes)
    ]
    peer = SimpleNamespace(upload_limit=cap, top=len(lanes), klass=0)
    plain = SimpleNamespace(limit_counts=MESSAGES, mixed_mode=PREFER_TCP)
    net = SimpleNamespace(link=[link, *links], pull=pulls)
    rules, finish = SimpleNamespace(tallied=0), np.zeros(len(lanes))
    return SimpleNamespace(net=net, peer=[peer], client=[plain], lane_bits=3, finish=finish, rules=rules)


@given(LANES, st.floats(1e3, 1e6))
def test_an_upload_limit_is_shared_by_progressive_filling(lanes: list[tuple[float, float]], cap: float) -> None:
    s = sender(lanes, 1e9, cap, 0.0)
    links.share(s, 0, 0.0)
    wants = [MSS * window / base for window, base in lanes]
    assert [pull.sent for pull in s.net.pull] == pytest.approx(naive.filled(wants, cap), rel=1e-6)


@given(LANES, st.floats(16e3, 2.5e6), st.floats(0.001, 2.0))
def test_a_busy_uplink_is_shared_by_windows_over_round_trips(
    lanes: list[tuple[float, float]], rate: float, waits: float
) -> None:
    """What leaves a queue that is never empty is what the link takes, or less if no more than that can be in it."""
    s = sender(lanes, rate, math.inf, waits)
    links.share(s, 0, 0.0)
    offers = np.array([window / (base + waits) for window, base in lanes])
    sent = np.array([pull.sent for pull in s.net.pull])
    assert sent / sent.sum() == pytest.approx(offers / offers.sum(), rel=1e-9)
    most = sum(window / base for window, base in lanes) * (MSS + HEADER)
    assert sent.sum() * (MSS + HEADER) / MSS == pytest.approx(min(rate, most), rel=1e-6)


# -- a whole sender ---------------------------------------------------------------------------------------------------


def control(window: int) -> dict[str, Any]:
    """Return a congestion control whose window is always so many segments."""
    return {"base": "newreno", "initial_window": window, "max_window": f"{window * int(MSS)} B"}


SENDERS = {
    "a long queue": ((12, 24), "2 Mbit/s", "20 Mbit/s"),
    "a short queue": ((8, 16), "2 Mbit/s", "20 Mbit/s"),
    "no queue": ((6, 10), "20 Mbit/s", "20 Mbit/s"),
    "queues at the downlinks": ((20, 30), "20 Mbit/s", "1 Mbit/s"),
}
"""Windows by TCP and uTP, rates of the seed's uplink and of the leechers' downlinks."""
PIECES = 480
"""Of one block each."""


def pace(times: NDArray[np.float64]) -> float:
    """Return the blocks a second that come to a leecher after a sixth of the file and before any other is done."""
    first, last = PIECES // 6, PIECES // 3
    return float((last - first) / (times[last - 1] - times[first - 1]))


@pytest.mark.parametrize("case", SENDERS)
def test_a_sender_with_fixed_windows_brings_what_brute_force_does(case: str) -> None:
    """One seed serves three leechers, two by TCP and one by uTP; none of them uploads to another."""
    windows, rate, downlink = SENDERS[case]
    access = {"uplink": made.way("20 Mbit/s", "200 packets"), "downlink": made.way(downlink, "1000 packets")}
    leecher = {"upload_limit": "1 B/s", "access": access, "utp": "newreno", "accepts": ["tcp", "utp"]}
    seed = {
        **{way: control(window) for way, window in zip(("tcp", "utp"), windows, strict=True)},
        "opens": ["tcp"],
        "accepts": ["tcp", "utp"],
        "access": {"uplink": made.way(rate, "1000 packets"), "downlink": made.way("20 Mbit/s")},
    }
    kinds = (made.leechers(2, opens=["tcp"], **leecher), made.leechers(1, opens=["utp"], **leecher))
    paths = {"rtt": "60 ms", "delay_min": "1 ms", "delay_max": "30 ms"}
    swarm = made.scenario(
        *kinds, seed=seed, swarm={"file_size": f"{PIECES * 16} KiB", "piece_size": "16 KiB"}, paths=paths
    )
    s = run_swarm(compile_scenario(swarm, "flow"), 1, 0)
    found = [pace(np.sort(s.have_time[y])) for y in (1, 2, 3)]
    link, packet = s.net.link, MSS + HEADER
    lanes = [
        naive.Lane(
            window * packet,
            2.0 * (link.delay[0] + link.delay[y]) + packet * (link.per_byte[0] + link.per_byte_down[y]) + 52 * 4e-7,
            1.0 / link.per_byte_down[y],
        )
        for y, window in zip((1, 2, 3), (windows[0], windows[0], windows[1]), strict=True)
    ]
    came = naive.delivered(lanes, 1.0 / link.per_byte[0], 20.0)
    expected = [(one[-1] - one[5000]) / 15.0 * MSS / packet / (BLOCK + MESSAGE) for one in came]
    assert found == pytest.approx(expected, rel=0.01)
