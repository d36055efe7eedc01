"""Lessons: a question, and steps that set inputs of a panel and say what is to be seen and why; no widgets here.

A lesson is a file of `lessons/`, in the order of their numbers:

    title = "What does a full buffer do to a call?"
    about = "One line for those who choose."
    panel = "link"
    inputs = ["buffer", "rate"]             # on top while the lesson lasts
    notebook = "03_bufferbloat"
    docs = "queues"

    [[steps]]
    ask = "What is to be done or guessed."
    set = { buffer = "1000 packets" }       # of the first step: what differs from the panel's defaults
    notice = "What is to be seen."
    why = "Why it is so."
    spot = "queue-longest"                  # where, a name of btflow.explore.spots
    said = "the buffer is full"             # what stands there
    watch = { start = "5 s" }               # what of it can be watched: arguments of btflow.motion.record
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Step:
    """A step of a lesson.

    Attributes:
        ask: What the reader is to do, or to guess.
        state: What the panel shows once it is done.
        changed: The inputs that differ from the step before, by name.
        notice: What is to be seen then.
        why: Why it is so.
        spot: Where in the figures it is seen, a name of ``btflow.explore.spots``; empty for nowhere.
        said: What is written there.
        watch: What of its run can be watched, as arguments of ``btflow.motion.record``; None for nothing.
    """

    ask: str
    state: Any
    changed: Mapping[str, str]
    notice: str
    why: str
    spot: str = ""
    said: str = ""
    watch: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Lesson:
    """A question with its steps.

    Attributes:
        name: What links call it.
        title: The question.
        about: One line on what it shows.
        panel: Name of the panel that it is about.
        inputs: The inputs that are on top while it lasts.
        steps: Three to six.
        notebook: Name of the notebook that goes on from there, without its ending.
        docs: Name of the page of the documentation that does.
    """

    name: str
    title: str
    about: str
    panel: str
    inputs: tuple[str, ...]
    steps: tuple[Step, ...]
    notebook: str
    docs: str


@cache
def texts() -> Mapping[str, Mapping[str, Any]]:
    """Return what the files of the lessons say, by name, in their order."""
    found = sorted((f for f in (files("btflow.explore") / "lessons").iterdir()), key=lambda f: f.name)
    named = {f.name.removesuffix(".toml").partition("-")[2]: f for f in found if f.name.endswith(".toml")}
    return {name: tomllib.loads(f.read_text(encoding="utf-8")) for name, f in named.items()}


def read(name: str, kind: type[Any]) -> Lesson:
    """Return a lesson; `kind` is the class of its panel's states."""
    said = texts()[name]
    plain = {key: said[key] for key in ("title", "about", "panel", "notebook", "docs")}
    return Lesson(name=name, inputs=tuple(said["inputs"]), steps=tuple(_steps(said["steps"], kind())), **plain)


def _steps(said: list[dict[str, Any]], state: Any) -> Iterator[Step]:
    for step in said:
        changed = step.get("set", {})
        state = replace(state, **changed)
        rest = {key: step[key] for key in ("ask", "notice", "why", "spot", "said", "watch") if key in step}
        yield Step(state=state, changed=changed, **rest)
