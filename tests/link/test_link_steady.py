"""The window laws in the engine: where they settle alone, whom they yield to, and who comes late."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

from btflow.link.run import simulate_link

CAPACITY = 125_000.0  # [B/s]


def link(*flows: str, **options: Any) -> xr.Dataset:
    """Run flows over 1 Mbit/s, 50 ms and 100 packets for two minutes, of which the second counts."""
    given = {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "100 packets", "duration": "120 s", "warmup": "60 s"}
    return simulate_link(flows=list(flows), **{**given, **options})


def delay(result: xr.Dataset) -> float:
    """Mean queueing delay of the uplink [s]."""
    return float(result["queue_mean_delay"][0])


@pytest.mark.parametrize("rate", ["500 kbit/s", "4 Mbit/s"])
@pytest.mark.parametrize("rtt", ["10 ms", "200 ms"])
@pytest.mark.parametrize("cc", ["ledbat", "ledbat-25", "ledbat-linux", "ns3-ledbat", "utp-2010", "utp-2013"])
def test_alone_the_queue_is_at_the_target(cc: str, rtt: str, rate: str) -> None:
    result, target = link(f"{cc}:1", rate=rate, rtt=rtt, buffer="1 s"), 0.025 if cc == "ledbat-25" else 0.1
    size = 1500.0 / (float(rate.split()[0]) * (125.0 if "kbit" in rate else 125_000.0))
    assert delay(result) == pytest.approx(target, rel=0.1, abs=1.5 * size)  # a packet more or less in service
    assert float(result["utilisation"][0]) > 0.93


@pytest.mark.parametrize("cc", ["ledbat", "utp-2013"])
def test_where_the_buffer_is_less_than_the_target_losses_drive(cc: str) -> None:
    result = link(f"{cc}:1", buffer="4 packets")
    assert int(result["window_falls"][0]) > 3
    assert delay(result) < 0.05
    assert float(result["utilisation"][0]) > 0.8


@pytest.mark.parametrize("cc", ["vegas", "ns3-vegas"])
def test_vegas_keeps_a_few_packets_queued(cc: str) -> None:
    result = link(f"{cc}:1", duration="60 s", warmup="20 s")
    assert 1.0 <= float(result["queue_mean_packets"][0]) <= 4.5
    assert float(result["utilisation"][0]) > 0.99


@pytest.mark.parametrize(
    "cc", ["vegas", "lp", "ns3-lp", "nice", "ledbat", "ledbat-25", "utp-2010", "utp-2013", "ledbat++"]
)
def test_they_yield_to_newreno(cc: str) -> None:
    result = link("newreno:1", f"{cc}:1")
    newreno, other = result["goodput"].to_numpy()
    assert other < 0.15 * (newreno + other)


def test_ledbatpp_drains_the_queue_for_a_tenth_of_the_time_at_most() -> None:
    result = link("ledbat++:1", sample="5 ms")
    late = result["queue_length"].to_numpy()[result["time"].to_numpy() > 60, 0]
    windows = result["window"].to_numpy()[result["time"].to_numpy() > 60, 0]
    assert windows.min() == 2.0
    assert 0.01 < np.mean(late == 0) < 0.15
    assert float(result["utilisation"][0]) > 0.9
    assert np.median(late) * 1500 / CAPACITY == pytest.approx(0.06, abs=0.018)


LATE = {"duration": "300 s", "warmup": "200 s", "buffer": "300 packets"}


@pytest.mark.parametrize("cc", ["ledbat", "utp-2010", "utp-2013"])
def test_the_latecomer_takes_over(cc: str) -> None:
    result = link(f"{cc}:1", f"{cc}:1@30s,name=late", **LATE)
    first, late = result["goodput"].to_numpy()
    assert late > 5 * first
    assert delay(result) == pytest.approx(0.2, rel=0.1)  # its own target above the other's


def test_the_latecomer_is_fair_once_the_queue_has_drained() -> None:
    pauses = "on=5 s,off=5 s"
    result = link(f"ledbat:1,{pauses}", f"ledbat:1@30s,name=late,{pauses}", **LATE)
    first, late = result["goodput"].to_numpy()
    assert 0.5 < late / first < 2.0


def test_slowdowns_spare_ledbatpp_the_latecomer() -> None:
    first, late = link("ledbat++:1", "ledbat++:1@30s,name=late", **LATE)["goodput"].to_numpy()
    assert 0.7 < late / first < 1.4


def test_utp_of_2013_ramps_no_faster_while_packets_are_small() -> None:
    """Growth is 3000 B per round trip with either: five segments of 300 B on the way less, or two of 1382 B."""
    fast = {"rate": "20 Mbit/s", "rtt": "200 ms", "duration": "4 s", "warmup": "0 s"}
    laws = (("utp-2010", 300), ("utp-2013", 1382))
    old, new = (link(f"{cc}:1", **fast)["window"].to_numpy()[-1, 0] * size for cc, size in laws)
    assert old == pytest.approx(3000 * 4 / 0.2, rel=0.25)
    assert new == pytest.approx(old, rel=0.25)
