"""The kernels against a packet-by-packet simulator written from the RFCs (link_naive.py): the same trace."""

from __future__ import annotations

from typing import Any

import link_made as made
import link_naive as naive
import numpy as np
from entered import entered
from hypothesis import given, settings, strategies as st

from btflow.kernels import random

uniform = entered(random.uniform)

UNTIL = 12.0


@st.composite
def links(draw: st.DrawFn) -> tuple[float, int, list[naive.Rules]]:
    """Rate [B/s], room in packets, and flows; the times have no common measure, so that nothing meets in an instant."""
    loss = draw(st.sampled_from([0.0, 0.0, 0.02, 0.1]))
    rack = draw(st.booleans())
    flows = [
        naive.Rules(
            rtt=draw(st.integers(4, 500)) * 1.000271828e-3 + 1.7e-6 * i,
            start=draw(st.integers(0, 2000)) * 1.000141421e-3,
            segments=draw(st.sampled_from([10**9, 1, 7, 150])),
            ack_every=draw(st.integers(1, 3)),
            ack_delay=draw(st.integers(1, 300)) * 1.000314159e-3,
            quick_acks=draw(st.sampled_from([0, 3, 16])),
            times_newest=draw(st.booleans()),
            initial_window=draw(st.sampled_from([1.0, 3.0, 10.0])),
            rto_slack=draw(st.sampled_from([0.0, 0.2])),
            bytes_counted=draw(st.booleans()),
            loss=loss,
            rack=rack,
            tail_probe=rack and draw(st.booleans()),
        )
        for i in range(draw(st.integers(1, 3)))
    ]
    return draw(st.integers(20, 120)) * 1e3, draw(st.integers(1, 30)), flows


def table(rules: naive.Rules) -> made.Table:
    """Return the flow of a LinkScenario with the same rules."""
    cc = made.control(
        "newreno",
        counts_segments=rules.bytes_counted,
        lost_retransmit=rules.rack,
        detection="rack" if rules.rack else "dupacks",
        tail_probe=rules.tail_probe,
        max_window="20 MB",
        ack_every=rules.ack_every,
        ack_delay=f"{rules.ack_delay!r} s",
        quick_acks=rules.quick_acks,
        times_newest=rules.times_newest,
        initial_window=rules.initial_window,
        rto_slack=f"{rules.rto_slack!r} s",
    )
    size: dict[str, Any] = {} if rules.segments == 10**9 else {"size": f"{rules.segments * made.PAYLOAD} B"}
    return made.flow(cc, rtt=f"{rules.rtt!r} s", start=f"{rules.start!r} s", **size)


class Watch:
    """The trace of a run of the kernels."""

    def __init__(self, steps: made.Steps) -> None:
        self.trace = naive.Trace()
        self.drops: list[float] = []
        s = steps.state
        flows = range(len(s.flow))
        seen = [(0, 0, 0)] * len(flows)
        dropped = 0
        while steps.step():
            now = steps.now
            for i in flows:
                f = s.flow[i]
                log, acks, timeouts = int(f["log"]), int(f["acks"]), int(f["timeouts"])
                if log > seen[i][0]:
                    number = int(s.log[s.flow[i].ring_at + ((log - 1) & s.flow[i].ring_mask)])
                    self.trace.delivered.append((now, i, number))
                if (acks, timeouts) != seen[i][1:]:
                    self.trace.windows.append((now, i, float(f["cwnd"]), float(f["ssthresh"])))
                seen[i] = (log, acks, timeouts)
            drops = int(s.queue["drops"][0])
            self.drops += [now] * (drops - dropped)
            dropped = drops


def same(found: list[Any], expected: list[Any], until: float) -> None:
    """Assert that two lists of (time, flow, ...) are the same up to a time, but for rounding."""
    for flow in range(3):
        mine, theirs = ([row for row in rows if row[1] == flow and row[0] < until] for rows in (found, expected))
        assert len(mine) == len(theirs)
        if mine:
            limited = [np.minimum(np.array(rows, float), 1e9) for rows in (mine, theirs)]
            np.testing.assert_allclose(limited[0], limited[1], rtol=1e-9, atol=1e-9)


@given(links(), st.integers(0, 1000))
@settings(max_examples=60, derandomize=True)
def test_the_kernels_do_what_the_rules_say(link: tuple[float, int, list[naive.Rules]], seed: int) -> None:
    rate, limit, flows = link
    program = made.program(
        *(table(rules) for rules in flows),
        rate=f"{8 * rate!r} bit/s",
        buffer=f"{limit} packets",
        loss=flows[0].loss,
        duration=f"{UNTIL} s",
        warmup="0 s",
        sample="1 s",
    )
    steps = made.Steps(program, seed)
    dice = steps.state.rng.copy()  # the same dice: they are cast in the order in which packets come to the end
    watched = Watch(steps)
    link_of_rules = naive.Link(float(program.queue["rate"][0]), limit, made.PACKET, flows, lambda: float(uniform(dice)))
    expected = link_of_rules.run(UNTIL)
    until = link_of_rules.tied - 1e-6
    same(watched.trace.delivered, expected.delivered, until)
    same(watched.trace.windows, expected.windows, until)
    drops = [[t for t in times if t < until] for times in (watched.drops, [t for t, *_ in expected.dropped])]
    np.testing.assert_allclose(drops[0], drops[1], rtol=1e-9)


def test_the_rules_are_met_in_all_their_parts() -> None:
    """The links above meet drops, fast retransmits and timeouts."""
    flows = [naive.Rules(rtt=0.05, loss=0.1), naive.Rules(rtt=0.11, start=0.3)]
    rng = np.random.default_rng(1)
    link = naive.Link(6e4, 8, made.PACKET, flows, rng.random)
    trace = link.run(60.0)
    assert trace.dropped
    assert any(row[2] == 1.0 for row in trace.windows)
    falls = [b[2] < a[2] for a, b in zip(trace.windows, trace.windows[1:], strict=False) if a[1] == b[1]]
    assert sum(falls) > 5
