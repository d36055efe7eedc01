"""The paper's experiments as lists of cases, and how many replicas each kind gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from validation.cases import Case, Setting

LIMITS = (10, 20, 50, 100)
"""Upload limits of the paper [kB/s]."""
TABLE_RTTS = (0, 400, 1000)
"""Round-trip times of Table IV [ms]."""
SWEEP_RTTS = (0, 50, 100, 200, 300, 400, 600, 800, 1000)
"""Round-trip times of the sweep in the form of Fig. 5 [ms]."""
IDLE_RTTS = tuple(range(0, 1001, 50))
"""Round-trip times at which idle terminations are counted [ms]."""
COLUMNS: Mapping[str, tuple[bool, int]] = {
    "TSO off, no loss": (False, 0),
    "TSO on, no loss": (True, 0),
    "TSO off, 5% loss": (False, 5),
}
"""Columns of Table IV: TSO, loss [%]."""
FAST_SEED = 50
"""Upload limit of the seed in the experiment with a fast seed and slow leechers, section II-A [kB/s]."""
LEECHER_ASES = (("AS1", "AS2", "AS3"), ("AS1", "AS3", "AS4"), ("AS1", "AS3", "AS5"))
"""ASes of the leechers in Fig. 8a, 8b and 8c."""
AS_LIMITS = (20, 50)
"""Upload limits of Fig. 8 and Fig. 9 [kB/s]."""


@dataclass(frozen=True)
class Plan:
    """How much is simulated."""

    replicas: int = 8
    """Replicas of a cell of Table IV; the other experiments get a part or a multiple of them."""
    swarm: Mapping[str, Setting] = field(default_factory=dict)
    """Parameters set in every case, such as a smaller swarm; none for the paper's."""

    def share(self, part: float) -> int:
        """Return the replicas of an experiment that gets a part of a cell's, at least 2 of them if possible."""
        return max(min(2, self.replicas), int(part * self.replicas))


def table4() -> list[Case]:
    """Return the 36 cells of Table IV."""
    return [Case(u, rtt, loss, tso) for tso, loss in COLUMNS.values() for u in LIMITS for rtt in TABLE_RTTS]


def sweep(limits: Iterable[int] = LIMITS, rtts: Iterable[int] = SWEEP_RTTS) -> list[Case]:
    """Return the points of Fig. 5: no loss, TSO off."""
    rtts = tuple(rtts)
    return [Case(limit, rtt) for limit in limits for rtt in rtts]


def fast_seed(rtts: Iterable[int]) -> list[Case]:
    """Return 20 kB/s leechers with a 50 kB/s seed, as for Fig. 7b."""
    return [Case(20, rtt, seed_limit=FAST_SEED) for rtt in rtts]


def placements(limit: int, ases: Sequence[tuple[str, ...]] = LEECHER_ASES) -> list[Case]:
    """Return the leechers of Fig. 8 (a third in each AS) with the seed in each of their ASes' twins."""
    return [Case(limit, leechers_in=chosen, seed_in=seed) for chosen in ases for seed in chosen]


def at_once() -> dict[Case, Case]:
    """Return the 24 cells of Table IV without TSO, each with the same where all leechers start at the same time."""
    return {case: replace(case, spread=0) for case in table4() if not case.tso}
