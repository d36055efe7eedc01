"""What holds for every link experiment: conservation, bounds, monotonicity, scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btflow.kernels.link import state as k
from btflow.link.options import scenario_from
from btflow.link.program import compile_link
from btflow.link.run import run_link, simulate_link

LOSS_DRIVEN = ("newreno", "reno-linux", "cubic", "cubic-2.6", "cubic-6")
DELAY_DRIVEN = ("vegas", "lp", "nice", "ledbat", "ledbat-25", "ledbat-linux", "utp-2010", "utp-2013", "ledbatpp", "bbr")
CONTROLS = (*LOSS_DRIVEN, *DELAY_DRIVEN)
DISCIPLINES = ("drop-tail", "codel", "fq-codel", "pie", "cake")


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    """Options of a short experiment with anything in it."""
    flows = [
        f"{draw(st.sampled_from(CONTROLS))}:{draw(st.integers(1, 3))}@{draw(st.sampled_from(['0s', '1s', '3s']))}"
        + draw(st.sampled_from(["", ",size=200 kB", ",rate=200 kbit/s", ",on=2 s,off=1 s", ",direction=down"]))
        for _ in range(draw(st.integers(1, 3)))
    ]
    options: dict[str, Any] = {
        "rate": f"{draw(st.integers(64, 4000))} kbit/s",
        "reverse_rate": f"{draw(st.integers(64, 4000))} kbit/s",
        "rtt": f"{draw(st.integers(1, 400))} ms",
        "buffer": f"{draw(st.integers(2, 150))} packets",
        "aqm": draw(st.sampled_from(DISCIPLINES)),
        "loss": draw(st.sampled_from(["0%", "1%", "10%"])),
        "ack_loss": draw(st.sampled_from(["0%", "5%"])),
        "flows": flows,
        "duration": "10 s",
        "warmup": "0 s",
    }
    if draw(st.booleans()):
        options["voip"] = ["g729:1"]
    if draw(st.booleans()):
        options["probes"] = ["100 B@0.3s"]
    return options


@given(experiments(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_nothing_is_lost_and_no_bound_is_passed(options: dict[str, Any], seed: int) -> None:
    scenario = scenario_from(**options)
    program = compile_link(scenario)
    s = run_link(program, seed)
    q = s.queue
    assert np.all(q.packets >= 0)
    assert np.all(s.queue_time.sum(axis=1) == pytest.approx(scenario.duration))
    lengths = np.array([np.flatnonzero(row).max(initial=0) for row in s.queue_time])
    assert np.all(lengths <= program.queue["limit_packets"])
    served = q.served / (q.rate * scenario.duration)
    assert np.all(served <= 1.0 + 1500.0 / (q.rate * scenario.duration))
    f = s.flow
    sent = f.sent[f.law != k.CBR]
    arrived = f.arrived[f.law != k.CBR]
    assert np.all(arrived <= sent - f.resent[f.law != k.CBR])
    assert np.all(f.nxt - f.una >= 0)
    assert np.all((f.nxt - f.una) * f.train <= np.maximum(f.max_window, 1))
    assert np.all(f.flight >= 0)
    assert np.all(f.waiting_retransmit >= 0)
    assert np.all(f.una <= f.expected)
    assert np.all(f.expected <= f.nxt)


@given(st.sampled_from(CONTROLS), st.integers(0, 100))
@settings(max_examples=20)
def test_what_came_is_what_was_sent_less_what_was_dropped_or_is_under_way(cc: str, seed: int) -> None:
    program = compile_link(
        scenario_from(
            rate="1 Mbit/s", rtt="40 ms", buffer="15 packets", flows=[f"{cc}:2"], duration="20 s", warmup="0 s"
        )
    )
    s = run_link(program, seed)
    data = s.pipe.count
    under_way = sum(int(data[i * int(k.PIPES) + int(k.DATA) + hop]) for i in range(2) for hop in range(3))
    came = int(s.flow.log.sum())
    assert int(s.flow.sent.sum()) == came + under_way + int(s.queue.drops[0])


@given(st.sampled_from(LOSS_DRIVEN), st.integers(1, 3), st.integers(200, 3000))
@settings(max_examples=15)
def test_goodput_grows_with_capacity(cc: str, n: int, kbit: int) -> None:
    def goodput(rate: int) -> float:
        result = simulate_link(
            rate=f"{rate} kbit/s",
            rtt="30 ms",
            buffer="1 BDP" if rate > 1000 else "30 packets",
            flows=[f"{cc}:{n}"],
            duration="60 s",
            warmup="20 s",
        )
        return float(result.goodput.sum())

    assert goodput(2 * kbit) > goodput(kbit)
