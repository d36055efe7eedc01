"""A setting at both fidelities over the same seeds, and the targets that all of them are held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from btflow.options import FIDELITIES, Fidelity
from validation.fidelity.compare import BOUND, Both, mean_error
from validation.fidelity.links.measured import Figures
from validation.fidelity.links.swarms import PAIRS
from validation.swarms.compare import Interval, interval, paired

MEDIAN, WORST = BOUND, 0.10
"""Greatest error of the mean completion time, in the median over the settings and in the worst."""
POINTS = 5.0
"""How far a difference between classes may be from full's, in percent of the other class's mean."""
NEAR = 0.20
"""Greatest error of a mean queue and of a mean delay of requests."""
FASTER = 20.0
"""Least CPU time of full over flow's."""
TOLD = 2.0
"""A difference of so many standard errors is told from none."""
DELAYS = {"queue": "queue", "request": "request delay"}
"""What is compared by class beside completion times."""


class Pair(Both[Figures]):
    """A setting at both fidelities."""

    @property
    def refused(self) -> str:
        """Why a swarm has no figures, if one has none."""
        return next((f"{name}: {one.refused}" for name in FIDELITIES for one in self.figures[name] if one.refused), "")

    @property
    def classes(self) -> list[str]:
        """Classes of leechers."""
        return list(self.figures["full"][0].classes)

    @property
    def compared(self) -> tuple[str, str] | None:
        """The two classes that are compared, if it has both."""
        return next((pair for pair in PAIRS if set(pair) <= set(self.classes)), None)

    @property
    def error(self) -> Interval:
        """By how much flow's mean completion time exceeds full's, relative to that, seed by seed."""
        return paired(*(self.values(name) for name in ("flow", "full"))).relative

    @property
    def shown(self) -> str:
        """What the tests show of the mean completion time at either bound, in words."""
        found = [self.difference(bound=bound) for bound in (MEDIAN, WORST)]
        parts = [f"within {100 * d.bound:.0f}%" for d in found if d.equal][:1]
        parts += [f"beyond {100 * d.bound:.0f}%" for d in found if d.beyond][-1:]
        return ", ".join(parts) or "-"

    def mean(self, fidelity: Fidelity) -> float:
        """Return the mean completion time [s]."""
        return float(np.mean(self.values(fidelity)))

    def cpu(self, fidelity: Fidelity) -> float:
        """Return the CPU time of a swarm [s]."""
        return float(np.mean(self.values(fidelity, "cpu")))

    def of(self, fidelity: Fidelity, name: str, figure: str) -> float:
        """Return the mean over the seeds of a figure of a class; NaN if it is not known."""
        found = [getattr(one.classes[name], figure) for one in self.figures[fidelity] if name in one.classes]
        known = [value for value in found if value is not None]
        return float(np.mean(known)) if known else math.nan

    def gap(self, fidelity: Fidelity) -> Gap | None:
        """Return the difference between the two classes, if it has both."""
        if self.compared is None:
            return None
        apart = []
        for one in self.figures[fidelity]:
            a, b = (one.classes[name].mean if name in one.classes else None for name in self.compared)
            if a is not None and b is not None:
                apart.append(100.0 * (a / b - 1.0))
        return Gap(interval(apart), float(np.std(apart, ddof=1) / math.sqrt(len(apart))) if len(apart) > 1 else 0.0)


@dataclass(frozen=True)
class Gap:
    """By how much one class's mean completion time exceeds another's, in percent of the latter."""

    interval: Interval
    """Over the seeds."""
    se: float
    """Its standard error."""

    @property
    def value(self) -> float:
        """The difference."""
        return self.interval.mean

    @property
    def told(self) -> bool:
        """Whether it is told from none."""
        return abs(self.value) > TOLD * self.se > 0.0

    @property
    def text(self) -> str:
        """The difference with its standard error."""
        return f"{self.value:+.1f} ± {self.se:.1f}"


@dataclass(frozen=True)
class Target:
    """A figure that is held against a target."""

    what: str
    """What it is."""
    wanted: str
    """The target in words."""
    found: str
    """The figure in words."""
    reached: bool
    """Whether the figure reaches the target."""
    missed: str
    """By how much it does not."""

    @property
    def row(self) -> tuple[str, ...]:
        """The target as a row of a table."""
        return (
            self.what,
            self.wanted,
            self.found,
            "reached" if self.reached else f"missed{self.missed and ' by '}{self.missed}",
        )


def gaps(pairs: Sequence[Pair]) -> list[tuple[Pair, Gap, Gap]]:
    """Return the settings of two classes with their differences, at full and at flow."""
    found = ((pair, pair.gap("full"), pair.gap("flow")) for pair in pairs)
    return [(pair, full, flow) for pair, full, flow in found if full is not None and flow is not None]


