"""Uploads at flow fidelity against the calculations by hand of docs/fidelity.md."""

from __future__ import annotations

import flow_made as made
import pytest

import btflow
from btflow.fidelity import FIDELITIES

CAP, TURN, BLOCK, LAST = 20480.0, 1380, 16397, 1217
"""Upload limit [B/s]; a turn, a block with its header, its last turn [B]."""


def test_two_lanes_share_the_cap() -> None:
    """Each lane gets half of the cap, the second half a turn behind; when one has all, the other gets the rest."""
    swarm = btflow.load("rao2010", leechers=2, file_size="256 kB", arrival_spread="0 s")
    times = sorted(btflow.simulate(swarm, seed=1, fidelity="flow")["completion_time"].values[0, 1:])
    work = 15 * BLOCK + 11 * TURN
    assert times == pytest.approx([10.0 + 2.0 * work / CAP, 10.0 + (2.0 * work + TURN / 2) / CAP])
    full = sorted(btflow.simulate(swarm, seed=1)["completion_time"].values[0, 1:])
    assert times == pytest.approx(full, abs=1.0001 * TURN / CAP)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_lone_lane_is_as_in_full(size: int) -> None:
    swarm = btflow.load("rao2010", leechers=1, file_size=f"{size} MB", arrival_spread="0 s")
    flow, full = (btflow.simulate(swarm, seed=1, fidelity=f)["completion_time"].values[0, 1] for f in FIDELITIES[::-1])
    assert flow == pytest.approx(10.0 + (64 * size * BLOCK - LAST) / CAP)
    assert flow == pytest.approx(full)


@pytest.mark.parametrize("rtt", [0.1, 0.4])
def test_three_half_round_trips_before_the_first_byte(rtt: float) -> None:
    swarm = btflow.load(
        "rao2010", leechers=1, file_size="1 MB", arrival_spread="0 s", rtt=f"{rtt} s", initial_window=30
    ).set(**{"transport.nagle": False})
    flow, full = (btflow.simulate(swarm, seed=1, fidelity=f)["completion_time"].values[0, 1] for f in FIDELITIES[::-1])
    assert flow == pytest.approx(10.0 + 1.5 * rtt + (64 * BLOCK - LAST) / CAP)
    assert flow == pytest.approx(full)


@pytest.mark.parametrize(
    ("size", "rtt", "end"),
    [("16 kB", "1 s", 13.5), ("16 kB", "400 ms", 11.4), ("32 kB", "400 ms", 12.1745), ("64 kB", "1500 ms", None)],
)
def test_a_fresh_connection_starts_slowly(size: str, rtt: str, end: float | None) -> None:
    """Three segments in its first round trip, six in the second."""
    swarm = btflow.load("rao2010", leechers=1, file_size=size, arrival_spread="0 s", rtt=rtt)
    swarm = swarm.set(**{"transport.nagle": False})
    flow, full = (btflow.simulate(swarm, seed=1, fidelity=f)["completion_time"].values[0, 1] for f in FIDELITIES[::-1])
    assert flow == pytest.approx(full, abs=1e-6)
    assert end is None or flow == pytest.approx(end, abs=1e-4)


@pytest.mark.parametrize(("start", "served"), [(1.0, 10.0), (1.7, 10.0), (1.8, 20.0), (4.0, 20.0)])
def test_a_fresh_connection_is_served_when_its_interest_is_known(start: float, served: float) -> None:
    """5.5 round trips of 1.5 s after its start: two to the tracker, three for handshakes and bitfield, interest."""
    swarm = made.scenario(
        1,
        swarm={"file_size": "16 kB"},
        transport={"initial_window": 30, "nagle": False},
        paths={"rtt": "1500 ms", "loss": 0.0},
        arrivals={"kind": "trace", "times": [f"{start} s"]},
    )
    flow, full = (btflow.simulate(swarm, seed=1, fidelity=f) for f in FIDELITIES[::-1])
    first = served + 1.5 * 1.5 + (BLOCK - LAST) / CAP
    for result in (flow, full):
        assert float(result["start_time"][0, 1] + result["completion_time"][0, 1]) == pytest.approx(first)


@pytest.mark.parametrize("settings", [{}, {"rtt": "400 ms"}, {"rtt": "400 ms", "loss": "5%"}, {"internet": "iplane"}])
def test_what_arrives_is_what_was_sent(settings: dict[str, str]) -> None:
    swarm = btflow.load("rao2010", leechers=30, file_size="2 MB", **settings)
    result = btflow.simulate(swarm, seed=1, fidelity="flow")
    leechers = result["role"].values == "leecher"
    received, twice = (result[name].values[0, leechers] for name in ("bytes_received", "duplicate_blocks"))
    assert received == pytest.approx(2 * 2**20 + 16384 * twice)
    under_way = result["bytes_sent"].values.sum() - received.sum()  # blocks that were being sent when all had ended
    assert 0 <= under_way <= 30 * 16384
