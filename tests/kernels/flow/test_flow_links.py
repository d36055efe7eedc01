"""Swarms on access links at flow fidelity: what must hold of links, windows and bytes, by hand and at random."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import plain
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from numba import typeof

from btflow import load, simulate
from btflow.kernels.flow import engine
from btflow.kernels.flow.state import LINK, MOST_BEGUN, PULL, Flow
from btflow.kernels.link.state import CUBIC
from btflow.kernels.swarm.state import FOREVER
from btflow.swarm import flow
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.report import as_text, summary
from btflow.swarm.state import grow

queues, windows = plain.flow.queues, plain.flow.windows
SMALL: dict[str, Any] = {"leechers": 8, "file_size": "3 MB"}


def program(model: str = "flashcrowd", **options: Any) -> Program:
    return compile_scenario(load(model, **options), "flow")


def states(made: Program, seed: int, looks: int) -> Iterator[Flow]:
    """Run a swarm to its end; yields its state after each so many events."""
    s = flow.build(made, seed, 0)
    while True:
        outcome = engine.run(s, looks)
        if outcome == engine.FULL:
            s = grow(s)
            continue
        yield s
        if outcome != engine.MORE:
            assert outcome == engine.FINISHED
            return


def check_links(made: Program, s: Flow) -> None:
    """No uplink carries more than its rate, no queue is longer than its buffer, windows and rates are in bounds."""
    link, pull, f = s.net.link, s.net.pull, s.net.flow
    active = s.finish < FOREVER
    wire = np.where(active, pull.sent * pull.bytes * pull.per_mss, 0.0).reshape(made.rules.peers, -1).sum(axis=1)
    assert (wire * link.per_byte <= 1.0 + 1e-6).all()
    payload = np.where(active, pull.sent, 0.0).reshape(made.rules.peers, -1).sum(axis=1)
    assert (payload <= made.upload_limit * (1.0 + 1e-6)).all()
    assert (link.seen >= 0.0).all()
    assert (link.seen <= link.room + 1e-9).all()
    assert (link.down_queue >= 0.0).all()
    assert (link.down_queue <= link.down_room + 1e-9).all()
    assert (s.finish[~active] == FOREVER).all()
    assert (pull.rate[~active] == 0.0).all()
    assert (pull.hold[active] < FOREVER).all(), "a block is sent that was not asked for"
    used = f[f.running > 0]
    assert (used.cwnd >= 0.0).all()
    lanes = np.flatnonzero(active)
    assert (pull.window[lanes] <= f.max_window[s.lane.h[lanes]] + 1e-9).all()
    assert (link.acks >= -1e-6).all()
    assert (link.inflow >= -1e-3).all()


def check_sums(made: Program, s: Flow) -> None:
    """What is on its way to a peer is what its sources send, and its ACKs are those for them."""
    pull, to = s.net.pull, s.lane.g >> made.rules.slot_bits
    active = s.finish < FOREVER
    inflow, acks = np.zeros(made.rules.peers), np.zeros(made.rules.peers)
    np.add.at(inflow, to[active], (pull.sent * pull.bytes * pull.per_mss)[active])
    np.add.at(acks, to[active], pull.acks[active])
    np.testing.assert_allclose(s.net.link.inflow, inflow, atol=1e-3, rtol=1e-9)
    np.testing.assert_allclose(s.net.link.acks, acks, atol=1e-3, rtol=1e-9)


def check_bytes(made: Program, s: Flow) -> None:
    """Who is done has the file, what he got twice apart; nobody sent more than its uplink could."""
    done = (made.is_seed == 0) & (s.peer.done >= 0.0)
    size = (made.rules.pieces - 1) * made.rules.blocks * made.rules.block_size
    size += (made.rules.last_piece_blocks - 1) * made.rules.block_size + made.rules.last_block_size
    extra = s.peer.bytes_down[done] - size
    assert (extra >= 0).all()
    assert (extra <= s.peer.duplicates[done] * made.rules.block_size).all()
    assert s.peer.bytes_up.sum() == s.peer.bytes_down.sum()
    last = s.peer.done.max()
    started = s.peer.start < FOREVER
    burst = s.lanes * made.rules.block_size  # those that end just now
    since = np.maximum(last - s.peer.start, 0.0)
    assert (s.peer.bytes_up <= since / np.maximum(s.net.link.per_byte, 1e-12) + burst)[started].all()
    assert (s.peer.bytes_down <= since / np.maximum(s.net.link.per_byte_down, 1e-12) + burst)[started].all()


SWARMS = st.fixed_dictionaries(
    {
        "client": st.sampled_from(["mainline-4.0", "libtorrent-2", "ns2-eger"]),
        "leechers": st.integers(2, 12),
        "file_size": st.sampled_from(["300 kB", "1 MB", "3 MB"]),
        "utp_share": st.sampled_from(["0%", "50%", "100%"]),
        "downlink": st.sampled_from(["1 Mbit/s", "100 Mbit/s"]),
        "upload_limit": st.sampled_from(["unlimited", "60 kB/s"]),
        "rtt": st.sampled_from(["0 ms", "20 ms", "400 ms"]),
        "loss": st.sampled_from(["0%", "2%"]),
        "stay": st.sampled_from(["forever", "leave"]),
    }
)

UPLINKS = [
    *((rate, "4 Mbit/s", buffer) for rate in ("128 kbit/s", "1 Mbit/s", "20 Mbit/s") for buffer in ("500 ms", "2 s")),
    ("128 kbit/s", "500 kbit/s", "10 packets"),
    ("128 kbit/s", "128 kbit/s", "6 kB"),
]
"""Of leechers and of the seed, and a buffer that flow does not refuse."""


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SWARMS, st.sampled_from(UPLINKS), st.integers(0, 2**32))
def test_any_swarm_keeps_to_its_links(options: dict[str, Any], uplink: tuple[str, str, str], seed: int) -> None:
    made = program(**options, **dict(zip(("uplink", "seed_uplink", "buffer"), uplink, strict=True)))
    for s in states(made, seed, 400):
        check_links(made, s)
        check_sums(made, s)
    check_bytes(made, s)


def test_a_block_behind_a_cancelled_one_waits_for_its_own_request() -> None:
    """The lane had begun it before it was asked for, stood still, and messages behind it came never."""
    made = program(
        uplink="5 Mbit/s", seed_uplink="10 Mbit/s", file_size="50 MB", buffer="50 ms", utp_share="25%",
    )  # fmt: skip
    for s in states(made, 0, 1000):
        check_links(made, s)
    assert (s.net.control_sum < 1e6).all()


def test_a_peer_that_has_begun_as_many_pieces_as_it_can_goes_on() -> None:
    """It kept losing its interest and was unchoked again at the same instant, for ever."""
    made = program(
        client="libtorrent-2", uplink="20 Mbit/s", seed_uplink="40 Mbit/s", downlink="100 Mbit/s",
        file_size="100 MB", buffer="50 ms", utp_share="25%",
    )  # fmt: skip
    most = 0
    for s in states(made, 3, 2000):
        most = max(most, *(int(taken).bit_count() for taken in s.peer.taken))
    assert most == MOST_BEGUN
    assert (s.peer.done[1:] < FOREVER).all()


@pytest.mark.parametrize("options", [{"utp_share": "50%"}, {"utp_share": "100%", "stay": "leave"}], ids=str)
def test_transports_of_their_own_for_control_keep_to_their_links(options: dict[str, str]) -> None:
    made = program("testa2011", leechers=8, discard=0, file_size="2 MB", **options)
    for s in states(made, 7, 500):
        check_links(made, s)
    check_bytes(made, s)


def test_one_compilation_serves_swarms_with_and_without_access_links() -> None:
    models = ("rao2010", "flashcrowd", "testa2011", "testa2012")
    built = (flow.build(compile_scenario(load(model), "flow"), 0, 0) for model in models)
    assert len(set(map(typeof, built))) == 1


def test_the_same_seed_gives_the_same_bits_however_a_run_is_cut() -> None:
    made = program(**SMALL)
    ends = [list(states(made, 3, looks))[-1] for looks in (17, 1000, 10**6)]
    for s in ends[1:]:
        assert np.array_equal(s.have_time, ends[0].have_time, equal_nan=True)
        assert s.net.queue_delay.tobytes() == ends[0].net.queue_delay.tobytes()
    other = list(states(made, 4, 1000))[-1]
    assert not np.array_equal(other.have_time, ends[0].have_time, equal_nan=True)


# -- by hand ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer", ["500 ms", "10 s"])
def test_a_lone_download_takes_what_its_uplink_takes(buffer: str) -> None:
    """One seed of 1 Mbit/s, one leecher, TCP of today: 1448 B of 1500 B are payload, 16384 B of 16397 B are file.

    4 MB take 4e6 * 16397 / 16384 * 1500 / 1448 / 125000 = 33.17 s. Before that come 10 s until the choker runs, the
    connection, and a ramp of some round trips; the last block is asked for behind the others. A long buffer changes
    nothing: what waits in it is the lane's own.
    """
    swarm = load("flashcrowd", leechers=1, file_size="4 MB", seed_uplink="1 Mbit/s", client="mainline-4.0")
    swarm = swarm.set(**{"arrivals.spread": "0 s", "buffer": buffer})
    took = float(simulate(swarm, seed=1, fidelity="flow").completion_time[0, 1])
    full = float(simulate(swarm, seed=1).completion_time[0, 1])
    assert 43.1 < took < 45.5
    assert took == pytest.approx(full, rel=0.05)


@pytest.mark.parametrize("buffer", ["100 ms", "500 ms", "4 s"])
def test_swarms_with_bbr_are_near_full(buffer: str) -> None:
    """What a lane has under way is what its pace sends, not its window; the tolerance is some scatter of four seeds."""
    swarm = load("flashcrowd", leechers=8, file_size="5 MB", utp_share="0%", client="mainline-4.0", buffer=buffer)
    swarm = swarm.set(**{f"classes.{name}.tcp": "bbr" for name in ("seed", "tcp", "utp")})
    flow, full = (simulate(swarm, seed=5, replicas=4, fidelity=f).completion_time for f in ("flow", "full"))
    assert float(flow.mean()) == pytest.approx(float(full.mean()), rel=0.12)


def link() -> Any:
    """An uplink of 1 Mbit/s."""
    made = np.zeros(1, LINK).view(np.recarray)
    made.per_byte = 8e-6
    made.room_packets = made.room_bytes = math.inf
    made.bare = 52.0
    return made[0]


def settle(came: float, room: float, away: float) -> Any:
    """Let a queue to which `came` [B/s] come settle."""
    found = link()
    for _ in range(1500):
        queues.step(found, came, 0.0, away, 0.05, room)
    return found


@pytest.mark.parametrize("load_", [0.3, 0.6, 0.9])
def test_a_queue_that_settles_lets_through_what_comes(load_: float) -> None:
    found = settle(load_ * 125000.0, 0.5, 9.0 * 1500.0**2)
    assert 1.0 - found.empty == pytest.approx(load_ * (1.0 - found.full), abs=1e-3)
    assert 0.0 < found.seen < 0.5


def test_an_uplink_without_a_queue_lets_through_what_comes_and_a_busy_one_its_rate() -> None:
    found = link()
    found.queue, found.spread, found.step = -0.01, 0.005, 0.3
    for load_ in (0.02, 0.5, 1.0):
        assert queues.passed(found, load_ * 125000.0, load_ * 125000.0) == pytest.approx(load_ * 125000.0)
    assert queues.passed(found, 250000.0, 250000.0) == pytest.approx(125000.0)
    found.queue, found.seen = 0.2, 0.2  # far from empty: what waits leaves at the link's rate
    assert queues.passed(found, 25000.0, 400000.0) == pytest.approx(125000.0)
    assert queues.passed(found, 25000.0, 75000.0) == pytest.approx(75000.0)  # all that the lanes have waiting
    found.acks = 25000.0
    assert queues.passed(found, 125000.0, 400000.0) == pytest.approx(100000.0)


@pytest.mark.parametrize(("back", "segments"), [(0.0, 2.0), (100.0, 3.0), (200.0, 4.0)])
def test_an_ack_rides_only_on_data_that_leave_before_it_is_due(
    back: float, segments: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a pair of segments at 100 a second: with as many the other way every second first one is taken along."""
    pull = np.zeros(1, PULL).view(np.recarray)
    pull.rate = 100.0
    monkeypatch.setattr(windows, "reverse_rate", lambda *_: back)
    s = SimpleNamespace(net=SimpleNamespace(pull=pull))
    assert windows.segments_per_ack(s, 0, SimpleNamespace(ack_every=2, law=CUBIC)) == pytest.approx(segments)


