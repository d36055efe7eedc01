"""Reads what pings print: Linux's, macOS's, BSD's, BusyBox's and Windows', in their languages, and fping's."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from btflow.errors import brief
from btflow.lines.traces import Delays, Floats, Trace, unusable
from btflow.units.formatting import counted

_TIME = r"[=<] ?(?P<time>\d{1,15}(?:[.,]\d{1,9})?) ?"
_FORMS = {
    r"(?P<bytes>\d{1,9}) bytes from (?>.*?seq[=: ](?P<seq>\d{1,9}))(?>.*?time" + _TIME + r")(?P<unit>\S+)": (20, 64),
    r"=(?P<seq>\d{1,9}) ttl=\d{1,3} \S{1,20}" + _TIME: (20, 64),
    r"(?:^|\] )(?P<host>\S{1,255}) +: \[(?P<seq>\d{1,9})\], (?P<bytes>\d{1,9}) bytes, (?P<time>\d+\.?\d*) ms": (20, 64),
    r"=(?P<bytes>\d{1,9}) \S{1,20} ?" + _TIME + r"[^\s\d.]{1,9}(?-i: TTL=)\d": (28, 32),
    r":[0-9a-f]{0,4}(?:%\d{1,9})? ?: \S{1,20} ?" + _TIME + r"\D{1,9}$": (48, 32),
}
"""Replies of ping, of Linux's in other languages, of fping, and of Windows by IPv4 and by IPv6: their numbers and signs
are the same in all languages. With each the headers beside a reply's bytes, and these bytes where a line does not say
them [B]. Each part of the first pattern matches once: with backtracking it takes the cube of a line's length."""
_REPLIES = {re.compile(pattern, re.IGNORECASE): sizes for pattern, sizes in _FORMS.items()}
_FIRST = re.compile(r"^(?:\[(?P<stamp>\d{1,12}\.\d{1,9})\] )?(?:(?P<bytes>\d{1,9}) )?")
_APART = re.compile(r"^PING |^--- |^\S(?=.*\d).*[:：]\s?$")
"""Lines before the pings of a run, and after them."""
_BEGUN = re.compile(r"^PING |(?i:ping)(?=.*\d[.:]\d).*[:：]\s?$")
_TOTAL = re.compile(r"^\D{0,20}(\d{1,9})\D[^%]*%\D*(\d{1,12}) ?\D{2,6}$")
"""Linux's count of all pings, and the time that they took [ms]."""
_UNITS = {"us": 1e-6, "usec": 1e-6, "µs": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
_WRAP = 2**16
"""Numbers that a ping may have (RFC 792)."""
_NEAR = 1000
"""Numbers that a reply may be late, or that may be lost where they wrap. Chosen: at 10 ms between pings, 10 s."""

AT_WAIT = 0.8
"""Share of its period from which on the longest reply to fping says that others took longer. Chosen."""

LONGEST = 600.0
"""Round-trip time [s] above which there is none: a wrong unit."""

LONGEST_LINE = 500
"""Characters of a line: ping's have some 80."""

MOST_PINGS = 1_000_000
"""Pings of a log, by their numbers: at one a second, twelve days."""


class _Reply(NamedTuple):
    stamp: float
    """Time of day [s since 1970] or NaN."""
    seq: int | None
    size: int
    rtt: float
    step: float
    """Of the last digit of the round-trip time [s]."""
    marked: bool
    """As a duplicate."""
    host: str | None


class _Log:
    """The replies of each run of a program, by the pings' numbers, which go on where those of the program wrap."""

    def __init__(self) -> None:
        self.runs: list[dict[int, _Reply]] = [{}]
        self.periods, self.last, self.twice, self.silent, self.apart = [0.0], 0, 0, 0, False
        self.lost: list[int] = []
        """Lines that stand for a lost ping of Windows, whose pings have no numbers."""

    def skip(self, line: str) -> None:
        """Take a line that is no reply."""
        starts = _APART.match(line) is not None
        self.apart |= starts
        self.silent = 0 if starts or not line.strip() else self.silent + 1
        if (total := _TOTAL.match(line)) and int(total[1]) > 1:
            self.periods[-1] = max(int(total[2]) / 1e3 / (int(total[1]) - 1), 1e-3)

    def take(self, line: int, reply: _Reply) -> None:
        """Take the reply in a line of some number."""
        if reply.seq is None:
            self.lost += range(line - self.silent, line)
        number = self._number(reply.seq, reply.marked)
        if self.runs[-1] and (number is None or self.apart):
            self.runs.append({})
            self.periods.append(0.0)
            self.last, number = 0, reply.seq
        number = self.silent + 1 if number is None else number
        self.silent, self.apart = 0, False
        self.twice += number in self.runs[-1]
        self.runs[-1].setdefault(number, reply)
        self.last = max(number, self.last)

    def _number(self, seq: int | None, marked: bool) -> int | None:
        """Return a ping's number; None if the numbers have begun again, so that it is of the next run."""
        if seq is None or not self.runs[-1]:
            return self.last + self.silent + 1 if seq is None else seq
        number = seq + _WRAP * max(round((self.last - seq) / _WRAP), 0)
        beyond = number > max(seq, self.last + _NEAR) and number // _WRAP > self.last // _WRAP
        again = beyond or number < self.last - _NEAR or (number in self.runs[-1] and not marked)
        return None if again else number


def like(text: str) -> bool:
    """Return whether a text has what a ping log has and other files do not."""
    lines = [line for line in text.splitlines() if len(line) <= LONGEST_LINE]
    return any(pattern.search(line) for line in lines for pattern in (_BEGUN, *_REPLIES))


def read(name: str, text: str) -> Trace:
    """Return the round-trip times of a ping log; without ``-D`` times follow from the numbers of the pings.

    A reply that came a second time counts once. A ping is lost if no reply has its number, up to the last that has; on
    Windows, for each line between two replies. Where the numbers begin again there is another run.

    Raises:
        InputError: There is no reply in it, or a time is not one.
    """
    log = _Log()
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            raise unusable(name, f"line {number} has {len(line):,} characters", f"at most {LONGEST_LINE}, as of ping")
        if (reply := _reply(name, number, line)) is None:
            log.skip(line)
        else:
            log.take(number, reply)
    replies = [reply for run in log.runs for reply in run.values()]
    if not replies:
        raise unusable(name, "has no reply in it", "a log of ping in which at least one came back")
    if len(hosts := {str(reply.host) for reply in replies}) > 1:
        raise unusable(name, f"has pings of {len(hosts)} hosts, such as {brief(min(hosts))}", "those of one host")
    if sum(max(run) - min(run) for run in log.runs) >= MOST_PINGS:
        reason = f"has pings of numbers up to {max(max(run) for run in log.runs)}"
        raise unusable(name, reason, f"at most {MOST_PINGS:,} pings: measure for a minute or two")
    size, step = float(np.median([reply.size for reply in replies])), min(reply.step for reply in replies)
    sent, rtt, lost, begun = _placed(log, not any(np.isnan(reply.stamp) for reply in replies))
    notes = _notes(log, begun is not None)
    if len(lost) and replies[0].host and rtt.max() > AT_WAIT * np.median(np.diff(sent)):
        lost = np.zeros(0)
        notes = [
            *notes,
            "fping waits as long as its period: longer round trips are missing, as if lost (fping -t 5000)",
        ]
    delays = Delays("pings", sent, rtt, size, lost, step)
    return Trace(name, "ping log", begun, (delays,), (), tuple(notes))


def _reply(name: str, number: int, line: str) -> _Reply | None:
    """Return the reply in a line; None if there is none."""
    for pattern, (headers, usual) in _REPLIES.items():
        if found := pattern.search(line):
            said = (_FIRST.match(line) or found).groupdict() | found.groupdict()
            octets = int(said["bytes"] or usual)
            if octets > 65_535:
                raise unusable(name, f"line {number} has a ping of {octets} B", "at most 65535 B, as of an IP packet")
            took = _time(name, number, said["time"].replace(",", "."), said.get("unit", "ms"))
            stamp, seq = float(said["stamp"] or "nan"), int(said["seq"]) if "seq" in said else None
            return _Reply(stamp, seq, octets + headers, *took, "!)" in line, said.get("host"))
    return None


def _time(name: str, line: int, text: str, unit: str) -> tuple[float, float]:
    """Return a time [s] and the step of its last digit [s]."""
    scale = _UNITS.get(unit.rstrip(".,;"))
    if scale is None:
        raise unusable(name, f"line {line} has a time in {brief(unit)!r}", "us, ms or s")
    if not (value := float(text) * scale) <= LONGEST:
        raise unusable(name, f"line {line} has a round-trip time of {value:g} s", f"at most {LONGEST:g} s")
    return value, scale * 10.0 ** -len(text.partition(".")[2])


def _placed(log: _Log, stamped: bool) -> tuple[Floats, Floats, Floats, float | None]:
    """Return when pings were sent, their round-trip times, when lost ones were sent, and the time of day of time 0."""
    parts, after = [], 0.0
    for run, period in zip(log.runs, (period or 1.0 for period in log.periods), strict=True):
        numbers = np.array(sorted(run))
        stamps, rtt = np.array([(run[n].stamp, run[n].rtt) for n in numbers]).T
        sent = stamps - rtt if stamped else after + period * (numbers - numbers[0])
        missing = np.setdiff1d(np.arange(numbers[0], numbers[-1]), numbers)
        parts.append((sent, rtt, np.interp(missing, numbers, sent)))
        after = float(sent[-1]) + period
    sent, rtt, lost = (np.concatenate(part) for part in zip(*parts, strict=True))
    begun, order = float(sent.min()), np.argsort(sent, kind="stable")
    return sent[order] - begun, rtt[order], np.sort(lost) - begun, begun if stamped else None


def _notes(log: _Log, stamped: bool) -> list[str]:
    """Return notes on replies that are left out, on lost pings and on times that are not in the log."""
    notes = [f"{counted(log.twice, 'reply')} came a second time: left out"] if log.twice else []
    if log.lost:
        lines = f"{counted(len(log.lost), 'line')} between replies, such as line {log.lost[0]}"
        notes.append(f"{lines}, count as a lost ping each")
    if stamped:
        return notes
    if log.runs[1:]:
        laid = "they are laid one after the other, as the time between them is not known"
        notes.append(f"the log has {len(log.runs)} runs, whose numbers begin again: {laid}")
    rate = "" if all(log.periods) else ", sent one a second, ping's default, as it does not say"
    return [*notes, f"the log has no times of day (ping -D): times follow from the numbers of the pings{rate}"]
