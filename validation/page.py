"""The report as one HTML page that needs no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from html import escape
from pathlib import Path

import plotly.graph_objects as go

from validation import markup, tables
from validation.markup import drawings, table
from validation.report import Report, provenance
from validation.verdict import Verdict

CAPTIONS = {
    "rtt_sweep": "In the form of Fig. 5.",
    "table_errors": "Table IV, each cell against the paper's.",
    "loss_increase": "Table IV with loss, section V.",
    "idle_terminations": "The mechanism of section III-B: the seed passes over a connection that waits for requests.",
    "pieces_seed_20": "In the form of Fig. 7a.",
    "pieces_seed_50": "In the form of Fig. 7b.",
    "send_gaps_0": "In the form of Fig. 6a.",
    "send_gaps_400": "In the form of Fig. 6b.",
    "as_placements_20": "In the form of Fig. 8.",
    "as_placements_50": "In the form of Fig. 9.",
    "segment_payloads_tso_on": "In the form of Fig. 4a.",
    "segment_payloads_tso_off": "In the form of Fig. 4c.",
}
"""What each figure is, in the order of the page."""


def write_page(report: Report, figures: Mapping[str, go.Figure], path: Path) -> None:
    """Write report.html."""
    body = [
        "<h1>btflow: published claims, checked</h1>",
        _opening(report),
        "<h2>Claims</h2>",
        claims_table(report.verdicts),
        *([f"<h2>Table IV</h2>{tables.table4(report.table())}"] if report.table() else []),
        "<h2>Figures</h2>",
        *drawings({name: (figures[name], caption) for name, caption in CAPTIONS.items() if name in figures}),
        "<h2>Claims in detail</h2>",
        *(claim_details(verdict) for verdict in report.verdicts),
        "<h2>Constants without a source for this experiment</h2>",
        tables.constants(report),
        "<h2>Cases</h2>",
        tables.cases(report),
    ]
    markup.write(path, "btflow: published claims, checked", body)


def _opening(report: Report) -> str:
    run = provenance(report)
    changed = run["parameters_changed_from_the_paper"]
    warning = f"<p><b>Not the paper's swarm: {escape(str(changed))}</b></p>" if changed else ""
    return (
        f"<p><b>{len(report.verdicts)} claims: {how_many(report.verdicts)}.</b> btflow {run['version']}, "
        f"{run['date']}, Python "
        f"{run['python']}, {run['machine']}. {run['swarms']} swarms, {run['replicas_of_a_table_iv_cell']} replicas of "
        f"each cell of Table IV, {run['cpu_s']:.0f} s of CPU time. Each case has a seed of its own, listed below; "
        "± is the standard error over replicas, in brackets the least and the greatest replica. No constant is fitted "
        f"to these figures.</p>{warning}"
    )


def how_many(verdicts: Iterable[Verdict], word: Callable[[Verdict], str] = lambda verdict: verdict.text) -> str:
    """Return how many claims came out how, as a short text."""
    found = Counter(word(verdict).partition(":")[0] for verdict in verdicts)
    return ", ".join(f"{number} {text}" for text, number in found.items())


def claims_table(
    verdicts: Iterable[Verdict],
    header: tuple[str, str] = ("what is claimed", "paper"),
    word: Callable[[Verdict], str] = lambda verdict: verdict.text,
    what: Callable[[Verdict], str] = lambda verdict: escape(verdict.claim.text),
) -> str:
    """Return claims, verdicts and the figures of both sides as an HTML table; `word` and `what` give HTML."""
    rows = (
        (
            f'<a href="#{v.claim.id}">{v.claim.id}</a>',
            f'<td class="{"yes" if v.holds else "no"}">{"✓" if v.holds else "✗"} {word(v)}</td>',
            what(v),
            escape(v.finding.paper),
            escape(v.finding.ours),
        )
        for v in verdicts
    )
    return table(("claim", "verdict", *header, "btflow"), rows)


def claim_details(verdict: Verdict) -> str:
    """Return a claim with what it stands or falls with, as HTML."""
    claim = verdict.claim
    counts = f'<p class="quiet">What counts as reproduced: {escape(claim.tolerance)}.</p>' if claim.tolerance else ""
    return (
        f'<h3 id="{claim.id}">{claim.id}: {verdict.text}</h3><p>{escape(claim.text)} '
        f'<span class="quiet">{escape(claim.paper)}, {escape(claim.where)}; {claim.kind}</span></p>{counts}'
        f"<ul>{conditions(verdict)}</ul><details><summary>figures</summary><ul>{details(verdict)}</ul></details>"
    )


def conditions(verdict: Verdict) -> str:
    """Return the conditions of a claim as items of an HTML list."""
    return "".join(f"<li>{'✓' if c.held else '✗'} {escape(c.text)}</li>" for c in verdict.finding.conditions)


def details(verdict: Verdict) -> str:
    """Return the further figures of a claim as items of an HTML list."""
    return "".join(f"<li>{escape(line)}</li>" for line in verdict.finding.details)
