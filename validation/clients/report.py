"""The report on the test bed, ``validation/clients.md``, from the frozen tables and the predictions alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from btflow.errors import InputError
from validation.clients import predictions, tables
from validation.clients.cells import FOLDER, MODEL_OF, Cell
from validation.clients.figures import Figures, counted
from validation.clients.predictions import Prediction
from validation.clients.tables import Row
from validation.markdown import Report
from validation.statistics import Spread, spread

REPORT = FOLDER.parent / "clients.md"

QUESTION = "Do swarms of real clients take as long as was predicted of them, and is the same class faster?"
MEAN_WITHIN = 0.10
MEDIAN_WITHIN = 0.05
QUEUE_WITHIN = 0.20
_SCALES = {"s": 1.0, "ms": 1e3, "%": 100.0, "copies": 1.0, "kB/s": 1e-3}
_DIGITS = {"s": 1, "ms": 0, "%": 0, "copies": 2, "kB/s": 0}


@dataclass(frozen=True)
class Comparison:
    """A cell: what was measured, and what was said of it before and later."""

    cell: Cell
    rows: list[Row]
    generations: dict[int, Figures]

    @property
    def measured(self) -> bool:
        """Whether it has runs."""
        return bool(self.rows)

    @property
    def headline(self) -> str:
        """The figure that the cell is judged by."""
        return "goodput" if self.cell.bulk else "mean"

    def of(self, name: str) -> Spread | None:
        """Return a figure as measured, None if no run has it.

        Queues below upload limits that were looked at every second count for nothing: limits have clocks in step.
        """
        capped = any(peers.cap for peers in self.cell.classes.values())
        in_step = "queue" in name and capped
        rows = [row for row in self.rows if not (in_step and row.queues == "every second")]
        values = [row.figures[name] for row in rows if name in row.figures]
        return spread(values) if values else None

    def said(self, name: str, generation: int) -> float | None:
        """Return a figure as predicted; 1 is the first generation, -1 the last."""
        if not self.generations:
            return None
        which = max(self.generations) if generation == -1 else generation
        return self.generations.get(which, {}).get(name)

    def error(self, name: str, generation: int) -> float | None:
        """Return the relative error of a prediction, None where one of both is missing."""
        seen, said = self.of(name), self.said(name, generation)
        return None if seen is None or said is None or not seen.mean else said / seen.mean - 1

    def differences(self) -> list[tuple[str, str, Spread]]:
        """Return by how much the completion of each further class exceeds the first class's."""
        first, *others = self.cell.classes
        found = []
        for other in others:
            values = [
                row.figures[f"{other}.mean"] - row.figures[f"{first}.mean"]
                for row in self.rows
                if f"{first}.mean" in row.figures
            ]
            if values:
                found.append((first, other, spread(values)))
        return found


def compare(cells: Iterable[Cell], folder: Path = tables.TABLES, said: Path = predictions.FILE) -> list[Comparison]:
    """Return all cells with what is known of them; an InputError if one was measured with other settings."""
    known, cells = predictions.read(said), list(cells)
    for cell in cells:
        if tables.changed(cell, folder):
            raise InputError(tables.path_of(cell, folder).name, "settings", "are others than the cell's", "cells.toml")
    return [Comparison(cell, tables.read(cell, folder), predictions.generations(cell, known)) for cell in cells]


def page(found: Sequence[Comparison], known: Sequence[Prediction]) -> Report:
    """Return the report."""
    lines = [
        *_verdict(found),
        "Swarms of real clients in network namespaces on one machine (`make real-clients`), and what the simulator said"
        " of the same settings before they were measured. Made by `python -m validation.clients report` from"
        " `validation/clients/tables` and `validation/clients/predictions.csv`; settings are in"
        " `validation/clients/cells.toml`, as models in `validation/clients/models`. ± is half of the 95% interval of"
        " the mean over the runs, by Student's t.",
        "Each peer is a program in a network namespace with an address of its own. Its uplink is a token bucket (HTB)"
        " with a queue of so many bytes, its downlink one of TBF; between them a forwarder holds each packet for half"
        " the round-trip time and loses some by chance. Peers come from a tracker of the test bed alone. A run in which"
        " the machine did not keep up is refused (`validation/clients/guard.py`). Eight settings that had been looked"
        " at while the test bed was built were replaced by others before any prediction was written.",
        *_completion(found),
        *_signs(found),
    ]
    quantiles, queues, transports = _quantiles(found), _queues(found), _transports(found)
    behind = [*quantiles, *queues, *transports, *_changes(known), *_machine(found)]
    measured, runs = sum(one.measured for one in found), sum(len(one.rows) for one in found)
    first, last = (_reached(found, generation) for generation in (1, -1))
    verdict = (
        f"{measured} of {len(found)} cells are measured, {runs} runs. Of {len(first)} figures the first predictions"
        f" reach {sum(first.values())} and the last {sum(last.values())}; missed by the first:"
        f" {', '.join(name for name, reached in first.items() if not reached) or 'none'}."
    )
    return Report("Real clients beside the simulator", QUESTION, [verdict], ["\n\n".join(lines)], ["\n\n".join(behind)])


