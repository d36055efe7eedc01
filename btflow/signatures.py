"""Signatures that show what a function takes by any keyword: what help prints, and shells complete."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Protocol, TypeVar, cast


class Named(Protocol):
    """An object whose methods take some names."""

    @property
    def names(self) -> Iterable[str]:
        """Those that can be keywords."""


Method = TypeVar("Method", bound=Callable[..., Any])


class _AsItIs:
    """What a signature shows as the default of a name: not given, it stays what it is."""

    def __repr__(self) -> str:
        return "<as it is>"


AS_IT_IS = _AsItIs()


def offered(
    function: Callable[..., Any], defaults: Mapping[str, object], skip: int = 0, *, others: bool = True
) -> inspect.Signature:
    """Return a function's signature with some names as keywords before those that it takes besides.

    Args:
        function: It takes any keyword.
        defaults: What is shown as the default of each that is offered, by name.
        skip: How many of its first parameters are left out.
        others: Whether it takes other names too.
    """
    signature = inspect.signature(function)
    *own, rest = list(signature.parameters.values())[skip:]
    new = {name: default for name, default in defaults.items() if name not in signature.parameters}
    keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=d) for name, d in new.items()]
    return signature.replace(parameters=[*own, *keywords, *([rest] if others else [])])


class Offering:
    """A method that has the names of its object in its signature, which shells and notebooks complete from."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Named | None, owner: type | None = None) -> Callable[..., Any]:
        if model is None:
            return self._method

        @wraps(self._method)
        def bound(*args: Any, **values: Any) -> Any:
            return self._method(model, *args, **values)

        bound.__signature__ = offered(self._method, dict.fromkeys(model.names, AS_IT_IS), 1)  # type: ignore[attr-defined]  # inspect reads it
        return bound


def offering(method: Method) -> Method:
    """Return a method that offers the names of its object by keyword."""
    return cast(Method, Offering(method))
