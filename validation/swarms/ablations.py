"""What carries a difference between two classes: the same with one mechanism off at a time."""

from __future__ import annotations

from dataclasses import dataclass

from validation.swarms.compare import Interval, Paired, interval, paired
from validation.swarms.experiments import ABLATIONS, ACKS, CONTROL, Ablation, Side
from validation.swarms.measured import Floats, Results

LITTLE = 0.2
"""Share of a difference below which a mechanism carries little of it."""
ALL_BUT = 0.05
"""Share that may be left of a difference that counts as gone."""
PROPER = 0.02
"""Difference below which there is nothing to take apart."""
OF_CLAIMS = {"T03": (1,), "T04": (0,), "T06": (2,), "D01": (6,), "D02": (4,), "D03": (3, 5)}
"""Which of ABLATIONS belong to a claim."""


@dataclass(frozen=True)
class Row:
    """A difference with one mechanism off."""

    off: str
    """What is off; empty with everything on."""
    gap: Paired
    """One class's mean completion time over the other's."""
    change: Interval
    """The gap less the one with everything on, replica by replica, as a share of the slower class's time."""
    means: tuple[Interval, Interval]
    """Mean completion times of the two classes [s]."""
    whole: float
    """The gap with everything on, over the same replicas."""

    @property
    def removed(self) -> float:
        """The share of the difference that goes with the mechanism; negative if it grows."""
        return -self.change.mean / self.whole

    @property
    def told(self) -> bool:
        """Whether the change is told from chance: its confidence interval leaves out 0."""
        return self.change.low > 0.0 or self.change.high < 0.0

    @property
    def effect(self) -> str:
        """What switching the mechanism off does to the difference, in words."""
        gap = self.gap.relative
        if self.change.low == self.change.high == 0.0:
            return "changes nothing at all"
        if not self.told:
            return "no change told from chance"
        if self.removed > 1.0 and (gap.low > 0.0 or gap.high < 0.0):
            return "reverses it"
        if self.removed > 1.0 - ALL_BUT:
            return "takes all of it away"
        if abs(self.removed) < LITTLE:
            return f"changes little of it ({-100 * self.removed:+.0f}%)"
        return f"takes {100 * self.removed:.0f}% of it away" if self.removed > 0 else f"adds {-100 * self.removed:.0f}%"


@dataclass(frozen=True)
class Taken:
    """A difference taken apart."""

    ablation: Ablation
    """What was run."""
    base: Row
    """With everything on."""
    rows: tuple[Row, ...]
    """With one mechanism off at a time."""

    @property
    def words(self) -> str:
        """What carries the difference, in words."""
        a, b = self.ablation.sides
        gap = self.base.gap
        start = f"{self.ablation.name}: completion time of {a} over {b} {100 * gap.relative.mean:+.1f}%. "
        if abs(gap.relative.mean) < PROPER:
            shown = "; ".join(f"{row.off}: {row.gap.text}" for row in self.rows)
            return f"{start}There is hardly a difference to take apart ({shown})."
        parts = [f"{row.off}: {100 * row.gap.relative.mean:+.1f}%, {row.effect}" for row in self.rows]
        return f"{start}{'; '.join(parts)}. {self._most}{self._suspected}"

    @property
    def _most(self) -> str:
        single = [row for row in self.rows if not row.off.startswith("both") and row.told]
        most = max(single, key=lambda row: row.removed, default=None)
        if most is None or most.removed < LITTLE:
            return "No mechanism taken alone carries a fifth of it."
        return f'Of the mechanisms taken alone the greatest part goes with "{most.off}".'

    @property
    def _suspected(self) -> str:
        """What the ablations say of the papers' suspicion that slow control messages make the difference."""
        rows = {row.off: row for row in self.rows}
        if CONTROL not in rows or ACKS not in rows or not rows[ACKS].told:
            return ""
        control, acks = rows[CONTROL], rows[ACKS]
        if control.told and control.removed >= LITTLE:
            return ""
        left = f" (left without them: {100 * acks.gap.relative.mean:+.1f}%)" if acks.removed < 1.0 else ""
        return (
            " The papers suspect slow control messages: taken past all queues alone, these leave the difference much "
            f"as it is; what carries it is the room and the wait of ACKs in the queues{left}."
        )


def taken(results: Results, ablation: Ablation) -> Taken:
    """Run an ablation."""
    base = _row(results, ablation, "", ablation.base)
    return Taken(ablation, base, tuple(_row(results, ablation, text, sides) for text, sides in ablation.off))


def for_claims(results: Results, ids: list[str]) -> list[Taken]:
    """Return the ablations that belong to the claims named."""
    wanted = {ABLATIONS[k].name for name in ids for k in OF_CLAIMS.get(name, ())}
    return [taken(results, ablation) for ablation in ABLATIONS if ablation.name in wanted]


def _row(results: Results, ablation: Ablation, text: str, sides: tuple[Side, Side]) -> Row:
    a, b = _means(results, sides)
    base_a, base_b = _means(results, ablation.base)
    number = min(len(a), len(b), len(base_a), len(base_b))
    a, b, base_a, base_b = (side[:number] for side in (a, b, base_a, base_b))
    whole = (base_a - base_b) / base_b.mean()
    change = (a - b) / b.mean() - whole
    return Row(text, paired(a, b), interval(change), (interval(a), interval(b)), float(whole.mean()))


def _means(results: Results, sides: tuple[Side, Side]) -> tuple[Floats, Floats]:
    (a, of_a), (b, of_b) = sides
    return results[a].of("mean", of_a), results[b].of("mean", of_b)
