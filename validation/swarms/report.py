"""All that is found about swarms on congested links, its frozen summary (validation/swarms.md), and what is assumed."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from btflow.config.catalog import document
from validation import reference
from validation.assumptions import ASSUMED, Assumption, at, engine, merged, of_model
from validation.markdown import Report as Page, claims, conditions, constants, counted, in_detail, table as markdown
from validation.packet_level import tables
from validation.part import Part
from validation.report import made_by, today
from validation.swarms import ablations, completion, planes
from validation.swarms.ablations import Row, Taken
from validation.swarms.compare import CONFIDENCE, MARGIN, interval
from validation.swarms.experiments import FILE_2012, FILES, FULL_2012, MANY, PLAIN, SOME, Setting
from validation.swarms.measured import ALL, Results
from validation.swarms.why import why
from validation.verdict import Finding, Verdict

SUMMARY = Path(__file__).parent.parent / "swarms.md"
"""With the details behind it the only part of the report that is kept in the repository."""
COMMAND = "python -m validation.swarms"
"""What makes it."""
TITLE = "Swarms on congested access links, checked by `make validate`"
QUESTION = "Does what papers of 2011 and 2012 found of uTP and TCP in swarms come out, and what carries it?"
CLAIMS = "swarms.toml"
MODELS = ("testa2011", "testa2012")
CLOSED = "closed"
"""A source that contains this says that the number is that of a program whose source is closed."""
PACKET_LEECHERS = 20
"""Leechers of a packet-level swarm."""

JUDGES: Mapping[str, Callable[[Results], Finding]] = {
    "T01": completion.never_leave,
    "T02": completion.ranks,
    "T03": completion.random_stay,
    "T04": completion.half_and_half,
    "T05": completion.queues,
    "T06": completion.buffers,
    "D01": planes.homogeneous,
    "D02": planes.occupancy,
    "D03": planes.heterogeneous,
    "D04": planes.correlations,
    "D05": planes.sending_rates,
}
"""What judges each claim, in the order of the report."""

METHOD = (
    "The unit of replication is the run: each enters with one number (a mean, a quantile) and peers of a run are not "
    "counted as independent. All settings of a model share their seed, so that replica i has the same arrivals and "
    "access links everywhere: settings, and classes of one swarm, are compared by paired t tests of the replicas' "
    f"differences at 5%, orders one-sided. No difference is found by two one-sided tests (TOST) within "
    f"±{100 * MARGIN:g}% of the mean: not to see a difference is not enough. ± and CI are {100 * CONFIDENCE:g}% "
    "confidence intervals of Student's t; d is Cohen's, the difference over the pooled standard deviation of the runs' "
    "means. A claim of several parts holds if each test does, which asks no correction for their number. The "
    "thresholds that the papers do not give were set before the runs of this report, after a few trial runs; the "
    "buffer of 2 packets (T06), uTorrent's CUBIC half among those that Nice is to beat (D03) and the ablations of "
    "homogeneous swarms were added after them. No constant is fitted to these figures."
)
"""How figures are compared."""


@dataclass(frozen=True)
class Report:
    """All that is reported."""

    verdicts: Sequence[Verdict]
    """One per claim."""
    taken: Sequence[Taken]
    """The differences taken apart."""
    results: Results
    """What they are based on."""
    date: str
    """Day of the report, ISO 8601."""

    @property
    def reproduced(self) -> bool:
        """Whether every claim was."""
        return all(verdict.holds for verdict in self.verdicts)


def make(ids: Sequence[str], results: Results, say: Callable[[Verdict], None] = lambda _: None) -> Report:
    """Judge claims, running what they need; `say` is told each verdict."""
    verdicts = []
    for name in ids:
        verdicts.append(Verdict(reference.claims(CLAIMS)[name], JUDGES[name](results)))
        say(verdicts[-1])
    return Report(verdicts, ablations.for_claims(results, list(ids)), results, today())


def provenance(report: Report) -> dict[str, Any]:
    """Return what was run, by what, and when."""
    return {
        **made_by(report.date),
        "runs": report.results.plan.runs,
        "swarms": report.results.swarms,
        "cpu_s": round(report.results.cpu, 1),
    }


def runs_text(report: Report) -> str:
    """Return in a sentence how much was run."""
    run = provenance(report)
    return (
        f"{run['swarms']} swarms, {run['cpu_s']:.0f} s of CPU time; {run['runs']} runs of a setting, "
        f"{MANY * run['runs']} of the six of 2011's figure 2, {SOME * run['runs']} of each buffer of its figure 3b. "
        f"The swarms of 2012 have a file of {FILE_2012} MB, not the paper's {FULL_2012} MB; the mix of Nice and CUBIC "
        f"is also run with {FULL_2012} MB; that and uTorrent's ablations with nothing but uTP or CUBIC have "
        f"{max(2, run['runs'] // 2)} runs."
    )


def cost(results: Results) -> str:
    """Return the CPU time of a swarm of 2011, beside that of a packet-level swarm; empty if none was run."""
    ours = [results[setting].cpu for setting in PLAIN if setting in results.settings]
    if not ours:
        return ""
    packet = [float(row["cpu_s"]) for row in tables.rows("swarms/swarm_runs") if row["mix"] == "half"]
    one, theirs = sum(ours) / len(ours), sum(packet) / len(packet)
    downloads = 100
    ratio = theirs / PACKET_LEECHERS / (one / downloads)
    return (
        f"A swarm of 2011 ({downloads} downloads of 10 MB) takes {one:.2f} s of CPU time, the mean of {len(ours)} "
        f"settings ({min(ours):.2f} to {max(ours):.2f} s); a packet-level swarm of {PACKET_LEECHERS} such downloads "
        f"{theirs:.1f} s ({len(packet)} runs of half CUBIC half LEDBAT): {theirs / one:.0f} times as long for a fifth "
        f"of the downloads, {ratio:.0f} times as long for each."
    )


def ablation_rows(found: Taken) -> list[tuple[str, ...]]:
    """Return a difference taken apart as rows of text."""
    return [_ablation(row, found) for row in (found.base, *found.rows)]


ABLATION_HEADER = ("off", "times [s]", "difference", "part of it that goes", "change in points (95% CI)")


def _ablation(row: Row, found: Taken) -> tuple[str, ...]:
    a, b = found.ablation.sides
    times = f"{a} {row.means[0].text(1)}, {b} {row.means[1].text(1)}"
    if not row.off:
        return ("nothing", times, row.gap.text, "", "")
    c = row.change
    removed = "" if abs(found.base.gap.relative.mean) < ablations.PROPER else f"{100 * row.removed:.0f}%"
    return (row.off, times, row.gap.text, removed, f"{100 * c.mean:+.1f} ({100 * c.low:+.1f} to {100 * c.high:+.1f})")


SETTING_HEADER = (
    "setting",
    "runs",
    "mean completion time by class [s]",
    "mean queueing delay at uplinks [ms]",
    "CPU [s]",
)


def setting_rows(results: Results) -> Iterable[tuple[str, ...]]:
    """Yield the settings as rows of text."""
    for setting in results.settings:
        found = results[setting]
        names = [name for name in found.groups if name != ALL or len(found.groups) > 2]
        yield (
            setting.label,
            str(found.number),
            ", ".join(f"{name} {interval(found.of('mean', name)).text(1)}" for name in names),
            ", ".join(f"{name} {interval(found.of('delay_mean', name)).text(0, scale=1e3)}" for name in names),
            f"{found.cpu:.2f}",
        )


def assumptions() -> list[Assumption]:
    """Return the numbers behind these runs that no source gives: assumed, closed, or chosen for the validation."""
    found = [
        Assumption(
            "validation: file size of testa2012",
            f"{FILE_2012} MB",
            f"chosen for the validation: the paper's {FULL_2012} MB takes three times as long",
        )
    ]
    found += [entry for model in MODELS for entry in of_model(model, document(model))]
    for folder, name in _named():
        found += _in_file(folder, name)
    for model, path in FILES.items():
        for field, source in document(path).sources.items():
            if "chosen" in source or ASSUMED in source:
                found.append(Assumption(f"{model}: {field}", at(document(path).tree, field), source))
    found += engine()
    # A file's numbers are met once for the model and once by the file's name.
    unique: dict[tuple[str, str, str], Assumption] = {}
    for entry in merged(found):
        unique.setdefault((entry.name.partition(" and ")[0].rpartition(".")[2], entry.value, entry.reason), entry)
    return list(unique.values())


def _named() -> list[tuple[str, str]]:
    """Return the files of btflow/models that the parameters of the models name, such as a congestion control's."""
    names: dict[tuple[str, str], None] = {}
    for model in MODELS:
        for path, choices in document(model).referred.items():
            folder = "clients" if path.endswith("client") else "congestion"
            for name in choices:
                names[folder, name] = None
    return list(names)


