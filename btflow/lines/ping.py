"""Reads what ``ping`` prints: of iputils (Linux), with or without ``-D``, of BSD and macOS, BusyBox and Windows."""

from __future__ import annotations

import re

import numpy as np

from btflow.lines.traces import Delays, Floats, Trace, unusable

_STAMP = re.compile(r"^\[(\d{1,12}\.\d{1,9})\]\s")
_REPLY = re.compile(
    r"(?P<bytes>\d{1,9}) bytes from (?>.*?seq[=: ](?P<seq>\d{1,9}))(?>.*?time[=<](?P<time>[\d.]{1,20})) ?(?P<unit>\S+)"
)
"""Its parts are tried once each: to try all of their places takes the cube of a line's length."""
_WINDOWS = re.compile(r"[:=] ?bytes[=: ](?P<bytes>\d{1,9}) time[=<](?P<time>[\d.]{1,20}) ?(?P<unit>[a-zµ]+)")
_WINDOWS_LOST = re.compile(r"^(Request timed out|.*[Uu]nreachable)")
_TOTAL = re.compile(r"^(\d{1,9}) packets transmitted, \d{1,9} (?:packets )?received.*time (\d{1,12}) ?ms", re.MULTILINE)
_UNITS = {"us": 1e-6, "usec": 1e-6, "µs": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
_HEADERS = 28
"""Of IP and ICMP [B]; a reply's bytes are ICMP's, with 8 of the header."""

LIKE = re.compile(r"bytes from .{1,300}seq|[:=] ?bytes[=: ]\d+ time[=<]|^PING ", re.MULTILINE)
"""What a ping log has and other files do not."""

LONGEST = 600.0
"""Round-trip time [s] above which there is none: a wrong unit."""

LONGEST_LINE = 500
"""Characters of a line: ping's have some 80."""

MOST_PINGS = 1_000_000
"""Pings of a log, by their numbers: at one a second, twelve days."""


def read(name: str, text: str) -> Trace:
    """Return the round-trip times of a ping log; without ``-D`` times follow from the numbers of the pings.

    A reply that came a second time counts once. A ping is lost if no reply has its number, up to the last that has.

    Raises:
        InputError: There is no reply in it, or a time is not one.
    """
    found: dict[int, tuple[float | None, float]] = {}
    sizes, steps, twice, stamped = [], [], 0, True
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            raise unusable(name, f"line {number} has {len(line):,} characters", f"at most {LONGEST_LINE}, as of ping")
        reply = _REPLY.search(line) or _WINDOWS.search(line)
        if reply is None:
            if _WINDOWS_LOST.match(line):
                found[len(found) + 1] = (None, np.nan)
            continue
        octets, seq = int(reply["bytes"]), int(reply["seq"]) if "seq" in reply.groupdict() else len(found) + 1
        if seq in found:
            twice += 1
            continue
        if octets > 65_535:
            raise unusable(name, f"line {number} has a ping of {octets} B", "at most 65535 B, as of an IP packet")
        rtt, step = _time(name, number, reply["time"], reply["unit"])
        stamp = _STAMP.match(line)
        stamped &= stamp is not None
        found[seq] = (float(stamp[1]) if stamp else None, rtt)
        sizes.append(octets)
        steps.append(step)
    if not sizes:
        raise unusable(name, "has no reply in it", "a log of ping in which at least one came back")
    if max(found) - min(found) >= MOST_PINGS:
        reason = f"has pings of the numbers {min(found)} to {max(found)}"
        raise unusable(name, reason, f"at most {MOST_PINGS:,} pings: measure for a minute or two")
    notes = [f"{twice} replies came a second time: left out"] if twice else []
    stamped = stamped and len(sizes) == sum(rtt == rtt for _, rtt in found.values())
    sent, rtts, missing, begun = _placed(found, stamped, _period(text))
    if begun is None:
        notes.append("the log has no times of day (ping -D): times follow from the numbers of the pings")
    windows = "bytes from" not in text
    size = float(np.median(sizes)) + (_HEADERS if windows else _HEADERS - 8)
    return Trace(name, "ping log", begun, (Delays("pings", sent, rtts, size, missing, min(steps)),), (), tuple(notes))


def _time(name: str, line: int, text: str, unit: str) -> tuple[float, float]:
    """Return a time [s] and the step of its last digit [s]."""
    scale = _UNITS.get(unit.rstrip(".,;"))
    try:
        value = float(text) * (scale or np.nan)
    except ValueError:
        raise unusable(name, f"line {line} has {text!r} for a time", "a number") from None
    if scale is None:
        raise unusable(name, f"line {line} has a time in {unit!r}", "us, ms or s")
    if not 0.0 <= value <= LONGEST:
        raise unusable(name, f"line {line} has a round-trip time of {value:g} s", f"at most {LONGEST:g} s")
    return value, scale * 10.0 ** -len(text.partition(".")[2])


def _period(text: str) -> float:
    """Return the time between two pings, from the log's last lines [s]; 1 s, the default, if it does not say."""
    total = _TOTAL.search(text)
    many = total is not None and int(total[1]) > 1
    return max(int(total[2]) / 1e3 / (int(total[1]) - 1), 1e-3) if many and total is not None else 1.0


def _placed(
    found: dict[int, tuple[float | None, float]], stamped: bool, period: float
) -> tuple[Floats, Floats, Floats, float | None]:
    """Return when pings were sent, their round-trip times, when lost ones were sent, and the time of day of time 0."""
    numbers = np.array(sorted(found), float)
    rtt = np.array([found[int(n)][1] for n in numbers])
    every = np.arange(numbers[0], numbers[-1] + 1)
    missing = np.concatenate([numbers[np.isnan(rtt)], np.setdiff1d(every, numbers)])
    came = ~np.isnan(rtt)
    begun: float | None = None
    if stamped:
        stamps = np.array([found[int(n)][0] for n in numbers[came]], float)
        begun = float(stamps[0] - rtt[came][0])
        sent = stamps - rtt[came] - begun
        order = np.argsort(sent, kind="stable")
        lost = np.interp(missing, numbers[came], sent)
        return sent[order], rtt[came][order], np.sort(lost), begun
    times = period * (numbers - numbers[0])
    return times[came], rtt[came], np.sort(period * (missing - numbers[0])), begun
