"""Swarms of clients with rules of their own, at flow fidelity: those of full, over seeds."""

from __future__ import annotations

import flow_made as made
import numpy as np
import pytest
from equivalence import differs_by_more
from numpy.typing import NDArray

from btflow.options import Fidelity
from btflow.swarm.run import run_swarm

pytestmark = pytest.mark.xdist_group("flow")

ALPHA = 0.05
SEEDS: dict[Fidelity, int] = {"full": 150, "flow": 200}
LEECHERS, SIZE = 30, 3 * 2**20


def sample(fidelity: Fidelity, rtt: int) -> dict[str, NDArray[np.float64]]:
    """Return figures of swarms of libtorrent-2, one a seed: completion times [s], and copies that the seed sent."""
    options = {"swarm": {"file_size": "3 MB"}, "paths": {"rtt": f"{rtt} ms", "loss": 0.0}}
    program = made.program(LEECHERS, fidelity=fidelity, client="libtorrent-2", rates=(50.0,), seed_rate=50.0, **options)
    leecher = program.is_seed == 0
    rows = []
    for seed in range(SEEDS[fidelity]):
        s = run_swarm(program, seed, 0)
        times = (s.peer.done - s.peer.start)[leecher]
        rows.append([times.mean(), *np.percentile(times, [10, 90]), float(s.peer.bytes_up[~leecher].sum()) / SIZE])
    return dict(zip(("mean", "p10", "p90", "copies"), np.array(rows).T, strict=True))


# A swarm of few pieces takes as long as the seed takes to send the last of them: times differ by a sixth between seeds.
@pytest.mark.slow
@pytest.mark.parametrize("rtt", [0, 200])
def test_figures_are_within_ten_percent(rtt: int) -> None:
    full, flow = sample("full", rtt), sample("flow", rtt)
    for figure in full:
        assert differs_by_more(flow[figure], full[figure], 0.1 * full[figure].mean()) < ALPHA, figure