def wrong(pairs: Sequence[Pair]) -> list[tuple[Pair, Gap, Gap]]:
    """Return the settings whose difference is told from none at full and has the other sign at flow."""
    return [(pair, full, flow) for pair, full, flow in gaps(pairs) if full.told and full.value * flow.value <= 0.0]


def ratios(pairs: Sequence[Pair], figure: str) -> list[float]:
    """Return flow's figure over full's, for each class of each setting that has both."""
    found = ((pair.of("flow", name, figure), pair.of("full", name, figure)) for pair in pairs for name in pair.classes)
    return [flow / full for flow, full in found if full > 0.0 and not math.isnan(flow)]


def targets(pairs: Sequence[Pair]) -> list[Target]:
    """Hold some settings against the targets."""
    errors = sorted((abs(pair.error.mean), pair.setup.label) for pair in pairs)
    sizes = [size for size, _ in errors]
    middle, (most, label) = float(np.median(sizes)), errors[-1]
    within = [sum(size <= bound for size in sizes) for bound in (MEDIAN, WORST)]
    found = [
        _most("error of the mean, median", middle, MEDIAN, f"{100 * middle:.1f}%"),
        _most("error of the mean, worst", most, WORST, f"{100 * most:.1f}% ({label})"),
        Target(
            f"settings within {100 * MEDIAN:.0f}%, {100 * WORST:.0f}%",
            f"half, all of {len(pairs)}",
            f"{within[0]}, {within[1]} of {len(pairs)}",
            2 * within[0] >= len(pairs) == within[1],
            f"{len(pairs) - within[1]} beyond {100 * WORST:.0f}%",
        ),
    ]
    both = gaps(pairs)
    if both:
        told = sum(full.told for _, full, _ in both)
        turned = len(wrong(pairs))
        apart = [abs(flow.value - full.value) for _, full, flow in both]
        near = sum(points <= POINTS for points in apart)
        found += [
            Target("signs of class differences", f"all {told}", f"{told - turned} of {told}", not turned, f"{turned}"),
            Target(
                f"class differences within {POINTS:.0f} points",
                f"all {len(both)}",
                f"{near} of {len(both)}, worst {max(apart):.1f} points",
                near == len(both),
                f"{len(both) - near}, {max(max(apart) - POINTS, 0.0):.1f} points",
            ),
        ]
    for figure, name in DELAYS.items():
        found += _near(name, ratios(pairs, figure))
    return [*found, _cpu(pairs)]


def equality(pairs: Sequence[Pair]) -> list[str]:
    """Return what the two one-sided tests show of the means of some settings, and what is chance, in sentences."""
    error, chance = mean_error(pairs)
    lines = [
        f"Mean absolute error of the mean {100 * error:.1f}%; were flow and full alike, the scatter between the seeds "
        f"alone would make {100 * chance:.1f}% in the mean."
    ]
    for bound in (MEDIAN, WORST):
        found = [(pair.difference(bound=bound), pair.setup.label) for pair in pairs]
        beyond = [f"{label} ({d.text})" for d, label in found if d.beyond]
        lines.append(
            f"Mean shown to be equal within {100 * bound:.0f}% (TOST) in {sum(d.equal for d, _ in found)} of "
            f"{len(found)} settings, shown to be beyond it in {len(beyond)}{': ' * bool(beyond)}{'; '.join(beyond)}."
        )
    return lines


def _most(what: str, value: float, bound: float, text: str) -> Target:
    return Target(what, f"at most {100 * bound:.0f}%", text, value <= bound, f"{100 * (value - bound):.1f} points")


def _near(name: str, found: Sequence[float]) -> list[Target]:
    if not found:
        return []
    near = sum(abs(ratio - 1.0) <= NEAR for ratio in found)
    low, middle, high = np.quantile(found, (0.1, 0.5, 0.9))
    text = f"{near} of {len(found)} ({100 * near / len(found):.0f}%); flow over full {middle:.2f} in the median, "
    text += f"{low:.2f} to {high:.2f} in the middle 80%"
    missed = f"{len(found) - near}"
    return [Target(f"{name} by class within {100 * NEAR:.0f}%", "all", text, near == len(found), missed)]


def _cpu(pairs: Sequence[Pair]) -> Target:
    full, flow = (sum(pair.cpu(name) for pair in pairs) for name in FIDELITIES)
    each = [pair.cpu("full") / max(pair.cpu("flow"), 1e-9) for pair in pairs]
    ratio = full / max(flow, 1e-9)
    text = f"{ratio:.1f} ({full / len(pairs):.2f} s to {flow / len(pairs):.3f} s); mean of the ratios "
    text += f"{np.mean(each):.1f}, {min(each):.1f} to {max(each):.1f}"
    factor = f"a factor of {FASTER / ratio:.2f}"
    return Target("CPU time, full over flow", f"at least {FASTER:.0f}", text, ratio >= FASTER, factor)
