"""What is kept of a swarm, and the file that keeps it, so that an interrupted call goes on from there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from btflow.errors import SimulationError
from validation.internet.swarms import NEAR, Swarm
from validation.runs import in_processes
from validation.store import code_digest


@dataclass(frozen=True)
class Measured:
    """The figures of one swarm."""

    times: list[float]
    """Completion time of each leecher [s]."""
    seed_rtt: float = 0.0
    """Mean round-trip time between the seed and a leecher [s]."""
    seed_loss: float = 0.0
    """Mean loss between them."""
    rank_rtt: float = 0.0
    """Spearman's correlation, over the leechers, of the completion time and the mean round-trip time of their paths."""
    rank_loss: float = 0.0
    """The same of the mean loss; 0 where there is none."""
    cpu: float = 0.0
    """CPU time [s]."""

    @property
    def mean(self) -> float:
        """Mean completion time of the leechers [s]."""
        return float(np.mean(self.times))


def run(swarm: Swarm) -> tuple[Swarm, Measured]:
    """Simulate a swarm; a SimulationError that names it if it does not finish."""
    from btflow import simulate

    try:
        result = simulate(swarm.scenario(), seed=swarm.seed)
    except SimulationError as error:
        raise SimulationError(f"{swarm.label}: {error}") from None
    leecher = result["role"].values == "leecher"
    times = result["completion_time"].values[0, leecher]
    kept = [round(float(time), 2) for time in times]
    cpu = float(result.attrs["cpu_s_per_swarm"])
    if swarm.kind == NEAR:
        return swarm, Measured(kept, cpu=cpu)
    rtt, loss = (result[name].values[0] for name in ("path_rtt", "path_loss"))
    of_seed = float(rtt[~leecher][0]), float(loss[~leecher][0])
    ranks = _rank(times, rtt[leecher]), _rank(times, loss[leecher])
    seed_rtt, seed_loss, rank_rtt, rank_loss = (round(figure, 6) for figure in (*of_seed, *ranks))
    return swarm, Measured(kept, seed_rtt, seed_loss, rank_rtt, rank_loss, cpu)


def _rank(one: np.ndarray, other: np.ndarray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic) if np.ptp(one) > 0.0 < np.ptp(other) else 0.0


class Store:
    """Measured swarms on disk, a line each; the first line says what they were run by."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        """Read what is there, unless `fresh`; a file of another version of btflow counts as empty."""
        self.path = path
        self._found = {} if fresh else _read(path)
        if not self._found:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"code": code_digest()}) + "\n", encoding="utf-8")

    def find(self, swarm: Swarm) -> Measured | None:
        """Return the figures of a swarm that was run before, else None."""
        return self._found.get(_key(swarm))

    def add(self, swarm: Swarm, measured: Measured) -> None:
        """Keep the figures of a swarm, on disk at once."""
        self._found[_key(swarm)] = measured
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": _key(swarm), **asdict(measured)}, allow_nan=False) + "\n")


def _key(swarm: Swarm) -> str:
    return f"{swarm.label} {json.dumps(dict(swarm.smaller), sort_keys=True)} {swarm.seed}"


def _read(path: Path) -> dict[str, Measured]:
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        if json.loads(first)["code"] != code_digest():
            return {}
        entries = [json.loads(line) for line in lines]
        return {entry.pop("key"): Measured(**entry) for entry in entries}
    except (OSError, ValueError, KeyError, TypeError):  # a line that broke off, too: it is short work to run all again
        return {}


def measured(swarms: Sequence[Swarm], store: Store, processes: int) -> Iterator[tuple[Swarm, Measured]]:
    """Yield each swarm with its figures: those stored first, then those run now, which are stored as they end."""
    missing = []
    for swarm in swarms:
        known = store.find(swarm)
        if known is None:
            missing.append(swarm)
        else:
            yield swarm, known
    small = [Swarm(100, kind, 0, {"leechers": 10, "file_size": "1 MB"}) for kind in {s.kind for s in missing}]
    for swarm, figures in in_processes(run, missing, processes, small):
        store.add(swarm, figures)
        yield swarm, figures
