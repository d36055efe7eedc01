"""What the presets of swarms show, against what the papers say of the whole experiment: see validation/reference."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import btflow
from btflow.explore.comparison import _Side, difference
from btflow.explore.swarm_panel import ADSL, CLUSTER, PRESETS as SWARMS, RAO, SwarmState, scenario_of as swarm_of
from btflow.explore.whatif_panel import PRESETS as WHATIFS, Setting, scenario_of, settings
from btflow.explore.work import Look

ALIKE = (-0.05, 0.05)

CHANGES = {
    (RAO, "Fig. 5: RTT 0 or 400 ms"): ("R03", (0.0, 0.15)),
    (RAO, "Fig. 5: RTT 0 or 1000 ms"): ("R03", (-0.05, 0.15)),
    (RAO, "Fig. 8: 20 kB/s, leechers in AS1, AS2, AS3, or in AS1, AS3, AS5"): ("R09", (-0.05, 0.15)),
    (RAO, "Fig. 9: 50 kB/s, leechers in AS1, AS2, AS3, or in AS1, AS3, AS5"): ("R09", (-0.05, 0.15)),
    (RAO, "Table IV: RTT 0 without loss, or 400 ms with 5% loss"): ("R11", (0.0, 0.15)),
    (RAO, "Table IV: RTT 0 without loss, or 1000 ms with 5% loss"): ("R12, 20 kB/s", (0.0, 0.15)),
    (ADSL, "Fig. 2: all TCP or all uTP, seeds never leave"): ("T01", ALIKE),
    (ADSL, "Fig. 2: all TCP or all uTP, random stay"): ("T03, of which the whole has 2.6 to 9.7%", (-0.05, 0.1)),
    (CLUSTER, "Fig. 2a: mainline, CUBIC or NewReno"): ("D01", (-0.2, 0.2)),
    (CLUSTER, "Fig. 2a: mainline, CUBIC or Vegas"): ("D01", (-0.2, 0.2)),
    (CLUSTER, "Fig. 2a: mainline, CUBIC or Nice"): ("D01: a moderate effect", (-0.2, 0.2)),
    (CLUSTER, "Fig. 2a: mainline, CUBIC or LP"): ("D01", (-0.2, 0.2)),
    (CLUSTER, "Fig. 2a: CUBIC, mainline or uTorrent"): ("D01", (-0.2, 0.0)),
    (CLUSTER, "Fig. 2a: uTorrent, CUBIC or uTP"): ("D01", (-0.2, 0.0)),
}
"""By what-if: the claim, and how much the second setting's mean completion time may differ from the first one's."""

NO_CLAIM = {
    (RAO, "Fig. 7: a seed as slow as the leechers, or faster, RTT 400 ms"),
    (ADSL, "Fig. 3b: buffers of 10 or 200 packets, half uTP"),
}
"""Of these the papers compare something else than the mean completion time of all peers."""

PAIRS = 4
"""Of the ten that the page shows."""


@cache
def means(setting: Setting) -> list[float]:
    """Return the mean completion time of each replica, as the what-if panel finds it [s]."""
    side = _Side(scenario_of(setting), "full")
    for replica in range(PAIRS):
        side.run(int(setting.seed), replica, Look(), 0.0)
    return side.values


def test_every_whatif_of_the_papers_is_compared_with_its_claim() -> None:
    found = {(p.paper, p.entry) for p in WHATIFS if p.paper in (RAO, ADSL, CLUSTER) and not p.beyond}
    assert found == CHANGES.keys() | NO_CLAIM


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "entry"), CHANGES)
def test_a_whatif_says_what_the_paper_says(paper: str, entry: str) -> None:
    both = settings(next(p for p in WHATIFS if (p.paper, p.entry) == (paper, entry)).state)
    change = float(difference("completion_mean", means(both.a), means(both.b))["mean_ratio"]) - 1
    claim, (low, high) = CHANGES[paper, entry]
    assert low <= change <= high, f"{claim}: {change:+.1%}"


@pytest.mark.slow
def test_swarms_of_2010_are_at_most_15_percent_slower_by_their_paths() -> None:
    """R03 and R11, of one swarm each: the sizes at which the panel draws them keep the bound."""
    found = {p.entry: p.state for p in SWARMS if p.paper == RAO and p.figure in ("Fig. 5", "Table IV")}
    times = {entry: mean_of_one(state) for entry, state in found.items() if "1000 ms and" not in entry}
    near = times.pop("Fig. 5: uploads of 20 kB/s, RTT 0 ms")
    assert len(times) == 5
    assert {entry: f"{time / near - 1:+.1%}" for entry, time in times.items() if not 0.95 <= time / near <= 1.15} == {}


def mean_of_one(state: SwarmState) -> float:
    """Return the mean completion time of the swarm that the panel draws [s]."""
    result = btflow.simulate(swarm_of(state), seed=int(state.seed))
    return float(np.nanmean(result.completion_time.values[0][result.role.values == "leecher"]))
