"""What an input of the explorer may hold: no widgets here, so that links and tests read values by the same rules.

Every value is a text, as on the command line: ``"448 kbit/s"``, ``"30 ms"``, ``"3"``, ``"cubic"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from btflow.errors import InputError
from btflow.units import Buffer, Kind, format_quantity, parse_quantity
from btflow.units.kinds import BufferKind

LONGEST = 500
"""Characters of a value, from a link or a form."""

STEPS = 200
"""Steps of a slider over amounts that are not whole, or over ratios."""

BUFFERS: Mapping[BufferKind, tuple[float, float, float]] = {
    "time": (0.01, 2.0, 0.01),
    "size": (1500.0, 600_000.0, 1500.0),
    "bdp": (0.1, 10.0, 0.1),
}
"""Ends and step of a buffer's slider, by what its text is in [s, B, 1]; in packets they are the input's own."""


class Spec(Protocol):
    """One input: its label, what it holds at first, and what it accepts."""

    @property
    def label(self) -> str:
        """What stands beside it, without a unit: the value has one."""

    @property
    def default(self) -> str:
        """What it holds at first."""

    @property
    def help(self) -> str:
        """One line on what it is."""

    def check(self, name: str, text: str) -> str:
        """Return the text as it is kept; InputError of the field `name` if it is refused."""


@dataclass(frozen=True)
class Amount:
    """A quantity, or a count, with a slider.

    Attributes:
        label: What stands beside it.
        kind: Its kind, of btflow.units; of a ``buffer`` the slider moves over what the text is in.
        default: What it holds at first.
        low: Where the slider begins, and the least that is allowed unless `minimum` is given.
        high: Where it ends, and the most that is allowed unless `maximum` is given.
        log: Whether its steps are ratios; then `low` is above 0.
        minimum: The least that may be typed; a buffer has none but the unit's.
        maximum: The most that may be typed.
        help: One line on what it is.
        bits: Whether the slider writes a rate in kbit/s and Mbit/s.
    """

    label: str
    kind: Kind
    default: str
    low: str
    high: str
    log: bool = False
    minimum: str = ""
    maximum: str = ""
    help: str = ""
    bits: bool = False

    def number(self, text: str, name: str = "value") -> float | Buffer:
        """Return what a text is in SI units; InputError if it is no such quantity."""
        value = parse_quantity(text, self.kind, field=name)
        assert isinstance(value, int | float | Buffer)
        return value

    def slid(self, text: str) -> float | None:
        """Return where the slider stands for a text [SI unit, packets or BDP]; None if it cannot show it."""
        value = self.number(text)
        return value.amount if isinstance(value, Buffer) else float(value)

    def span(self, text: str) -> tuple[float, float, float]:
        """Return both ends of the slider while a text is shown, and its step; with ``log`` that is not used."""
        if self.kind == "buffer" and (unit := self._unit(text)) != "packets":
            return BUFFERS[unit]
        low, high = (float(self.slid(end) or 0.0) for end in (self.low, self.high))
        whole = self.kind in ("count", "buffer")
        return (round(low), round(high), 1) if whole else (low, high, (high - low) / STEPS)

    def written(self, number: float, shown: str = "") -> str:
        """Return the text for a place of the slider, of three digits; of a buffer in what is shown."""
        if self.kind == "buffer":
            return format_quantity(Buffer(float(f"{number:.6g}"), self._unit(shown or self.default)), "buffer")
        rounded = float(f"{number:.3g}")
        if self.bits:
            bits = float(f"{8 * number:.3g}")
            return f"{bits / 1e6:.10g} Mbit/s" if bits >= 1e6 else f"{bits / 1e3:.10g} kbit/s"
        return format_quantity(round(rounded) if self.kind in ("count", "size") else rounded, self.kind)

    def _unit(self, text: str) -> BufferKind:
        """Return what the text of a buffer is in."""
        found = parse_quantity(text, "buffer", field="value")
        assert isinstance(found, Buffer)
        return found.kind

    def check(self, name: str, text: str) -> str:
        """Return the text; InputError if it is no quantity of this kind, or out of range."""
        if self.kind == "buffer":
            self.number(text, name)
            return text.strip()
        least, most = (float(self.slid(t) or 0.0) for t in (self.minimum or self.low, self.maximum or self.high))
        allowed = f"{self.minimum or self.low} to {self.maximum or self.high}"
        try:
            value = self.number(text, name)
        except InputError as error:
            raise InputError(name, text, error.reason, allowed) from None
        assert isinstance(value, int | float)
        if not least <= value <= most:
            raise InputError(name, text, "is out of range", allowed)
        return text.strip()


@dataclass(frozen=True)
class Choice:
    """One of several words; of a menu.

    Attributes:
        label: What stands beside it.
        options: The words.
        default: What it holds at first.
        shown: What the menu shows for each word; empty for the words themselves.
        help: One line on what it is.
    """

    label: str
    options: tuple[str, ...]
    default: str
    shown: tuple[str, ...] = ()
    help: str = ""

    def check(self, name: str, text: str) -> str:
        """Return the word; InputError if it is none of them."""
        if text not in self.options:
            raise InputError(name, text, "is not one of the choices", ", ".join(self.options))
        return text


@dataclass(frozen=True)
class Line:
    """A line of text that something else reads.

    Attributes:
        label: What stands beside it.
        default: What it holds at first.
        reads: Raises an InputError for a text that it refuses.
        help: One line on what it is.
    """

    label: str
    default: str
    reads: Callable[[str], object]
    help: str = ""

    def check(self, name: str, text: str) -> str:
        """Return the text; the InputError of what reads it, as one of the field `name`."""
        try:
            self.reads(text)
        except InputError as error:
            inner = "" if error.field == name else f"{error.field}: "
            raise InputError(name, error.value, f"{inner}{error.reason}", error.allowed) from None
        return text.strip()


def value(spec: Spec) -> Any:
    """Return what declares an input of a panel in its state, which is a frozen dataclass of texts."""
    return field(default=spec.default, metadata={"spec": spec})
