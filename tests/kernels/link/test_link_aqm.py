"""Queue disciplines against oracles that follow the RFCs, and the properties that make them worth having."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numba
import numpy as np
import plain
import pytest
import queue_naive as naive
from hypothesis import given, strategies as st
from link_bare import ARRIVAL, NONE, SERVICE, bare, queue_driver
from queue_naive import Packet, Settings

from btflow.kernels import random
from btflow.kernels.compiler import intrinsics
from btflow.kernels.link import cake, codel, fq_codel, parcels, pie
from btflow.kernels.link.state import CAKE, CODEL, FQ_CODEL, PIE

by_ref: Any = intrinsics.by_ref
FLOWS = 4
KINDS: dict[str, Any] = {
    "codel": (CODEL, naive.CoDel),
    "fq_codel": (FQ_CODEL, naive.FqCoDel),
    "cake": (CAKE, lambda settings: naive.Cake(settings, uniform(bare()))),
}
UNLIMITED = 1 << 40


def made(settings: Settings, kind: Any, nodes: int = 0, **values: Any) -> Any:
    """Return a state with one queue; CAKE's hosts are those of the oracle."""
    s = bare(queues=1, pipes=FLOWS, nodes=nodes, flows=1, **values)
    s.subqueue["host"] = [naive.HOSTS.index(host) for host in naive.HOSTS]
    q = s.queue[0]
    q.kind = kind
    for name, value in asdict(settings).items():
        setattr(q, name, UNLIMITED if value == math.inf and name == "limit_packets" else value)
    return s


def driven(s: Any, packets: list[Packet], drive: Any) -> np.ndarray:
    """Return the log of a queue that these packets come to."""
    log = np.zeros((3 * len(packets) + 1, 6))
    at, pipe, size = (np.array([getattr(p, name) for p in packets]) for name in ("at", "flow", "size"))
    return log[: drive(s, at.astype(float), pipe.astype(np.int64), size.astype(float), log)]


def plainly(name: str, s: Any, packets: list[Packet]) -> np.ndarray:
    """Return that log from the kernels as plain Python."""
    return driven(s, packets, queue_driver(getattr(plain.link, name), plain.link.parcels, lambda state: state))


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """Return the compiled drivers."""
    modules = {"codel": codel, "fq_codel": fq_codel, "cake": cake}
    return {name: queue_driver(module, parcels, by_ref) for name, module in modules.items()}


@st.composite
def arrivals(draw: st.DrawFn) -> list[Packet]:
    """Bursts and pauses of packets of several flows and sizes, for a link of 125 kB/s; several at a time happen."""
    packets: list[Packet] = []
    t = 0.0
    for _ in range(draw(st.integers(1, 12))):
        flows = draw(st.lists(st.integers(0, FLOWS - 1), min_size=1, max_size=3))
        gap = draw(st.sampled_from([0.0, 0.001, 0.004, 0.008, 0.011, 0.05]))
        size = draw(st.sampled_from([40.0, 500.0, 1000.0, 1500.0]))
        for j in range(draw(st.integers(1, 40))):
            packets.append(Packet(len(packets), flows[j % len(flows)], size, t))
            t += gap
        t += draw(st.sampled_from([0.0, 0.003, 0.3, 3.0]))
    return packets


limits = st.builds(
    Settings,
    limit_packets=st.sampled_from([1, 2, 7, 40, math.inf]),
    limit_bytes=st.sampled_from([1500.0, 9000.0, math.inf]),
    target=st.sampled_from([0.005, 0.02]),
    interval=st.sampled_from([0.03, 0.1]),
    quantum=st.sampled_from([300.0, 1514.0]),
    fair_to_hosts=st.booleans(),
)


@pytest.mark.parametrize("name", KINDS)
@given(packets=arrivals(), settings=limits)
def test_the_same_packets_are_served_and_dropped_at_the_same_times(
    name: str, compiled: dict[str, Any], packets: list[Packet], settings: Settings
) -> None:
    kind, oracle = KINDS[name]
    s = made(settings, kind, nodes=len(packets) + 1)
    log = driven(s, packets, compiled[name])
    assert [tuple(row) for row in log] == naive.drive(oracle(settings), packets)
    q = s.queue[0]
    assert (log[:, 4] >= 0).all()
    assert (log[:, 4] <= settings.limit_packets).all()
    assert (log[:, 5] >= 0).all()
    assert (log[:, 5] <= settings.limit_bytes).all()
    served = log[(log[:, 1] == SERVICE) & (log[:, 2] >= 0), 2].astype(int)
    assert len(set(served)) == len(served)
    arrived = np.cumsum(log[:, 1] == ARRIVAL)
    sent = np.cumsum((log[:, 1] == SERVICE) & (log[:, 2] >= 0))
    assert (arrived == sent + log[:, 3] + log[:, 4]).all()
    assert q.packets == q.bytes == 0
    assert free_nodes(s) == len(packets) + 1


