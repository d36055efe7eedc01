"""One mechanism of a link at a time, each in a small experiment whose outcome is known beforehand."""

from __future__ import annotations

import itertools
from typing import Any

import link_made as made
import numpy as np
import pytest
from link_made import HEADER, MBIT, PACKET, PAYLOAD, control, flow

from btflow.kernels.link import sampling, state as k
from btflow.link.run import run_link, simulate_link

SERVICE = PACKET / MBIT  # of a full packet at 1 Mbit/s [s]
HANDSHAKE = 52 / MBIT + 0.05  # of a connection over 1 Mbit/s and 50 ms [s]: the first message waits for it


def windows(s: k.State, i: int = 0) -> made.Floats:
    """Return the series of a flow's window [segments]."""
    return np.asarray(s.flow_series[: s.clock[0].sample, i, sampling.WINDOW])


# -- the empty link


@pytest.mark.parametrize("discipline", ["drop-tail", "codel"])
@pytest.mark.parametrize(
    ("size", "framing", "layer", "wire", "opening"),
    [
        (1, 0, "ethernet", 53, 52),
        (100, 18, "ethernet", 170, 70),
        (1448, 18, "ethernet", 1518, 70),
        (1448, 40, "atm", 33 * 53, 2 * 53),  # PPPoE over LLC/SNAP: 1540 B are 32.08 times 48 B, 92 B are 1.92 times
        (1448, 8, "atm", 32 * 53, 2 * 53),  # IPoA, VC/Mux: 1508 B, 60 B
        (100, 40, "atm", 4 * 53, 2 * 53),  # 192 B, just full
    ],
)
def test_a_message_on_an_empty_link_takes_its_serialisation_and_the_propagation(
    size: int, framing: int, layer: str, wire: int, opening: int, discipline: str
) -> None:
    probe = flow("reno-linux", message=f"{size} B", period="1 s")
    queue = {"framing": f"{framing} B", "link_layer": layer, "discipline": discipline}
    s = made.run(probe, queue=queue, duration="10.5 s")
    expected = wire / MBIT + 0.025
    np.testing.assert_allclose(s.record_delay[0, 1:10], expected, atol=1e-9)
    assert s.record_delay[0, 0] == pytest.approx(expected + opening / MBIT + 0.05)


OPPORTUNITIES = [1, 10, 20, 20, 500, 900]  # ms


@pytest.mark.parametrize("discipline", ["drop-tail", "codel", "fq-codel", "pie", "cake"])
@pytest.mark.parametrize(
    ("rate", "rtt", "size", "delays"),
    [
        # 62.5 B of 1500 B leave before the step, the others at twice the rate
        ("1 Mbit/s, 2 Mbit/s@3.0005s", "50 ms", 1448, [0.037, 0.037, 0.0005 + 1437.5 / (2 * MBIT) + 0.025, 0.031]),
        ("1 Mbit/s", "50 ms, 90 ms@2.5s, 10 ms@4.5s", 1448, [0.037, 0.037, 0.057, 0.057, 0.017]),
        # written at 1 s, 2 s, ..., which are 0.1 s, 0.2 s, ... after the trace began anew; what comes at a time is late
        (OPPORTUNITIES, "50 ms", 1448, [0.425, 0.325, 0.225, 0.125, 0.425, 0.325, 0.225, 0.125, 0.026]),
        (OPPORTUNITIES, "50 ms", 2896, [0.825, 0.725, 0.625, 0.525, 0.426, 0.326, 0.226, 0.126, 0.035]),  # of 3000 B
        (OPPORTUNITIES, "50 ms", 100, [0.425]),  # 152 B: the rest of the opportunity is lost
    ],
)  # fmt: skip
def test_a_message_meets_the_rate_and_the_delay_of_its_time(
    rate: Any, rtt: str, size: int, delays: list[float], discipline: str
) -> None:
    probe = flow("reno-linux", message=f"{size} B", period="1 s")
    s = made.run(probe, rate=rate, rtt=rtt, queue={"discipline": discipline}, duration="20 s")
    np.testing.assert_allclose(s.record_delay[0, 1 : len(delays) + 1], delays, atol=1e-9)


