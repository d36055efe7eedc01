"""``python -m validation.links.fluid``: links at flow fidelity beside packets, in validation/links_fluid.md."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Annotated, Any, NamedTuple

import typer

from btflow.link.fluid import run_fluid
from btflow.link.options import scenario_from
from btflow.link.program import compile_link
from btflow.link.results import measured
from btflow.link.run import run_link
from validation import markdown
from validation.command import application, run_app
from validation.markdown import Report

OUT = Path(__file__).parents[1] / "links_fluid.md"
QUESTION = "Does a link at flow fidelity carry what it carries packet by packet, and is its queue as long?"
GOODPUT, QUEUE = 0.05, 10.0
"""What counts as near: relative, and in milliseconds of the mean queue."""
HEAD = (
    "Written by `python -m validation.links.fluid`: five runs of 120 s each. What flow refuses is here, too:",
    "ns-3's Vegas, and LP on the path of 200 ms, are refused for what these tables say of them, Nice for what it",
    "does in other buffers (docs/link-fidelity.md).",
)
SEEDS = 5
ALONE: Mapping[str, Mapping[str, str]] = {
    "1 Mbit/s, 50 ms, 20 packets": {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "20 packets"},
    "10 Mbit/s, 50 ms, 100 packets": {"rate": "10 Mbit/s", "rtt": "50 ms", "buffer": "100 packets"},
    "10 Mbit/s, 50 ms, 20 packets": {"rate": "10 Mbit/s", "rtt": "50 ms", "buffer": "20 packets"},
    "20 Mbit/s, 10 ms, 60 packets": {"rate": "20 Mbit/s", "rtt": "10 ms", "buffer": "60 packets"},
    "20 Mbit/s, 200 ms, 300 packets": {"rate": "20 Mbit/s", "rtt": "200 ms", "buffer": "300 packets"},
}
CONTROLS = ("newreno", "cubic", "vegas", "ledbat", "utp", "utp-2010", "ledbatpp", "bbr", "lp", "nice", "ns3-vegas")
TOGETHER: Mapping[str, Mapping[str, Any]] = {
    "4 CUBIC, 100 Mbit/s": {"rate": "100 Mbit/s", "buffer": "400 packets", "flows": ["cubic:4"]},
    "10 NewReno, 20 Mbit/s": {"rate": "20 Mbit/s", "buffer": "40 packets", "flows": ["newreno:10"]},
    "3 CUBIC and LEDBAT, 2 Mbit/s": {"rate": "2 Mbit/s", "buffer": "50 packets", "flows": ["cubic:3", "ledbat:1@10s"]},
    "3 BBR, 10 Mbit/s": {"rate": "10 Mbit/s", "buffer": "200 packets", "flows": ["bbr:3"]},
    "5 on-off CUBIC, 5 Mbit/s": {"rate": "5 Mbit/s", "buffer": "50 packets", "flows": ["cubic:5,on=1s,off=1s"]},
    "2 CUBIC up, 2 down, 1 and 8 Mbit/s": {
        "rate": "1 Mbit/s",
        "reverse_rate": "8 Mbit/s",
        "buffer": "50 packets",
        "flows": ["cubic:2", "cubic:2,direction=down"],
    },
    "NewReno, 1% lost in the core": {
        "rate": "10 Mbit/s",
        "buffer": "100 packets",
        "loss": "1%",
        "flows": ["newreno"],
    },
}

app = application()


class Row(NamedTuple):
    """What an experiment gave by packets and by flow: mean goodput [kbit/s], queue [ms] and packets dropped."""

    label: str
    packets: tuple[float, float, float]
    fluid: tuple[float, float, float]

    @property
    def change(self) -> float:
        """By how much flow's goodput exceeds that of packets, relative to it."""
        return self.fluid[0] / self.packets[0] - 1.0

    @property
    def apart(self) -> float:
        """How far the mean queues are apart [ms]."""
        return abs(self.fluid[1] - self.packets[1])

    def cells(self) -> list[str]:
        """Return the row of the table."""
        (one, wait, lost), (other, waits, drops) = self.packets, self.fluid
        return [
            self.label,
            *(f"{one:,.0f}", f"{other:,.0f}", f"{100.0 * self.change:+.1f}%"),
            *(f"{wait:.1f}", f"{waits:.1f}", f"{lost:.0f}", f"{drops:.0f}"),
        ]


def compare(label: str, seeds: int, **options: Any) -> Row:
    """Run an experiment of 120 s both ways, what flow refuses too."""
    scenario = scenario_from(**{"rtt": "50 ms", "duration": "120 s", **options})
    program = compile_link(scenario)
    found: list[tuple[float, float, float]] = []
    for run in (run_link, run_fluid):
        each = [measured(scenario, program, run(program, seed)) for seed in range(seeds)]
        found.append(
            (
                mean(float(one["goodput"].values.sum()) * 8e-3 for one in each),
                mean(float(one["queue_mean_delay"].values[0]) * 1e3 for one in each),
                mean(float(one["drops"].values[0]) for one in each),
            )
        )
    return Row(label, *found)


def table(first: str, rows: Sequence[Row]) -> list[str]:
    """Return a table with a row for each experiment."""
    heads = [first, "goodput, packets [kbit/s]", "flow", "", "queue, packets [ms]", "flow", "drops, packets", "flow"]
    return markdown.table(heads, (row.cells() for row in rows), numbers=True)


@app.command()
def main(
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Runs of each experiment.")] = SEEDS,
    out: Annotated[Path, typer.Option(metavar="FILE.md", help="The table.")] = OUT,
) -> None:
    """Run each law alone on some links, and flows together, by packets and by flow."""
    alone = {
        f"One flow, {link}": [compare(control, seeds, **options, flows=[control]) for control in CONTROLS]
        for link, options in ALONE.items()
    }
    together = [compare(label, seeds, **options) for label, options in TOGETHER.items()]
    report = page(alone, together)
    report.write(out)
    typer.echo(report.text(out.name))


def page(alone: Mapping[str, Sequence[Row]], together: Sequence[Row]) -> Report:
    """Return the report on laws alone, by link, and on flows together."""
    found = [(f"{row.label}, {link.partition(', ')[2]}", row) for link, rows in alone.items() for row in rows]
    found += [(row.label, row) for row in together]
    far = [f"{label} {100.0 * row.change:+.1f}%" for label, row in found if abs(row.change) > GOODPUT]
    long = [f"{label} ({row.packets[1]:.1f}, {row.fluid[1]:.1f} ms)" for label, row in found if row.apart > QUEUE]
    verdicts = [
        f"Goodput: within {GOODPUT:.0%} of packets in {len(found) - len(far)} of {len(found)} experiments; "
        f"beyond it: {'; '.join(far) or 'none'}.",
        f"Mean queue: within {QUEUE:.0f} ms of packets in {len(found) - len(long)} of {len(found)}; "
        f"beyond it (packets, flow): {'; '.join(long) or 'none'}.",
    ]
    lines = [*HEAD, "", "## Flows together, 50 ms", "", *table("flows", together)]
    details = [
        line for link, rows in alone.items() for line in (f"## {link}", "", *table("congestion control", rows), "")
    ]
    return Report("Links at flow fidelity beside packets", QUESTION, verdicts, lines, details)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.links.fluid"))
