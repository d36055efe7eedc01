"""How long a new process takes until a small swarm is done."""

from __future__ import annotations

import tempfile

from btflow.benchmarks.measure import MODEL, SMALL, report
from btflow.benchmarks.process import start_up
from btflow.benchmarks.table import Row, Section
from btflow.fidelity import FIDELITIES

COMMAND = ["run", MODEL, "--json", *(word for item in SMALL.items() for word in ("--set", "{}={}".format(*item)))]


def start(cold: bool) -> Section:
    """Measure a second `btflow run`, and if `cold` a first one: the kernels compiled in an empty cache."""
    report("start-up of btflow run")
    start_up(COMMAND)
    rows: list[Row] = [("", "elapsed [s]"), ("a second `btflow run`", f"{start_up(COMMAND):.2f}")]
    if cold:
        for fidelity in FIDELITIES:
            report(f"first btflow run, with compilation, {fidelity}")
            with tempfile.TemporaryDirectory() as folder:
                elapsed = start_up([*COMMAND, "--fidelity", fidelity], {"NUMBA_CACHE_DIR": folder})
            rows.append((f"the first `btflow run --fidelity {fidelity}`, compilation included", f"{elapsed:.2f}"))
    return Section("Start", rows, ("Of a swarm that takes no time.",))
