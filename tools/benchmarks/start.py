"""How long a new process takes until a small swarm is done."""

from __future__ import annotations

import tempfile

from btflow.options import FIDELITIES

from .measure import MODEL, SMALL, report
from .process import start_up
from .table import Row, Section, at_most

COMMAND = ["run", MODEL, "--json", *(word for item in SMALL.items() for word in ("--set", "{}={}".format(*item)))]
LONGER = 10.0
"""How much longer a first run may take with flow than in full [s]."""


def start(cold: bool) -> Section:
    """Measure a second `btflow run`, and if `cold` a first one: the kernels compiled in an empty cache."""
    report("start-up of btflow run")
    start_up(COMMAND)
    rows: list[Row] = [("", "elapsed [s]"), ("a second `btflow run`", f"{start_up(COMMAND):.2f}")]
    first: dict[str, float] = {}
    for fidelity in FIDELITIES if cold else ():
        report(f"first btflow run, with compilation, {fidelity}")
        with tempfile.TemporaryDirectory() as folder:
            first[fidelity] = start_up([*COMMAND, "--fidelity", fidelity], {"NUMBA_CACHE_DIR": folder})
        row = f"the first `btflow run --fidelity {fidelity}`, compilation included"
        rows.append((row, f"{first[fidelity]:.2f}"))
    longer = first["flow"] - first["full"] if first else None
    goal = at_most("a first run with flow takes longer than in full by", LONGER, longer, "s", ".1f")
    return Section("Start", rows, ("Of a swarm that takes no time.",), (goal,))
