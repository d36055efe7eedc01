"""What holds for every link experiment: conservation, bounds, monotonicity, scale."""

from __future__ import annotations

from typing import Any

import bounds
import link_made
import numpy as np
from hypothesis import given, reject, settings, strategies as st
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.kernels.link import sampling
from btflow.kernels.link.state import STEPS
from btflow.link.options import scenario_from
from btflow.link.program import compile_link
from btflow.link.run import run_link
from btflow.options import FIDELITIES, Fidelity
from btflow.sweeps.link_figures import Links

LOSS_DRIVEN = ("newreno", "reno-linux", "cubic", "cubic-2.6", "cubic-6")
DELAY_DRIVEN = ("vegas", "lp", "nice", "ledbat", "ledbat-25", "ledbat-linux", "utp-2010", "utp-2013", "ledbatpp", "bbr")
CONTROLS = (*LOSS_DRIVEN, *DELAY_DRIVEN)
IN_FLOW = ("newreno", "cubic", "vegas", "lp", "ledbat", "utp", "ledbatpp", "bbr")
DISCIPLINES = ("drop-tail", "codel", "fq-codel", "pie", "cake")


@st.composite
def changes(draw: st.DrawFn, kbit: int, duration: float) -> str:
    """A rate that changes, the mean of a trace about as high as the first of steps."""
    if draw(st.booleans()):
        return f"{kbit} kbit/s, {draw(st.integers(1, 2 * kbit))} kbit/s@{0.4 * duration} s, 1 Mbit/s@{0.7 * duration} s"
    gaps = draw(st.lists(st.integers(0, max(1, 24_000 // kbit)), min_size=1, max_size=20))
    return link_made.trace([sum(gaps[: n + 1]) for n in range(len(gaps))] + [sum(gaps) + 12_000 // kbit + 1])


@st.composite
def experiments(draw: st.DrawFn) -> tuple[dict[str, Any], Fidelity]:
    """A short experiment with anything in it that its fidelity has, often at an edge; at most about 20,000 packets."""
    fidelity = draw(st.sampled_from(FIDELITIES))
    full = fidelity == "full"
    kbit = draw(st.sampled_from([1, 10, 10**5, 10**7]) | st.integers(64, 4000))
    duration = min(draw(st.sampled_from([0.001, 0.1, 1.0, 10.0, 1000.0])), 20_000 * 12 / kbit)
    edges = [f"{share * duration} s" for share in (0.0, 0.1, 0.3, 0.999)]
    things = ["", "", ",size=1 B", ",size=200 kB", ",rate=200 kbit/s", ",on=2 s,off=1 s"]
    things += [",direction=down"] * full
    controls, counts = st.sampled_from(CONTROLS if full else IN_FLOW), st.sampled_from([1, 2, 3, 300])
    flows = [
        f"{draw(controls)}:{draw(counts)}@{draw(st.sampled_from(edges))}"
        + draw(st.sampled_from([*things, f",stop={2 * duration} s"]))
        for _ in range(draw(st.integers(1, 3)))
    ]
    packets = draw(st.sampled_from([1 if full else 11, 10**4]) | st.integers(2 if full else 11, 150))
    options: dict[str, Any] = {
        "rate": f"{kbit} kbit/s",
        "reverse_rate": f"{draw(st.sampled_from([kbit, 1]) | st.integers(64, 4000))} kbit/s",
        "rtt": f"{draw(st.sampled_from([0, 10_000 if full else 500]) | st.integers(1, 400))} ms",
        "buffer": f"{packets} packets",
        "aqm": draw(st.sampled_from(DISCIPLINES if full else ["drop-tail"])),
        "loss": draw(st.sampled_from(["0%", "1%", "40%" if full else "0.1%"])),
        "ack_loss": draw(st.sampled_from(["0%", "5%", "40%"])),
        "flows": flows,
        "duration": f"{duration} s",
        "warmup": f"{draw(st.sampled_from([0.0, 0.2, 1 - 1e-6])) * duration} s",
    }
    if full and draw(st.booleans()):
        options["rate"] = draw(changes(kbit, duration))
        options["rtt"] += f", 10 s@{duration / 3} s"
        options["framing"] = draw(st.sampled_from(["0 B", "18 B", "atm:40 B"]))
    if draw(st.booleans()):
        options["voip"] = ["g729:1"]
    if full and draw(st.booleans()):
        options["probes"] = ["100 B@0.3s"]
    return options, fidelity


@given(experiments(), st.integers(0, 2**32))
@settings(max_examples=80)
def test_nothing_is_lost_and_no_bound_is_passed(made: tuple[dict[str, Any], Fidelity], seed: int) -> None:
    options, fidelity = made
    try:
        scenario = scenario_from(**options)
        program = compile_link(scenario, fidelity)
    except InputError:  # in flow, or a message that is longer than the experiment
        reject()
    data = bounds.find(Links(), scenario, fidelity, seed)
    assert (data.resent <= data.sent + 1e-9).all()
    assert (data.drops <= data.arrivals).all()
    assert (data.probe_delivered <= data.probe_sent).all()
    limits = program.queue["limit_packets"]
    assert (data.queue_length.max("time") <= limits).all()
    assert (data.queue_quantile.max("quantile") <= limits).all()
    assert not (data.rtt_quantile < 0.996 * scenario.paths.rtt).any()  # the width of a bin
    assert not (data.completion_time < 1.5 * scenario.paths.rtt).any()
    assert not (data.voip_delay_quantile < 0.5 * scenario.paths.rtt - 1e-9).any()
    assert not (data.probe_delay_quantile < 0.5 * scenario.paths.rtt - 1e-9).any()


@given(st.integers(100, 20_000).flatmap(lambda kbit: changes(kbit, 10.0)), st.sampled_from(DISCIPLINES))
@settings(max_examples=40)
def test_in_no_interval_more_is_delivered_than_the_rate_lets_pass(rate: str, discipline: str) -> None:
    """What came by a sample left half a round trip before; in any interval that is a packet more at most."""
    queue = {"discipline": discipline, "framing": "4 B"}
    made = link_made.program(
        "cubic", link_made.flow(None, codec="g729"), rate=rate, rtt="100 ms", duration="10 s", warmup="0 s", queue=queue
    )
    s = run_link(made, 1)
    came = s.flow_series[:, :, sampling.PAYLOAD].sum(axis=1)
    left = made.rules.sample_every * np.arange(len(came)) - 0.05
    at, value = made.course["at"], made.course["value"]

    def passed(rounding: float) -> NDArray[np.float64]:
        if made.queue["course"][0] == STEPS:
            ends = np.append(at[1:], 1e9)
            return np.asarray(sum(v * np.clip(left - a, 0.0, b - a) for a, b, v in zip(at, ends, value, strict=True)))
        times = np.add.outer(np.arange(1 + 10_000 // at[-1]) * at[-1], at).ravel()
        return np.asarray(1500.0 * np.searchsorted(times, 1e3 * left + rounding, "right"), np.float64)

    ahead, before = came - passed(1e-6), came - passed(-1e-6)
    assert (ahead - np.minimum.accumulate(before)).max() <= link_made.PACKET
