"""The kinds of model files: what each holds, and which of its fields name other files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from btflow.parametrised import ParametrisedModel
from btflow.scenario import Scenario

Model = TypeVar("Model", bound=ParametrisedModel)


@dataclass(frozen=True)
class ModelKind(Generic[Model]):
    """A kind of model files.

    Attributes:
        folder: Where in ``models/`` they are.
        model: What their content is.
        references: Folder of the files that a field names, by the field's dotted path; ``*`` stands for any name.
        named: Tables whose keys are the names of entries: what an entry is, and the name of one.
        finish: What is done to the validated model.
        sweeps: Whether a file may have a table ``[sweep]``.
    """

    folder: str
    model: type[Model]
    references: Mapping[str, str]
    named: Mapping[str, tuple[str, str]]
    finish: Callable[[Model], Model] = lambda model: model
    sweeps: bool = False

    def folder_of(self, path: str) -> str | None:
        """Return the folder of the files that the field at a dotted path names; None if it names none."""
        parts = path.split(".")
        for pattern, folder in self.references.items():
            wanted = pattern.split(".")
            if len(wanted) == len(parts) and all(w in ("*", p) for w, p in zip(wanted, parts, strict=True)):
                return folder
        return None


def _without_unused_matrix(scenario: Scenario) -> Scenario:
    if any(c.location for c in scenario.classes):
        return scenario
    return scenario.model_copy(update={"paths": scenario.paths.model_copy(update={"matrix": None})})


SWARMS = ModelKind(
    folder="swarms",
    model=Scenario,
    references={
        "transport": "transports",
        "sockets": "sockets",
        "paths.matrix": "paths",
        "classes.*.client": "clients",
        "classes.*.access": "access",
        "classes.*.tcp": "congestion",
        "classes.*.utp": "congestion",
        "classes.*.control": "congestion",
    },
    named={"classes": ("class", "seed")},
    finish=_without_unused_matrix,
    sweeps=True,
)
