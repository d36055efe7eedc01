"""What an input of the explorer may hold, a model's own parameters as inputs, errors by input; no widgets here.

Every value is a text, as on the command line: ``"448 kbit/s"``, ``"30 ms"``, ``"3"``, ``"cubic"``.
"""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from importlib.resources import files
from typing import Any, ClassVar, Protocol

from btflow.config.schema import Variable, describe
from btflow.errors import InputError
from btflow.link.scenario import LinkScenario
from btflow.swarm.scenario import Scenario
from btflow.units import UNLIMITED, Buffer, Kind, format_quantity, is_unlimited, parse_quantity
from btflow.units.kinds import BufferKind


def renamed(error: InputError, names: Mapping[str, str]) -> InputError:
    """Return an error with other names of fields, in each of its problems; a field that has none keeps its own."""
    return InputError.all_of(
        InputError(names.get(p.field, p.field), p.value, p.reason, p.allowed) for p in error.problems
    )


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

    beside: ClassVar[str] = ""
    """What an error says is allowed beside the range."""

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
        allowed = f"{self.minimum or self.low} to {self.maximum or self.high}{self.beside}"
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


DECLARED: dict[str, Any] = tomllib.loads((files("btflow.explore") / "inputs.toml").read_text("utf-8"))
"""What is declared of the inputs of each panel, and of the models of swarms."""


def declared(panel: str, name: str, of: type[Amount] | type[Choice] | None = None, **more: Any) -> Any:
    """Return what declares an input of a panel that ``inputs.toml`` has, with what else is said of it."""
    said: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in DECLARED[panel][name].items()}
    return value((of or (Amount if "kind" in said else Choice))(**said, **more))


_NUMBERS = ("size", "rate", "time", "fraction", "count", "packets")
_RATIOS = ("size", "rate")
_SPANS = {"time": (0.0, 1.0), "fraction": (0.0, 1.0), "count": (0.0, 20.0), "packets": (1.0, 500.0)}
"""Where the sliders begin and end that move evenly, if neither the limits nor the value ask for something else."""


@dataclass(frozen=True)
class Described(Amount):
    """A quantity of a model, which says itself what it accepts: ``unlimited`` too, where that makes sense."""

    variable: Variable | None = None

    def slid(self, text: str) -> float | None:
        """Return where the slider stands for a text; None if it cannot show it."""
        assert self.variable is not None
        if self.kind == "buffer":
            return super().slid(text)
        number = self.variable.value(self.high if is_unlimited(text) else text)
        return float(number) if isinstance(number, int | float) and math.isfinite(number) else None

    def written(self, number: float, shown: str = "") -> str:
        """Return the text for a place of the slider, in the model's own units."""
        if self.kind == "buffer":
            return super().written(number, shown)
        if is_unlimited(self.default) and number >= 0.999 * (self.slid(self.high) or 0.0):
            return UNLIMITED
        rounded = float(f"{number:.3g}")
        if self.kind in ("size", "rate"):
            return self._bytes(number)
        return format_quantity(round(rounded) if self.kind in ("count", "packets") else rounded, self.kind)

    def check(self, name: str, text: str) -> str:
        """Return the text; InputError of the field `name` if the model refuses it."""
        assert self.variable is not None
        try:
            self.variable.value(text)
        except InputError as error:
            raise InputError(name, error.value, error.reason, error.allowed) from None
        return text.strip()

    def _bytes(self, number: float) -> str:
        """Return bytes, or bytes per second, in three digits and a unit of the model."""
        step = 1024 if self.variable and self.variable.byte_prefix == "binary" else 1000
        power = max(p for p in range(4) if p == 0 or number >= step**p)
        digits = f"{number / step**power:.3g}" if power else f"{number:.0f}"
        return f"{float(digits):g} {('', 'k', 'M', 'G')[power]}B" + "/s" * (self.kind == "rate")


def inputs(scenario: Scenario | LinkScenario) -> tuple[Any, dict[str, str]]:
    """Return the parameters of a model as a state, a frozen dataclass of texts; not those that follow another one.

    Returns:
        The state, and the parameter or field by the name of each input.
    """
    known = scenario.document.parameters
    shown = [n for n in scenario.parameters if n in scenario.given or n not in known or not known[n].default_from]
    names = {f"p{number}_{name.rpartition('.')[2]}": name for number, name in enumerate(shown)}
    fields = [(field, str, value(spec_of(scenario, name))) for field, name in names.items()]
    return make_dataclass("Parameters", fields, frozen=True)(), names


def spec_of(scenario: Scenario | LinkScenario, name: str) -> Spec:
    """Return the input of a parameter, or of a field by its path."""
    variable, text = describe(scenario, name), scenario.parameters[name]
    label = name.rpartition(".")[2].replace("_", " ")
    if variable.kind == "flag":
        return Choice(label, ("true", "false"), text, ("on", "off"), help=variable.meaning)
    if variable.kind == "choice" and text in variable.words and not variable.optional:  # else it may be none, or a file
        return Choice(label, variable.words, text, help=variable.meaning)
    if name.rpartition(".")[2] == "piece_size" and isinstance(scenario, Scenario):
        sizes = _pieces(variable, text, scenario.swarm.block_size)
        return Choice(label, sizes, text, help=variable.meaning)
    if variable.kind == "buffer":
        return Described(label, "buffer", text, "1 packets", "400 packets", help=variable.meaning, variable=variable)
    if variable.kind in _NUMBERS:
        low, high = (variable.from_si(end) for end in span(variable, text))
        log = variable.kind in _RATIOS
        return Described(label, variable.kind, text, low, high, log, help=variable.meaning, variable=variable)
    return Line(label, text, variable.value, help=variable.meaning)


def _pieces(variable: Variable, text: str, block: int) -> tuple[str, ...]:
    """Return the sizes of a piece to choose from: a block and its doubles, and the present one."""
    found = {block << power: variable.from_si(block << power) for power in range(11)}
    found[int(variable.value(text))] = text
    return tuple(found[size] for size in sorted(found))


def span(variable: Variable, text: str) -> tuple[float, float]:
    """Return the ends of a slider [SI units]: around the value, within the limits."""
    assert variable.limits is not None
    found = variable.value(text)
    number = float(found) if isinstance(found, int | float) and math.isfinite(found) and found > 0 else None
    least, most = variable.limits
    if variable.kind in _RATIOS:
        middle = number or 1e6
        low, high = max(middle / 10, least, 1.0), min(10 * middle, most)
    else:
        low, high = _SPANS[variable.kind]
        low, high = max(low, least), min(max(high, 4 * (number or 0.0)) if variable.kind != "fraction" else high, most)
    whole = variable.kind in ("size", "count", "packets")
    return (round(low), round(high)) if whole else (low, high)
