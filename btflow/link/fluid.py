"""Link experiments at flow fidelity: what it refuses, its state, and a run to the end."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from btflow import termination
from btflow.errors import ScenarioError
from btflow.kernels.fluid import engine, state as k
from btflow.kernels.link import state as packets
from btflow.link.access import on_wire
from btflow.link.congestion import VARIANTS, CongestionControl
from btflow.link.flow import Flow
from btflow.link.scenario import LinkScenario
from btflow.link.state import LinkProgram, build
from btflow.memory import arrays
from btflow.units.quantity import text_of

STEP = 0.25  # of the shortest round trip, and its limits [s]
SHORTEST_STEP, LONGEST_STEP = 0.001, 0.02
LAG = 0.5  # of the round trip, after which the window learns what arrived: slow start then doubles it in each
LAWS = ("newreno", "cubic", "vegas", "lp", "ledbat", "utp", "ledbatpp", "bbr")
"""What comes near packets. Nice does not: by the buffer its goodput is 31% too low or 20 times too high."""

BURSTY = (("vegas", "ns-3"), ("lp", "ns-3"), ("lp", "paper"))
"""Forms of laws that do not, or were not compared: ns-3's Vegas goes by a smoothed delay, which single segments keep up
whose ACKs' timers have parted them from their train."""

PACED = ("utp", "2010")
"""The form of a law that sends a packet at a time where its window is small."""

LONGEST_LP = 0.15
"""Base round trip [s] up to which LP is near packets: on longer ones it is kept down by a tick of its clock, or not."""

LONGEST_RTT = 0.5
"""Base round trip [s] up to which all laws are near packets: recovery by partial ACKs takes one for each loss, so with
a second NewReno is 43% too fast."""

MOST_LOSS, LOSSLESS = 0.01, ("vegas", "lp", "ledbatpp")
"""Loss on the way up to which laws are near packets (with 2% NewReno is 16% too fast, with 5% uTP 26%), and laws that
are not with any, for they measure the delay of single packets: 13 to 50% off, LP 17 times."""

FEWEST = 10
"""Packets of a flow that a buffer must hold: with 6, where single ones decide, uTP is 12% and LEDBAT++ 52% too fast, LP
50 times (with 10, LEDBAT++ still 17% on 100 ms)."""

STEEPEST = 20.0
"""Segments a round trip by which a window may grow up to which flow is near packets: with 50 LEDBAT is 21% too fast,
with 72 uTP three times, for their windows overshoot and time out (alone on 2 Mbit/s and 50 ms)."""

INSTEAD = "fidelity full (--fidelity full)"


def check(scenario: LinkScenario) -> None:
    """Raise a ScenarioError if flow cannot run an experiment: it never runs in full what was asked for in flow."""
    found = list(_problems(scenario))
    if found:
        raise ScenarioError.all_of(found)


def _problems(scenario: LinkScenario) -> Iterator[ScenarioError]:
    yield from scenario.refuse_courses("flow fidelity does not know", f"one value, or {INSTEAD}")
    for name, queue in scenario.queues.items():
        if queue.discipline != "drop-tail":
            reason = "is no discipline of flow fidelity"
            yield ScenarioError(f"access.{name}.discipline", queue.discipline, reason, f"drop-tail, or {INSTEAD}")
        if queue.shaper != "line":
            reason = "sees super-packets, which flow fidelity does not know"
            yield ScenarioError(f"access.{name}.shaper", queue.shaper, reason, f"line, or {INSTEAD}")
    for flow in scenario.flows:
        if flow.count == 0:
            continue
        if flow.kind == "messages":
            field = f"flows.{flow.name}.message"
            reason = "is a message, whose delay flow fidelity does not know"
            yield ScenarioError(field, f"{flow.message} B", reason, f"size, rate, on and off, or {INSTEAD}")
        elif flow.cc is not None and (flow.cc.law not in LAWS or (flow.cc.law, flow.cc.variant) in BURSTY):
            reason = f"has a form of a law, {_named(flow.cc)}, that was not shown to come near packets in flow fidelity"
            others = ", ".join(name for name in LAWS if name != flow.cc.law)
            yield ScenarioError(f"flows.{flow.name}.cc", flow.cc.name, reason, f"{others}, or {INSTEAD}")
        elif flow.cc is not None and flow.cc.law == "lp" and scenario.base_rtt(flow) > LONGEST_LP:
            reason = f"has LP on a round trip of {scenario.base_rtt(flow):g} s, where flow fidelity is not near packets"
            instead = f"at most {LONGEST_LP:g} s, another law, or {INSTEAD}"
            yield ScenarioError(f"flows.{flow.name}.cc", flow.cc.name, reason, instead)
        if flow.cc is not None:
            yield from _growth(flow, flow.cc)
            yield from _way(scenario, flow, flow.cc)
            yield from _room(scenario, flow, flow.cc)
    yield from _met(scenario)


