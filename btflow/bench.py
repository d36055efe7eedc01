"""`btflow bench`: what swarms and links cost in CPU time on this machine, and how that grows."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from btflow.errors import SimulationError

MODEL = "rao2010"
REPLICAS = 5
SEED = 0
LEECHERS = (75, 150, 300, 600, 1200, 3000)
FILE_SIZES = (12.5, 25.0, 50.0, 100.0)
"""[MB, of 2**20 B in this model]"""
PATHS: Mapping[str, Mapping[str, str]] = {
    "RTT 400 ms": {"rtt": "400 ms"},
    "RTT 400 ms, loss 5%": {"rtt": "400 ms", "loss": "5%"},
}
LINKED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "2011, 10 MB, TCP": ("testa2011", {"utp_share": "0%"}),
    "2011, 10 MB, uTP": ("testa2011", {"utp_share": "100%"}),
    "2011, 10 MB, half": ("testa2011", {"utp_share": "50%"}),
    "2011, 10 MB, half, nobody leaves": ("testa2011", {"utp_share": "50%", "stay": "forever"}),
    "2012, 100 MB, CUBIC": ("testa2012", {"cc": "cubic"}),
}
"""Swarms on access links: model and parameters."""

SMALL: Mapping[str, str | int] = {"leechers": 5, "file_size": "1 MB"}
"""A swarm that takes no time, to compile the kernels with or to start the command line with."""


@dataclass(frozen=True)
class Cost:
    """CPU time of one scenario."""

    peers: int
    """Seeds and leechers."""
    pieces: int
    """Pieces of the file."""
    cpu: tuple[float, ...]
    """CPU time of each replica [s]."""

    @property
    def least(self) -> float:
        """Least CPU time of a replica [s]: what the machine can do undisturbed."""
        return min(self.cpu)


def main(cold: bool = False) -> None:
    """Measure and print the table; progress goes to stderr.

    Args:
        cold: Also time a first run, with the kernels compiled anew in an empty cache.
    """
    _report(f"{MODEL}: compiling or loading the kernels")
    measure(SMALL, 1)
    lines = [*machine(), "", *_whole_swarm(), "", *_growth_with_peers(), "", *_growth_with_pieces(), ""]
    lines += [*_linked(), "", *_links(), "", *_start()]
    if cold:
        lines += _cold()
    print("\n".join(lines))


def measure(settings: Mapping[str, object], replicas: int, model: str = MODEL) -> Cost:
    """Run replicas of a model with `settings` in this process and return what they cost."""
    from btflow.catalog import load
    from btflow.program import compile_scenario
    from btflow.simulation import run_replicas

    scenario = load(model).set(**settings)
    cpu = tuple(used for _, used in run_replicas(compile_scenario(scenario), SEED, replicas))
    return Cost(scenario.seeds + scenario.leechers, scenario.swarm.pieces, cpu)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return k of the least-squares fit of cost = a * size**k, in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def start_up(environment: Mapping[str, str] | None = None) -> float:
    """Return the elapsed time of `btflow run` on a small swarm in a new process [s].

    Raises:
        SimulationError: The process failed.
    """
    # -P: the btflow that is installed, not a checkout that happens to be the working directory.
    command = [sys.executable, "-P", "-m", "btflow", "run", MODEL, "--json"]
    for name, value in SMALL.items():
        command += ["--set", f"{name}={value}"]
    begin = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(environment or {})}, check=False
    )
    elapsed = time.perf_counter() - begin
    if done.returncode != 0:
        raise SimulationError(f"btflow run failed: {done.stderr.strip()[-500:]}")
    return elapsed


def machine() -> list[str]:
    """Return what was measured, with what and on what."""
    import numba

    from btflow import __version__

    versions = (
        f"btflow {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}"
    )
    return [f"{versions}", f"{_processor()}, one core; CPU times are of this process"]


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _whole_swarm() -> list[str]:
    rows = []
    for name, settings in {"RTT 0": {}, **PATHS}.items():
        _report(f"{name}, {REPLICAS} replicas")
        cost = measure(settings, REPLICAS)
        rows.append((name, str(cost.peers), str(cost.pieces), _seconds(cost.least), _seconds(median(cost.cpu))))
    header = ("50 MB at 20 kB/s, one swarm", "peers", "pieces", "least [CPU s]", "median [CPU s]")
    return _table([header, *rows])


def _linked() -> list[str]:
    _report("swarms on access links: compiling or loading the kernels")
    measure({"leechers": "2", "file_size": "1 MB"}, 1, "flashcrowd")
    rows = []
    for name, (model, settings) in LINKED.items():
        _report(name)
        cost = measure(settings, 3, model)
        rows.append((name, str(cost.peers), str(cost.pieces), _seconds(cost.least), _seconds(median(cost.cpu))))
    return _table([("swarm on access links", "peers", "pieces", "least [CPU s]", "median [CPU s]"), *rows])


def _links() -> list[str]:
    from btflow.link import bench

    _report("links")
    return _table(bench.rows())


def _growth_with_peers() -> list[str]:
    costs = [_measured(f"{n} leechers", {"leechers": n}) for n in LEECHERS]
    return _growth("peers", [cost.peers for cost in costs], costs)


def _growth_with_pieces() -> list[str]:
    costs = [_measured(f"{size:g} MB", {"file_size": f"{size:g} MB"}) for size in FILE_SIZES]
    return _growth("pieces", [cost.pieces for cost in costs], costs)


def _measured(name: str, settings: Mapping[str, object]) -> Cost:
    _report(name)
    return measure(settings, 1)


def _growth(what: str, sizes: Sequence[int], costs: Sequence[Cost]) -> list[str]:
    """Return a table of cost against size, and the exponent that fits it."""
    rows = [
        (str(n), _seconds(c.least), f"{1e6 * c.least / (c.peers * c.pieces):.2f}")
        for n, c in zip(sizes, costs, strict=True)
    ]
    fitted = exponent(sizes, [cost.least for cost in costs])
    header = (what, "one swarm [CPU s]", "per peer and piece [CPU us]")
    return [*_table([header, *rows]), f"cost grows as {what}^{fitted:.2f}"]


def _start() -> list[str]:
    _report("start-up of btflow run")
    start_up()
    return [f"{'start-up of a second `btflow run`':<44}{start_up():>8.2f} s"]


def _cold() -> list[str]:
    _report("first btflow run, with compilation")
    with tempfile.TemporaryDirectory() as folder:
        elapsed = start_up({"NUMBA_CACHE_DIR": folder})
    return [f"{'first `btflow run`, compilation included':<44}{elapsed:>8.2f} s"]


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return rows with their first column to the left and the others to the right."""
    cells = list(rows)
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in cells
    ]


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _report(what: str) -> None:
    print(f"btflow bench: {what}", file=sys.stderr, flush=True)
