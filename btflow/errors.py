"""The errors a user can cause: each names the field, the value and what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Self

_LONGEST_VALUE = 60
_LONGEST = 300
_OF_FILES = ("file", "FILE", "csv", "FILE.csv")
"""Characters of a sentence about a file that somebody else wrote, and the fields that name one."""


def shorten(value: object) -> str:
    """Return a one-line representation of ``value`` of at most about 60 characters."""
    try:
        text = repr(value).replace("\n", " ")
    except (ValueError, RecursionError):  # a whole number of more than 4300 digits, a list in itself
        text = f"({type(value).__name__} that is too long to be shown)"
    return brief(text)


def brief(text: str) -> str:
    """Return a setting as people read it: a table that was given inline is cut short."""
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _amid(text: str, most: int) -> str:
    """Return a text of at most so many characters: what is in its middle gives way."""
    return text if len(text) <= most else f"{text[: most // 2 - 2]}...{text[len(text) - most // 2 + 2 :]}"


_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for tab and newline, those that turn the direction of text, and bytes that are no UTF-8."""


def visible(text: str) -> str:
    """Return a text with escapes in place of characters that a terminal would obey and not show."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class InputError(ValueError):
    """A value given by the user that cannot be used.

    Attributes:
        field: Name of the parameter, field or option.
        value: The value as given.
        reason: What is wrong with it.
        allowed: What would have been accepted; empty if the reason says it.
        problems: Every problem found, this one first.
    """

    def __init__(self, field: str, value: object, reason: str, allowed: str = "") -> None:
        self.field = field
        self.value = value
        self.reason = reason
        self.allowed = allowed
        self.problems: tuple[InputError, ...] = (self,)
        super().__init__(field, value, reason, allowed)

    @classmethod
    def all_of(cls, problems: Iterable[InputError]) -> Self:
        """Return one error that reports every problem; its fields are those of the first."""
        found = tuple(problems)
        first = found[0]
        error = cls(first.field, first.value, first.reason, first.allowed)
        error.problems = found
        return error

    def renamed(self, field: str) -> Self:
        """Return this problem alone, as that of another field."""
        return type(self)(field, self.value, self.reason, self.allowed)

    def describe(self) -> str:
        """Return this problem alone as one line."""
        shown = "" if self.value is None else f" = {shorten(self.value)}"
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        parts = (f"{brief(self.field)}{shown}: ", self.reason, allowed)
        start, reason, allowed = (visible(part).replace("\n", "\\n") for part in parts)
        if self.field not in _OF_FILES:
            return start + reason + allowed
        text = start + _amid(reason, max(_LONGEST - len(start) - len(allowed), _LONGEST // 2)) + allowed
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."

    def __str__(self) -> str:
        return "\n".join(problem.describe() for problem in self.problems)


class UnitError(InputError):
    """A quantity that is not a number with a unit of the right kind, or is out of range."""


class ScenarioError(InputError):
    """A model file, a parameter or a combination of values that is not a valid scenario."""


class TableError(ScenarioError):
    """As ``ScenarioError``, but ``field`` is a field of the table that was being read."""


class SimulationError(RuntimeError):
    """A swarm that did not finish within the scenario's horizon, or a process that was to run one and failed."""


def unknown(
    name: str, known: Iterable[str], what: str = "parameter", field: str = "", meant: Iterable[str] = ()
) -> ScenarioError:
    """Return the error for a name that is not known, with the names that are.

    Args:
        name: The name.
        known: Those that there are.
        what: What it should have been.
        field: What gave it.
        meant: What it may have been meant to be; none for those that look like it.
    """
    names = list(dict.fromkeys(known))
    close = list(meant) or difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    return ScenarioError(field or name, name if field else None, f"is not a {what}{hint}", ", ".join(names) or "none")
