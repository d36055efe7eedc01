"""The report on link experiments as one HTML page that needs no network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from pathlib import Path

import plotly.graph_objects as go

from validation import markup
from validation.links import report as reports
from validation.links.judge import Compared, Line
from validation.links.report import Entry, Report, word
from validation.markup import coloured, constants, drawings, escaped, table
from validation.page import claims_table, conditions, details, how_many
from validation.verdict import Verdict

TITLE = "btflow: link experiments, checked"
FULL_COLOUR = 0.12
"""Relative error at which the colour of a table is full (validation.markup): here, at the tolerance."""


def write_page(report: Report, figures: Mapping[str, tuple[go.Figure, str]], path: Path) -> None:
    """Write links.html; figures come with their captions."""
    body = [
        f"<h1>{TITLE}</h1>",
        _opening(report),
        "<h2>Figures to reach and claims</h2>",
        _overview(report),
        "<h2>Figures</h2>",
        *drawings(figures),
        "<h2>In detail</h2>",
        *(_detail(entry) for entry in report.entries),
        "<h2>Where the two sides are not the same thing</h2>",
        escaped(("what", "how it differs"), reports.NOTES.items()),
        "<h2>Constants without a source</h2>",
        constants(reports.assumptions()),
    ]
    markup.write(path, TITLE, body)


def _opening(report: Report) -> str:
    run = reports.provenance(report)
    return (
        f"<p><b>{len(report.verdicts)} figures and claims: {how_many(report.verdicts, word)}.</b> btflow "
        f"{run['version']}, {run['date']}, "
        f"Python {run['python']}, {run['machine']}, {run['cpu_s']:.0f} s of CPU time. {escape(reports.packets_text())} "
        "Means over seeds are compared; the seeds of the two sides are different ones. ± is a standard error. No "
        "constant is fitted to these figures.</p>"
    )


def _overview(report: Report) -> str:
    def what(v: Verdict) -> str:
        return f'{escape(v.claim.text)}<br><span class="quiet">{escape(v.claim.tolerance)}</span>'

    return claims_table(report.verdicts, ("what", "reference"), lambda verdict: escape(word(verdict)), what)


def _detail(entry: Entry) -> str:
    claim, finding = entry.verdict.claim, entry.verdict.finding
    summary = f"{len(finding.details)} cells beyond a tolerance, worst first" if entry.lines else "more"
    listed = (
        f"<details open><summary>{summary}</summary><ul>{details(entry.verdict)}</ul></details>"
        if finding.details
        else ""
    )
    cells = f"<details><summary>all cells</summary>{_cells(entry.lines)}</details>" if entry.lines else ""
    return (
        f'<h3 id="{claim.id}">{claim.id}: {escape(word(entry.verdict))}</h3><p>{escape(claim.text)} '
        f'<span class="quiet">{escape(claim.paper)}, {escape(claim.where)}. What counts: {escape(claim.tolerance)}.'
        f"</span></p><ul>{conditions(entry.verdict)}</ul>{listed}{cells}"
    )


def _cells(lines: Iterable[Line]) -> str:
    """Return tables of the cells, one for each set of quantities."""
    parts = []
    for names, group in groupby(lines, key=lambda line: tuple(f.quantity.name for f in line.figures)):
        found = list(group)
        units = [f.quantity.unit for f in found[0].figures]
        header = ["cell"]
        for name, unit in zip(names, units, strict=True):
            shown = f"{name} [{unit}]" if unit else name
            header += [f"{shown}: ns-3", "btflow", "error"]
        rows = [[escape(line.label), *(cell for f in line.figures for cell in _columns(f))] for line in found]
        parts.append(table(header, rows))
    note = (
        '<p class="quiet">Colour: the error over what is allowed, full at the tolerance; blue below, orange above.</p>'
    )
    return note + "".join(parts)


def _columns(f: Compared) -> list[str]:
    digits = f.quantity.digits
    shown = [
        f'<td class="n" title="{s.min:.{digits}f} to {s.max:.{digits}f}, {s.replicas} seeds">{s.mean:.{digits}f} ± '
        f"{s.se:.{digits}f}</td>"
        for s in (f.theirs, f.ours)
    ]
    error = f"{100 * f.relative:+.0f}%" if f.quantity.share and math.isfinite(f.relative) else f"{f.error:+.{digits}f}"
    strain = 0.0 if math.isnan(f.strain) else max(-9.0, min(9.0, f.strain))
    mark = "" if f.held else " ✗"
    return [*shown, coloured(error + mark, FULL_COLOUR * strain)]