def test_a_queue_of_windows_holds_what_the_path_does_not() -> None:
    """40 segments of 1500 B, a base of 100 ms, a link of 125 kB/s: 40 * 1500 / (0.1 + q) = 125000, so q = 0.38 s."""
    found = link()
    for _ in range(1500):
        rate = 40 * 1500.0 / (0.1 + found.seen)
        queues.step(found, rate, rate / (0.1 + found.seen), 8.3 * 1500.0**2, 0.05, 2.0)
    assert found.seen == pytest.approx(0.38, rel=0.02)
    assert found.full < 1e-6


def test_a_full_queue_drops_what_is_too_much() -> None:
    """A tenth more than the link takes comes, whatever the queue: that tenth is dropped, less where it empties."""
    found = link()
    for _ in range(1500):
        queues.step(found, 1.1 * 125000.0, 0.0, 30.0 * 1500.0**2, 0.02, 0.5)
        found.drops = 0.0
    through = 1.1 * (1.0 - found.full)
    assert through == pytest.approx(1.0 - found.empty, abs=1e-3)
    assert 0.95 < through <= 1.0 + 1e-9
    assert found.seen > 0.35


def test_a_downlink_fills_while_nobody_looks_at_its_peer() -> None:
    """What comes is 1.5 times what the link takes: half a second of queue each second, until 0.3 s of buffer are full.

    After 2 s 1.0 s came too much, 0.7 s of which found no room: 0.7 s * 125 kB/s / 1500 B. Then 0.4 of it comes.
    """
    found = link()
    found.per_byte_down, found.down_room = 8e-6, 0.3
    found.inflow = 1.5 * 125000.0
    queues.settle_downlink(found, 0.5)
    assert (found.down_queue, found.down_drops) == (pytest.approx(0.25), 0.0)
    queues.settle_downlink(found, 2.0)
    assert found.down_queue == pytest.approx(0.3)
    assert found.down_drops == pytest.approx(0.7 * 125000.0 / 1500.0)
    found.inflow = 0.4 * 125000.0
    queues.settle_downlink(found, 2.25)
    assert found.down_queue == pytest.approx(0.15)
    queues.settle_downlink(found, 9.0)
    assert found.down_queue == 0.0


