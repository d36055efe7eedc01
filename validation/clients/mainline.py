"""The mainline client of 2005 itself beside its model: ``validation/mainline.md``, from the frozen tables alone.

It says of each open claim of 2010 whether the client does in the test bed what its model does. Then it is not the
client's rules that make the paper's cluster differ from the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from validation.clients import tables
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


OLD, OF_2009 = "-old", "-2009"
"""TCP of cells: this kernel's, set to be as old as it can be, and that of Linux 2.6.32 itself."""


def name(limit: int, rtt: int, loss: bool = False, tcp: str = "") -> str:
    """Return the name of a cell: upload limit [kB/s], round-trip time [ms], 5% of loss or none, and whose TCP."""
    return f"mainline-{limit}k-{rtt}ms{'-loss' if loss else ''}{tcp}"


class Found:
    """The cells by name, with what was measured and said."""

    def __init__(self, found: Sequence[Comparison], known: Sequence[Prediction]) -> None:
        self.by_name = {one.cell.name: one for one in found if not one.cell.links and one.measured}
        self.missing = [one.cell.name for one in found if not one.cell.links and not one.measured]
        """Cells that were predicted alone."""
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

    def first(self, cell: str, figure: str) -> float:
        """Return a figure as it was first predicted; NaN if it was not."""
        kept = self.by_name[cell].generations if cell in self.by_name else {}
        return next((kept[number][figure] for number in sorted(kept) if figure in kept[number]), math.nan)

    def share(self, cell: str, figure: str) -> str:
        """Return a share in per cent: as measured, and as said first and now."""
        found = [of(cell, figure) for of in (self.seen, self.first, self.said)]
        seen, first, now = ["–" if math.isnan(value) else f"{100 * value:.1f}" for value in found]
        return f"{seen} ({first}; {now})"

    def runs(self, cell: str) -> list[tables.Row]:
        """Return the runs of a cell, none if it was not measured."""
        return self.by_name[cell].rows if cell in self.by_name else []

    def base(self, limit: int, tcp: str) -> str:
        """Return the cell without delay and loss of a TCP, of today's if there is none: it hardly counts there."""
        of = (name(limit, 0, tcp=one) for one in (tcp, tcp.removesuffix("-host")))
        return next((cell for cell in of if cell in self.by_name), name(limit, 0))

    def cost(self, limit: int, rtt: int, loss: bool, tcp: str = "") -> str:
        """Return by how much a setting takes longer than without delay and loss: measured, and said first and now."""
        cell, base = name(limit, rtt, loss, tcp), self.base(limit, tcp)
        if cell not in self.by_name or base not in self.by_name:
            return "not measured"
        seen, first, now = (of(cell, "mean") / of(base, "mean") - 1 for of in (self.seen, self.first, self.said))
        parts = [(self.spread[one] / self.seen(one, "mean")) ** 2 / len(self.by_name[one].rows) for one in (cell, base)]
        spread = 196 * (1 + seen) * math.sqrt(sum(parts))
        return f"{100 * seen:+.1f} ± {spread:.0f}% ({100 * first:+.1f}; {100 * now:+.1f}%)"

    def errors(self) -> list[float]:
        """Return the errors of the first predictions of the mean completion."""
        found = [one.error("mean", 1) for one in self.by_name.values()]
        return [abs(error) for error in found if error is not None]


def _onset(found: Found, tcp: str) -> list[str]:
    """Between which round-trip times [ms] unchokes begin to end idle often at 20 kB/s: measured, said first, now."""
    rtts = sorted({round(1000 * one.cell.rtt) for one in found.by_name.values()})
    run = [rtt for rtt in rtts if name(20, rtt, tcp=tcp) in found.by_name]
    ways = []
    for share in (found.seen, found.first, found.said):
        often = [i for i, rtt in enumerate(run) if share(name(20, rtt, tcp=tcp), "idle") >= OFTEN]
        ways.append(
            "none" if not often else f"{run[often[0] - 1]} to {run[often[0]]}" if often[0] else f"at most {run[0]}"
        )
    return ways


