"""``python -m validation.links.closure``: flow against packets on random patterns, in validation/links_closure.md.

Who sends when is drawn (patterns.py); what is compared are the bytes of each flow in windows of 10 s and the queue.
One run of packets is chaotic: where losses decide, a second run that differs by 2 ms of round-trip time alone is as
far off. So packets are held against packets too, and means of four runs beside single ones.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from btflow.errors import ScenarioError
from btflow.kernels.link import sampling
from btflow.kernels.link.state import State
from btflow.link import fluid
from btflow.link.options import scenario_from
from btflow.link.program import compile_link
from btflow.link.results import whole_quantiles
from btflow.link.run import run_link
from btflow.link.state import LinkProgram
from validation.command import application, run_app
from validation.links.patterns import KINDS, WINDOW, Pattern, draw
from validation.markdown import Report, table

OUT = Path(__file__).parents[1] / "links_closure.md"
PATTERNS, QUICK = 1000, 5
"""Of each kind."""
RUNS = 4
"""Of flow, and of packets twice: seeds 0 to 3, and 4 to 7 for packets against packets."""
WITHIN, QUEUE_WITHIN = 0.05, 0.15
"""What the bytes and the queue may be off."""
QUANTILES = (0.5, 0.9, 0.99)
WORST = 10

Floats = NDArray[np.float64]
app = application()


class Seen(NamedTuple):
    """What runs of an experiment gave."""

    payload: Floats
    """What arrived of each flow in each window [B] (runs, windows, flows)."""
    queue: Floats
    """Time with so many packets waiting in the uplink [s] (runs, packets)."""

    @property
    def first(self) -> Seen:
        """The first run alone."""
        return Seen(self.payload[:1], self.queue[:1])

    @property
    def lengths(self) -> Floats:
        """Quantiles of the queue [packets] (quantiles,)."""
        return whole_quantiles(self.queue.sum(axis=0), QUANTILES)


class Compared(NamedTuple):
    """A pattern by packets, by packets again, and by flow, which runs what it refuses, too."""

    pattern: Pattern
    refused: str
    laws: tuple[str, ...]
    """Of each flow."""
    down: NDArray[np.bool_]
    """Whether it is a download (flows,)."""
    segment: Floats
    """Its payload [B] (flows,)."""
    packets: Seen
    again: Seen
    flow: Seen


def compare(pattern: Pattern) -> Compared:
    """Run a pattern by packets and by flow."""
    scenario = scenario_from(**pattern.options)
    refused = ""
    try:
        fluid.check(scenario)
    except ScenarioError as error:
        refused = str(error.problems[-1])
    program = compile_link(scenario)
    down = np.array([flow.receiver == "home" for flow in scenario.flows])
    seen = (look(run_link, program, range(RUNS)), look(run_link, program, range(RUNS, 2 * RUNS)))
    flow = look(fluid.run_fluid, program, range(RUNS))
    return Compared(pattern, refused, program.flow_cc, down, program.flow["mss"].astype(float), *seen, flow)


def look(run: Callable[[LinkProgram, int], State], program: LinkProgram, seeds: Iterable[int]) -> Seen:
    """Return what runs give."""
    states = [run(program, seed) for seed in seeds]
    came = [np.diff(s.flow_series[: s.clock[0].sample, :, sampling.PAYLOAD], axis=0) for s in states]
    return Seen(np.array(came), np.array([s.queue_time[0] for s in states]))


# -- what agrees -------------------------------------------------------------------------------------------------------


def windows(one: Seen, other: Seen, least: Floats) -> NDArray[np.int64]:
    """1 where the bytes of a flow in a window agree, 0 where not, -1 where nothing came (windows, flows)."""
    have, want = other.payload.mean(axis=0), one.payload.mean(axis=0)
    agrees = np.abs(have - want) <= np.maximum(WITHIN * want, least)
    return np.where((want > 0.0) | (have > 0.0), agrees, -1)


def total(seen: Seen, of: NDArray[np.bool_]) -> Seen:
    """Return what some flows have together."""
    return seen._replace(payload=seen.payload[:, :, of].sum(axis=2, keepdims=True))


def queue_agrees(one: Seen, other: Seen) -> NDArray[np.bool_]:
    """Whether the quantiles of the queue agree within 15% or a packet (quantiles,)."""
    return np.asarray(np.abs(other.lengths - one.lengths) <= np.maximum(QUEUE_WITHIN * one.lengths, 1.0))


class Tally:
    """Shares of what agrees, by name."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])

    def add(self, name: str, column: int, agrees: NDArray[np.generic]) -> None:
        """Count what agrees; -1 does not count."""
        values = agrees.astype(int)
        entry = self.found[name, column]
        entry[0] += int((values == 1).sum())
        entry[1] += int((values >= 0).sum())

    def row(self, name: str) -> list[str]:
        """Return the shares of a row."""
        cells = [self.found[name, column] for column in range(4)]
        return [name, str(cells[0][1]), *(f"{100.0 * n / max(of, 1):.0f}%" for n, of in cells)]


def tallied(found: Sequence[Compared]) -> dict[str, tuple[Tally, Tally, Tally]]:
    """Return of each kind what agrees: flows by law, all flows of a direction, quantiles of the queue."""
    kinds = {kind: (Tally(), Tally(), Tally()) for kind in KINDS}
    for c in found:
        laws, sums, queue = kinds[c.pattern.kind]
        pairs = ((c.packets.first, c.flow.first), (c.packets.first, c.again.first))
        for column, (one, other) in enumerate((*pairs, (c.packets, c.flow), (c.packets, c.again))):
            each = windows(one, other, c.segment)
            laws.add("all", column, each)
            for i, law in enumerate(c.laws):
                laws.add(f"{law}, down" if c.down[i] else law, column, each[:, i])
            for name, of in (("uploads", ~c.down), ("downloads", c.down)):
                if of.any():
                    sums.add(name, column, windows(total(one, of), total(other, of), c.segment[of].max()))
            for share, agrees in zip(QUANTILES, queue_agrees(one, other), strict=True):
                queue.add(f"{100 * share:.0f}%", column, np.array([agrees]))
    return kinds


