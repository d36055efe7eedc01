"""The swarm that ns-3 ran packet by packet, at both fidelities: ns-3's frozen figures, full's and flow's."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from btflow.options import FIDELITIES, Fidelity
from validation.fidelity.links.compare import Pair
from validation.fidelity.links.measured import LONGER
from validation.fidelity.links.report import shown
from validation.fidelity.report import Section
from validation.markdown import table as markdown
from validation.swarms import packets

HEADER = (
    "swarm",
    "class",
    "ns-3, full, flow [s]",
    "full over ns-3",
    "flow over ns-3",
    "CUBIC over LEDBAT: ns-3, full, flow [%]",
    f"more than {', '.join(map(str, LONGER))} packets wait: ns-3; full; flow [%]",
    "queue: ns-3, full, flow [ms]",
    "request: ns-3, full, flow [ms]",
    "CPU: ns-3, full, flow [s]",
    "ns-3 over flow",
)


def frozen(setting: packets.Setting, column: str, table: str = "swarm_runs", name: str = "") -> float:
    """Return ns-3's mean over its runs of a column, of a class in the table of queues; NaN for none."""
    found = [row for row in packets.rows(table, setting) if not name or row["class"] == name]
    values = [float(row[column]) for row in found if row[column]]
    return float(np.mean(values)) if values else math.nan


def section(settings: Sequence[packets.Setting], pairs: Sequence[Pair]) -> Section:
    """Put each class of each setting beside ns-3's."""
    rows: list[list[str]] = []
    off: dict[Fidelity, list[float]] = {name: [] for name in FIDELITIES}
    turned: list[str] = []
    refused: list[str] = []
    costs = np.zeros(3)
    for setting, pair in zip(settings, pairs, strict=True):
        if pair.refused:
            refused.append(f"Not run: {pair.setup.label}: {pair.refused}")
            continue
        cpu = (frozen(setting, "cpu_s"), pair.cpu("full"), pair.cpu("flow"))
        costs += cpu
        for name in pair.classes:
            mean = frozen(setting, f"{name}_completion_mean_s")
            for fidelity in FIDELITIES:
                off[fidelity].append(pair.of(fidelity, name, "mean") / mean - 1.0)
            rows.append(_row(setting, pair, name, cpu))
        theirs, full, flow = _gaps(setting, pair)
        gap = pair.gap("full")
        if gap is not None and gap.told and full * flow <= 0.0:
            turned.append(f"{pair.setup.label} (ns-3 {theirs:+.1f}, full {full:+.1f}, flow {flow:+.1f})")
    answer = [_errors(name, off[name]) for name in FIDELITIES if rows]
    if rows:
        answer.append(f"Signs of class differences that flow has wrong: {'; '.join(turned) or 'none'}.")
        answer.append(
            f"CPU time in the mean: ns-3 {costs[0] / len(pairs):.1f} s, full {costs[1] / len(pairs):.2f} s, flow "
            f"{costs[2] / len(pairs):.3f} s; ns-3 takes {costs[0] / costs[2]:.0f} times flow's. ns-3's is of another "
            "time."
        )
    return Section("Beside ns-3's packets", [*answer, *refused], [*markdown(HEADER, rows), "", SOURCE])


SOURCE = (
    f"ns-3's runs are the frozen ones of [packets.md](packets.md); a mean counts as near within "
    f"{100 * packets.MEANS_WITHIN:.0f}%."
)


def _errors(name: str, found: Sequence[float]) -> str:
    sizes = np.abs(found)
    near = int((sizes <= packets.MEANS_WITHIN).sum())
    middle, most = 100.0 * float(np.median(sizes)), 100.0 * float(sizes.max())
    return (
        f"{name} against ns-3: mean completion of a class within {100 * packets.MEANS_WITHIN:.0f}% in {near} of "
        f"{len(sizes)}; error {middle:.1f}% in the median, worst {most:.1f}%."
    )


def _gaps(setting: packets.Setting, pair: Pair) -> tuple[float, float, float]:
    """By how much CUBIC's mean exceeds LEDBAT's [%]: ns-3's, full's, flow's; NaN without both."""
    cubic, ledbat = (frozen(setting, f"{name}_completion_mean_s") for name in packets.CLASSES)
    full, flow = (gap.value if gap else math.nan for gap in map(pair.gap, FIDELITIES))
    return 100.0 * (cubic / ledbat - 1.0), full, flow


def _row(setting: packets.Setting, pair: Pair, name: str, cpu: tuple[float, float, float]) -> list[str]:
    mean = frozen(setting, f"{name}_completion_mean_s")
    full, flow = (pair.of(fidelity, name, "mean") for fidelity in FIDELITIES)
    waits = [[frozen(setting, f"packets_over_{x}", "swarm_queue", name) for x in LONGER], *_longer(pair, name)]
    queue = [frozen(setting, "mean_ms", "swarm_queue", name)]
    request = [frozen(setting, f"{name}_request_mean_ms")]
    queue += [1e3 * pair.of(fidelity, name, "queue") for fidelity in FIDELITIES]
    request += [1e3 * pair.of(fidelity, name, "request") for fidelity in FIDELITIES]
    return [
        pair.setup.label,
        name,
        ", ".join(shown(value, 1) for value in (mean, full, flow)),
        f"{full / mean:.3f}",
        f"{flow / mean:.3f}",
        ", ".join(f"{value:+.1f}" for value in _gaps(setting, pair)) if pair.compared else "-",
        "; ".join(", ".join(shown(100.0 * share, 0) for share in shares) for shares in waits),
        ", ".join(shown(value, 0) for value in queue),
        ", ".join(shown(value, 0) for value in request),
        ", ".join(f"{value:.{digits}f}" for value, digits in zip(cpu, (1, 2, 3), strict=True)),
        f"{cpu[0] / max(cpu[2], 1e-9):.0f}",
    ]


def _longer(pair: Pair, name: str) -> list[list[float]]:
    """Return the mean shares of looks at the uplinks with more than LONGER packets, full's and flow's."""
    found = []
    for fidelity in FIDELITIES:
        each = [one.classes[name].longer for one in pair.figures[fidelity] if one.classes[name].longer]
        found.append(np.mean(each, axis=0).tolist() if each else [math.nan] * len(LONGER))
    return found