def claims(found: Found) -> dict[str, tuple[str, str]]:
    """Return what the client says of each open claim: in a few words, and in a sentence; said values in brackets."""
    today, as_old, itself = (_onset(found, tcp) for tcp in ("", OLD, OF_2009))
    now, old, own = [f"{seen} ({first}; {last}) ms" for seen, first, last in (today, as_old, itself)]
    limits = (10, 20, 50, 100)
    costs = {limit: found.cost(limit, 1000, True) for limit in limits}
    of_2009 = {limit: found.cost(limit, 1000, True, OF_2009) for limit in limits}
    both = list(zip(of_2009.values(), costs.values(), strict=True))
    ten = found.cost(10, 400, False)
    gaps = [[1000 * of(name(limit, 0), "gap") for of in (found.seen, found.said)] for limit in (10, 20, 50, 100)]
    errors = found.errors()
    within = f"{sum(error <= 0.12 for error in errors)} of {len(errors)}"
    return {
        "R02": (
            f"{within} cells within 12%",
            f"{within} cells of the client are within 12% of what was said of them before they were measured.",
        ),
        "R04": (
            ten,
            f"400 ms cost the client {ten} at 10 kB/s, and {found.share(name(10, 400), 'idle')}% of its seed's unchokes"
            f" end idle; with TCP as of 2009 {found.cost(10, 400, False, OLD)}, and"
            f" {found.share(name(10, 400, tcp=OLD), 'idle')}%; the paper {PAPER['R04']}."
            " The cost alone decides nothing.",
        ),
        "R05": (
            f"from {as_old[0]} ms on; TCP of today {today[0]}",
            f"unchokes of its seed begin to end idle often between round-trip times of {now}; with TCP as of 2009 of"
            f" {old}, and inside Linux 2.6.32 itself of {own}. At 1000 ms {found.share(name(20, 1000), 'idle')}% do,"
            f" with TCP as of 2009 {found.share(name(20, 1000, tcp=OLD), 'idle')}%; the paper sees it from 120 to"
            " 800 ms.",
        ),
        "R07": (
            ", ".join("–" if math.isnan(a) else f"{a:.0f}" for a, _ in gaps) + " ms",
            "a tenth of its sends, control messages counted, follow the one before within "
            + ", ".join("–" if math.isnan(a) else f"{a:.0f} ({b:.0f})" for a, b in gaps)
            + f" ms at 10, 20, 50 and 100 kB/s; the paper's thresholds are {PAPER['R07']}.",
        ),
        "R12": (
            ", ".join((own if "%" in own else of_today).split(" ")[0] for own, of_today in both) + "%",
            "1000 ms with 5% loss cost it inside Linux 2.6.32 itself "
            + ", ".join(f"{cost} at {limit} kB/s" for limit, cost in of_2009.items())
            + "; with TCP of today "
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
        " the model is `mainline-4.0` on the transport `linux-6`. Cells that end with `old` have TCP as of 2009, as far"
        " as this kernel can: no tail loss probes, an initial window of 3, cached route metrics, and no PSH flags, so"
        " that ACKs of lone segments wait as they did before Linux 6.6; they are said with `linux-2.6.32`. Two of them"
        " were measured once before, with PSH flags (442 and 270 s). Cells that end with `2009` run inside Linux 2.6.32"
        " itself, started in user mode on a host of today, with netem, the emulator of the experiments, in the place of"
        " the forwarder; with `host` all clients share one address and the loopback device, as 100 did in the paper."
        " That kernel is 2.6.32.70 for x86-64, its timer at 250 Hz, built by GCC 12: changed where today's compiler, C"
        " library and kernel need it, in arch/um above all, and nothing in net/. It calls itself 4.4.0-2.6.32.70, as"
        " today's C library refuses older ones.",
        "In brackets is what was said first, before a cell was measured (of figures that were added later, afterwards),"
        " and what is said now: that Nagle's rule waits for delayed ACKs"
        " ([tcp.md](../docs/tcp.md#swarms-without-access-links)) was found by a capture of these runs, as the first"
        " predictions of idle slots were wrong. ± is twice the standard deviation between simulated swarms, as few runs"
        " of a cell have none.",
        "The client is commit 89d9dd2 of github.com/kenorb-contrib/BitTorrent, which has the release of 4.0.2; it is no"
        " part of this repository.",
        "## What the client says of the open claims",
        "\n".join(sentences),
        "The client's rules are the model's, and so is what its TCP costs, today's and that of 2009. With 5% loss and"
        " TCP of 2009 its seed's slots are dry up to twice as often as the model's when its choker runs, which moves"
        " neither its choices nor the completion much. Of the paper's own size the model says +40% at 50 kB/s (R12),"
        " and the paper +13.9%.",
        "## Block by block",
        "Error: of the first prediction of the completion. Copies: what the seed sent over the file's size."
        " Idle: its unchokes that end as nothing waits, while an older"
        " one is kept. Dry: its slots without a waiting request when its choker's timer runs. Sends: the time within"
        " which a tenth of all sends of leechers follow the one before on their connection.",
        table(
            ("cell", "runs", "completion [s]", "error", "copies", "idle [%]", "dry [%]", "sends [ms]"),
            [_row(found, cell) for cell in found.by_name],
        ),
        f"Predicted and not measured: {', '.join(cell.removeprefix('mainline-') for cell in found.missing)}."
        if found.missing
        else "",
        _machine(found),
    ]
    return Report("The mainline client itself beside its model", QUESTION, [verdict], ["\n\n".join(lines)])


def _row(found: Found, cell: str) -> tuple[str, ...]:
    one = found.by_name[cell]

    def figure(name: str, scale: float, digits: int) -> str:
        values = [of(cell, name) for of in (found.seen, found.first, found.said)]
        seen, first, now = ["–" if math.isnan(value) else f"{scale * value:.{digits}f}" for value in values]
        return f"{seen} ({first}; {now})"

    return (
        cell.removeprefix("mainline-"),
        str(len(one.rows)),
        figure("mean", 1, 0),
        percent(one.error("mean", 1)),
        figure("copies", 1, 2),
        figure("idle", 100, 1),
        figure("dry", 100, 1),
        figure("gap", 1000, 0),
    )


def _answer(found: Found) -> str:
    """What a client takes from UNCHOKE to REQUEST where no path delays them, in words."""
    counts = [one.watched["seed"]["waits"] for limit in (10, 20, 50, 100) for one in found.runs(name(limit, 0))]
    bounds, total = [1, 2, 5, 10, 20], np.sum(counts, axis=0)
    shares = [f"{100 * total[: i + 1].sum() / total.sum():.0f}% within {bound} ms" for i, bound in enumerate(bounds)]
    return f"From the seed's UNCHOKE to the REQUEST it takes at RTT 0, {total.sum()} times: {', '.join(shares)}."


def _release(said: str) -> str:
    """Return a kernel's release; that in user mode says another one before its own."""
    return next((word for word in said.split("-") if word.startswith("2.6.32")), said.split("-")[0])


def _machine(found: Found) -> str:
    rows = [row for one in found.by_name.values() for row in one.rows]
    late = [row.watched["leechers"]["lates"] for row in rows]
    cores = {
        one.cell.classes["leechers"].cap: float(np.mean([row.load["cores_used"] for row in one.rows]))
        / (one.cell.leechers + one.cell.seeds)
        for one in found.by_name.values()
        if one.cell.kernel is None
    }
    cost = ", ".join(
        f"{100 * used:.1f}% of a core at {limit / 1024:.0f} kB/s" for limit, used in sorted(cores.items()) if limit
    )
    kernels = sorted({_release(row.versions["kernel"]) for row in rows})
    mean = 1000 * sum(a for a, _ in late) / sum(n for _, n in late)
    return (
        f"Linux {', '.join(kernels)}. A client takes {cost}; its timers are {mean:.1f} ms late on average. The paper"
        f" ran 100 clients with a log on a host of 2009. {_answer(found)}"
    )


def write(comparisons: Sequence[Comparison], known: Sequence[Prediction], date: str) -> None:
    """Write the report, and what it says of the claims as data."""
    page(comparisons, known).write(REPORT)
    rows = {claim: Row(brief) for claim, (brief, _) in claims(Found(comparisons, known)).items()}
    Part.now(COMMAND, rows, date).write(REPORT)