def write(found: Sequence[Comparison], known: Sequence[Prediction], path: Path = REPORT) -> None:
    """Write the report."""
    page(found, known).write(path)


def shown(value: float | None, name: str) -> str:
    """Return a figure in its unit, without it."""
    if value is None or math.isnan(value):
        return "–"
    unit = counted(name)
    return f"{value * _SCALES[unit]:.{_DIGITS[unit]}f}"


def _seen(one: Spread | None, name: str) -> str:
    if one is None:
        return "–"
    return shown(one.mean, name) + (f" ± {shown(one.half, name)}" if math.isfinite(one.half) else "")


def percent(value: float | None) -> str:
    """Return a share with its sign, in words of a table."""
    return "–" if value is None else f"{100 * value:+.1f}%"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _errors(found: Sequence[Comparison], generation: int) -> list[float]:
    errors = [one.error("mean", generation) for one in found if not one.cell.bulk]
    return [abs(error) for error in errors if error is not None]


def _signs_right(found: Sequence[Comparison], generation: int) -> tuple[int, int]:
    right = of = 0
    for one in found:
        for first, other, seen in one.differences():
            low, high = one.said(f"{first}.mean", generation), one.said(f"{other}.mean", generation)
            if low is not None and high is not None and abs(seen.mean) > seen.half:
                right, of = right + ((high - low) * seen.mean > 0), of + 1
    return right, of


def _queue_errors(found: Sequence[Comparison], generation: int) -> list[float]:
    errors = [one.error(f"{name}.queue", generation) for one in found for name in ("seed", *one.cell.classes)]
    return [abs(error) for error in errors if error is not None]


def _reached(found: Sequence[Comparison], generation: int) -> dict[str, bool]:
    """Return which of the figures to reach are, by name; none that is not known is."""

    def nine_in_ten(errors: list[float], most: float) -> bool:
        return bool(errors) and sum(error <= most for error in errors) >= 0.9 * len(errors)

    errors, (right, of) = _errors(found, generation), _signs_right(found, generation)
    return {
        "means": nine_in_ten(errors, MEAN_WITHIN),
        "their median error": bool(errors) and float(np.median(errors)) <= MEDIAN_WITHIN,
        "signs of differences": right == of > 0,
        "queues": nine_in_ten(_queue_errors(found, generation), QUEUE_WITHIN),
    }


def _verdict(found: Sequence[Comparison]) -> list[str]:
    def row(what: str, wanted: str, of: Callable[[int], str]) -> tuple[str, str, str, str]:
        return what, wanted, of(1), of(-1)

    def within(errors: list[float], most: float) -> str:
        return f"{sum(error <= most for error in errors)} of {len(errors)}" if errors else "–"

    def median(errors: list[float]) -> str:
        return f"{100 * float(np.median(errors)):.1f}%" if errors else "–"

    def signs(generation: int) -> str:
        right, of = _signs_right(found, generation)
        return f"{right} of {of}" if of else "–"

    rows = [
        row("cells whose mean completion is within 10%", "9 in 10", lambda g: within(_errors(found, g), MEAN_WITHIN)),
        row("median error of the mean completion", f"{100 * MEDIAN_WITHIN:.0f}%", lambda g: median(_errors(found, g))),
        row("differences between classes, larger than their interval, of the right sign", "all", signs),
        row("queue means of classes within 20%", "9 in 10", lambda g: within(_queue_errors(found, g), QUEUE_WITHIN)),
    ]
    return [
        table(("", "to be reached", "first prediction", "last prediction"), rows),
        "Only the first prediction was made before a cell was measured; the last one knows the measurements, though no"
        " constant was fitted to them, and may be nearer or farther off (the generations are behind the report). Cells"
        " with a bulk upload are judged by its goodput, and not counted here. Programs are predicted by the models "
        + ", ".join(f"`{model}` ({program})" for program, model in MODEL_OF.items())
        + ".",
    ]


def _completion(found: Sequence[Comparison]) -> list[str]:
    rows = []
    for one in found:
        name = one.headline
        said = [one.said(name, g) for g in (1, -1)]
        rows.append(
            (
                one.cell.name,
                one.cell.about,
                str(len(one.rows)),
                _seen(one.of(name), name) + (" kB/s" if name == "goodput" else ""),
                shown(said[0], name),
                percent(one.error(name, 1)),
                shown(said[1], name),
                percent(one.error(name, -1)),
            )
        )
    head = ("cell", "what", "runs", "measured [s]", "first", "error", "last", "error")
    return ["## Mean completion", "Of a bulk upload its goodput.", table(head, rows)]