def _growth(flow: Flow, cc: CongestionControl) -> Iterator[ScenarioError]:
    """A delay-driven law that grows so fast that it overshoots."""
    name = "gain" if cc.gain is not None else "max_gain"
    segments = cc.gain if cc.gain is not None else (cc.max_gain or 0.0) / cc.mss
    if segments > STEEPEST:
        reason = f"grows by {segments:.3g} segments in a round trip, where flow fidelity is not near packets"
        allowed = f"at most {STEEPEST:g} segments, {STEEPEST * cc.mss / 1000:g} kB, or {INSTEAD}"
        yield ScenarioError(f"flows.{flow.name}.cc.{name}", text_of(cc, name), reason, allowed)


def _way(scenario: LinkScenario, flow: Flow, cc: CongestionControl) -> Iterator[ScenarioError]:
    """A way that is too long for flow fidelity, or loses too much."""
    if scenario.base_rtt(flow) > LONGEST_RTT:
        reason = f"is {scenario.base_rtt(flow):g} s for {flow.name}, where flow fidelity is not near packets"
        yield ScenarioError(
            "paths.rtt", f"{scenario.paths.rtt:g} s", reason, f"at most {LONGEST_RTT:g} s, or {INSTEAD}"
        )
    most = 0.0 if cc.law in LOSSLESS else MOST_LOSS
    if scenario.paths.loss > most:
        reason = f"is more than the {most:.0%} up to which flow fidelity of {cc.law} is near packets"
        yield ScenarioError("paths.loss", f"{scenario.paths.loss:g}", reason, f"at most {most:.0%}, or {INSTEAD}")


def _room(scenario: LinkScenario, flow: Flow, cc: CongestionControl) -> Iterator[ScenarioError]:
    """Buffers too short for what a flow does: there single packets decide, which flow fidelity does not know."""
    size = cc.mss + cc.header
    for name in scenario.data_queues(flow):
        queue = scenario.queues[name]
        held = queue.limit_bytes(scenario.paths.rtt)
        packets = queue.limit_packets() if held is None else held / size
        if packets is None or not queue.limited:
            continue
        if packets < FEWEST:
            reason = f"has room for {packets:.3g} packets of {size} B, where flow fidelity is not near full"
            field, shown = f"access.{name}.buffer", f"{packets * size:g} B"
            yield ScenarioError(field, shown, reason, f"room for {FEWEST} packets, or {INSTEAD}")
        elif cc.target is not None and size / queue.rate > cc.target:
            reason = f"aims at a delay of {cc.target:g} s, and one packet takes {size / queue.rate:.3g} s on {name}"
            yield ScenarioError(f"flows.{flow.name}.cc", cc.name, reason, f"a higher rate, or {INSTEAD}")
        elif (cc.law, cc.variant) == PACED and packets * size / queue.rate < (cc.target or 0.0):
            reason = f"aims at a delay of {cc.target:g} s, and {name} has room for {packets * size / queue.rate:.3g} s"
            reason += ": there its small packets time out one by one"
            yield ScenarioError(f"flows.{flow.name}.cc", cc.name, reason, f"a longer buffer, or {INSTEAD}")


