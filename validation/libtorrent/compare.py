"""What the simulator said beside what libtorrent did: errors by setting, and how many keep within the goals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from validation.libtorrent.runs import Row
from validation.libtorrent.settings import Setting

Mean = tuple[float, float, int]
"""Mean over runs, its standard error (NaN of one run), and how many there are."""


@dataclass(frozen=True)
class Goal:
    """A figure's error in so many of the settings."""

    about: str
    figures: tuple[str, ...]
    within: float
    share: float


GOALS = (
    Goal("mean completion", ("mean",), 0.05, 0.9),
    Goal("p10 and p90 of completion", ("p10", "p90"), 0.08, 1.0),
    Goal("mean queue by class", ("seed.queue", "tcp.queue", "utp.queue"), 0.15, 0.9),
)


def means(rows: Iterable[Row], who: str) -> dict[tuple[str, str], Mean]:
    """Return by setting and figure the mean over runs."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.who == who:
            values.setdefault((row.setting, row.figure), []).append(row.value)
    found = {}
    for key, every in values.items():
        error = float(np.std(every, ddof=1) / np.sqrt(len(every))) if len(every) > 1 else float("nan")
        found[key] = (float(np.mean(every)), error, len(every))
    return found


def errors(settings: Sequence[Setting], rows: Sequence[Row], who: str) -> dict[tuple[str, str], float]:
    """Return by setting and figure by what part the simulator's mean exceeds libtorrent's."""
    real, ours = means(rows, "oracle"), means(rows, who)
    names = {setting.name for setting in settings}
    return {
        key: ours[key][0] / mean - 1.0
        for key, (mean, _, _) in real.items()
        if key[0] in names and key in ours and mean > 0.0
    }


def points(settings: Sequence[Setting], rows: Sequence[Row], who: str) -> dict[str, tuple[float, float]]:
    """Return by setting by how much uTP's mean exceeds TCP's [% of it], of libtorrent and of the simulator."""
    real, ours = means(rows, "oracle"), means(rows, who)
    found = {}
    for setting in settings:
        keys = [(setting.name, f"{name}.mean") for name in ("utp", "tcp")]
        if all(key in real and key in ours for key in keys):
            there, here = (100.0 * (of[keys[0]][0] / of[keys[1]][0] - 1.0) for of in (real, ours))
            found[setting.name] = there, here
    return found


def table(settings: Sequence[Setting], rows: Sequence[Row], who: str) -> list[str]:
    """Return the lines of a table of all settings, worst first, and what keeps within the goals."""
    found, ours, real = errors(settings, rows, who), means(rows, who), means(rows, "oracle")
    done = [s for s in settings if (s.name, "mean") in found]
    done.sort(key=lambda s: -abs(found[s.name, "mean"]))
    lines = []
    for s in done:
        mean, se, _ = real[s.name, "mean"]
        queues = " ".join(
            f"{key[1].split('.')[0]} {1000 * real[key][0]:.0f}/{1000 * ours[key][0]:.0f}"
            for key in sorted(real)
            if key[0] == s.name and key[1].endswith(".queue") and key in ours
        )
        lines.append(
            f"{s.name} {s.version} {s.leechers:3} x {s.pieces:3} of {s.piece_size >> 10:4} KiB, "
            f"{s.rate / 1e3:5.1f} kB/s by {s.bound:6} limit {s.limit / 1e3:5.1f} {s.counts:8} "
            f"seed x{s.seed_rate / s.rate:4.1f} {s.transport:4} buffer {s.buffer if s.links else 0:3} "
            f"slots {s.slots:2} fast {s.allowed_fast} {1000 * s.rtt:4.0f} ms {100 * s.loss:3.1f}% "
            f"{'churn' if s.churn else '     '}: "
            f"{mean:6.1f} +- {se:4.1f} s, {ours[s.name, 'mean'][0]:6.1f}: {100 * found[s.name, 'mean']:+5.1f}% "
            f"p10 {100 * found[s.name, 'p10']:+5.1f} p90 {100 * found[s.name, 'p90']:+5.1f} queues {queues}"
        )
    every = np.array([found[s.name, "mean"] for s in done])
    if len(every):
        lines.append(
            f"{len(every)} settings: bias {100 * every.mean():+.1f}%, median {100 * np.median(np.abs(every)):.1f}%, "
            f"nine of ten within {100 * np.quantile(np.abs(every), 0.9):.1f}%"
        )
    for goal in GOALS:
        all_of = np.array([abs(error) for (_, name), error in found.items() if name in goal.figures])
        if len(all_of):
            lines.append(
                f"{goal.about}: {np.mean(all_of <= goal.within):.0%} within {goal.within:.0%} "
                f"(goal {goal.share:.0%}), median {np.median(all_of):.1%}"
            )
    pairs = points(settings, rows, who)
    if pairs:
        off = np.array([abs(b - a) for a, b in pairs.values()])
        lines.append(f"class differences: {np.mean(off <= 3.0):.0%} within 3 points, median {np.median(off):.1f}")
    return lines
