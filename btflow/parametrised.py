"""The base of what a model file describes: a frozen model whose parameters can be set again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Self

from pydantic import PrivateAttr

from btflow.errors import ScenarioError
from btflow.quantity import FrozenModel


class ParametrisedModel(FrozenModel):
    """A frozen model that knows the parameters of the file it was made from."""

    _parameters: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _given: Mapping[str, object] = PrivateAttr(default_factory=dict)
    _rebuild: Callable[[Mapping[str, object]], Any] | None = PrivateAttr(default=None)

    @property
    def parameters(self) -> Mapping[str, str]:
        """Each parameter's current value, as a text that ``set`` takes back."""
        return MappingProxyType(dict(self._parameters))

    @property
    def given(self) -> Mapping[str, object]:
        """The values that were given, by ``load`` or ``set``; the other parameters have their defaults."""
        return MappingProxyType(dict(self._given))

    def set(self, **values: object) -> Self:
        """Return a copy with some of the model's parameters changed.

        Args:
            values: By parameter name: a text with a unit (``rtt="400 ms"``), an int for a count, a
                number for a fraction, a bool for a flag. The order does not matter.

        Raises:
            ScenarioError: A parameter is unknown, or the values do not make a scenario.
            UnitError: A value has no unit, the wrong one, or is out of range.
        """
        if self._rebuild is None:
            raise ScenarioError("set", None, "this scenario was not loaded from a model file")
        rebuilt: Self = self._rebuild({**self._given, **values})
        return rebuilt

    def attach(
        self,
        parameters: Mapping[str, str],
        given: Mapping[str, object],
        rebuild: Callable[[Mapping[str, object]], Any],
    ) -> Self:
        """Remember, once and by the loader only, what ``parameters`` and ``set`` need."""
        self._parameters, self._given, self._rebuild = dict(parameters), dict(given), rebuild
        return self
