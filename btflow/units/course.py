"""Rates and times that change while an experiment runs: by steps, or as a trace says."""

import hashlib
from array import array
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeGuard

from btflow.errors import UnitError
from btflow.files import read_file
from btflow.units.kinds import Kind, Value
from btflow.units.parsing import parse_quantity

TRACE = "trace:"
OPPORTUNITY = 1500
"""Bytes that one line of a trace lets pass, and framing [B]: a packet of the greatest length (mahimahi, mm-link(1))."""
MOST_STEPS, MOST_LINES, LARGEST = 10_000, 1_000_000, 64 * 2**20


class Course(float):
    """A rate or a time that changes. As a number it is the first one, or the mean rate of a trace.

    Attributes:
        text: As it was given.
        times: When each value begins [s], the first at 0; of a trace, when a packet may be sent [ms].
        values: The values, SI units; empty for a trace.
        digest: SHA-256 of the times and values.
    """

    text: str
    times: Sequence[float]
    values: Sequence[float]
    digest: str

    def __new__(cls, number: float, text: str, times: Sequence[float], values: Sequence[float]) -> "Course":
        """Return the number with its course."""
        made = super().__new__(cls, number)
        made.text, made.times, made.values = text, times, values
        made.digest = hashlib.sha256(array("d", [*times, *values]).tobytes()).hexdigest()
        return made

    def __getnewargs__(self) -> tuple[float, str, Sequence[float], Sequence[float]]:  # type: ignore[override]  # of more
        return float(self), self.text, self.times, self.values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Course) and self.digest == other.digest

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.digest)


def highest(value: float) -> float:
    """Return the highest value of what may change; of a trace, its mean rate."""
    return max(value.values, default=float(value)) if isinstance(value, Course) else value


def is_course(value: object) -> TypeGuard[str]:
    """Return whether a value is a text of steps or of a trace."""
    return isinstance(value, str) and ("," in value or "@" in value or value.strip().startswith(TRACE))


def read_course(text: str, kind: Kind, field: str, read: Callable[[str], Value]) -> Course:
    """Return the course of a text such as ``"20 Mbit/s, 5 Mbit/s@30s"`` or ``"trace:FILE"``.

    Args:
        text: The value, and after each comma another and the time from which it holds; or a file of mahimahi's format:
            on each line a time [ms] at which a packet may be sent; after the last one they begin anew.
        kind: What the values are; a trace is of rates.
        field: Name used in the error.
        read: Returns one value in SI units, a UnitError if it is wrong.

    Raises:
        UnitError: It is of another form, its times do not rise, or the file cannot be used.
    """

    def fail(reason: str, allowed: str) -> NoReturn:
        raise UnitError(field, text, reason, allowed)

    def one(part: str, of: Callable[[str], Value], shown: str = "") -> float:
        try:
            return float(of(part.strip()))  # type: ignore[arg-type]  # no kind of a course is a buffer
        except UnitError as error:
            fail(f"has {shown or repr(part.strip()[:30])}, which {error.reason}", error.allowed)

    if text.strip().startswith(TRACE):
        if kind != "bitrate":
            fail("is a trace, which says a rate", 'steps such as "30 ms, 80 ms@20s"')
        times = _opportunities(text.strip().removeprefix(TRACE).strip(), fail)
        rate = OPPORTUNITY * len(times) / (times[-1] / 1000)
        return Course(one(f"{rate!r} B/s", read, f"a mean of {8 * rate:.3g} bit/s"), text.strip(), times, ())
    first, *later = text.split(",")
    begin, values = [0.0], [one(first, read)]
    for step in later:
        value, at, time = step.partition("@")
        shown = f"has {step.strip()[:30]!r}, which"
        if not at:
            form = '"20 Mbit/s, 5 Mbit/s@30s"' if kind == "bitrate" else '"30 ms, 80 ms@20s"'
            fail(f"{shown} says no time", f"a value, and others from a time on: {form}")
        begin.append(one(time, lambda text: parse_quantity(text, "time")))
        values.append(one(value, read))
        if begin[-1] <= begin[-2]:
            fail(f"{shown} is not after the one before", "times that rise")
        if len(begin) > MOST_STEPS:
            fail("has too many steps", f"at most {MOST_STEPS:,}")
    return Course(values[0], text.strip(), begin, values)


def _opportunities(name: str, fail: Callable[[str, str], NoReturn]) -> Sequence[float]:
    """Return the times of a file of mahimahi's format, plain or packed [ms]."""
    try:
        lines = read_file(name, LARGEST).splitlines()
    except OSError as error:
        fail(f"cannot be read: {error.strerror}", "a file of mahimahi's format")
    if not 0 < len(lines) <= MOST_LINES:
        fail(f"has {len(lines):,} lines", f"1 to {MOST_LINES:,} lines, a time in ms on each")
    times = array("d")
    for number, line in enumerate(lines, 1):
        if not line.strip().isdigit() or len(line) > 12:
            shown = line[:20].decode("ascii", "replace")
            fail(f"has {shown!r} on line {number}", "a whole number of milliseconds on each line, as mahimahi has")
        times.append(int(line))
        if times[-1] < times[-2:][0]:
            fail(f"goes back on line {number}, to {int(line)} ms", "times that do not fall")
    if times[-1] == 0:
        fail("ends at 0 ms: it has no length", "a last time after 0")
    return times
