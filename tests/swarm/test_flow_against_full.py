"""Swarms at flow fidelity are those of full, over seeds: completion times, copies of the seed, growth of pieces."""

from __future__ import annotations

from typing import NamedTuple

import flow_made as made
import numpy as np
import pytest
from equivalence import differs_by_more
from numpy.typing import NDArray

from btflow.options import Fidelity
from btflow.swarm.run import run_swarm

pytestmark = pytest.mark.xdist_group("flow")  # what is compared is run once, by one worker

ALPHA = 0.05
SEEDS: dict[Fidelity, int] = {"full": 100, "flow": 150}
LEECHERS, SIZE = 40, 5 * 2**20

CELLS = [(rtt, loss, False) for rtt in (0, 400) for loss in (0.0, 0.05)] + [(100, 0.01, True)]
"""Round-trip time [ms], loss, and whether the seed shows its pieces one by one."""


class Sample(NamedTuple):
    """Figures of swarms, one a seed."""

    mean: NDArray[np.float64]
    """Completion time: mean, and the tenth and ninetieth percentile [s]."""
    p10: NDArray[np.float64]
    p90: NDArray[np.float64]
    copies: NDArray[np.float64]
    """Sent by the seed over the size of the file."""
    quarter: NDArray[np.float64]
    """Share of the pieces that the leechers hold after 150, 300 and 450 s."""
    half: NDArray[np.float64]
    most: NDArray[np.float64]


def sample(fidelity: Fidelity, rtt: int, loss: float, shows: bool) -> Sample:
    """Run the swarms of a cell at a fidelity."""
    paths = {"rtt": f"{rtt} ms", "loss": loss}
    options = {"swarm": {"file_size": "5 MB"}, "paths": paths, "super_seeding": shows}
    program = made.program(LEECHERS, fidelity=fidelity, **options)
    leecher = program.is_seed == 0
    rows = []
    for seed in range(SEEDS[fidelity]):
        s = run_swarm(program, seed, 0)
        times = (s.peer.done - s.peer.start)[leecher]
        held = [float((s.have_time[leecher] <= t).mean()) for t in (150.0, 300.0, 450.0)]
        sent = float(s.peer.bytes_up[~leecher].sum()) / SIZE
        rows.append([times.mean(), *np.percentile(times, [10, 90]), sent, *held])
    return Sample(*np.array(rows, float).T)


@pytest.fixture(
    scope="module", params=CELLS, ids=lambda cell: f"{cell[0]} ms, loss {cell[1]}" + ", super-seeding" * cell[2]
)
def both(request: pytest.FixtureRequest) -> tuple[Sample, Sample]:
    """Give the samples of a cell: full, flow."""
    return sample("full", *request.param), sample("flow", *request.param)


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["mean", "p10", "p90", "copies"])
def test_a_figure_is_within_five_percent(both: tuple[Sample, Sample], figure: str) -> None:
    full, flow = (getattr(found, figure) for found in both)
    assert differs_by_more(flow, full, 0.05 * full.mean()) < ALPHA


@pytest.mark.parametrize("moment", ["quarter", "half", "most"])
def test_pieces_grow_as_in_full(both: tuple[Sample, Sample], moment: str) -> None:
    """Of all pieces of all leechers, as many are there within five in a hundred."""
    full, flow = (getattr(found, moment) for found in both)
    assert differs_by_more(flow, full, 0.05) < ALPHA


def test_what_is_ten_percent_off_is_not_equivalent(both: tuple[Sample, Sample]) -> None:
    full, flow = (found.mean for found in both)
    assert differs_by_more(1.1 * flow, full, 0.05 * full.mean()) > ALPHA
    assert differs_by_more(flow[:3], full[:3], 0.001 * full.mean()) > ALPHA  # nor is it for want of seeds
