"""What the claims need to know of a simulated case: a few numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from btflow.swarm.scenario import Scenario


class NotKnownError(LookupError):
    """A figure that the fidelity of a run does not know."""


@dataclass(frozen=True)
class Measured:
    """The figures of one case; lists over replicas unless said otherwise."""

    means: list[float]
    """Mean completion time of the leechers [s]."""
    by_place: dict[str, list[float]] = field(default_factory=dict)
    """Mean completion time of the leechers of each AS [s]."""
    seed_idle: list[int] = field(default_factory=list)
    """Unchokes of the seed that its choker ended because the connection was idle."""
    seed_unchokes: list[int] = field(default_factory=list)
    """Unchokes given by the seed; empty at flow fidelity, which does not know them."""
    leecher_idle: list[int] = field(default_factory=list)
    """The same as seed_idle, all leechers together."""
    seed_copies: list[float] = field(default_factory=list)
    """Copies of the file that the seed sent."""
    time: list[float] = field(default_factory=list)
    """Grid of `held` [s], not over replicas."""
    held: list[list[float]] = field(default_factory=list)
    """Mean number of pieces a leecher holds on that grid."""
    pieces: int = 0
    """Pieces of the file."""
    gaps: list[tuple[float, int]] = field(default_factory=list)
    """Time between two sends of a leecher's connection [s], and how often; all replicas together."""
    payloads: list[tuple[int, float]] = field(default_factory=list)
    """Payload of a segment [B], and how often; all replicas together."""
    cpu: float = 0.0
    """CPU time of a replica, averaged [s]."""

    @property
    def idle_share(self) -> list[float]:
        """Share of the seed's unchokes that ended idle, by replica."""
        if not self.seed_unchokes:
            raise NotKnownError("unchokes")
        return [idle / max(1, given) for idle, given in zip(self.seed_idle, self.seed_unchokes, strict=True)]

    @property
    def half_time(self) -> list[float]:
        """Time at which the leechers hold half of the pieces on average [s], by replica."""
        return [float(np.interp(self.pieces / 2, held, self.time)) for held in self.held]


def measure(scenario: Scenario, result: xr.Dataset) -> Measured:
    """Return the figures of a simulated case.

    Args:
        scenario: What was simulated; its leechers are one class.
        result: What `btflow.simulate` returned for it.
    """
    seed = result["role"].values == "seed"
    times = result["completion_time"].transpose("replica", "peer").values[:, ~seed]
    places = np.array([place for c in scenario.classes if c.role == "leecher" for place in c.placement()], str)
    gap = result[["send_gap", "send_gap_count"]].sel(sender_class="leechers")
    idle = result["idle_terminations"].transpose("replica", "peer").values
    given = result["unchokes"].transpose("replica", "peer").values[:, seed] if "unchokes" in result else None
    return Measured(
        means=_floats(times.mean(axis=1)),
        by_place={str(name): _floats(times[:, places == name].mean(axis=1)) for name in dict.fromkeys(places)},
        seed_idle=idle[:, seed].sum(axis=1).tolist(),
        seed_unchokes=[] if given is None else given.sum(axis=1).tolist(),
        leecher_idle=idle[:, ~seed].sum(axis=1).tolist(),
        seed_copies=_floats(result["seed_copies"].values),
        time=_floats(result["time"].values),
        held=[_floats(row) for row in result["pieces_held"].transpose("replica", "time").values],
        pieces=int(result.attrs["pieces"]),
        gaps=_pairs(gap["send_gap"].values, gap["send_gap_count"].sum("replica").values),
        payloads=_pairs(result["payload"].values, result["segment_payload_count"].sum("replica").values),
        cpu=float(result.attrs["cpu_s"]),
    )


def _floats(values: np.ndarray) -> list[float]:
    return [round(float(value), 6) for value in values]


def _pairs(values: np.ndarray, counts: np.ndarray) -> list[tuple[Any, Any]]:
    """Return the values that occur with their counts, as plain numbers."""
    return [(value.item(), count.item()) for value, count in zip(values, counts, strict=True) if count > 0]