@pytest.mark.parametrize(("seeds", "rel"), [(1, 0.01), (8, 0.02)])
def test_a_lone_utp_upload_keeps_its_link_busy(seeds: int, rel: float) -> None:
    """A window of its own is no chance to itself: with a target of 25 ms, two packets, it fills 1 Mbit/s."""
    swarm = load("testa2011", utp_share="100%", stay="forever", leechers=1, discard=0, super_seeding=False)
    swarm = swarm.set(**{"classes.seed.count": seeds, "classes.seed.opens": ["utp"]})
    full, fluid = (simulate(swarm, seed=1, replicas=2, fidelity=f).completion_time.mean() for f in ("full", "flow"))
    assert float(fluid) == pytest.approx(float(full), rel=rel)


def test_a_request_behind_a_block_comes_with_it() -> None:
    """On every lane: what waits behind blocks of the lane the other way waits for one that is still to come there."""
    waiting = 0
    for s in states(program(**SMALL, uplink="500 kbit/s", client="mainline-4.0"), 3, 10):
        for v in np.flatnonzero(s.lane.runs > 0):
            for run in s.run[v, : s.lane.runs[v]]:
                if run["behind"] > 0:
                    assert run["at"] == FOREVER
                else:
                    assert run["at"] < FOREVER
                    continue
                waiting += 1
                h = s.lane.g[v]  # of who asks: its lane to the other side is what it waits for
                u = ((h >> s.rules.slot_bits) << s.lane_bits) + s.end.lane[h]
                assert s.end.lane[h] >= 0
                assert s.finish[u] < FOREVER
                assert s.net.pull.riders[u] == 1
                assert s.net.pull.came[u] < run["behind"]
    assert waiting > 100


