"""Inputs made from a model's own parameters: their kinds, values, choices and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, make_dataclass
from typing import Any

from btflow.errors import InputError
from btflow.explore.specs import Amount, Choice, Line, Spec, value
from btflow.link.scenario import LinkScenario
from btflow.scenario import Scenario
from btflow.units import UNLIMITED, format_quantity, is_unlimited
from btflow.variables import Variable, describe

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
    found = {block << power: variable.from_si(block << power) for power in range(7)}
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
