"""A line as it was fitted: estimates with intervals, and the file of the access link that they make."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, NamedTuple

from btflow.config.files import inline
from btflow.files import replacing
from btflow.lines.traces import Load, Trace, Way
from btflow.options import output_file


class Estimate(NamedTuple):
    """A value with its interval; an end that is not known is infinite."""

    value: float
    low: float
    high: float

    def text(self, scale: float, unit: str, digits: int = 3) -> str:
        """Return it for people: ``1.00 Mbit/s (0.99 to 1.01)``, or ``at least 120 ms``."""
        value, low, high = (_figures(scale * x, digits) for x in self)
        if math.isinf(self.high):
            return f"at least {low} {unit}"
        if math.isinf(self.low):
            return f"at most {high} {unit}"
        return f"{value} {unit}" if self.low == self.high else f"{value} {unit} ({low} to {high})"


def _figures(value: float, digits: int) -> str:
    """Return a number of at least so many figures, none of them after a point that are not needed."""
    if not math.isfinite(value):
        return "unknown"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0) if value else 0
    return f"{value:,.{places}f}"


Kind = Literal["drop-tail", "codel", "fq-codel", "unknown"]

LIMITS = {"codel": 1000, "fq-codel": 10240}
"""Packets of a managed queue's buffer, never full: Linux's defaults (net/sched/sch_codel.c, sch_fq_codel.c)."""


@dataclass(frozen=True)
class Queued:
    """One direction of a line."""

    rate: Estimate
    """Rate at which IP packets leave [B/s]."""
    packet: float
    """IP packet of a full segment [B]."""
    wait: Estimate | None
    """How long a packet waits that finds the queue full [s]; of a managed one the longest seen. None: unknown."""
    discipline: Kind
    """``codel`` and ``fq-codel`` stand for all managed queues: which one it is cannot be seen."""
    given: str | None = None
    """The buffer, where it was given."""

    @property
    def kind(self) -> str:
        """Name of the discipline in btflow; drop-tail where it is not known."""
        return "drop-tail" if self.discipline == "unknown" else self.discipline

    @property
    def buffer(self) -> Estimate | None:
        """Room in the queue [B], without the packet that is being sent; None if it is not known."""
        if self.wait is None:
            return None
        return Estimate(*(rate * wait for rate, wait in zip(self.rate, self.wait, strict=True)))


def _comment(text: str) -> str:
    """Return a comment of TOML, which ends with its line, whatever the name of a file has in it."""
    return "# " + "".join(letter if letter.isprintable() else "?" for letter in text)


@dataclass(frozen=True, repr=False)
class Line:
    """An access link that was fitted to measurements."""

    rtt: Estimate
    """Base round-trip time, to where it was measured against [s]."""
    uplink: Queued | None
    downlink: Queued | None
    notes: tuple[str, ...]
    """What cannot be known from the files, and what was assumed, in words."""
    traces: tuple[Trace, ...] = field(compare=False)
    """What was measured, on one clock."""
    loads: tuple[Load, ...] = field(compare=False)
    """The loads in it, and the one that was assumed where there is none."""

    @property
    def ways(self) -> Iterator[tuple[Way, Queued]]:
        """The directions that were measured."""
        if self.uplink is not None:
            yield "up", self.uplink
        if self.downlink is not None:
            yield "down", self.downlink

    def shows(self, load: Load) -> bool:
        """Return whether a load was measured, not assumed."""
        return any(load is own for trace in self.traces for own in trace.loads)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return what was found, a line for each figure."""
        found = [f"base round-trip time  {self.rtt.text(1e3, 'ms')}"]
        for way, queue in self.ways:
            found.append(f"rate {way}".ljust(22) + queue.rate.text(8e-6, "Mbit/s"))
            found.append(f"buffer {way}".ljust(22) + _buffer_text(queue))
            found.append(f"queue {way}".ljust(22) + MEANING[queue.discipline])
        return found

    def text(self) -> str:
        """Return the TOML file of the access link."""
        files = ", ".join(trace.file for trace in self.traces)
        lines = ["# An access link fitted by btflow calibrate. Rates are those of IP packets.", ""]
        lines += map(_comment, [*(trace.text() for trace in self.traces), *(f"Note: {note}." for note in self.notes)])
        lines += ["", f"name = {inline('my-line')}", f"title = {inline('Fitted to ' + files)}"[:200]]
        lines.append(f"source = {inline('btflow calibrate ' + files)}")
        lines.append(f"rtt = {_sourced(f'{1e3 * self.rtt.value:.4g} ms', self.rtt.text(1e3, 'ms'))}")
        for way, queue in self.ways:
            lines += ["", f"[{way}link]", *_table(queue)]
        return "\n".join(lines) + "\n"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the TOML file, which ``btflow link --access`` and ``classes.*.access`` of a swarm take.

        Raises:
            InputError: No file ending in .toml can be written there.
            OSError: The file cannot be written; what was there before is kept.
        """
        with replacing(output_file("path", path, ".toml")) as partial:
            partial.write_text(self.text(), encoding="utf-8", newline="\n")


MEANING: dict[Kind, str] = {
    "drop-tail": "drop-tail: losses come when it is full",
    "codel": "managed: losses come at short waits; which one cannot be told, CoDel is taken",
    "fq-codel": "managed by flow: pings pass the load; which one cannot be told, FQ-CoDel is taken",
    "unknown": "not known; drop-tail is taken",
}


def _buffer_text(queue: Queued) -> str:
    """Return a queue's buffer for people."""
    if queue.given is not None:
        return f"{queue.given}, as given"
    if queue.wait is None or queue.buffer is None:
        return "not known: give it by --buffer"
    if queue.discipline in LIMITS:
        return f"never full; waits up to {1e3 * queue.wait.value:.0f} ms were seen"
    packets = Estimate(*(x / queue.packet for x in queue.buffer))
    parts = (queue.wait.text(1e3, "ms"), queue.buffer.text(1e-3, "kB"), packets.text(1, "packets"))
    said = "at least " if parts[0].startswith("at least ") else ""
    return " = ".join([parts[0], *(part.removeprefix(said) for part in parts[1:])])


def buffer_of(queue: Queued) -> str:
    """Return a queue's buffer as a model file has it; where it is not known a BDP of 100 ms."""
    if queue.given is not None:
        return queue.given
    if queue.discipline in LIMITS:
        return f"{LIMITS[queue.discipline]} packets"
    if queue.buffer is None:
        return "100 packets"
    return f"{round(max(queue.buffer.value, queue.packet))} B"


def _table(queue: Queued) -> Iterator[str]:
    """Give the lines of a direction's table."""
    yield f"rate = {_sourced(f'{8 * queue.rate.value:.0f} bit/s', queue.rate.text(8e-6, 'Mbit/s'))}"
    assumed = queue.given is None and (queue.buffer is None or queue.discipline in LIMITS)
    why = f"assumed: {_buffer_text(queue)}" if assumed else _buffer_text(queue)
    yield f"buffer = {_sourced(buffer_of(queue), why)}"
    yield f"discipline = {_sourced(queue.kind, MEANING[queue.discipline])}"


def _sourced(value: str, source: str) -> str:
    return inline({"value": value, "source": source})