@pytest.mark.parametrize(
    ("rate", "mean"),
    [
        ("1 Mbit/s, 400 kbit/s@15s, 2 Mbit/s@30s", (5 * 1.0 + 15 * 0.4 + 10 * 2.0) / 30),
        (range(1, 1001), 12.0),  # one a millisecond, as 12 Mbit/s
        ([12 * n for n in range(1, 100) for _ in range(3)], 3.0),
    ],
)
def test_a_greedy_flow_takes_the_integral_of_the_rate(rate: Any, mean: float) -> None:
    data = made.results("reno-linux", rate=rate, rtt="20 ms", duration="40 s", warmup="10 s")
    assert float(data.capacity[0]) == pytest.approx(mean * MBIT, rel=1e-3)
    assert float(data.utilisation[0]) == pytest.approx(1.0, abs=1e-3)
    assert float(data.goodput[0]) == pytest.approx(mean * MBIT * PAYLOAD / PACKET, rel=5e-3)
    if not isinstance(rate, str):  # equal to a link of that rate, but for the wait for an opportunity
        other = made.results("reno-linux", rate=f"{mean} Mbit/s", rtt="20 ms", duration="40 s", warmup="10 s")
        assert float(data.goodput[0]) == pytest.approx(float(other.goodput[0]), rel=1e-3)
        assert float(data.rtt_mean[0]) == pytest.approx(float(other.rtt_mean[0]), rel=0.05)


def test_a_step_down_makes_a_standing_queue_longer_in_time() -> None:
    """A window of 60 segments turns over in the time that 60 packets take."""
    bulk = flow("reno-linux", window=f"{60 * PAYLOAD} B")
    data = made.results(bulk, rate="1 Mbit/s, 500 kbit/s@20s", duration="40 s")
    srtt = data.srtt[:, 0].sel(time=[19, 39], method="nearest").values
    np.testing.assert_allclose(srtt, [60 * SERVICE, 120 * SERVICE], rtol=0.01)
    assert float(data.queue_delay.max()) <= 60 * PACKET / (MBIT / 2)


def test_a_message_of_many_segments_takes_the_serialisation_of_all() -> None:
    s = made.run(flow("reno-linux", message="10000 B", period="5 s"), duration="21 s")
    expected = (10000 + 7 * HEADER) / MBIT + 0.025
    np.testing.assert_allclose(s.record_delay[0, 1:4], expected, atol=1e-9)


def test_both_access_links_store_and_forward() -> None:
    """Data from the internet passes the downlink alone; the message waits for no uplink."""
    s = made.run(flow("reno-linux", way="down", message="100 B", period="1 s"), reverse="2 Mbit/s", duration="5.5 s")
    np.testing.assert_allclose(s.record_delay[0, 1:5], 152 / (2 * MBIT) + 0.025, atol=1e-9)


@pytest.mark.parametrize(("shaper", "dropped", "alone"), [("line", True, 1), ("tbf", False, 1), ("htb", False, 0)])
def test_a_queue_of_100_packets_holds_200_segments_in_super_packets(shaper: str, dropped: bool, alone: float) -> None:
    """All but the service of a window of 180 segments waits: too many packets, or 90 of two segments, for as long."""
    upload = flow("reno-linux", window=f"{180 * PAYLOAD} B")
    s = made.run(upload, queue={"shaper": shaper}, duration="40 s", warmup="20 s", spread="0 s")
    assert bool(s.queue.dropped[0]) == dropped
    if not dropped:
        assert s.flow.rtt_sum[0] / s.flow.rtt_count[0] == pytest.approx(180 * SERVICE, rel=0.01)
        assert s.queue_time[0] @ np.arange(s.queue_time.shape[1]) / 20 == pytest.approx(88, abs=2)
    single = made.run(flow("reno-linux", message="100 B", period="1 s"), queue={"shaper": shaper}, duration="5.5 s")
    assert single.record_delay[0, 1] == pytest.approx(0.025 + alone * 152 / MBIT)