def test_a_shorter_step_settles_at_the_same_queue() -> None:
    ends = []
    for dt in (0.01, 0.05, 0.5):
        found = link()
        for _ in range(int(60.0 / dt)):
            rate = 30 * 1500.0 / (0.05 + found.seen)
            queues.step(found, rate, rate / (0.05 + found.seen), 4.0 * 1500.0**2, dt, 1.0)
        ends.append(found.seen)
    assert ends == pytest.approx([ends[0]] * 3, rel=1e-3)


@pytest.mark.parametrize("z", [-6.0, -2.0, -0.5, 0.0, 0.3, 1.7, 5.0])
def test_the_normal_distribution_is_that_of_the_library(z: float) -> None:
    from scipy import stats

    assert queues.normal_below(z, queues.normal_at(z)) == pytest.approx(stats.norm.cdf(z), abs=2e-7)
    assert queues.normal_at(z) == pytest.approx(stats.norm.pdf(z), rel=1e-12)


@given(st.floats(-2.0, 3.0), st.floats(0.01, 1.0), st.floats(0.01, 2.0))
def test_a_normal_queue_that_is_cut_off_has_the_mean_of_its_samples(mean: float, spread: float, room: float) -> None:
    sample = np.clip(np.random.default_rng(1).normal(mean, spread, 40_000), 0.0, room)
    assert queues.clipped_mean(mean, spread, room) == pytest.approx(sample.mean(), abs=0.02 * spread + 1e-6)