def free_nodes(s: Any) -> int:
    count, n = 0, int(s.clock[0].free)
    while n != NONE:
        count, n = count + 1, int(s.waiting[n].next)
    return count


@pytest.mark.parametrize("name", KINDS)
@given(packets=arrivals())
def test_what_waits_is_noted_before_each_change(name: str, packets: list[Packet]) -> None:
    s = made(Settings(limit_packets=20), KINDS[name][0], nodes=len(packets) + 1)
    seen = [(0.0, 0)]

    def note(_s: Any, k: int, q: Any, t: float) -> None:
        assert k == 0
        assert t >= seen[-1][0]
        assert abs(q.packets - seen[-1][1]) <= 1
        seen.append((t, int(q.packets)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain.link.parcels, "note_length", note)
        plainly(name, s, packets)


@pytest.mark.parametrize("name", KINDS)
def test_drops_before_the_warmup_are_not_counted(name: str) -> None:
    packets = [Packet(i, 0, 1000.0, float(i // 5)) for i in range(10)]
    drops = [
        plainly(name, made(Settings(limit_packets=2), KINDS[name][0], nodes=4, warmup=warmup), packets)[-1, 3]
        for warmup in (0.0, 0.5)
    ]
    assert drops[0] == 2 * drops[1] > 0


@pytest.mark.parametrize("name", KINDS)
def test_without_a_free_node_a_packet_is_dropped(name: str) -> None:
    s = made(Settings(), KINDS[name][0], nodes=3)
    assert plainly(name, s, [Packet(i, i % FLOWS, 1000.0, 0.0) for i in range(9)])[-1, 3] == 5


# What they are for.


def steady(rate: float, size: float, duration: float, flow: int = 0) -> list[Packet]:
    """Return packets at a constant rate [B/s]."""
    return [Packet(i, flow, size, i * size / rate) for i in range(int(duration * rate / size))]


def merged(*flows: list[Packet]) -> list[Packet]:
    """Return the packets of several flows in the order they arrive."""
    packets = sorted((p for flow in flows for p in flow), key=lambda p: p.at)
    return [replace(p, number=i) for i, p in enumerate(packets)]


@pytest.mark.parametrize("name", KINDS)
def test_compiled_kernels_do_the_same(name: str, compiled: dict[str, Any]) -> None:
    packets = merged(*(steady(60_000.0 + 7_001 * i, 400.0 + 300 * i, 4.0, i) for i in range(FLOWS)))
    settings = Settings(limit_packets=60, limit_bytes=50_000.0)
    results = [made(settings, KINDS[name][0], nodes=62) for _ in range(2)]
    log = driven(results[0], packets, compiled[name])
    assert log[-1, 3] > 100
    assert (log == plainly(name, results[1], packets)).all()
    assert results[0].queue[0] == results[1].queue[0]


def waits(log: np.ndarray, packets: list[Packet]) -> tuple[np.ndarray, np.ndarray]:
    """Return the service times and the sojourn times of the packets served."""
    out = log[(log[:, 1] == SERVICE) & (log[:, 2] >= 0)]
    return out[:, 0], out[:, 0] - np.array([packets[int(n)].at for n in out[:, 2]])


@pytest.mark.parametrize(("load", "settled"), [(1.05, 0.008), (1.1, 0.024)])
def test_codel_drops_more_and_more_until_the_excess_is_gone(
    compiled: dict[str, Any], load: float, settled: float
) -> None:
    """Who does not answer to drops keeps the queue above the target: each spell of dropping has to catch up."""
    rate = 1.25e6
    packets = steady(load * rate, 1250.0, 60.0)
    log = driven(made(Settings(rate=rate), CODEL, nodes=60_000), packets, compiled["codel"])
    t, delay = waits(log, packets)
    drops = np.interp([0.0, 0.1, 0.5, 0.9, 1.3], log[:, 0], log[:, 3])
    assert drops[1] == 0  # not within the first interval
    assert (np.diff(drops)[1:-1] < np.diff(drops)[2:]).all()
    late = t > 20.0
    assert delay[late].mean() == pytest.approx(settled, rel=0.1)
    assert delay[late].max() < 0.5 * delay.max()
    assert log[-1, 3] / len(packets) == pytest.approx(1 - 1 / load, rel=0.05)


def test_codel_leaves_a_burst_alone(compiled: dict[str, Any]) -> None:
    packets = merged(steady(60_000.0, 1000.0, 2.0), [Packet(0, 0, 1000.0, 1.0)] * 5)  # 40 ms of queue, gone in 80 ms
    assert driven(made(Settings(), CODEL, nodes=300), packets, compiled["codel"])[-1, 3] == 0


SIZES = st.lists(st.sampled_from([100.0, 460.0, 1000.0, 1500.0]), min_size=2, max_size=FLOWS)


def shares(drive: Any, kind: Any, settings: Settings, sizes: list[float], keys: Sequence[Any]) -> Iterator[list[float]]:
    """Yield, packet by packet, what flows with packets of these sizes have sent by their keys, while all have some."""
    packets = merged(*([Packet(0, i, size, 0.0)] * int(30_000 / size) for i, size in enumerate(sizes)))
    sent = dict.fromkeys(keys[: len(sizes)], 0.0)
    left = dict.fromkeys(range(len(sizes)), 30_000.0)
    for row in driven(made(settings, kind, nodes=len(packets) + 1), packets, drive):
        if row[1] == SERVICE and min(left.values()) > 5_000:
            packet = packets[int(row[2])]
            sent[keys[packet.flow]] += packet.size
            left[packet.flow] -= packet.size
            yield list(sent.values())


@pytest.mark.parametrize("name", ["fq_codel", "cake"])
@given(sizes=SIZES)
def test_backlogged_flows_have_equal_shares(name: str, compiled: dict[str, Any], sizes: list[float]) -> None:
    settings = Settings(target=1e6, fair_to_hosts=False)
    for sent in shares(compiled[name], KINDS[name][0], settings, sizes, range(FLOWS)):
        assert max(sent) - min(sent) <= settings.quantum + max(sizes)


@pytest.mark.parametrize("quantum", [300.0, 1514.0])
@given(sizes=SIZES)
def test_cake_gives_equal_shares_to_hosts_and_to_the_flows_of_each(
    quantum: float, compiled: dict[str, Any], sizes: list[float]
) -> None:
    settings = Settings(target=1e6, quantum=quantum)
    for sent in shares(compiled["cake"], CAKE, settings, sizes, naive.HOSTS):
        assert max(sent) - min(sent) <= len(sizes) * quantum + sum(sizes)  # in the first round each has a whole one
    for sent in shares(compiled["cake"], CAKE, settings, sizes, range(FLOWS)):
        mine = sent[: naive.HOSTS.count("a")]
        assert max(mine) - min(mine) <= quantum + max(sizes)


def test_cake_calms_down_while_a_flow_has_nothing_to_send() -> None:
    """A full queue raises the chance of a drop and the count; without packets both go back to nothing."""
    settings = Settings(limit_packets=10, quantum=1514.0)
    s = made(settings, CAKE, nodes=12)
    flood = steady(4 * settings.rate, 1000.0, 5.0)
    plainly("cake", s, flood)
    sub = s.subqueue[0]
    assert 0.1 < sub.drop_chance <= 1.0  # 1/256 for each 5 ms
    sub.drops_since, sub.drop_next = 20, 5.2
    assert plain.link.cake.dequeue(s, 0, s.queue[0], 5.2) == NONE  # the flow is found empty
    assert sub.bulk == sub.listed == 0
    plainly("cake", s, [Packet(0, 0, 1000.0, 4000.0)])
    assert sub.drop_chance == sub.drops_since == sub.bulk == sub.bulk_flows == 0


@pytest.mark.parametrize("name", ["fq_codel", "cake"])
def test_a_sparse_flow_does_not_wait_behind_a_bulky_one(name: str, compiled: dict[str, Any]) -> None:
    rate = 125_000.0
    packets = merged(steady(1.5 * rate, 1500.0, 20.0, flow=0), steady(5_000.0, 100.0, 20.0, flow=1))
    log = driven(made(Settings(rate=rate), KINDS[name][0], nodes=30_000), packets, compiled[name])
    delay = {
        int(row[2]): row[0] - packets[int(row[2])].at
        for row in log
        if row[1] == SERVICE and packets[int(row[2])].flow == 1
    }
    assert len(delay) == sum(p.flow == 1 for p in packets)  # none is dropped
    assert max(delay.values()) <= 2 * 1500.0 / rate + 1e-9  # the packet in service, and what the other's turn leaves


@pytest.mark.parametrize("name", ["fq_codel", "cake"])
def test_a_flow_cannot_push_out_the_others(name: str) -> None:
    packets = merged([Packet(0, 1, 500.0, 0.0)] * 5, [Packet(0, 0, 1000.0, 0.001)] * 400)
    log = plainly(name, made(Settings(limit_packets=50), KINDS[name][0], nodes=60), packets)
    served = {int(n) for n in log[log[:, 1] == SERVICE, 2]}
    assert set(range(5)) <= served


# PIE.


def piled(s: Any, settings: Settings, packets: list[Packet], admit: Any) -> list[bool]:
    """Return which packets are admitted, with the queue's books kept as the engine keeps them."""
    q: Any = s.queue[0]
    starts: list[tuple[float, float]] = []
    result: list[bool] = []
    for packet in packets:
        ready = [(start, size) for start, size in starts if start > packet.at]
        starts = ready
        q.packets, q.bytes = len(ready), sum(size for _, size in ready)
        result.append(bool(admit(s, 0, q, packet.at, packet.size, 1)))
        if result[-1]:
            start = max(float(q.free_at), packet.at)
            starts.append((start, packet.size))
            q.free_at = start + packet.size / settings.rate
    return result


def uniform(s: Any) -> Any:
    """Return a generator of its own, with the same numbers."""
    state = s.rng.copy()
    return lambda: plain.random.uniform(state)


@given(packets=arrivals(), limit=st.sampled_from([1, 7, 40, math.inf]), seed=st.integers(0, 99))
def test_pie_admits_the_same_packets(packets: list[Packet], limit: float, seed: int) -> None:
    settings = Settings(limit_packets=limit, target=1 / 64, update=1 / 64, burst=5 / 32)
    s = made(settings, PIE, seed=seed)
    oracle = naive.Pie(settings, uniform(s))
    expected = [oracle.arrive(p.at, p.size) for p in packets]
    assert piled(s, settings, packets, plain.link.pie.admit) == expected
    q = s.queue[0]
    assert (q.drop_chance, q.old_delay) == (oracle.chance, oracle.old_delay)
    assert 0 <= q.drop_chance <= 1


def test_pie_drops_the_excess_of_a_constant_rate_and_comes_to_rest() -> None:
    settings = Settings(target=1 / 64, update=1 / 64)
    packets = steady(1.3 * settings.rate, 1000.0, 30.0)
    s = made(settings, PIE)
    oracle = naive.Pie(settings, uniform(s))
    admitted = piled(s, settings, packets, plain.link.pie.admit)
    assert admitted == [oracle.arrive(p.at, p.size) for p in packets]
    assert all(admitted[: int(0.15 * 1.3 * settings.rate / 1000.0)])  # the burst
    assert np.mean(admitted[len(admitted) // 2 :]) == pytest.approx(1 / 1.3, rel=0.03)
    q = s.queue[0]
    assert q.drop_chance > 0.1
    plain.link.pie.update(s, 0, q, 1e7)  # in a few hundred steps, not in 600 million
    assert q.drop_chance == q.old_delay == q.burst_left == 0.0
    assert 0.0 < q.update_at - 1e7 <= settings.update


@numba.njit
def additive_increase(state: Any, flows: int, rtt: float, size: float, duration: float, seen: Any) -> int:
    """Sources that raise their rate by a packet per round trip each round trip, and halve it a round trip after a loss.

    Writes down the delay that each packet finds, and returns how many there were.
    """
    s = by_ref(state)
    q = s.queue[0]
    rate = np.full(flows, 10.0 / rtt)
    following = np.linspace(0.0, rtt, flows)
    answer = np.full(flows, np.inf)
    quiet = np.zeros(flows)
    count = 0
    while True:
        i = np.argmin(following)
        t = following[i]
        if t > duration:
            return count
        if t >= answer[i]:
            rate[i] = max(0.5 * rate[i], 1.0 / rtt)
            quiet[i] = t + rtt
            answer[i] = np.inf
        seen[count] = max(q.free_at - t, 0.0)
        q.bytes = max(q.free_at - t - size / q.rate, 0.0) * q.rate  # the packet in service does not wait
        q.packets = int(q.bytes / size)
        if pie.admit(s, 0, q, t, size, 1):
            q.free_at = max(q.free_at, t) + size / q.rate
        elif t >= quiet[i] and answer[i] == np.inf:
            answer[i] = t + rtt
        count += 1
        rate[i] += 1.0 / rtt / rtt / rate[i]
        following[i] = t + (0.75 + 0.5 * random.uniform(s.rng)) / rate[i]


@pytest.mark.parametrize("flows", [4, 8, 20])
def test_pie_holds_responsive_sources_near_its_target(flows: int) -> None:
    settings = Settings(rate=1.25e6, target=0.015)
    s = made(settings, PIE)
    seen = np.zeros(1_000_000)
    seen = seen[: additive_increase(s, flows, 0.05, 1000.0, 200.0, seen)]
    assert seen[len(seen) // 4 :].mean() == pytest.approx(settings.target, rel=0.25)
    assert seen[len(seen) // 4 :].max() < 0.15
