"""The kinds of model files: what each holds, which fields name other files, and which settings have no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import permutations
from typing import Generic, TypeVar

from btflow.config.model import ParametrisedModel
from btflow.config.toml import Keys
from btflow.errors import ScenarioError
from btflow.swarm.scenario import Scenario
from btflow.units import format_quantity


def unused(scenario: Scenario, keys: Set[Keys]) -> Iterator[ScenarioError]:
    """Yield the fields that were set and change nothing in a scenario.

    Args:
        scenario: What was made.
        keys: The fields that were set by their paths.
    """
    departures = scenario.departures
    if ("departures", "mean_stay") in keys and departures.stay != "random":
        shown = format_quantity(departures.mean_stay, "fraction")
        reason = f"is never used: departures.stay is {departures.stay}"
        yield ScenarioError("departures.mean_stay", shown, reason, 'departures.stay = "random"')
    if ("departures", "replace") in keys and departures.replace and departures.stay == "forever":
        reason = "is never used: departures.stay is forever, nobody leaves"
        yield ScenarioError("departures.replace", "true", reason, 'departures.stay = "leave" or "random"')
    trying = [c for c in scenario.classes if ("classes", c.name, "attempts") in keys]
    if trying and not any(len(c.opens) > 1 for c in trying):
        c = trying[0]
        reason = f"is never used: the class opens {', '.join(c.opens) or 'no'} connections alone"
        allowed = f"two transports in classes.{c.name}.opens"
        yield ScenarioError(f"classes.{c.name}.attempts", c.attempts, reason, allowed)


Model = TypeVar("Model", bound=ParametrisedModel)


def _as_it_is(model: Model) -> Model:
    return model


def _none_unused(_model: ParametrisedModel, _own: Set[Keys]) -> Iterable[ScenarioError]:
    return ()


@dataclass(frozen=True)
class ModelKind(Generic[Model]):
    """A kind of model files.

    Attributes:
        folder: Where in ``models/`` they are.
        noun: What they describe, as a plural.
        model: What their content is.
        references: Folder of the files that a field names, by the field's dotted path; ``*`` stands for any name.
        named: Tables whose keys are the names of entries: what an entry is, and the name of one.
        finish: What is done to the validated model.
        parts: Tables that are validated by themselves, whatever else the model holds, by dotted path.
        rivals: Fields of which a model has one, by dotted path: to set one takes the file's other out.
        supersedes: Fields that nothing reads where another one is there, by that one's dotted path.
        aliases: Fields that can be set by a word besides, by the word: their dotted paths.
        unused: Finds what has no effect among the fields, by their keys, that were set by their paths.
    """

    folder: str
    noun: str
    model: type[Model]
    references: Mapping[str, str]
    named: Mapping[str, tuple[str, str]]
    finish: Callable[[Model], Model] = _as_it_is
    parts: tuple[str, ...] = ()
    rivals: tuple[tuple[str, str], ...] = ()
    supersedes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    unused: Callable[[Model, Set[Keys]], Iterable[ScenarioError]] = _none_unused

    def folder_of(self, keys: Sequence[str]) -> str | None:
        """Return the folder of the files that the field with these keys names; None if it names none."""
        return next((folder for pattern, folder in self.references.items() if matches(pattern, keys)), None)

    def folders_below(self, keys: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Return which fields in a table with these keys name files, by dotted paths from it on, and their folders."""
        inner = {pattern: pattern.split(".") for pattern in self.references}
        return tuple(
            (".".join(parts[len(keys) :]), self.references[pattern])
            for pattern, parts in inner.items()
            if len(parts) > len(keys) and matches(".".join(parts[: len(keys)]), keys)
        )


def matches(pattern: str, keys: Sequence[str]) -> bool:
    """Return whether a dotted path, in which ``*`` stands for any key, is that of a field with these keys."""
    wanted = pattern.split(".")
    return len(wanted) == len(keys) and all(part in ("*", key) for part, key in zip(wanted, keys, strict=True))


def _without_unused_matrix(scenario: Scenario) -> Scenario:
    if any(c.location for c in scenario.classes):
        return scenario
    return scenario.model_copy(update={"paths": scenario.paths.model_copy(update={"matrix": None})})


SWARMS = ModelKind(
    folder="swarms",
    noun="swarms",
    model=Scenario,
    references={
        "transport": "transports",
        "sockets": "sockets",
        "paths.matrix": "paths",
        "paths.internet": "internet",
        "classes.*.client": "clients",
        "classes.*.access": "access",
        "classes.*.tcp": "congestion",
        "classes.*.utp": "congestion",
        "classes.*.control": "congestion",
    },
    named={"classes": ("class", "seed")},
    finish=_without_unused_matrix,
    parts=(
        *("swarm", "paths", "paths.matrix", "paths.internet", "transport", "sockets"),
        *("arrivals", "departures", "tracker", "idealised"),
        *("classes.*", "classes.*.client", "classes.*.tcp", "classes.*.utp", "classes.*.control"),
    ),
    rivals=(
        *permutations(("classes.*.count", "classes.*.share", "classes.*.rest"), 2),
        *permutations(("arrivals.spread", "arrivals.interval", "arrivals.times"), 2),
        *permutations(("classes.*.disposition", "classes.*.opens"), 2),
        *permutations(("classes.*.disposition", "classes.*.accepts"), 2),
    ),
    supersedes={"paths.internet": ("paths.rtt", "paths.loss")},
    aliases={"internet": "paths.internet"},
    unused=unused,
)
