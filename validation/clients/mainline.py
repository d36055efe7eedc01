"""The mainline client of 2005 itself beside its model: ``validation/mainline.md``, from the frozen tables alone.

It says of each open claim of 2010 whether the client does in the test bed what its model does. Then it is not the
client's rules that make the paper's cluster differ from the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from validation.clients.cells import FOLDER
from validation.clients.predictions import Prediction
from validation.clients.report import Comparison, percent, table
from validation.markdown import Report
from validation.part import Part, Row

REPORT = FOLDER.parent / "mainline.md"
COMMAND = "make real-clients"
QUESTION = "Does the mainline client of the experiments of 2010 do what its model does, and what the paper says of it?"
OFTEN = 0.02
"""Share of a seed's unchokes that ends idle from which on it counts as often, as in R05."""
PAPER = {"R04": "+9.5%", "R05": "120 to 800 ms", "R07": "200, 120, 20, 20 ms", "R12": "+20.7, +12.9, +13.9, +93.1%"}


def name(limit: int, rtt: int, loss: bool = False, old: bool = False) -> str:
    """Return the name of a cell: upload limit [kB/s], round-trip time [ms], 5% of loss or none, TCP of 2009 or today."""
    return f"mainline-{limit}k-{rtt}ms{'-loss' if loss else ''}{'-old' if old else ''}"


class Found:
    """The cells by name, with what was measured and said."""

    def __init__(self, found: Sequence[Comparison], known: Sequence[Prediction]) -> None:
        self.by_name = {one.cell.name: one for one in found if not one.cell.links and one.measured}
        errors = {(one.cell, one.figure, one.generation): one.se * math.sqrt(one.replicas) for one in known}
        self.spread = {cell: errors.get((cell, "mean", 1), math.nan) for cell in self.by_name}
        """Standard deviation of the mean completion from one simulated swarm to the next [s]."""

    def seen(self, cell: str, figure: str) -> float:
        """Return a figure as measured; NaN if it was not."""
        one = self.by_name[cell].of(figure) if cell in self.by_name else None
        return math.nan if one is None else one.mean

    def said(self, cell: str, figure: str) -> float:
        """Return a figure as predicted last; NaN if it was not."""
        value = self.by_name[cell].said(figure, -1) if cell in self.by_name else None
        return math.nan if value is None else value

    def cost(self, limit: int, rtt: int, loss: bool) -> str:
        """Return by how much a setting takes longer than without delay and loss: measured, and said."""
        cell, base = name(limit, rtt, loss), name(limit, 0)
        if cell not in self.by_name or base not in self.by_name:
            return "not measured"
        seen, said = (of(cell, "mean") / of(base, "mean") - 1 for of in (self.seen, self.said))
        parts = [(self.spread[one] / self.seen(one, "mean")) ** 2 / len(self.by_name[one].rows) for one in (cell, base)]
        return f"{100 * seen:+.1f} ± {196 * (1 + seen) * math.sqrt(sum(parts)):.0f}% ({100 * said:+.1f}%)"

    def cost_of_old(self, limit: int, rtt: int, loss: int) -> str:
        """Return by how much a setting takes longer with old TCP than without delay and loss, as measured."""
        cell, base = name(limit, rtt, bool(loss), old=True), name(limit, 0)
        if cell not in self.by_name or base not in self.by_name:
            return "not measured"
        return percent(self.seen(cell, "mean") / self.seen(base, "mean") - 1)

    def errors(self) -> list[float]:
        """Return the errors of the first predictions of the mean completion."""
        found = [one.error("mean", 1) for one in self.by_name.values()]
        return [abs(error) for error in found if error is not None]


def _band(found: Found, old: bool) -> str:
    """From where to where unchokes end idle often at 20 kB/s without loss, as measured, and as said."""
    ways = []
    for share in (found.seen, found.said):
        at = sorted(round(1000 * one.cell.rtt) for one in found.by_name.values())
        often = [rtt for rtt in dict.fromkeys(at) if share(name(20, rtt, old=old), "idle") >= OFTEN]
        ways.append(f"{often[0]} to {often[-1]} ms" if often else "no RTT")
    return f"{ways[0]} ({ways[1]})"


def _idle(found: Found, old: bool = False) -> str:
    cell = name(10, 400, old=old)
    return f"{100 * found.seen(cell, 'idle'):.0f}% ({100 * found.said(cell, 'idle'):.0f}%)"


def claims(found: Found) -> dict[str, tuple[str, str]]:
    """Return what the client says of each open claim: in a few words, and in a sentence; said values in brackets."""
    now, old = _band(found, old=False), _band(found, old=True)
    costs = {limit: found.cost(limit, 1000, True) for limit in (10, 20, 50, 100)}
    ten = found.cost(10, 400, False)
    gaps = [(found.seen(name(limit, 0), "gap"), found.said(name(limit, 0), "gap")) for limit in (10, 20, 50, 100)]
    errors = found.errors()
    within = f"{sum(error <= 0.12 for error in errors)} of {len(errors)}"
    return {
        "R02": (
            f"{within} cells within 12%",
            f"{within} cells of the client are within 12% of what was said of them before they were measured.",
        ),
        "R04": (
            ten,
            f"400 ms cost the client {ten} at 10 kB/s, and {_idle(found)} of its seed's unchokes end idle; with TCP as of"
            f" 2009 {found.cost_of_old(10, 400, 0)}, and {_idle(found, old=True)}; the paper {PAPER['R04']}.",
        ),
        "R05": (
            f"{old}; TCP of today {now}",
            f"its seed ends unchokes idle often from {now}; with TCP as of 2009 from {old}; the paper {PAPER['R05']}.",
        ),
        "R07": (
            ", ".join("–" if math.isnan(a) else f"{1000 * a:.0f}" for a, _ in gaps) + " ms",
            "a tenth of its sends, control messages counted, follow the one before within "
            + ", ".join("–" if math.isnan(a) else f"{1000 * a:.0f} ({1000 * b:.0f})" for a, b in gaps)
            + f" ms at 10, 20, 50 and 100 kB/s; the paper's thresholds are {PAPER['R07']}.",
        ),
        "R12": (
            ", ".join("–" if "%" not in cost else cost.split(" ")[0] for cost in costs.values()) + "%",
            "1000 ms with 5% loss cost it "
            + ", ".join(f"{cost} at {limit} kB/s" for limit, cost in costs.items())
            + f"; the paper {PAPER['R12']}.",
        ),
    }


