"""The figures of a swarm behind access links."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation.fidelity.swarms import Swarm
from validation.sweeps import Error, Sweeps

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]

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
    return Figures(round(float(times[counted].mean()), 4), round(float(result.attrs["cpu_s"]), 4), classes)


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


def measured(swarms: Sequence[Swarm], sweeps: Sweeps) -> Iterator[tuple[Swarm, Figures]]:
    """Give each swarm with its figures; one that is refused or does not finish has none."""
    for swarm, result in zip(swarms, sweeps.results([swarm.run for swarm in swarms]), strict=True):
        yield swarm, Figures(refused=str(result)) if isinstance(result, Error) else figures_of(result)