def _met(scenario: LinkScenario) -> Iterator[ScenarioError]:
    """Two ways at once: ACKs that wait between data close up, and what flow makes of it is no guide (docs)."""
    steered = [flow for flow in scenario.flows if flow.cc is not None and flow.count > 0]
    for flow in steered:
        for other in steered:
            shared = set(scenario.ack_queues(flow)) & set(scenario.data_queues(other))
            if shared:
                reason = (
                    f"has ACKs that wait in {min(shared)} with data of {other.name}, which flow fidelity gets wrong"
                )
                yield ScenarioError(f"flows.{flow.name}", flow.cc.name if flow.cc else None, reason, INSTEAD)
                return


def _named(cc: CongestionControl) -> str:
    """Return a law, and which form of it if it has several."""
    return f"{cc.law} ({cc.variant})" if len(VARIANTS[cc.law]) > 1 else cc.law


def build_fluid(program: LinkProgram, seed: int) -> k.Fluid:
    """State before the first step. All randomness comes from the seed."""
    link = build(program, seed)
    flows, queues = program.rules.flows, program.rules.queues
    layout = {
        "lane": ((flows,), k.LANE),
        "hop": ((queues,), k.HOP),
        "passage": ((flows, k.PASSAGES), k.PASSAGE),
        "time": ((1,), k.TIME),
    }
    s = k.Fluid(net=link, past=np.zeros((0, 0)), queued=np.zeros((0, 0)), unused=np.zeros((0, 0)), **arrays(layout))
    s.hop.per_byte = 1.0 / link.queue.rate
    s.hop.empty = 1.0
    for i in range(flows):
        _lay(s, i)
    largest = np.max(program.flow["mss"] + program.flow["header"], initial=1.0)
    s.hop.packet = on_wire(largest, link.queue.framing, link.queue.cells)
    s.lane.trip, s.lane.owd = s.lane.plain, s.lane.way
    s.lane.answer = s.lane.fires = s.lane.ends = packets.FOREVER
    step = min(max(STEP * float(s.lane.plain.min(initial=LONGEST_STEP / STEP)), SHORTEST_STEP), LONGEST_STEP)
    s.time.step = step
    s.lane.lag = np.maximum(np.rint(LAG * s.lane.plain / step), 1)
    kept = 2 * int(s.lane.lag.max(initial=1)) + 1
    return s._replace(past=np.zeros((flows, kept)), queued=np.zeros((queues, kept)), unused=np.zeros((queues, kept)))


def _lay(s: k.Fluid, i: int) -> None:
    """The way of a flow: its queues, and how long it takes past them."""
    f, lane, first = s.net.flow[i], s.lane[i], i * int(packets.PIPES)
    lane.narrow = packets.NONE
    ways = (
        (packets.DATA, 0, (f.data_queue0, f.data_queue1), f.mss + f.header),
        (packets.ACKS, k.ACKS, (f.ack_queue0, f.ack_queue1), f.ack_size),
    )
    for way, place, numbers, size in ways:
        delay = s.net.pipe.delay[first + int(way) : first + int(way) + 3].sum()
        for hop, number in enumerate(numbers):
            passage = s.passage[i, place + hop]
            passage.queue = number
            if number != packets.NONE:
                passage.wire = on_wire(size, s.net.queue[number].framing, s.net.queue[number].cells)
                crossing = passage.wire / s.net.queue[number].rate
                delay += crossing
                if way == packets.DATA and crossing > lane.crossing:
                    lane.crossing, lane.narrow = crossing, number
        lane.plain += delay
        if way == packets.DATA:
            lane.way = delay


def load_kernels(program: LinkProgram) -> None:
    """Load or compile the kernels, so that this is not the experiment's CPU time."""
    termination.in_thread(lambda: engine.run(build_fluid(program, 0), 0))


def run_fluid(program: LinkProgram, seed: int, progress: Callable[[float], None] | None = None) -> packets.State:
    """Run an experiment to its end and return its final state, that of packets."""
    s, steps = build_fluid(program, seed), termination.FIRST_CHUNK
    state: packets.State = s.net
    while True:
        start = time.perf_counter()
        if engine.run(s, steps) == engine.DONE:
            return state
        steps = termination.next_chunk(steps, time.perf_counter() - start)
        if progress is not None:
            progress(float(s.net.clock[0].now) / program.rules.duration)
