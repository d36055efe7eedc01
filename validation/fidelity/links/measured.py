"""What is kept of a swarm behind access links, and the files that keep it, so that a later call goes on from there."""

from __future__ import annotations

import json
import math
import os
import select
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from btflow.errors import ScenarioError, SimulationError
from btflow.options import FIDELITIES, Fidelity
from validation.fidelity.measured import Store
from validation.fidelity.swarms import Setup, Swarm
from validation.runs import in_processes

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]

FILES: Mapping[Fidelity, str] = {name: f"fidelity_links_{name}.jsonl" for name in FIDELITIES}
"""Files in the report's folder."""
VERSION = 1
"""Version of what is kept."""
LIMIT = 60
"""Time after which a swarm at flow is ended [s]; it takes less than one second."""
LONGER = (0, 20, 50, 80)
"""Packets of which it is kept how often more wait."""


@dataclass(frozen=True)
class Of:
    """The figures of one class of leechers; None for what is not known."""

    mean: float | None
    """Mean completion time [s]."""
    queue: float | None
    """Mean time over the looks at the uplinks until the queue is empty [s]."""
    request: float | None
    """Mean delay of requests [s]."""
    longer: tuple[float, ...] = ()
    """Share of the looks at the uplinks with more than LONGER packets."""


@dataclass(frozen=True)
class Figures:
    """The figures of one swarm."""

    mean: float = 0.0
    """Mean completion time of the leechers [s]."""
    cpu: float = 0.0
    """CPU time [s]."""
    classes: Mapping[str, Of] = field(default_factory=dict)
    """By class of leechers."""
    refused: str = ""
    """Why it has none, if it was refused or did not finish."""


def figures_of(result: xr.Dataset) -> Figures:
    """Return the figures of one replica."""
    leechers = result["role"].values == "leecher"
    names = dict.fromkeys(str(name) for name in result["peer_class"].values[leechers])
    times = result["completion_time"].transpose("replica", "peer").values[0]
    counted = result["counted"].transpose("replica", "peer").values[0].astype(bool) & np.isfinite(times) & leechers
    classes = {name: _of(result, name, times[counted & (result["peer_class"].values == name)]) for name in names}
    return Figures(round(float(times[counted].mean()), 4), round(float(result.attrs["cpu_s_per_swarm"]), 4), classes)


def _of(result: xr.Dataset, name: str, times: Floats) -> Of:
    own = result.sel(sender_class=name).isel(replica=0)
    looks = own["queue_delay_count"].values.astype(float)
    waiting, number = own["queue_packets"].values, own["queue_packets_count"].values.astype(float)
    queue = float((looks * own["queue_delay"].values).sum() / looks.sum()) if looks.any() else math.nan
    request = float(own["message_delay"].sel(message="request"))
    mean = float(times.mean()) if len(times) else math.nan
    longer = tuple(round(float(number[waiting > x].sum() / number.sum()), 4) for x in LONGER) if number.any() else ()
    return Of(_known(mean, 4), _known(queue, 6), _known(request, 6), longer)


def _known(value: float, digits: int) -> float | None:
    return round(value, digits) if math.isfinite(value) else None


def run(swarm: Swarm) -> tuple[Swarm, Figures]:
    """Simulate a swarm; one that is refused or does not finish has no figures."""
    return swarm, _limited(swarm) if swarm.fidelity == "flow" and hasattr(os, "fork") else _simulated(swarm)


def _simulated(swarm: Swarm) -> Figures:
    from btflow import simulate

    try:
        return figures_of(simulate(swarm.setup.scenario(), seed=swarm.seed, fidelity=swarm.fidelity))
    except (ScenarioError, SimulationError) as error:
        return Figures(refused=str(error))


def _limited(swarm: Swarm) -> Figures:
    """Simulate a swarm in a child that is ended after LIMIT: a kernel that goes on for ever hears no signal."""
    _warm(swarm.fidelity)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, json.dumps(asdict(_simulated(swarm))).encode())  # shorter than what a pipe holds
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as found:
        ended = bool(select.select([found], [], [], LIMIT)[0])
        if not ended:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        content = found.read()
    if not ended:
        return Figures(refused=f"seed {swarm.seed} is not done after {LIMIT} s")
    return _read(json.loads(content)) if content else Figures(refused=f"seed {swarm.seed} failed")


@cache
def _warm(fidelity: Fidelity) -> None:
    """Load the kernels once in this process, so that its children need not."""
    _simulated(Swarm(SMALL, 0, fidelity))


class Stores:
    """The files of a report's folder."""

    def __init__(self, out: Path, fresh: bool = False) -> None:
        """Read what is there, unless `fresh`."""
        self.out, self.fresh = out, fresh
        self.swarms = {name: Store(out / FILES[name], name, fresh) for name in FIDELITIES}

    def find(self, swarm: Swarm) -> Figures | None:
        """Return the figures of a swarm that was run before, else None."""
        known = self.swarms[swarm.fidelity].find(_key(swarm))
        return None if known is None else _read(known)

    def add(self, swarm: Swarm, figures: Figures) -> None:
        """Keep the figures of a swarm."""
        self.swarms[swarm.fidelity].add(_key(swarm), asdict(figures))


def _read(entry: dict[str, Any]) -> Figures:
    classes = {name: Of(**{**one, "longer": tuple(one["longer"])}) for name, one in entry["classes"].items()}
    return Figures(**{**entry, "classes": classes})


def _key(swarm: Swarm) -> str:
    return f"{VERSION}:{_digest(swarm.setup)}:{swarm.seed}"


@cache
def _digest(setup: Setup) -> str:
    return setup.scenario().digest()


SMALL = Setup("small", {"leechers": 10, "file_size": "1 MB"}, 1, "flashcrowd")
"""The swarm that compiles the kernels."""


def measured(swarms: Sequence[Swarm], stores: Stores, processes: int) -> Iterator[tuple[Swarm, Figures]]:
    """Yield each swarm with its figures: those stored first, then those run now, which are stored as they end."""
    missing = []
    for swarm in swarms:
        known = stores.find(swarm)
        if known is None:
            missing.append(swarm)
        else:
            yield swarm, known
    small = [Swarm(SMALL, 0, fidelity) for fidelity in sorted({s.fidelity for s in missing})]
    for swarm, figures in in_processes(run, missing, processes, small):
        stores.add(swarm, figures)
        yield swarm, figures