def _in_file(folder: str, name: str) -> list[Assumption]:
    """Return the numbers without a source of a model's part and of what it is based on."""
    models = files("btflow.models")
    file = next(path for place in (folder, "stacks") if (path := models / place / f"{name}.toml").is_file())
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    base = content.get("base")
    return _unsourced(name, content) + (_in_file(folder, base) if isinstance(base, str) else [])


def _unsourced(path: str, tree: Any) -> list[Assumption]:
    if isinstance(tree, list):
        return [entry for i, part in enumerate(tree) for entry in _unsourced(f"{path}.{i}", part)]
    if not isinstance(tree, dict):
        return []
    if "value" in tree and "source" in tree:
        source = str(tree["source"])
        given = ASSUMED in source.lower() or CLOSED in source.lower()
        return [Assumption(path, str(tree["value"]), source)] if given else []
    return [
        entry
        for name, part in tree.items()
        for entry in _unsourced(f"{path}{'.' if ':' in path else ': '}{name}", part)
    ]


def write_summary(report: Report, path: Path) -> None:
    """Write swarms.md: claims, verdicts, figures, what carries the differences; what is behind it; verdicts as data."""
    summary(report).write(path)
    Part.of(COMMAND, report.verdicts, report.date).write(path)


def summary(report: Report) -> Page:
    """Return swarms.md."""
    run = provenance(report)
    lines = [
        f"btflow {run['version']}, {run['date']}. {runs_text(report)} {cost(report.results)} Written by "
        f"`{COMMAND}`; do not edit.",
        "",
        *claims(report.verdicts),
        "",
    ]
    shown = why(report.verdicts, report.results)
    if shown:
        lines += ["## Where a claim does not come out", "", *(f"- {name}: {text}" for name, text in shown.items()), ""]
    lines += ["## What carries the differences", ""]
    for found in report.taken:
        lines += [found.words, ""]
    lines += ["## How figures are compared", "", METHOD]
    details = [*conditions(report.verdicts), "", "## What carries the differences, in figures", ""]
    for found in report.taken:
        details += [f"{found.ablation.name}:", "", *markdown(ABLATION_HEADER, ablation_rows(found)), ""]
    details += ["## Further figures", ""]
    for v in report.verdicts:
        details += [f"- {v.claim.id}: {text}" for text in v.finding.details]
    details += ["", "## Constants without a source", ""]
    details += constants(assumptions())
    return Page(TITLE, QUESTION, [counted(report.verdicts)], lines, details)


def behind(report: Report) -> Iterable[str]:
    """Return what only the page has: claims in detail, and all settings."""
    settings = markdown(SETTING_HEADER, setting_rows(report.results))
    return ["## Claims in detail", "", *in_detail(report.verdicts), "## Settings", "", *settings]


def known(settings: Iterable[Setting], results: Results) -> bool:
    """Return whether all of some settings were run."""
    return all(setting in results.settings for setting in settings)