def test_messages_wait_behind_a_standing_queue() -> None:
    """A Reno flow held by its window of 60 segments keeps 60 less what the path holds in the queue."""
    bulk = flow("reno-linux", window=f"{60 * PAYLOAD} B")
    probe = flow("reno-linux", message="100 B", period="1 s", start="10.0001234 s")
    s = made.run(bulk, probe, duration="30 s", warmup="10 s")
    delays = s.record_delay[1][~np.isnan(s.record_delay[1])][1:]
    round_trip = 60 * SERVICE + 152 / MBIT  # the bulk's window turns over in this time
    assert len(delays) >= 18
    assert np.all(np.abs(delays - (round_trip - 0.05 + 0.025)) < 2.5 * SERVICE)


def test_voice_waits_as_long_as_the_queue_takes() -> None:
    """Voice packets are delayed by the bytes before them over the rate, their own service and the propagation."""
    program = made.program(
        flow("reno-linux", window=f"{40 * PAYLOAD} B"), flow(None, codec="g729", start="5.0003 s"), duration="20 s"
    )
    steps = made.Steps(program)
    s, call = steps.state, steps.state.flow[1]
    expected: dict[int, float] = {}
    written, before = 0, 0.0
    while steps.step():
        if int(call["message"]) > written:
            expected[written] = max(before - steps.now, 0.0) + 60 / MBIT + 0.025
            written = int(call["message"])
        before = float(s.queue["free_at"][0])
    heard = [n for n in expected if not np.isnan(s.record_delay[1, n])]
    assert len(heard) > 700
    np.testing.assert_allclose(s.record_delay[1, heard], [expected[n] for n in heard], atol=1e-9)


# -- packets and headers


@pytest.mark.parametrize(("mss", "header", "framing"), [(1448, 52, 0), (1448, 52, 18), (300, 48, 0), (300, 48, 26)])
def test_goodput_is_at_most_the_payloads_share_of_a_packet(mss: int, header: int, framing: int) -> None:
    cc = control("reno-linux", mss=f"{mss} B", header=f"{header} B")
    data = made.results(flow(cc), queue={"framing": f"{framing} B"}, duration="60 s", warmup="10 s")
    ceiling = MBIT * mss / (mss + header + framing)
    assert float(data.goodput[0]) == pytest.approx(ceiling, rel=2e-3)
    assert float(data.utilisation[0]) == pytest.approx(1.0, rel=2e-3)


# -- ACKs


@pytest.mark.parametrize(("every", "quick"), [(1, 0), (2, 0), (2, 16), (3, 5), (8, 0)])
def test_acks_are_delayed_and_the_first_are_quick(every: int, quick: int) -> None:
    """Of packets in order the first `quick` are acknowledged each, and then every so many."""
    cc = control("reno-linux", ack_every=every, quick_acks=quick, ack_delay="10 s")
    packets = quick + 25 * every
    s = made.run(flow(cc, size=f"{packets * PAYLOAD} B"), buffer="1000 packets", duration="9 s", warmup="0 s")
    f = s.flow[0]
    assert int(f["arrived"]) == int(f["log"]) == packets
    assert int(f["acks"]) == quick + 25
    assert int(f["unacked"]) == 0


def test_a_single_segment_is_acknowledged_when_the_timer_says() -> None:
    cc = control("reno-linux", quick_acks=0, ack_delay="40 ms")
    steps = made.Steps(made.program(flow(cc, size="1448 B"), duration="5 s"))
    while steps.step() and steps.state.flow[0]["acks"] == 0:
        pass
    assert steps.now == pytest.approx(HANDSHAKE + SERVICE + 0.05 + 0.04)
    assert float(steps.state.flow[0]["srtt"]) == pytest.approx(7 / 8 * HANDSHAKE + 1 / 8 * (SERVICE + 0.05 + 0.04))


