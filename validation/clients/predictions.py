"""What the simulator says of the cells, written down before they are measured.

A cell's first prediction stays for ever. Once a cell is measured a further one, of a later version of the simulator, is
a new generation beside the first, with the reason why it was made.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import multiprocessing
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from itertools import repeat
from pathlib import Path

import numpy as np

from btflow.errors import SimulationError
from btflow.files import replacing
from validation.clients import scenario, tables
from validation.clients.cells import FOLDER, Cell
from validation.clients.figures import Figures, simulated
from validation.clients.network import SYSCTLS

FILE = FOLDER / "predictions.csv"
REPLICAS = 16
"""Swarms that a prediction is the mean of."""
SEED = 20


@dataclass(frozen=True)
class Prediction:
    """One figure of one cell; see ``validation.clients.figures``."""

    cell: str
    generation: int
    """1 for what was written before the cell was measured."""
    date: str
    commit: str
    """Version of the simulator that said so."""
    settings: str
    """Digest of the cell's settings, of which alone it is a prediction."""
    because: str
    """Why it was made again; empty for the first."""
    figure: str
    value: float
    se: float
    """Standard error of the mean over the replicas."""
    replicas: int


def read(path: Path = FILE) -> list[Prediction]:
    """Return all that was written down."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Prediction(
                **{f.name: {"int": int, "float": float}.get(str(f.type), str)(line[f.name]) for f in fields(Prediction)}
            )
            for line in csv.DictReader(file)
        ]


def generations(cell: Cell, known: Sequence[Prediction]) -> dict[int, Figures]:
    """Return the figures of a cell by generation; those of other settings are none of it."""
    found: dict[int, Figures] = {}
    for one in known:
        if one.cell == cell.name and one.settings == digest(cell):
            found.setdefault(one.generation, {})[one.figure] = one.value
    return found


def next_generation(cell: Cell, known: Sequence[Prediction], again: bool, because: str, folder: Path) -> int:
    """Return the generation that a new prediction of a cell is.

    Raises:
        SimulationError: The cell is measured, and this is not called a further generation, or no reason is given.
    """
    last = max(generations(cell, known), default=0)
    if not tables.read(cell, folder):
        return 1
    if not last:
        raise SimulationError(f"{cell.name} is measured and has no prediction: it cannot have one any more")
    if not again:
        raise SimulationError(f"{cell.name} is measured: its prediction stays; --again --because '...' adds one")
    if not because.strip():
        raise SimulationError("--again needs --because '...': what was changed, and why")
    return last + 1


def simulate(cell: Cell, replicas: int = REPLICAS) -> list[Figures]:
    """Return the figures of a cell's model, by replica.

    Raises:
        SimulationError: A swarm does not end.
    """
    import btflow

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{cell.name}.toml"
        path.write_text(scenario.text(cell), encoding="utf-8")
        if cell.bulk:
            link = scenario.link_scenario(path)
            results = [btflow.simulate_link(link, seed=SEED + i) for i in range(replicas)]
            return [{"goodput": float(result["goodput"].sel(flow="bulk"))} for result in results]
        result = btflow.simulate(scenario.scenario(path), replicas=replicas, seed=SEED)
    return [simulated(cell, result, i) for i in range(replicas)]


def simulate_all(cells: Sequence[Cell], replicas: int = REPLICAS) -> Iterator[list[Figures]]:
    """Yield what `simulate` returns of each cell, in their order, a process a core."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(simulate, cells, repeat(replicas))
        finally:
            pool.shutdown(cancel_futures=True)


def summarised(cell: Cell, generation: int, because: str, runs: Sequence[Figures], commit: str) -> list[Prediction]:
    """Return the rows of a prediction."""
    found = []
    for name in runs[0]:
        values = np.array([run[name] for run in runs if name in run])
        error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        date = time.strftime("%Y-%m-%d", time.gmtime())
        mean = round(float(values.mean()), 5)
        said = (name, mean, round(error, 5), len(values))
        found.append(Prediction(cell.name, generation, date, commit, digest(cell), because, *said))
    return found


def digest(cell: Cell) -> str:
    """Return a digest of a cell's settings as they are simulated: what makes a kernel an old one is not."""
    given = cell.model_dump(mode="json", exclude_none=True) | {"sysctls": SYSCTLS}
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()[:12]


def write(known: Sequence[Prediction], path: Path = FILE) -> None:
    """Write all predictions, by generation and cell."""
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Prediction)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in known)


def commit() -> str:
    """Return the version of the simulator: the commit, with a plus sign if files differ from it."""
    folder = FOLDER.parents[1]
    asked = ("git", "-C", str(folder))
    try:
        name = subprocess.run((*asked, "rev-parse", "--short=12", "HEAD"), capture_output=True, text=True, check=True)
        state = subprocess.run(
            (*asked, "status", "--porcelain", "--", "btflow", "models"), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name.stdout.strip() + ("+" if state.stdout.strip() else "")
