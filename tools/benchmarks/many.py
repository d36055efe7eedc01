"""Many swarms: how many a second, what the sweep adds, and the memory it holds."""

from __future__ import annotations

from collections.abc import Mapping

from btflow.options import Fidelity
from btflow.sweeps.executor import cores

from .measure import MODEL, measure, report
from .process import measured
from .sweeping import Grid, Spent, bare, sweep
from .table import Row, Section, at_least, at_most

MIXED: Grid = {
    "upload_limit": ("10 kB/s", "20 kB/s", "50 kB/s", "100 kB/s"),
    "rtt": ("0 ms", "400 ms", "1000 ms"),
    "loss": ("0%", "5%"),
}
"""The cells of Table IV of Rao et al. (2010)."""
POINTS = 24
FEW, MANY = 3, 42
"""Replicas of each: to know the rate, and to have a thousand swarms."""
THOUSAND = 1000
PER_SWARM: Mapping[Fidelity, float] = {"full": 0.12, "flow": 0.15}
"""[CPU s]"""
IN_ALL: Mapping[Fidelity, float] = {"full": 60.0, "flow": 90.0}
"""Elapsed time of a thousand [s]; those of flow have 20 points checked in full."""
CHECKED = 20

LEECHERS = (50, 75, 100, 150, 200, 300, 400, 600, 800)
TENTH = 0.1
"""CPU time of the swarm with which the sweep's own is compared [s]: the first of LEECHERS that takes as much."""
NEAR: Grid = {"rtt": "lin(10 ms, 100 ms, 10)", "upload_limit": "lin(20 kB/s, 22 kB/s, 20)"}
"""Points of this kind, all of about the same cost."""
ROUNDS = 2
"""Both are measured so many times in turn, and the least of each counts."""
TINY: Mapping[str, str] = {"leechers": "9", "file_size": "1 MB"}
"""A swarm of 10 peers."""


def throughput(scale: bool, fidelity: Fidelity = "full") -> Section:
    """Measure swarms per second of a mixed grid with one thread, two, and all cores."""
    from btflow.config.catalog import load

    found: dict[int, Spent] = {}
    for workers in sorted({1, 2, cores()}):
        report(f"{FEW * POINTS} mixed swarms on {workers} thread(s), {fidelity}")
        found[workers] = sweep(load(MODEL), MIXED, FEW, workers, fidelity)
    rows = [_row(str(workers), spent) for workers, spent in found.items()]
    thousand = THOUSAND / found[2].rate
    if scale:
        report(f"{MANY * POINTS} mixed swarms on 2 threads")
        checked = CHECKED if fidelity == "flow" else 0
        spent = sweep(load(MODEL), MIXED, MANY, 2, fidelity, checked)
        rows.append(_row(f"2, {checked} points in full too" if checked else "2", spent))
        thousand = THOUSAND * spent.wall / spent.swarms
    one = found[1].cpu / found[1].swarms
    extrapolated = "" if scale else f", from {found[2].swarms}"
    return Section(
        f"Swarms per second, {fidelity}",
        [("threads", "swarms", "elapsed [s]", "swarms per second", "CPU [s] per swarm"), *rows],
        (
            "301 peers and 50 MB (rao2010), upload limits of 10, 20, 50 and 100 kB/s, round trips of 0, 400 and "
            "1000 ms, loss of 0 and 5 %, as many of each.",
        ),
        (
            at_most(f"mixed swarm of 301 peers and 50 MB, {fidelity}", PER_SWARM[fidelity], one, "CPU s"),
            at_most(
                f"1,000 such swarms on 2 threads, {fidelity}{extrapolated}", IN_ALL[fidelity], thousand, "s", ".0f"
            ),
            at_least(f"two threads over one, {fidelity}", 1.8, found[2].rate / found[1].rate, "", ".2f"),
        ),
    )


def _row(threads: str, spent: Spent) -> Row:
    each = f"{spent.cpu / spent.swarms:.3f}"
    return threads, str(spent.swarms), f"{spent.wall:.1f}", f"{spent.rate:.2f}", each


def machinery(scale: bool) -> Section:
    """Measure what a sweep adds to its swarms: time on swarms of 0.1 s, elapsed time and memory on tiny ones."""
    alone, swept = overhead(tenth_of_a_second())
    added = 100 * (swept.cpu / alone.cpu - 1.0)
    rows: list[Row] = [
        ("", "swarms", "elapsed [s]", "CPU [s]", "peak memory [MB]"),
        ("bare calls of run_swarm", *_spent(alone), ""),
        ("the same swarms as a sweep, 1 thread", *_spent(swept), ""),
    ]
    found: dict[int, dict[str, float]] = {}
    for count in (10_000, 100_000) if scale else (10_000,):
        report(f"{count:,} swarms of 10 peers")
        found[count] = measured("many_swarms", settings=dict(TINY), model=MODEL, replicas=count, workers=cores())
        wall, peak = f"{found[count]['wall']:.1f}", f"{found[count]['peak'] / 1e6:.0f}"
        rows.append((f"10 peers, 1 MB, {cores()} at once", f"{count}", wall, "", peak))
    largest = found.get(100_000)
    each, longer = 1e3 * alone.cpu / alone.swarms, 100 * (swept.wall / alone.wall - 1.0)
    return Section(
        "The machinery of sweeps",
        rows,
        (
            f"Of {alone.swarms} points, {each:.0f} ms of CPU time each, the sweep takes {added:.1f} % more CPU time "
            f"than a loop that compiles and runs each point and keeps nothing, and {longer:.1f} % more elapsed time, "
            f"the least of {ROUNDS} rounds of each. Every sweep writes a store on disk, where temporary files go. "
            "Peak memory is that of the process and its children, with pages of files counted once.",
        ),
        (
            at_most("CPU time that a sweep adds to its swarms of 0.1 s", 3.0, added, "%"),
            at_most("10,000 swarms of 10 peers", 10.0, found[10_000]["wall"], "s", ".1f"),
            at_most(
                "memory of a sweep of 100,000 swarms", 1000.0, largest["peak"] / 1e6 if largest else None, "MB", ".4g"
            ),
        ),
    )


def overhead(leechers: int) -> tuple[Spent, Spent]:
    """Return what the points NEAR take by bare calls, and as a sweep on one thread: the round with least CPU time."""
    from btflow.config.catalog import load

    scenario = load(MODEL).set(leechers=leechers)
    alone, swept = [], []
    for number in range(ROUNDS):
        report(f"swarms of 0.1 s, bare and as a sweep, {number + 1} of {ROUNDS}")
        alone.append(bare(scenario, NEAR))
        swept.append(sweep(scenario, NEAR, 1, 1))
    return min(alone, key=lambda spent: spent.cpu), min(swept, key=lambda spent: spent.cpu)


def _spent(spent: Spent) -> tuple[str, str, str]:
    return str(spent.swarms), f"{spent.wall:.1f}", f"{spent.cpu:.1f}"


def tenth_of_a_second() -> int:
    """Return how many leechers make a swarm of 50 MB take about 0.1 s here."""
    for leechers in LEECHERS:
        if measure({"leechers": leechers, "rtt": "50 ms"}, 2).least >= TENTH:
            break
    return leechers