def page(comparisons: Sequence[Comparison], known: Sequence[Prediction]) -> Report:
    """Return the report."""
    found = Found(comparisons, known)
    errors, runs = found.errors(), sum(len(one.rows) for one in found.by_name.values())
    verdict = (
        f"{sum(error <= 0.12 for error in errors)} of {len(errors)} cells, {runs} runs, have the mean completion that"
        f" was said of them before, within 12%; the median error is {100 * float(np.median(errors)):.1f}%, the greatest"
        f" {100 * max(errors):.1f}%."
    )
    sentences = [f"- {claim}: {sentence}" for claim, (_, sentence) in claims(found).items()]
    lines = [
        "BitTorrent 4.0.2, unchanged (release of March 2005; CPython 2.7), in the test bed of"
        " [clients.md](clients.md): 30 leechers and a seed in namespaces of their own, 10 MiB in pieces of 256 KiB,"
        " behind its own upload limit and links that do not matter. A forwarder delays each packet by half the"
        " round-trip time and loses 5% of them, or none, in both directions. TCP is that of the kernel named below:"
        " the model is `mainline-4.0` on the transport `linux-6`. Cells that end with `old` have TCP as of 2009, as far as"
        " this kernel can: no tail loss probes, an initial window of 3, cached route metrics, and no PSH flags, so that"
        " ACKs of lone segments wait as they did before Linux 6.7; they are said with `linux-2.6.32`. Every prediction"
        " was written down before its cell was measured, and again when it was found that Nagle's rule waits for"
        " delayed ACKs ([tcp.md](../docs/tcp.md#swarms-without-access-links)): completion and error beside it are those"
        " of the first, in brackets is what is said now; ± is twice the standard deviation"
        " between simulated swarms, as few runs of a cell have none.",
        "## What the client says of the open claims",
        "\n".join(sentences),
        "The client's rules are the model's, and where its TCP is known what it does at a block is, too. What is left"
        " of R02 and R12 is TCP under 5% loss at a second: the kernel's of 2009 cannot be run here, and today's, which"
        " finds losses by time (RACK), is a third faster than the model of 2009's ([hypotheses.md](hypotheses.md)).",
        "## Block by block",
        "Copies: what the seed sent over the file's size. Idle: its unchokes that end as nothing waits, while an older"
        " one is kept. Dry: its slots without a waiting request when its choker's timer runs. Sends: the time within"
        " which a tenth of all sends of leechers follow the one before on their connection.",
        table(
            ("cell", "runs", "completion [s]", "said", "error", "copies", "idle [%]", "dry [%]", "sends [ms]"),
            [_row(found, cell) for cell in found.by_name],
        ),
        _machine(found),
    ]
    return Report("The mainline client itself beside its model", QUESTION, [verdict], ["\n\n".join(lines)])


def _row(found: Found, cell: str) -> tuple[str, ...]:
    one = found.by_name[cell]

    def pair(figure: str, scale: float, digits: int) -> str:
        seen, said = found.seen(cell, figure), found.said(cell, figure)
        return " ".join(
            form.format("–" if math.isnan(value) else f"{scale * value:.{digits}f}")
            for value, form in ((seen, "{}"), (said, "({})"))
        )

    first = one.said("mean", 1)
    return (
        cell.removeprefix("mainline-"),
        str(len(one.rows)),
        f"{found.seen(cell, 'mean'):.0f}",
        "–" if first is None else f"{first:.0f}",
        percent(one.error("mean", 1)),
        pair("copies", 1, 2),
        pair("idle", 100, 1),
        pair("dry", 100, 1),
        pair("gap", 1000, 0),
    )


def _machine(found: Found) -> str:
    rows = [row for one in found.by_name.values() for row in one.rows]
    late = [row.watched["leechers"]["lates"] for row in rows]
    cores = {
        one.cell.classes["leechers"].cap: float(np.mean([row.load["cores_used"] for row in one.rows]))
        / (one.cell.leechers + one.cell.seeds)
        for one in found.by_name.values()
    }
    cost = ", ".join(
        f"{100 * used:.1f}% of a core at {limit / 1024:.0f} kB/s" for limit, used in sorted(cores.items()) if limit
    )
    return (
        f"Linux {', '.join(sorted({row.versions['kernel'] for row in rows}))}. A client takes {cost}; its timers are"
        f" {1000 * sum(a for a, _ in late) / sum(n for _, n in late):.1f} ms late on average. The paper ran 100 clients"
        " with a log on a host of 2009. Two cores ran all swarms beside each other, and simulations that gave way to them."
    )


def write(comparisons: Sequence[Comparison], known: Sequence[Prediction], date: str) -> None:
    """Write the report, and what it says of the claims as data."""
    page(comparisons, known).write(REPORT)
    rows = {claim: Row(brief) for claim, (brief, _) in claims(Found(comparisons, known)).items()}
    Part(COMMAND, rows, date).write(REPORT)
