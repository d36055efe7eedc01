"""What one visitor may ask for, and its process's memory: refused before any work, to stay quick for all."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import TYPE_CHECKING

from btflow.errors import InputError, ScenarioError
from btflow.units import format_quantity
from btflow.units.formatting import counted

if TYPE_CHECKING:
    from btflow.link.scenario import LinkScenario
    from btflow.swarm.scenario import Scenario


WHY = "is more than this page computes"

FLOWS = 30
"""Flows, calls and probes of a link experiment in all: memory goes with them and with samples."""
PACKETS = 60_000_000
"""Packets that its flows can send in all; one costs a fifth to a third of a microsecond."""
DURATION = 600.0
"""Its simulated time [s]."""
AT_ONCE = 600_000
"""Packets up to which it is simulated while an input moves, without progress."""

PEERS = 301
"""Seeds and leechers of a swarm."""
BLOCKS = 1_000_000
"""Blocks that its leechers receive in all, with which time and memory go: 300 leechers of 50 MB."""
LINKED = 700_000
"""The same of a swarm whose peers have access links, which costs more: 200 leechers of 50 MB, some 20 s."""
MEMORY = 850_000_000
"""Memory that a swarm takes at its start [B]; its run adds at most as much again."""


def check_link(scenario: LinkScenario) -> None:
    """Refuse a link experiment that takes too long.

    Raises:
        InputError: It names the field to lower.
    """
    for problem in scenario.refuse_courses("the explorer does not show", "one value; btflow link runs the others"):
        raise problem
    count = sum(flow.count for flow in scenario.flows)
    if count > FLOWS:
        raise InputError("flows", count, WHY, f"at most {FLOWS} flows")
    if scenario.duration > DURATION:
        raise InputError("duration", _time(scenario.duration), WHY, f"at most {_time(DURATION)}")
    expected = packets(scenario)
    if expected > PACKETS:
        most = float(f"{0.995 * PACKETS / expected * scenario.duration:.3g}")  # down
        raise InputError("duration", _time(scenario.duration), f"{WHY} at this rate", f"at most {_time(most)}")


def packets(scenario: LinkScenario) -> float:
    """Return how many packets the flows of a link experiment can send in all, ACKs not counted."""
    queues, rates, steady = scenario.queues, dict[str, float](), 0.0
    for flow in scenario.flows:
        period = flow.codec.period if flow.codec else flow.period
        passed = scenario.data_queues(flow)
        if flow.count == 0:
            continue
        if period is not None:
            steady += flow.count / period
        elif passed:
            name = min(passed, key=lambda queue: queues[queue].rate)
            rates[name] = max(rates.get(name, 0.0), queues[name].rate / flow.packet)
        else:  # nothing but its window holds it
            steady += flow.count * flow.max_window / flow.packet / max(scenario.base_rtt(flow), 1e-3)
    return scenario.duration * (steady + sum(rates.values()))


def check_swarm(scenario: Scenario) -> None:
    """Refuse a swarm that takes too long or too much memory; as ``check_link``."""
    leechers = sum(c.number for c in scenario.classes if c.role == "leecher")
    peers = sum(c.number for c in scenario.classes)
    if peers > PEERS:
        raise InputError("leechers", leechers, WHY, f"at most {counted(PEERS - peers + leechers, 'leecher')}")
    size = scenario.swarm.file_size
    most = LINKED if any(c.access for c in scenario.classes) else BLOCKS
    blocks = max(leechers, 1) * -(-size // scenario.swarm.block_size)
    if blocks > most:
        largest = most // max(leechers, 1) * scenario.swarm.block_size
        allowed = f"at most {_size(largest, scenario)} for {counted(leechers, 'leecher')}"
        raise InputError("file_size", _size(size, scenario), WHY, allowed)
    _check_memory(scenario, leechers)


def _check_memory(scenario: Scenario, leechers: int) -> None:
    """Refuse a swarm whose queues and windows have room for too much: buffers, rates and round trips have no bound."""
    from btflow.swarm.program import compile_scenario  # the page begins with a link
    from btflow.swarm.run import swarm_bytes

    programs = [compile_scenario(scenario)]
    with suppress(ScenarioError):  # flow does not run it
        programs.append(compile_scenario(scenario, "flow"))
    need = max(swarm_bytes(program) for program in programs)  # one after the other
    if need > MEMORY:
        reason = f"takes {need / 1e9:.2g} GB of memory, which {WHY}"
        allowed = f"{MEMORY / 1e9:.2g} GB: fewer leechers, a smaller buffer, a lower rate or a shorter round-trip time"
        raise InputError("leechers", leechers, reason, allowed)


def _size(size: int, scenario: Scenario) -> str:
    """Return a size in whole MB or kB of the model, rounded down."""
    step = 1024 if scenario.byte_prefix == "binary" else 1000
    return f"{size // step**2} MB" if size >= step**2 else f"{size // step} kB"


def _time(seconds: float) -> str:
    return format_quantity(seconds, "time")


def bound_memory(megabytes: int) -> None:
    """Let this process have so many MB of data at most; a larger request fails with a MemoryError."""
    most = megabytes * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
