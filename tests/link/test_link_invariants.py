"""What holds for every link experiment: conservation, bounds, monotonicity, scale."""

from __future__ import annotations

from typing import Any

import bounds
from hypothesis import given, reject, settings, strategies as st

from btflow.errors import InputError
from btflow.link.options import scenario_from
from btflow.link.program import compile_link
from btflow.options import FIDELITIES, Fidelity
from btflow.sweeps.link_figures import Links

LOSS_DRIVEN = ("newreno", "reno-linux", "cubic", "cubic-2.6", "cubic-6")
DELAY_DRIVEN = ("vegas", "lp", "nice", "ledbat", "ledbat-25", "ledbat-linux", "utp-2010", "utp-2013", "ledbatpp", "bbr")
CONTROLS = (*LOSS_DRIVEN, *DELAY_DRIVEN)
IN_FLOW = ("newreno", "cubic", "vegas", "lp", "ledbat", "utp", "ledbatpp", "bbr")
DISCIPLINES = ("drop-tail", "codel", "fq-codel", "pie", "cake")


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
