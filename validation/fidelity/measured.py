"""What is kept of a swarm, and the files that keep it, so that an interrupted call goes on from there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from btflow.errors import ScenarioError, SimulationError
from btflow.options import FIDELITIES, Fidelity
from validation.fidelity.swarms import Setup, Swarm
from validation.runs import in_processes
from validation.store import code_digest

if TYPE_CHECKING:
    import xarray as xr

FILES: Mapping[Fidelity, str] = {name: f"fidelity_{name}.jsonl" for name in FIDELITIES}
"""Files in the report's folder. A change of what flow alone runs leaves the figures of full as they are."""
COSTS = "fidelity_cost.jsonl"
"""File with the CPU times of swarms that were run at both fidelities, one right after the other."""


@dataclass(frozen=True)
class Measured:
    """The figures of one swarm."""

    mean: float = 0.0
    """Mean completion time of the leechers [s]."""
    p10: float = 0.0
    """A tenth of them is at or below [s]."""
    p90: float = 0.0
    """Nine tenths of them are at or below [s]."""
    copies: float = 0.0
    """Copies of the file that the seed sent."""
    step: float = 1.0
    """Step of the time grid of `held` [s]."""
    held: tuple[float, ...] = ()
    """Mean number of pieces that a leecher holds, over the number of pieces, on that grid."""
    refused: str = ""
    """Why it was not run, if flow refuses it."""


def measure(result: xr.Dataset) -> Measured:
    """Return the figures of one replica."""
    times = result["completion_time"].values[0, result["role"].values == "leecher"]
    counted = result["counted"].values[0, result["role"].values == "leecher"]
    times = times[counted & np.isfinite(times)]
    held = result["pieces_held"].values[0] / result.attrs["pieces"]
    p10, p90 = np.quantile(times, (0.1, 0.9))
    mean, p10, p90, copies = (
        round(float(figure), 4) for figure in (times.mean(), p10, p90, result["seed_copies"].values[0])
    )
    return Measured(
        mean,
        p10,
        p90,
        copies,
        step=float(result["time"].values[1] - result["time"].values[0]),
        held=tuple(round(float(share), 5) for share in held),
    )


def run(swarm: Swarm) -> tuple[Swarm, Measured]:
    """Simulate a swarm; a SimulationError that names it if it does not finish."""
    return swarm, _simulated(swarm)[0]


def _simulated(swarm: Swarm) -> tuple[Measured, float]:
    """Figures and CPU time [s] of a swarm."""
    from btflow import simulate

    scenario = swarm.setup.scenario()
    try:
        result = simulate(scenario, seed=swarm.seed, fidelity=swarm.fidelity)
    except SimulationError as error:
        raise SimulationError(f"{swarm.setup.label}, {swarm.fidelity}, seed {swarm.seed}: {error}") from None
    except ScenarioError as error:
        if swarm.fidelity == "full":
            raise
        return Measured(refused=str(error)), 0.0
    return measure(result), float(result.attrs["cpu_s_per_swarm"])


def cost(setup: Setup) -> tuple[Setup, dict[Fidelity, float]]:
    """Return the CPU time of a swarm at each fidelity [s], one run right after the other."""
    return setup, {fidelity: round(_simulated(Swarm(setup, 0, fidelity))[1], 4) for fidelity in FIDELITIES}


class Store:
    """Entries on disk, a line each; the first line says what they were run by."""

    def __init__(self, path: Path, fidelity: Fidelity, fresh: bool = False) -> None:
        """Read what is there, unless `fresh`; a file of another version of the sources counts as empty."""
        self.path = path
        code = code_digest(fidelity)
        self._found = {} if fresh else _read(path, code)
        if not self._found:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"code": code}) + "\n", encoding="utf-8")

    def find(self, key: str) -> dict[str, Any] | None:
        """Return an entry that was added before, else None."""
        return self._found.get(key)

    def add(self, key: str, entry: dict[str, Any]) -> None:
        """Keep an entry, on disk at once."""
        self._found[key] = entry
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **entry}, allow_nan=False) + "\n")


def _read(path: Path, code: str) -> dict[str, dict[str, Any]]:
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        if json.loads(first)["code"] != code:
            return {}
        return {entry.pop("key"): entry for entry in map(json.loads, lines)}
    except (OSError, ValueError, KeyError, TypeError):  # a line that broke off, too
        return {}


@dataclass
class Stores:
    """The files of a report's folder."""

    out: Path
    """The folder."""
    fresh: bool = False
    """Run again what is stored."""

    def __post_init__(self) -> None:
        """Read the files."""
        self.swarms = {name: Store(self.out / FILES[name], name, self.fresh) for name in FIDELITIES}
        self.costs = Store(self.out / COSTS, "flow", self.fresh)


SMALL: Mapping[str, Any] = {"leechers": 10, "file_size": "1 MB", "upload_limit": "100 kB/s"}
"""Settings of the swarm that compiles the kernels."""


def measured(swarms: Sequence[Swarm], stores: Stores, processes: int) -> Iterator[tuple[Swarm, Measured]]:
    """Yield each swarm with its figures: those stored first, then those run now, which are stored as they end."""
    missing = []
    for swarm in swarms:
        known = stores.swarms[swarm.fidelity].find(swarm.key)
        if known is None:
            missing.append(swarm)
        else:
            yield swarm, Measured(**{**known, "held": tuple(known["held"])})
    small = [Swarm(Setup("", SMALL, 1), 0, fidelity) for fidelity in {s.fidelity for s in missing}]
    for swarm, figures in in_processes(run, missing, processes, small):
        stores.swarms[swarm.fidelity].add(swarm.key, asdict(figures))
        yield swarm, figures


def costs(setups: Sequence[Setup], stores: Stores) -> Iterator[tuple[Setup, dict[Fidelity, float]]]:
    """Yield each setup with the CPU time of a swarm at both fidelities [s]; in this process, one after the other."""
    missing = []
    for setup in setups:
        known = stores.costs.find(Swarm(setup, 0, "flow").key)
        if known is None:
            missing.append(setup)
        else:
            yield setup, {fidelity: known[fidelity] for fidelity in FIDELITIES}
    for setup, found in in_processes(cost, missing, 1, [Setup("", SMALL, 1)]):
        stores.costs.add(Swarm(setup, 0, "flow").key, {str(name): seconds for name, seconds in found.items()})
        yield setup, found
