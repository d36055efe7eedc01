"""All window laws without the engine: what must hold whatever comes, and that the compiled ones do the same."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numba
import numpy as np
import plain
import pytest
from hypothesis import given, settings, strategies as st
from laws_made import ACKS, EVERY, VARIANTS
from link_states import LOSS, OPEN, RECOVERY, Bottleneck, Driver, flows

from btflow.kernels.compiler.intrinsics import by_ref
from btflow.kernels.link.state import State


@pytest.mark.parametrize(("law", "variant"), EVERY)
@settings(max_examples=60)
@given(data=st.data())
def test_windows_stay_within_their_bounds(law: str, variant: int, data: st.DataObject) -> None:
    x, t = Driver(law, variant=variant, slow_start=data.draw(st.integers(0, 2)), max_window=50), 0.0
    for gap, rtt, acked in data.draw(ACKS):
        t += gap
        if data.draw(st.integers(0, 9)) == 0:
            x.lose(t)
        elif data.draw(st.integers(0, 19)) == 0:
            x.time_out(t)
            x.flow.phase = LOSS
        else:
            x.flow.phase = data.draw(st.sampled_from([OPEN, OPEN, RECOVERY]))
            x.flow.limited = data.draw(st.integers(0, 1))
            x.ack(t, rtt, 0.5 * rtt, acked)
        f = x.flow
        assert min(1.0, f.min_window) <= f.cwnd <= 54.0
        assert f.ssthresh > 0.0
        assert f.pacing >= 0.0
        assert (f.pacing > 0.0) <= (f.cwnd < 1.0)


@pytest.mark.parametrize("rtt", [0.02, 0.2])
@pytest.mark.parametrize(("law", "variant"), [("ledbat", 0), ("ledbat", 2), ("ledbat", 3), ("utp", 0), ("utp", 1)])
def test_alone_it_settles_at_its_target(law: str, variant: int, rtt: float) -> None:
    b = Bottleneck([Driver(law, variant=variant, max_gain=3)], rate=150.0, rtt=rtt)
    b.run(60)
    assert np.mean(b.queues[-100:]) == pytest.approx(0.1, rel=0.05)


def test_alone_ledbatpp_settles_at_its_target_between_slowdowns_that_drain_the_queue() -> None:
    b = Bottleneck([Driver("ledbatpp")], rate=200.0, rtt=0.05)
    b.run(60)
    late = np.array(b.queues[len(b.queues) // 2 :])
    assert np.quantile(late, 0.8) == pytest.approx(0.06, rel=0.15)
    assert late.min() == 0.0
    assert 0.01 < np.mean(late == 0.0) < 0.2


@pytest.mark.parametrize("variant", [0, 1])
def test_alone_vegas_keeps_its_backlog(variant: int) -> None:
    b = Bottleneck([Driver("vegas", variant=variant)], rate=200.0, rtt=0.05)
    b.run(15)
    assert 1.4 <= b.queue <= 5.0  # Linux' figure is taken relative to the base, so it is less than alpha


@pytest.mark.parametrize("law", ["ledbat", "utp"])
def test_the_latecomer_takes_the_queue_for_the_path_until_it_drains(law: str) -> None:
    b = Bottleneck([Driver(law)], rate=150.0, rtt=0.05)
    b.run(20)
    b.flows.append(Driver(law))
    b.run(40)
    first, second = b.flows
    assert second.flow.base_delay > first.flow.base_delay + 0.08
    assert second.flow.cwnd > 10 * first.flow.cwnd
    for x in b.flows:  # both pause: the queue drains, and both see the path
        x.flow.cwnd = 2.0
    b.run(20)
    assert second.flow.base_delay == pytest.approx(first.flow.base_delay)
    assert second.flow.queueing == pytest.approx(first.flow.queueing)


def test_slowdowns_let_the_latecomer_see_the_path() -> None:
    b = Bottleneck([Driver("ledbatpp")], rate=200.0, rtt=0.05)
    b.run(20)
    b.flows.append(Driver("ledbatpp"))
    b.run(60)
    first, second = b.flows
    assert second.flow.base_delay == pytest.approx(first.flow.base_delay, abs=0.012)


def player(law: Any, reference: Any) -> Any:
    """Return a function that lets a flow meet a script of (time, RTT, one-way delay, what comes)."""
    starts, samples, grows = (hasattr(law, name) for name in ("start", "sample", "grow"))
    sample, grow = law.sample if samples else law.grow, law.grow if grows else law.sample
    start, reduce, timeout = law.start if starts else law.timeout, law.reduce, law.timeout

    def play(state: Any, script: Any, windows: Any) -> None:
        s = reference(state)
        f = s.flow[0]
        if starts:
            start(s, 0, f, 0.0)
        for k in range(len(script)):
            t, f.rtt, f.owd = script[k, 0], script[k, 1], script[k, 2]
            f.stamp = t - f.rtt
            f.srtt = f.rtt
            f.min_rtt = min(f.min_rtt, f.rtt)
            if script[k, 3] == 0.0:
                f.ssthresh = reduce(s, 0, f, t)
            elif script[k, 3] == 1.0:
                f.ssthresh = timeout(s, 0, f, t)
                f.cwnd = 1.0
            else:
                f.una += 1
                f.nxt = max(f.nxt, f.una + int(f.cwnd))
                f.flight = f.nxt - f.una
                if samples:
                    sample(s, 0, f, t, 1.0)
                if grows:
                    grow(s, 0, f, t, 1.0)
            windows[k] = f.cwnd

    return play


def whole_state(small: Any) -> State:
    """Return a state of the type the engine has, as far as laws look at it."""
    return State(**{name: getattr(small, name, np.zeros(1)) for name in State._fields})


@pytest.mark.parametrize("law", VARIANTS)
def test_compiled_and_plain_laws_agree(law: str) -> None:
    module = import_module(f"btflow.kernels.link.laws.{law}")
    rng = np.random.default_rng(1)
    script = np.empty((3000, 4))
    script[:, 0] = np.cumsum(rng.exponential(0.03, 3000))
    script[:, 2] = 0.03 + 0.15 * np.abs(np.sin(0.1 * script[:, 0])) * rng.random(3000)
    script[:, 1] = script[:, 2] + 0.02
    script[:, 3] = rng.integers(0, 300, 3000)
    fast = numba.njit(player(module, by_ref))
    for variant in range(VARIANTS[law]):
        one, two = np.zeros(3000), np.zeros(3000)
        fast(whole_state(flows(1, law, {"variant": variant, "slow_start": 1})), script, one)
        slow = flows(1, law, {"variant": variant, "slow_start": 1})
        player(plain.link_module(f"laws.{law}"), lambda s: s)(slow, script, two)
        assert one == pytest.approx(two, rel=1e-9)
        assert len(np.unique(one)) > 5
