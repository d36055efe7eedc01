"""What carries a difference between two classes: the same with one mechanism off at a time."""

from __future__ import annotations

from dataclasses import dataclass

from validation.swarms.compare import Interval, Paired, interval, paired
from validation.swarms.experiments import ABLATIONS, Ablation, Side
from validation.swarms.measured import Floats, Results

LITTLE = 0.2
"""Share of a difference below which a mechanism carries little of it."""
PROPER = 0.02
"""Difference below which there is nothing to take apart."""
OF_CLAIMS = {"T03": (1,), "T04": (0,), "D01": (4,), "D03": (2, 3)}
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

    def removed(self, base: Row) -> float:
        """Return the share of the difference that goes with the mechanism; negative if it grows."""
        return -self.change.mean / base.gap.relative.mean


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
        parts = []
        for row in self.rows:
            share = row.removed(self.base)
            if share > 1.0:
                what = "reverses it"
            elif abs(share) < LITTLE:
                what = "changes little of it"
            else:
                what = f"takes {100 * share:.0f}% of it away" if share > 0 else f"adds {-100 * share:.0f}% to it"
            parts.append(f"{row.off}: {100 * row.gap.relative.mean:+.1f}%, {what}")
        single = [row for row in self.rows if not row.off.startswith("both")]
        most = max(single, key=lambda row: row.removed(self.base))
        carried = most.removed(self.base)
        end = (
            f'Of the mechanisms taken alone the greatest part goes with "{most.off}".'
            if carried >= LITTLE
            else "No mechanism taken alone carries a fifth of it."
        )
        return f"{start}{'; '.join(parts)}. {end}"


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
    change = (a[:number] - b[:number]) / b.mean() - (base_a[:number] - base_b[:number]) / base_b.mean()
    return Row(text, paired(a, b), interval(change), (interval(a), interval(b)))


def _means(results: Results, sides: tuple[Side, Side]) -> tuple[Floats, Floats]:
    (a, of_a), (b, of_b) = sides
    return results[a].of("mean", of_a), results[b].of("mean", of_b)