def _quantiles(found: Sequence[Comparison]) -> list[str]:
    rows = []
    for one in found:
        if one.cell.bulk:
            continue
        for prefix in ("", *(f"{name}." for name in one.cell.classes if len(one.cell.classes) > 1)):
            cells = []
            for quantile in ("p10", "p50", "p90"):
                name = f"{prefix}{quantile}"
                cells += [_seen(one.of(name), name), shown(one.said(name, -1), name)]
            rows.append((one.cell.name, prefix.rstrip(".") or "all", *cells))
    head = ("cell", "class", "p10 [s]", "said", "p50 [s]", "said", "p90 [s]", "said")
    return ["## Quantiles of completion", "Said: the last prediction.", table(head, rows)]


def _signs(found: Sequence[Comparison]) -> list[str]:
    rows = []
    for one in found:
        for first, other, seen in one.differences():
            said = [(one.said(f"{first}.mean", g), one.said(f"{other}.mean", g)) for g in (1, -1)]
            diffs = [None if a is None or b is None else b - a for a, b in said]
            rows.append(
                (one.cell.name, f"{other} less {first}", _seen(seen, "mean"), *(shown(diff, "mean") for diff in diffs))
            )
    head = ("cell", "classes", "measured [s]", "first", "last")
    return ["## Classes", "How much longer the one class takes.", table(head, rows)]


def _queues(found: Sequence[Comparison]) -> list[str]:
    rows = []
    for one in found:
        for klass in ("seed", *one.cell.classes):
            name = f"{klass}.queue"
            rows.append(
                (
                    one.cell.name,
                    klass,
                    _seen(one.of(name), name),
                    shown(one.said(name, 1), name),
                    shown(one.said(name, -1), name),
                    percent(one.error(name, -1)),
                    _seen(one.of(f"{name}_p90"), name),
                    shown(one.said(f"{name}_p90", -1), name),
                )
            )
    head = ("cell", "class", "mean [ms]", "first", "last", "error", "p90 [ms]", "last")
    return [
        "## Uplink queues",
        "The time until a queue would be empty, on every peer from its start until it leaves or the last leecher"
        " completes, by class. It was sampled every second at first. libtorrent hands out quotas of an upload limit"
        " twice a second, and programs that are started together do so together: below limits such samples are in step"
        " with the bursts (three times the mean, or none of it), and count for nothing here. What counts there are runs"
        " sampled at random, four times a second. –: the model of a bulk upload has no swarm.",
        table(head, rows),
    ]


def _transports(found: Sequence[Comparison]) -> list[str]:
    rows = []
    for one in found:
        shares = "; ".join(
            f"{klass} {_seen(one.of(f'{klass}.utp'), 'utp')} ({shown(one.said(f'{klass}.utp', -1), 'utp')})"
            for klass in ("seed", *one.cell.classes)
        )
        rows.append((one.cell.name, shares, _seen(one.of("copies"), "copies"), shown(one.said("copies", -1), "copies")))
    head = ("cell", "uTP's share of the bytes [%] (said)", "seeds' copies", "said")
    return ["## Transports and the seeds' copies", table(head, rows)]


def _changes(known: Sequence[Prediction]) -> list[str]:
    reasons: Mapping[tuple[int, str, str], list[str]] = {}
    for one in known:
        if one.generation > 1:
            cells = reasons.setdefault((one.generation, one.commit, one.because), [])  # type: ignore[attr-defined]
            if one.cell not in cells:
                cells.append(one.cell)
    if not reasons:
        return ["## What was changed after the measurement", "Nothing: every prediction is the first."]
    rows = [(str(g), commit, because, ", ".join(cells)) for (g, commit, because), cells in sorted(reasons.items())]
    return ["## What was changed after the measurement", table(("generation", "commit", "because", "cells"), rows)]


def _machine(found: Sequence[Comparison]) -> list[str]:
    runs = [(one.cell.name, row) for one in found for row in one.rows]
    if not runs:
        return ["## The machine", "Nothing is measured."]
    seen: dict[str, list[str]] = {}
    for _, row in runs:
        for name, version in row.versions.items():
            if version not in seen.setdefault(name, []):
                seen[name].append(version)
    idle, least = min((row.load["idle"], name) for name, row in runs)
    waited, who = max((row.load["waited_share"], f"{row.load['waited_most']} in {name}") for name, row in runs)
    late = max(row.load["forwarder_latest"] for _, row in runs)
    return [
        "## The machine",
        table(("", "versions"), [(name, ", ".join(versions)) for name, versions in sorted(seen.items())]),
        f"At least {100 * idle:.0f}% of the cores were idle (least in {least}). No process waited longer for a core"
        f" than {100 * waited:.1f}% of a run ({who}). The forwarder was {1000 * late:.1f} ms late at most. A run in"
        " which a process was starved is refused and not in the tables.",
    ]
