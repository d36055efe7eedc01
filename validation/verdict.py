"""What is found for a claim: the conditions it stands or falls with, and the figures of both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from validation.cases import Case
from validation.measured import Measured
from validation.reference import Published
from validation.statistics import Change, Spread, change, spread


@dataclass(frozen=True)
class Results:
    """The simulated cases."""

    measured: Mapping[Case, Measured]
    """Figures by case."""

    def __getitem__(self, case: Case) -> Measured:
        """Return the figures of a case."""
        return self.measured[case]

    def has(self, cases: Iterable[Case]) -> bool:
        """Return whether all of some cases were simulated."""
        return all(case in self.measured for case in cases)

    def times(self, case: Case) -> list[float]:
        """Return the mean completion time of each replica [s]."""
        return self.measured[case].means

    def spread(self, case: Case) -> Spread:
        """Return the mean completion time over the replicas [s]."""
        return spread(self.times(case))

    def change(self, case: Case, base: Case) -> Change:
        """Return by how much the mean completion of `case` exceeds that of `base`."""
        return change(self.times(case), self.times(base))


@dataclass(frozen=True)
class Condition:
    """One part of a claim."""

    text: str
    """What has to hold, with our figure."""
    held: bool
    """Whether it does."""
    part: str = ""
    """What part of the claim it belongs to, where the claim says several things; a part holds if all of it does."""


@dataclass(frozen=True)
class Finding:
    """What the simulated cases say about a claim."""

    paper: str
    """The paper's figure."""
    ours: str
    """Ours, with its spread."""
    conditions: tuple[Condition, ...]
    """What the claim stands or falls with."""
    details: tuple[str, ...] = ()
    """Further figures, for the reader; they decide nothing."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The figures as numbers, in SI units unless the name says otherwise."""
    by_construction: str = ""
    """Why the model could not have said otherwise, if it could not: a claim that then holds is no finding."""
    brief: str = ""
    """Our figure in a few words, for a table of many claims, where `ours` is longer."""


@dataclass(frozen=True)
class Verdict:
    """A claim and what was found."""

    claim: Published
    """What is claimed, and where."""
    finding: Finding
    """What the simulation says."""

    @property
    def holds(self) -> bool:
        """Whether every condition does."""
        return all(condition.held for condition in self.finding.conditions)

    @property
    def parts(self) -> dict[str, bool]:
        """The parts of the claim that are named, and whether each holds."""
        conditions = self.finding.conditions
        names = dict.fromkeys(condition.part for condition in conditions if condition.part)
        return {name: all(c.held for c in conditions if c.part == name) for name in names}

    @property
    def text(self) -> str:
        """The verdict in words: where a claim says several things, which of them hold and which do not."""
        if self.holds:
            if self.finding.by_construction:
                return "holds by construction"
            return "bound held" if self.claim.kind == "bound" else "reproduced"
        held, failed = ([name for name, holds in self.parts.items() if holds == wanted] for wanted in (True, False))
        if not held:
            return "not reproduced"
        return f"in part: {', '.join(held)} reproduced; {', '.join(failed)} not"
