"""What a panel of the explorer is, and its state: a frozen dataclass of texts, as the query string of a link and back.

    @dataclass(frozen=True)
    class LinkState:
        rate: str = value(Amount("capacity", "rate", "1 Mbit/s", "64 kbit/s", "20 Mbit/s", log=True))

A link names the version, the panel and what differs from the defaults: ``?v=1&panel=link&rate=2+Mbit/s``; or a lesson,
its step, and what differs from that: ``?v=1&lesson=aqm&step=2``.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from typing import Any, Protocol, Self, TypeVar, runtime_checkable
from urllib.parse import parse_qsl, quote_plus

from btflow.errors import InputError
from btflow.explore.inputs import LONGEST, Spec
from btflow.explore.lesson import Lesson, read, texts

VERSION = "1"
_RESERVED = ("v", "panel", "lesson", "step")
_OTHERS = ("token",)  # parts of an address that are not the state's
_RENAMED = {"cap": "limit", "seed_cap": "seed_limit"}  # what older links call inputs
_LONGEST_QUERY = 8000
_MOST_PARTS = 100

State = TypeVar("State")


@dataclass(frozen=True)
class Opened:
    """What a link opens.

    Attributes:
        panel: Name of the panel; the first one if the link names none.
        state: Its state, with defaults for all that the link does not say or that was refused.
        problems: What was wrong with the link, a line each, to be shown on the page.
        lesson: The lesson that is given, None for none.
        step: Number of its step, from 1 on.
        chosen: Whether the link names a panel or a lesson.
        refused: Whether it means something else than the state: not if all that is wrong are names of nothing.
    """

    panel: str
    state: Any
    problems: tuple[str, ...]
    lesson: Lesson | None = None
    step: int = 1
    chosen: bool = False
    refused: bool = False


@runtime_checkable
class Nested(Protocol):
    """A state with values inside its values, which may be wrong although each of its texts can be read."""

    def mended(self) -> tuple[Self, tuple[InputError, ...]]:
        """Return the state without what is wrong inside it, and what that was."""


def specs(state: object) -> Mapping[str, Spec]:
    """Return the inputs of a state, or of its class, by name."""
    return {found.name: found.metadata["spec"] for found in fields(state)}  # type: ignore[arg-type]


def checked(kind: type[State], values: Mapping[str, str]) -> State:
    """Return a state with some values, the others as by default.

    Raises:
        InputError: A value is refused, or none of the state's; all problems at once.
    """
    known, problems, kept = specs(kind), [], {}
    for name, text in values.items():
        try:
            kept[name] = _checked(known, name, text)
        except InputError as error:
            problems.append(error)
    if problems:
        raise InputError.all_of(problems)
    return kind(**kept)


def differences(state: object, begin: object) -> dict[str, str]:
    """Return the values that are not those of another state, by name."""
    return {name: getattr(state, name) for name in specs(state) if getattr(state, name) != getattr(begin, name)}


def to_query(panel: str, state: object, lesson: Lesson | None = None, step: int = 1) -> str:
    """Return the query string that opens a panel in a state, or a lesson in a step, without the question mark."""
    begin = lesson.steps[step - 1].state if lesson else type(state)()
    named = {"lesson": lesson.name, "step": str(step)} if lesson else {"panel": panel}
    parts = {"v": VERSION} | named | differences(state, begin)
    return written(parts)


def written(values: Mapping[str, str]) -> str:
    """Return values by name as a part of a query string."""
    return "&".join(f"{name}={quote_plus(text, safe='/:,@')}" for name, text in values.items())


def from_query(query: str, panels: Mapping[str, type[Any]]) -> Opened:
    """Return what a query string opens; whatever is wrong with it is told, never raised.

    Args:
        query: The part of the address after the question mark; may be empty.
        panels: The class of each panel's state, by the panel's name.
    """
    problems: list[str] = []
    given = _parts(query, problems)
    if given.get("v", VERSION) != VERSION:
        problems.append(f"The link is of version {given['v'][:20]}, and this page reads version {VERSION}.")
        given = {}
    lesson, step = _lesson(given, panels, problems)
    panel = lesson.panel if lesson else given.get("panel", next(iter(panels)))
    if panel not in panels:
        problems.append(f"The link names no panel of this page: {panel[:40]!r}; there are {', '.join(panels)}.")
        given, panel = {}, next(iter(panels))
    kept, known = {}, specs(panels[panel])
    unknown: list[str] = []
    for old, text in given.items():
        name = _RENAMED.get(old, old)
        if name not in _RESERVED:
            try:
                kept[name] = _checked(known, name, text)
            except InputError as error:
                (problems if name in known else unknown).append(f"The link's {error}")
    begin = lesson.steps[step - 1].state if lesson else panels[panel]()
    state = replace(begin, **kept)
    if isinstance(state, Nested):
        state, inside = state.mended()
        problems += [f"The link's {error.describe()}" for error in inside]
    chosen = "panel" in given or lesson is not None
    return Opened(panel, state, (*problems, *unknown), lesson, step, chosen, bool(problems))


def _lesson(given: dict[str, str], panels: Mapping[str, type[Any]], problems: list[str]) -> tuple[Lesson | None, int]:
    """Return the lesson that a link names, and the number of its step."""
    name = given.get("lesson")
    if name is None:
        return None, 1
    if name not in texts():
        problems.append(f"The link names no lesson of this page: {name[:40]!r}; there are {', '.join(texts())}.")
        return None, 1
    found = read(name, panels[texts()[name]["panel"]])
    asked, count = given.get("step", "1"), len(found.steps)
    if len(asked) <= 4 and asked.isdecimal() and 1 <= int(asked) <= count:
        return found, int(asked)
    problems.append(f"The link's step = {asked[:20]!r}: is none of this lesson; allowed: 1 to {count}")
    return found, 1


def _parts(query: str, problems: list[str]) -> dict[str, str]:
    """Return the named texts of a query string; the first of each name counts."""
    if len(query) > _LONGEST_QUERY:
        problems.append(f"The link is longer than {_LONGEST_QUERY} characters: it is not used.")
        return {}
    try:
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=_MOST_PARTS)
    except ValueError:
        problems.append(f"The link has more than {_MOST_PARTS} parts: it is not used.")
        return {}
    found: dict[str, str] = {}
    others = [name for name, text in pairs if name not in _OTHERS and found.setdefault(name, text) != text]
    for name in dict.fromkeys(others):
        problems.append(f"The link says {name[:40]!r} more than once: {found[name][:40]!r}, the first, counts.")
    return found


def _checked(known: Mapping[str, Spec], name: str, text: str) -> str:
    if name not in known:
        raise InputError(name[:40], None, "is no input of this panel", ", ".join(known))
    if len(text) > LONGEST:
        raise InputError(name, text, f"is longer than {LONGEST} characters")
    return known[name].check(name, text)


SHOWN = "The same numbers"
NOT_SHOWN = "The numbers of these inputs, which the figures do not show"

OWN = "btflow's own"
"""In place of a paper."""

PUBLISHED: Mapping[str, Any] = tomllib.loads((files("btflow.explore") / "presets.toml").read_text("utf-8"))
"""What is published in papers, by panel and by model."""

Commands = Mapping[str, str]
"""Command lines: of a what-if by the side that each runs, A and B; of a link with its fluid by what each gives; of
anything else one, by an empty text."""


def in_flow(commands: Commands) -> Commands:
    """Return the command lines that run the same swarms in flow."""
    return {side: f"{text} --fidelity flow" for side, text in commands.items()}


@dataclass(frozen=True)
class Preset:
    """A published or teaching experiment, as one state of a panel.

    Attributes:
        paper: The paper with its year, or OWN: what the first menu has.
        figure: The paper's figure or table; empty for none.
        title: One line for people; figure and title together are of one preset of the paper only.
        state: What the panel shows.
        commands: The command lines that run the whole of it.
        note: What differs from the experiment because of the page's limits; empty if nothing does.
        beyond: Whether the paper has no such experiment.
    """

    paper: str
    figure: str
    title: str
    state: Any
    commands: Commands
    note: str = ""
    beyond: bool = False

    @property
    def entry(self) -> str:
        """What the menu of the paper's experiments has for it."""
        figure = f"{self.figure}: " if self.figure else ""
        return figure + self.title + " (beyond the paper)" * self.beyond


class Observed:
    """What calls those who want to know that it changes."""

    def __init__(self) -> None:
        self._observers: list[Callable[[], None]] = []

    def on_change(self, call: Callable[[], None]) -> None:
        """Have something called after each new state, and when work in the background ends."""
        self._observers.append(call)

    def _tell(self) -> None:
        for call in self._observers:
            call()
