"""Scenario to program: a link experiment as flat arrays."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btflow.kernels.link import state as k
from btflow.link.access import Queue, on_wire
from btflow.link.congestion import CongestionControl
from btflow.link.flow import Flow
from btflow.link.scenario import LinkScenario
from btflow.link.state import LinkProgram
from btflow.options import Fidelity
from btflow.units.course import OPPORTUNITY

LAWS = {
    "newreno": k.NEWRENO,
    "cubic": k.CUBIC,
    "vegas": k.VEGAS,
    "lp": k.LP,
    "nice": k.NICE,
    "ledbat": k.LEDBAT,
    "utp": k.UTP,
    "ledbatpp": k.LEDBATPP,
    "bbr": k.BBR,
}
RECOVERIES = {"classic": k.CLASSIC, "prr": k.PRR, "prr-safe": k.PRR_SAFE, "tahoe": k.TAHOE, "per-loss": k.PER_LOSS}
DETECTIONS = {"dupacks": k.DUPACKS, "rack": k.RACK}
HALVES = {"outstanding": k.OUTSTANDING, "window": k.WINDOW, "pipe": k.IN_PIPE}
APPS = {"long": k.BULK, "sized": k.SIZED, "rate": k.RATE, "on-off": k.ON_OFF, "messages": k.MESSAGES, "voip": k.BULK}
DISCIPLINES = {"drop-tail": k.DROP_TAIL, "codel": k.CODEL, "fq-codel": k.FQ_CODEL, "pie": k.PIE, "cake": k.CAKE}
UNLIMITED = 1 << 60

_NUMBERED = {"law": LAWS, "recovery": RECOVERIES, "detection": DETECTIONS, "halves": HALVES}
"""Fields of a congestion control that are words: their numbers in the kernels."""

_OTHERWISE = {*_NUMBERED, "variant", "max_window", "max_gain"}
"""Fields that the flow record has in other terms."""

_CONSTANTS = tuple(n for n in CongestionControl.model_fields if n in (k.FLOW.names or ()) and n not in _OTHERWISE)
_OF_QUEUE = tuple(n for n in Queue.model_fields if n in (k.QUEUE.names or ()))


def compile_link(scenario: LinkScenario, fidelity: Fidelity = "full") -> LinkProgram:
    """Return the arrays of an experiment, nothing random drawn yet; a ScenarioError if its fidelity cannot run it."""
    if fidelity == "flow":
        from btflow.link import fluid  # imports the engine

        fluid.check(scenario)
    names = list(scenario.queues)
    members = [(flow, name) for flow in scenario.flows for name in flow.members]
    records = np.zeros(len(members), k.FLOW)
    for record, (flow, _) in zip(records, members, strict=True):
        _fill(record, scenario, flow, names)
    queues = np.zeros(len(names), k.QUEUE)
    for record, queue in zip(queues, scenario.queues.values(), strict=True):
        write_queue(record, queue, scenario.paths.rtt)
    course = _lay_courses(scenario, queues)
    samples = int(scenario.duration / scenario.sample_period) + 1
    rules = k.Rules(
        flows=len(members),
        queues=len(names),
        sources=0,
        duration=scenario.duration,
        warmup=scenario.warmup_time,
        sample_every=scenario.sample_period,
        history_slots=max(1, int(records["history"].max(initial=1))) + 1,
        filter_slots=64,
        per_flow=int(k.SOURCES),
        skipped=0,
        first_queue=len(members) * int(k.SOURCES),
    )
    return LinkProgram(
        rules=rules,
        flow=records,
        queue=queues,
        course=course,
        rtt_spread=np.full(len(members), scenario.paths.rtt_spread),
        start_spread=np.array([flow.start_spread for flow, _ in members], float),
        records=max(1, *(_records(scenario, flow) for flow, _ in members)),
        samples=samples,
        flow_names=tuple(name for _, name in members),
        flow_cc=tuple(flow.cc.name if flow.cc else "udp" for flow, _ in members),
        flow_kinds=tuple(flow.kind for flow, _ in members),
        flow_hosts=tuple(flow.host for flow, _ in members),
        codecs=tuple(flow.codec for flow, _ in members),
        queue_names=tuple(names),
        bottleneck=scenario.bottleneck_queue,
        fidelity=fidelity,
    )


def _fill(record: Any, scenario: LinkScenario, flow: Flow, queues: list[str]) -> None:
    """Write a flow's constants into its record."""
    rtt = scenario.base_rtt(flow)
    record["data_delay"] = record["ack_delay_path"] = rtt / 2
    record["delay_steps"] = len(getattr(rtt, "times", ()))
    record["data_loss"], record["ack_loss"] = scenario.paths.loss, scenario.paths.ack_loss
    for way, passed in (("data", scenario.data_queues(flow)), ("ack", scenario.ack_queues(flow))):
        record[f"{way}_queue0"], record[f"{way}_queue1"] = (*(queues.index(n) for n in passed), -1, -1)[:2]
    record["train"] = record["weight"] = 1
    record["start"] = flow.start
    record["stop"] = k.FOREVER if flow.stop is None else flow.stop
    record["app"] = APPS[flow.kind]
    if flow.codec is not None:
        record["law"] = k.CBR
        record["mss"], record["header"] = flow.codec.payload, flow.codec.header
        record["ack_size"] = flow.packet
        record["app_rate"] = 1.0 / flow.codec.period
        record["max_window"] = 1.0
        return
    assert flow.cc is not None
    write_congestion_control(record, flow.cc)
    shapers = {scenario.queues[name].shaper for name in scenario.data_queues(flow)}
    if flow.cc.super_packet > 1 and shapers and "line" not in shapers:
        record["bundled"] = flow.cc.super_packet
    record["max_window"] = max(1, flow.max_window // flow.cc.mss)
    record["exponential"] = flow.exponential
    for name in ("on", "off", "period"):
        if getattr(flow, name) is not None:
            record[name] = getattr(flow, name)
    if flow.size is not None:
        record["total"] = math.ceil(flow.size / flow.cc.mss)
        record["last_payload"] = flow.size - (record["total"] - 1) * flow.cc.mss
    if flow.rate is not None:
        record["app_rate"] = flow.rate / flow.cc.mss
    if flow.message is not None:
        # A message travels in segments of its own size: Nagle is off, as in BitTorrent clients. The window counts
        # bytes, and what waits for it is sent in full segments.
        record["total"] = math.ceil(flow.message / flow.cc.mss)
        record["mss"] = flow.message / record["total"]
        record["weight"] = record["mss"] / flow.cc.mss


def write_queue(record: Any, queue: Queue, rtt: float) -> None:
    """Write the constants of a queue into its record; ``rtt`` is what a buffer may be a multiple of [s]."""
    packets, limit = queue.limit_packets(), queue.limit_bytes(rtt)
    record["kind"] = DISCIPLINES[queue.discipline]
    record["early"] = queue.shaper == "htb"
    record["limit_packets"] = UNLIMITED if packets is None else packets
    record["limit_bytes"] = math.inf if limit is None else limit
    record["mtu"] = queue.largest_packet or 0
    record["cells"] = queue.link_layer == "atm"
    record["opportunity"] = on_wire(OPPORTUNITY, queue.framing, record["cells"])
    record["fair_to_hosts"] = queue.isolation == "triple-isolate"
    _assign(record, queue, _OF_QUEUE)


def _lay_courses(scenario: LinkScenario, queues: NDArray[np.void]) -> NDArray[np.void]:
    """Return what changes, the delay first, and write into the queues' records where each finds its own."""
    found = [scenario.paths.rtt, *(queue.rate for queue in scenario.queues.values())]
    times, values = ([getattr(one, name, ()) for one in found] for name in ("times", "values"))
    ends = np.cumsum([len(own) for own in times])
    queues["course_first"], queues["course_end"] = ends[:-1], ends[1:]
    kinds = [(k.STEPS if own else k.TRACE) if len(at) else k.CONSTANT for at, own in zip(times, values, strict=True)]
    queues["course"] = kinds[1:]
    made = np.zeros(ends[-1], k.COURSE)
    made["at"] = np.concatenate(times)
    made["value"] = np.concatenate([own or [0.0] * len(at) for at, own in zip(times, values, strict=True)])
    return made


def write_congestion_control(record: Any, cc: CongestionControl) -> None:
    """Write the constants of a congestion control into the record of a flow."""
    for name, numbers in _NUMBERED.items():
        record[name] = numbers[getattr(cc, name)]
    record["variant"] = cc.variant_number
    record["validate"] = cc.window_validation
    _assign(record, cc, _CONSTANTS)
    if cc.max_gain is not None:
        record["max_gain"] = cc.max_gain / cc.mss


def _assign(record: Any, source: object, names: Iterable[str]) -> None:
    """Copy the fields that the source has a value for."""
    for name in names:
        value = getattr(source, name)
        if value is not None:
            record[name] = value


def _records(scenario: LinkScenario, flow: Flow) -> int:
    """Most messages or voice packets that a flow sends."""
    period = flow.codec.period if flow.codec else flow.period
    return 0 if period is None else math.ceil((scenario.duration - flow.start) / period) + 1
