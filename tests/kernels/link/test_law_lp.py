"""TCP-LP without the engine: Linux's and ns-3's rule read literally, and the paper's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st
from link_states import Driver


class LinuxLp:
    """tcp_lp in whole milliseconds."""

    def __init__(self, *, strict: bool) -> None:
        self.strict, self.low, self.high, self.spare, self.mean8, self.dropped = strict, 1 << 32, 0, 0, 0, -math.inf

    def answer(self, t: float, rtt: float, owd: int) -> str:
        """Take one delay; return what becomes of the window."""
        self.low = min(self.low, owd)
        if owd > self.high:
            if owd <= self.spare:
                self.high = owd
            else:
                self.high, self.spare = self.spare or owd, owd
        self.mean8 = self.mean8 + owd - (self.mean8 >> 3) if self.mean8 else owd << 3
        again = t - self.dropped < 3 * rtt
        limit, mean = self.low + 15 * (self.high - self.low) // 100, self.mean8 >> 3
        if mean < limit or (mean == limit and not self.strict):
            return "held" if again else "grown"
        self.low, self.high, self.spare, self.dropped = self.mean8 >> 3, self.mean8 >> 2, self.mean8 >> 2, t
        return "one" if again else "halved"


@pytest.mark.parametrize("variant", [0, 1])
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 300)), min_size=1, max_size=120))
def test_lp_is_that_of_linux_and_ns3(variant: int, samples: list[tuple[int, int]]) -> None:
    x, oracle, ms = Driver("lp", variant=variant, ssthresh=1), LinuxLp(strict=variant == 0), 1000
    for gap, owd in samples:
        ms += gap
        before = float(x.flow.cwnd)
        rtt = (owd + 10.3) / 1e3  # so that three of them never end at a sample, where rounding would decide
        expected = oracle.answer(ms / 1e3, rtt, owd)
        x.measure(ms / 1e3, rtt, owd / 1e3)
        x.law.sample(x.state, 0, x.flow, ms / 1e3, 1.0)
        half = before / 2 if variant == 1 else math.floor(before / 2)  # ns-3 counts bytes
        after = {"halved": max(1.0, half), "one": 1.0}.get(expected, before)
        assert x.flow.cwnd == after
        x.law.grow(x.state, 0, x.flow, ms / 1e3, 1.0)
        if expected in ("held", "one"):
            assert x.flow.cwnd == after
        else:
            assert x.flow.cwnd == pytest.approx(after + 1 / after)


def test_the_first_window_of_lp_by_hand() -> None:
    """Ten segments behind one another, 12 ms each: the first ACK halves the window, the fourth leaves one segment."""
    x, found = Driver("lp", cwnd=10), []
    for k, owd in enumerate((37, 49, 61, 73)):
        window = x.ack(1.0 + 0.012 * k, (owd + 25.3) / 1e3, owd / 1e3)
        found.append((window, float(x.flow.base_delay), float(x.flow.highest), float(x.flow.smooth)))
    # limits: 37 + 0, then 37 + 5 (0.15 x 37 cut off) ms; means: 37, 308/8 = 38, 331/8 = 41, 363/8 = 45 ms
    assert found == [(6, 37, 74, 296), (6, 37, 74, 308), (6, 37, 74, 331), (1, 45, 90, 363)]


def test_the_clocks_of_two_hosts_leave_lp_one_back_off() -> None:
    """After it the range is 60.05 s: a delay of 9 s more than that would be late."""
    together, apart = Driver("lp", cwnd=32, ssthresh=1), Driver("lp", cwnd=32, ssthresh=1, clock_difference=60)
    for k in range(60):
        for x in (together, apart):
            x.ack(1.0 + k, 0.05 + 0.02 * k, 0.05 + 0.02 * k)
    assert together.flow.backed_off > 50.0
    assert apart.flow.backed_off == 1.0
    assert apart.flow.cwnd > 16.0 > together.flow.cwnd


def test_the_papers_lp_keeps_its_range_and_leaves_slow_start() -> None:
    x = Driver("lp", variant=2, cwnd=64)
    for k in range(20):
        x.ack(0.01 * k, 0.1, 0.05)
    x.ack(0.3, 0.4, 0.35)
    assert (x.flow.base_delay, x.flow.highest) == (50.0, 350.0)
    for k in range(40):
        x.ack(0.31 + 0.001 * k, 0.2, 0.15)
    assert x.flow.cwnd == 1.0
    assert x.flow.ssthresh < 1.0
    assert (x.flow.base_delay, x.flow.highest) == (50.0, 350.0)