# -- against full -----------------------------------------------------------------------------------------------------


def both(model: str, replicas: int, **options: Any) -> list[dict[str, Any]]:
    swarm = load(model, **options)
    return [summary(simulate(swarm, seed=11, replicas=replicas, fidelity=f)) for f in ("full", "flow")]


@pytest.mark.parametrize(
    ("law", "queue"), [("newreno", 1.2), ("cubic", 1.2), ("vegas", 1.2), ("ledbat", 2.0), ("ledbat++", 3.0)]
)
def test_a_swarm_of_each_law_is_as_in_full(law: str, queue: float) -> None:
    """Twenty peers scatter by 5%: two replicas of each, within 12%; long queues within a factor, which delays widen."""
    swarm = load("flashcrowd", leechers=20, file_size="8 MB", utp_share="0%", client="mainline-4.0")
    swarm = swarm.set(**{"classes.tcp.tcp": law, "classes.seed.tcp": law})
    full, fluid = (summary(simulate(swarm, seed=5, replicas=2, fidelity=f)) for f in ("full", "flow"))
    assert fluid["completion_s"]["mean"] == pytest.approx(full["completion_s"]["mean"], rel=0.12)
    long = [found["by_class"]["tcp"]["queue_s_p90"] for found in (full, fluid)]
    assert 1.0 / queue < long[1] / long[0] < queue


def test_utp_is_sooner_where_each_peer_has_one_transport() -> None:
    """2011: a TCP peer's ACKs and requests wait behind its own uploads, so uTP peers are done first, in both."""
    for found in both("testa2011", 2, utp_share="50%", discard=30, leechers=60, file_size="5 MB"):
        classes = found["by_class"]
        assert classes["utp"]["mean"] < 0.85 * classes["tcp"]["mean"]
        assert classes["utp"]["request_delay_s"] < 0.6 * classes["tcp"]["request_delay_s"]


def test_with_ideal_acks_most_of_that_is_gone() -> None:
    found = both("testa2011", 2, utp_share="50%", discard=30, leechers=60, file_size="5 MB", ideal_acks="true")
    gaps = [f["by_class"]["utp"]["mean"] / f["by_class"]["tcp"]["mean"] for f in found]
    assert min(gaps) > 0.75
    assert gaps[1] == pytest.approx(gaps[0], abs=0.12)


def test_utp_is_later_where_every_uplink_carries_both() -> None:
    for found in both("flashcrowd", 2, utp_share="50%", leechers=30, file_size="10 MB", client="mainline-4.0"):
        assert found["by_class"]["utp"]["mean"] > 1.03 * found["by_class"]["tcp"]["mean"]


def test_results_on_links_have_the_same_variables() -> None:
    swarm = load("flashcrowd", leechers=4, file_size="1 MB")
    full, fluid = (simulate(swarm, seed=1, fidelity=f) for f in ("full", "flow"))
    assert set(full.data_vars) - set(fluid.data_vars) == {
        "unchokes",
        "limited_share",
        "slots_seen",
        "slots_dry",
        "control_gap_count",
        "unchokes_received",
    }
    assert "uplink's queue [ms]" in as_text(fluid)
    for name in fluid.data_vars:
        assert fluid[name].dims == full[name].dims