@pytest.mark.parametrize("size", [1, 1000, 1449, 5000])
def test_the_last_segment_of_a_file_is_as_short_as_it_is(size: int) -> None:
    s = made.run(flow("reno-linux", size=f"{size} B"), duration="20 s", warmup="0 s")
    assert float(s.flow[0]["goodput"]) == size
    assert float(s.queue[0]["served"]) == pytest.approx(52 + size + 52 * -(-size // 1448))  # the SYN is one more packet


def test_a_narrow_reverse_link_slows_the_flow_down() -> None:
    """Every second packet needs an ACK of 52 B: a reverse link of 1/100 the rate carries them for 58 % of it."""
    rate: dict[str, Any] = {"rate": "10 Mbit/s", "buffer": "100 packets", "duration": "60 s", "warmup": "20 s"}
    wide, narrow = (
        made.results("reno-linux", reverse=reverse, reverse_buffer="5000 packets", **rate)
        for reverse in ("1 Mbit/s", "100 kbit/s")
    )
    assert float(wide.utilisation[0]) > 0.97
    acks = 100e3 / 8 / 52
    assert float(narrow.goodput[0]) == pytest.approx(2 * acks * PAYLOAD, rel=0.02)
    assert float(narrow.utilisation[1]) == pytest.approx(1.0, rel=0.01)


def test_lost_acks_are_made_good_by_those_that_follow() -> None:
    """A sender that counts segments hardly notices one ACK in five missing."""
    whole, holed = (
        made.results("reno-linux", ack_loss=loss, buffer="40 packets", duration="120 s", warmup="20 s")
        for loss in (0.0, 0.2)
    )
    assert float(holed.goodput[0]) > 0.97 * float(whole.goodput[0])
    assert int(holed.timeouts[0]) == 0


# -- losses and timeouts


def test_equal_flows_lose_together_at_a_full_queue() -> None:
    """Flows with one round-trip time lose in the same overflow: the falls of their windows come in groups of all."""
    program = made.program(flow("reno-linux", count=4), buffer="60 packets", spread="1 ms", duration="300 s")
    steps = made.Steps(program, 3)
    falls: list[tuple[float, int]] = []
    seen = [0] * 4
    while steps.step():
        for i in range(4):
            losses = int(steps.state.flow["losses"][i])
            if losses > seen[i]:
                falls.append((steps.now, i))
                seen[i] = losses
    times = np.array([t for t, _ in falls])
    groups = np.split(np.arange(len(falls)), np.flatnonzero(np.diff(times) > 3.0) + 1)
    members = [len({falls[n][1] for n in group}) for group in groups]
    assert len(members) > 5
    assert np.mean(members) > 2.5


def test_the_timeout_is_the_estimate_and_doubles() -> None:
    """The link is cut after 20 s: retransmissions follow after RTO, 2 RTO, 4 RTO..., up to the limit."""
    program = made.program(flow(control("reno-linux", rto_max="10 s")), duration="100 s", warmup="0 s")
    steps = made.Steps(program)
    s = steps.state
    while steps.now < 20.0:
        steps.step()
    s.flow["data_loss"][0] = 1.0  # the path is cut
    acks, at = int(s.flow["acks"][0]), []
    resent = int(s.flow["timeouts"][0])
    while steps.step():
        if int(s.flow["timeouts"][0]) > resent:
            resent = int(s.flow["timeouts"][0])
            at.append(steps.now)
    assert int(s.flow["acks"][0]) - acks < 200  # of what was under way
    rto = float(s.flow["rto"][0])
    gaps = np.diff(at)
    np.testing.assert_allclose(gaps, np.minimum(rto * 2.0 ** np.arange(1, len(gaps) + 1), 10.0), rtol=1e-9)
    assert rto == pytest.approx(max(0.2, float(s.flow["srtt"][0] + max(0.2, 4 * s.flow["rttvar"][0]))))
    assert float(s.flow["cwnd"][0]) == 1.0


def test_hystart_leaves_slow_start_before_the_queue_overflows() -> None:
    """With a deep buffer CUBIC loses in slow start without HyStart, and not with it."""
    link: dict[str, Any] = {"rate": "20 Mbit/s", "buffer": "100 packets", "duration": "4 s", "warmup": "0 s"}
    program = made.program("cubic", **link)
    with_it = run_link(program, 0)
    program.flow["hystart"] = 0
    without = run_link(program, 0)
    assert int(without.queue["drops"][0]) > 50
    assert int(with_it.queue["drops"][0]) == 0
    assert windows(with_it).max() < 0.8 * windows(without).max()


# -- what limits a flow


def test_the_receive_window_limits_a_flow_to_a_window_per_round_trip() -> None:
    held = flow("cubic", window=f"{20 * PAYLOAD} B")
    data = made.results(held, rate="100 Mbit/s", rtt="200 ms", duration="40 s", warmup="10 s")
    assert float(data.goodput[0]) == pytest.approx(20 * PAYLOAD / (0.2 + 1500 / 12.5e6), rel=0.02)
    assert float(data.queue_mean_packets[0]) < 1.0


@pytest.mark.parametrize(
    ("cc", "growth"), [("reno-linux", 3), ("cubic", 3), ("ledbat", 3), ("vegas", 3), ("utp-2010", 60)]
)
def test_a_window_that_the_application_does_not_use_does_not_grow(cc: str, growth: float) -> None:
    """100 kbit/s on 10 Mbit/s keeps one packet on the way or two; the window stays where it started, or nearly so.

    That of libutp goes on growing for 0.3 s after it was last the limit; then it too stands still. (Since 2013 there is
    a slow start before, which is not asked whether the window is the limit.)
    """
    s = made.run(flow(cc, rate="100 kbit/s"), rate="10 Mbit/s", rtt="100 ms", duration="60 s")
    assert windows(s).max() <= float(s.flow["initial_window"][0]) + growth
    assert np.ptp(windows(s)[1000:]) < 1.0
    assert float(s.flow["goodput"][0]) / 48.0 == pytest.approx(12500, rel=0.03)


def test_a_window_is_halved_for_every_timeout_of_silence() -> None:
    """RFC 2861: 60 segments, three seconds of silence with an RTO of a quarter second: back to the initial window."""
    link: dict[str, Any] = {"rate": "10 Mbit/s", "buffer": "500 packets", "duration": "16 s", "sample": "1 ms"}
    burst: dict[str, Any] = {"on": "10 s", "off": "3 s", "exponential": False}
    laws = [control("reno-linux", max_window=f"{60 * PAYLOAD} B", idle_reset=reset) for reset in (True, False)]
    falls, kept = (windows(made.run(flow(cc, **burst), **link)) for cc in laws)
    time = np.arange(len(falls)) * 1e-3
    assert falls[(time > 9.5) & (time < 10.0)].min() > 40.0
    assert falls[(time > 13.06) & (time < 13.09)].max() == pytest.approx(10.0)
    assert kept[13070] > 40.0


@pytest.mark.parametrize("size", [1, 1448, 1449, 14480, 200_000])
@pytest.mark.parametrize("cc", ["reno-linux", "cubic", "ledbat", "utp-2010"])
def test_a_file_is_sent_once_and_no_more(size: int, cc: str) -> None:
    data = made.results(flow(cc, size=f"{size} B", start="1 s"), duration="120 s", warmup="0 s")
    mss = 300 if cc == "utp-2010" else PAYLOAD
    segments = -(-size // mss)
    assert float(data.sent[0] - data.resent[0]) == segments
    least = segments * (mss + (48 if cc == "utp-2010" else HEADER)) / MBIT + 0.025
    assert least - 1e-9 <= float(data.completion_time[0]) < least + 40.0


def test_a_small_file_takes_the_round_trips_of_slow_start() -> None:
    """40 segments from a window of 10: a round trip to connect, then 10, 20, and half of one for the last 10."""
    file = flow(control("reno-linux", quick_acks=1000), size=f"{40 * PAYLOAD} B")
    data = made.results(file, rate="1 Gbit/s", rtt="100 ms", duration="5 s")
    assert float(data.completion_time[0]) == pytest.approx(0.35, abs=0.002)


def test_on_and_off() -> None:
    """In its periods the source fills the link, in between it sends nothing."""
    s = made.run(flow("reno-linux", on="5 s", off="5 s", exponential=False), duration="60 s", sample="100 ms")
    payload = np.diff(s.flow_series[: s.clock[0].sample, 0, sampling.PAYLOAD]).reshape(-1)
    per_second = payload[: len(payload) // 10 * 10].reshape(-1, 10).sum(axis=1) / (MBIT * PAYLOAD / PACKET)
    on = per_second.reshape(-1, 10)[1:]
    assert np.all(on[:, 2:4] > 0.98)
    assert np.all(on[:, 7:] < 0.02)  # the queue has drained


def test_on_off_periods_have_their_means() -> None:
    source = flow("reno-linux", on="2 s", off="3 s", rtt="1 ms")
    s = made.run(source, duration="6000 s", warmup="0 s", buffer="5 packets")
    share = float(s.flow["goodput"][0]) / 6000.0 / (MBIT * PAYLOAD / PACKET)
    assert share == pytest.approx(0.4, abs=0.05)


def test_a_flow_stops() -> None:
    s = made.run(flow("cubic", stop="10 s"), flow("cubic", start="10 s"), duration="30 s", sample="1 s")
    payload = s.flow_series[: s.clock[0].sample, :, sampling.PAYLOAD]
    assert payload[15, 0] == payload[-1, 0]
    assert payload[10, 1] == 0.0
    assert payload[-1, 1] > 0.9 * 20 * MBIT * PAYLOAD / PACKET - 60 * PACKET


# -- LEDBAT's latecomers


def rates(s: k.State, begin: int, end: int) -> made.Floats:
    """Return the mean rate of each flow between two times [s], which is sampled each second [B/s]."""
    payload = s.flow_series[: s.clock[0].sample, :, sampling.PAYLOAD]
    return np.asarray((payload[end] - payload[begin]) / (end - begin))


def test_the_latecomers_advantage_goes_when_the_queue_drains() -> None:
    """Something empties the queue: a pause of both flows, here. All see the true base delay then and share the link."""
    pause: dict[str, Any] = {"on": "150 s", "off": "30 s", "exponential": False}
    flows = (flow("ledbat", **pause), flow("ledbat", start="60 s", on="90 s", off="30 s", exponential=False))
    s = made.run(*flows, buffer="500 packets", duration="290 s", sample="1 s")
    before, after = rates(s, 110, 149), rates(s, 220, 269)
    assert before[1] > 4 * before[0]
    assert after[1] < 2 * after[0]
    assert s.queue_delay_series[120:149, 0].mean() > 0.16
    assert s.queue_delay_series[220:269, 0].mean() == pytest.approx(0.1, rel=0.15)


def test_a_base_delay_is_forgotten_when_its_minutes_are_over() -> None:
    """A flow alone never lets its queue drain; after ten minutes that queue is all it knows, and it adds a target."""
    s = made.run("ledbat", buffer="1000 packets", duration="1500 s", sample="1 s")
    delay = s.queue_delay_series[:1500, 0]
    means = [delay[begin : begin + 400].mean() for begin in (150, 750)]
    assert means == pytest.approx([0.1, 0.2], rel=0.1)
    assert delay[1350:].mean() == pytest.approx(0.3, rel=0.1)


def test_everything_is_told_apart_by_flow() -> None:
    """Names and numbers go together: the flow that started later has sent less."""
    data = made.results("cubic", flow("cubic", start="50 s"), duration="60 s", warmup="0 s")
    assert list(data.flow.values) == ["a", "b"]
    assert float(data.goodput[0]) > 3 * float(data.goodput[1])
    assert all(a <= b for a, b in itertools.pairwise(data.start_time.values))


def test_messages_that_do_not_arrive_are_counted() -> None:
    options: dict[str, Any] = {"duration": "21 s", "warmup": "0 s", "rtt_spread": "0 ms"}
    for probe, delivered in (("100 B@1s", 21), ("1 MiB@1s", 2)):  # the last is written at the end; 8.7 s each
        found = simulate_link(probes=[probe], **options)
        assert (int(found.probe_sent[0]), int(found.probe_delivered[0])) == (22, delivered)


def test_a_window_grows_to_twice_the_data_under_way() -> None:
    """In slow start, where the stack recalls that half of the window was used; else by a burst above it at most."""
    path: dict[str, Any] = {"rate": "unlimited", "rtt": "200 ms", "rtt_spread": "0 s", "duration": "20 s"}
    recalls, forgets = (
        float(simulate_link(flows=[f"{cc}:1,rate=2 Mbit/s"], seed=1, **path).window[-1, 0])
        for cc in ("cubic-6", "cubic")
    )
    assert 1.5 * forgets < recalls <= 2.0 * forgets
