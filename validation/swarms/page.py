"""The report on swarms on congested links as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

import plotly.graph_objects as go

from validation import markup
from validation.markup import constants, drawings, escaped
from validation.page import claim_details, claims_table, how_many
from validation.swarms import report as reports
from validation.swarms.ablations import Taken
from validation.swarms.report import Report
from validation.swarms.why import why

TITLE = "btflow: swarms on congested access links, uTP against TCP"


def write_page(report: Report, figures: Mapping[str, tuple[go.Figure, str]], path: Path) -> None:
    """Write swarms.html; figures come with their captions."""
    body = [
        f"<h1>{TITLE}</h1>",
        _opening(report),
        "<h2>Claims</h2>",
        claims_table(report.verdicts),
        *(["<h2>What carries the differences</h2>"] if report.taken else []),
        *(_taken(found) for found in report.taken),
        *_why(report),
        "<h2>Figures</h2>",
        *drawings(figures),
        "<h2>Claims in detail</h2>",
        *(claim_details(verdict) for verdict in report.verdicts),
        "<h2>Settings</h2>",
        escaped(reports.SETTING_HEADER, reports.setting_rows(report.results)),
        "<h2>Constants without a source</h2>",
        constants(reports.assumptions()),
    ]
    markup.write(path, TITLE, body)


def _opening(report: Report) -> str:
    run = reports.provenance(report)
    return (
        f"<p><b>{len(report.verdicts)} claims: {how_many(report.verdicts)}.</b> btflow {run['version']}, "
        f"{run['date']}, Python "
        f"{run['python']}, {run['machine']}. {escape(reports.runs_text(report))}</p>"
        f"<p>{escape(reports.cost(report.results))}</p><p>{escape(reports.METHOD)}</p>"
    )


def _taken(found: Taken) -> str:
    rows = escaped(reports.ABLATION_HEADER, reports.ablation_rows(found))
    return f"<h3>{escape(found.ablation.name)}</h3><p>{escape(found.words)}</p>{rows}"


def _why(report: Report) -> list[str]:
    shown = why(report.verdicts, report.results)
    rows = "".join(f"<li>{escape(name)}: {escape(text)}</li>" for name, text in shown.items())
    return [f"<h2>Where a claim does not come out</h2><ul>{rows}</ul>"] if shown else []
