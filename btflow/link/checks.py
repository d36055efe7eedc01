"""Checks across the fields of a link experiment: what no single field can know."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from btflow.errors import ScenarioError
from btflow.link.access import on_wire
from btflow.link.flow import INTERNET, MAX_FLOWS, Flow
from btflow.units import format_quantity
from btflow.units.course import highest

if TYPE_CHECKING:
    from btflow.link.scenario import LinkScenario

MAX_PACKETS = 1e9
MAX_SAMPLES = 1_000_000
_LONGEST_NAME = 60
_NAMES = {"access": re.compile(r"[^\s.,:@=]+"), "flows": re.compile(r"[^\s,:@=]+")}


def problems(scenario: LinkScenario) -> list[ScenarioError]:
    """Return every reason why the experiment's fields do not go together."""
    checks: tuple[Callable[[LinkScenario], Iterator[ScenarioError]], ...] = (
        _names,
        _ends,
        _counts,
        _times,
        _bottleneck,
        _buffers,
        _limits,
    )
    found = [problem for check in checks for problem in check(scenario)]
    return found or list(_work(scenario))


def _names(scenario: LinkScenario) -> Iterator[ScenarioError]:
    if not scenario.name.strip():
        yield ScenarioError("name", scenario.name, "is an empty name", "a name of at least one character")
    links = [link.name for link in scenario.access]
    flows = [flow.name for flow in scenario.flows]
    for table, names in (("access", links), ("flows", flows)):
        for name in names:
            if not (_NAMES[table].fullmatch(name) and name.isprintable() and len(name) <= _LONGEST_NAME):
                yield ScenarioError(
                    table, name, "is not a name", "a text without spaces, , : @ = and, for an access link, ."
                )
    members = [name for flow in scenario.flows for name in flow.members]
    for table, names in (("access", links), ("flows", members)):
        for name, times in Counter(names).items():
            if times > 1:
                yield ScenarioError(table, name, "is the name of two of them", "distinct names")
    if INTERNET in links:
        yield ScenarioError("access", INTERNET, "is the name of the other side", "another name")


def _ends(scenario: LinkScenario) -> Iterator[ScenarioError]:
    known = (*(link.name for link in scenario.access), INTERNET)
    for flow in scenario.flows:
        for field, end in (("from", flow.sender), ("to", flow.receiver)):
            if end not in known:
                yield ScenarioError(f"flows.{flow.name}.{field}", end, "is not an access link", ", ".join(known))
        if flow.sender == flow.receiver != INTERNET:
            reason = "is also where it comes from: that path has no link"
            yield ScenarioError(f"flows.{flow.name}.to", flow.receiver, reason, "another access link, or internet")


def _counts(scenario: LinkScenario) -> Iterator[ScenarioError]:
    total = sum(flow.count for flow in scenario.flows)
    if not 1 <= total <= MAX_FLOWS:
        yield ScenarioError("flows", total, "is out of range", f"1 to {MAX_FLOWS} flows in all")


def _times(scenario: LinkScenario) -> Iterator[ScenarioError]:
    end = f"before the end, duration = {_time(scenario.duration)}"
    if scenario.warmup is not None and scenario.warmup >= scenario.duration:
        yield ScenarioError("warmup", _time(scenario.warmup), "leaves nothing to measure", f"a time {end}")
    if scenario.duration / scenario.sample_period > MAX_SAMPLES:
        least = _time(scenario.duration / MAX_SAMPLES)
        yield ScenarioError("sample", _time(scenario.sample_period), "makes too many samples", f"at least {least}")
    for flow in scenario.flows:
        if flow.start + flow.start_spread >= scenario.duration:
            yield ScenarioError(f"flows.{flow.name}.start", _time(flow.start), "is not before the end", f"a time {end}")


def _bottleneck(scenario: LinkScenario) -> Iterator[ScenarioError]:
    if scenario.bottleneck is not None and scenario.bottleneck not in scenario.queues:
        queues = ", ".join(scenario.queues) or "none: every rate is unlimited"
        yield ScenarioError("bottleneck", scenario.bottleneck, "is not a queue of limited rate", queues)


def _buffers(scenario: LinkScenario) -> Iterator[ScenarioError]:
    """Yield the buffers that hold no packet: nothing would ever wait there."""
    for name, queue in scenario.queues.items():
        room = queue.limit_bytes(scenario.paths.rtt)
        passing = [flow for flow in scenario.flows if name in scenario.data_queues(flow) and flow.count]
        largest = max((on_wire(flow.packet, queue.framing, queue.link_layer == "atm") for flow in passing), default=0)
        if room is not None and room < largest:
            assert queue.buffer is not None
            shown = format_quantity(queue.buffer, "buffer")
            reason = f"is {room:.0f} B at this rate and paths.rtt and holds no packet of {largest} B"
            yield ScenarioError(f"access.{name}.buffer", shown, reason, f"at least {largest} B")


def _limits(scenario: LinkScenario) -> Iterator[ScenarioError]:
    """Yield the flows that nothing limits."""
    for flow in scenario.flows:
        greedy = flow.kind in ("long", "on-off", "sized") and not scenario.data_queues(flow)
        if greedy and (scenario.base_rtt(flow) == 0.0 or (flow.kind == "long" and scenario.paths.loss == 0.0)):
            allowed = "an access link with a rate, from or to"
            yield ScenarioError(f"flows.{flow.name}", None, "passes no queue and nothing else limits it", allowed)


def _work(scenario: LinkScenario) -> Iterator[ScenarioError]:
    packets = sum(flow.count * _packets(scenario, flow) for flow in scenario.flows)
    for name, queue in scenario.queues.items():
        passing = [flow for flow in scenario.flows if name in scenario.data_queues(flow) and flow.count]
        if passing:
            share = sum(flow.count * _packets(scenario, flow) for flow in passing)
            smallest = min(flow.packet for flow in passing)
            packets -= max(0.0, share - highest(queue.rate) * scenario.duration / smallest)
    if packets > MAX_PACKETS:
        yield ScenarioError(
            "duration",
            _time(scenario.duration),
            f"is about {packets:.1e} packets of work at these rates",
            f"at most {MAX_PACKETS:.0e} packets; take a shorter duration, lower rates or fewer flows",
        )


def _packets(scenario: LinkScenario, flow: Flow) -> float:
    """Return the most packets that one flow can send."""
    time = (scenario.duration if flow.stop is None else min(flow.stop, scenario.duration)) - flow.start
    if flow.codec is not None:
        return time / flow.codec.period
    assert flow.cc is not None
    mss = flow.cc.mss
    rtt = scenario.base_rtt(flow)
    rates = [highest(scenario.queues[name].rate) / flow.packet for name in scenario.data_queues(flow)]
    if rtt > 0:
        rates.append(flow.max_window / mss / rtt)
    if flow.rate is not None:
        rates.append(flow.rate / mss)
    if flow.message is not None and flow.period is not None:
        rates.append(math.ceil(flow.message / mss) / flow.period)
    most = time * min(rates, default=math.inf)
    return most if flow.size is None else min(most, flow.size / mss)


def _time(value: float) -> str:
    return format_quantity(value, "time")