# -- the page ----------------------------------------------------------------------------------------------------------

COLUMNS = ("", "compared", "flow", "packets again", "flow, means", "packets again, means")


def errors(c: Compared) -> tuple[float, float]:
    """Return how far off all bytes of the direction that is off most are, and the mean queue; means of four runs."""
    ways = [total(seen, of).payload.sum() for of in (c.down, ~c.down) if of.any() for seen in (c.packets, c.flow)]
    bytes_off = max((abs(b / a - 1.0) for a, b in zip(ways[::2], ways[1::2], strict=True)), default=0.0)
    one, other = (float((s.queue.mean(axis=0) @ np.arange(s.queue.shape[1])) / s.queue[0].sum()) for s in c[-3::2])
    return bytes_off, max(abs(other - one) - 1.0, 0.0) / max(one, 1.0)


TITLE = "The closure alone: flow against packets on random patterns"
QUESTION = "Does flow fidelity carry the bytes, and fill the queue, of packets where who sends when is drawn at random?"


def page(found: Sequence[Compared]) -> Report:
    """Return the page."""
    refused = sum(bool(c.refused) for c in found)
    kinds = tallied(found)
    lines = [
        f"Written by `python -m validation.links.closure`: {len(found)} patterns, of which flow refuses {refused},",
        "those whose ACKs wait between data of others, or whose buffer is too short; they are run all the same.",
        f"Shares of what is within {WITHIN:.0%}, or a segment, of the bytes of a flow in a window of {WINDOW:.0f} s,",
        f"and within {QUEUE_WITHIN:.0%}, or a packet, of the quantiles of the queue: of flow against packets,",
        f"of packets with another seed against packets, and the same for means of {RUNS} runs each.",
    ]
    details = []
    for kind, (laws, sums, queue) in kinds.items():
        lines += ["", f"## {kind}", "", "All flows of a direction:", "", *_rows(sums), ""]
        lines += ["Quantiles of the uplink's queue:", "", *_rows(queue)]
        details += [f"## Bytes in windows, each flow, {kind}", "", *_rows(laws), ""]
    details += [*worst([c for c in found if not c.refused]), *refusals(found)]
    return Report(TITLE, QUESTION, verdicts(kinds), lines, details)


def verdicts(kinds: Mapping[str, tuple[Tally, Tally, Tally]]) -> list[str]:
    """Return what agrees of each kind, beside what packets with another seed do."""
    found = []
    for kind, (laws, sums, queue) in kinds.items():
        each = [
            *((f"bytes of {name}", sums.row(name)) for name in _names(sums)),
            ("bytes of each flow", laws.row("all")),
            *((f"{name} quantile of the queue", queue.row(name)) for name in _names(queue)),
        ]
        texts = (f"{what} {row[2]} of {row[1]} (packets again {row[3]})" for what, row in each)
        found.append(f"{kind}, what agrees: {'; '.join(texts)}.")
    return found


def _rows(tally: Tally) -> list[str]:
    return table(COLUMNS, (tally.row(name) for name in _names(tally)), numbers=True)


def _names(tally: Tally) -> list[str]:
    return sorted({name for name, _ in tally.found}, key=lambda name: (name != "all", name))


def worst(run: Sequence[Compared]) -> list[str]:
    """Return the patterns that are off most, by bytes and by the mean queue."""
    lines = []
    for place, what in enumerate(("bytes of a direction", "mean queue, beyond a packet")):
        lines += [f"## Worst of what is not refused, {what}", ""]
        for c in sorted(run, key=lambda c: -errors(c)[place])[:WORST]:
            lines.append(f"- {errors(c)[place]:.0%}: {c.pattern.kind} {c.pattern.number}, `{c.pattern.command}`")
        lines.append("")
    return lines


def refusals(found: Sequence[Compared]) -> list[str]:
    """Return why patterns are refused, an example each."""
    refused = [c for c in found if c.refused]
    return ["## Refused", "", f"{len(refused)} patterns, such as: {refused[0].refused}", ""] if refused else []


def run_all(patterns: Sequence[Pattern], jobs: int) -> list[Compared]:
    """Compare patterns, so many at once; the result does not depend on it."""
    if jobs == 1:
        return [compare(pattern) for pattern in patterns]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(compare, patterns, chunksize=10))


@app.command()
def main(
    patterns: Annotated[int, typer.Option(min=1, max=100_000, help="Patterns of each kind.")] = PATTERNS,
    quick: Annotated[bool, typer.Option("--quick", help=f"{QUICK} patterns of each kind.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Patterns at once.")] = min(2, os.cpu_count() or 1),
    out: Annotated[Path, typer.Option(metavar="FILE.md", help="The page.")] = OUT,
) -> None:
    """Compare flow with packets on random patterns of flows, and write the page."""
    start = time.perf_counter()
    number = QUICK if quick else patterns
    found = run_all([draw(kind, n) for kind in KINDS for n in range(number)], 1 if quick else jobs)
    report = page(found)
    written = out != OUT or not quick
    if written:
        report.write(out)
    typer.echo(report.text(out.name) + ("" if written else report.behind(out.name)))
    typer.echo(f"{time.perf_counter() - start:.0f} s", err=True)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.links.closure"))
