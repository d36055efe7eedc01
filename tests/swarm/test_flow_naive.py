"""Small swarms at flow fidelity have the completion times of a naive simulator of the same client, over seeds."""

from __future__ import annotations

import flow_made as made
import numpy as np
import pytest
from equivalence import differs_by_more
from naive_flow import NaiveSwarm
from numpy.typing import NDArray

from btflow.swarm.program import Program
from btflow.swarm.run import run_swarm

pytestmark = pytest.mark.xdist_group("flow")  # what is compared is run once, by one worker

ALPHA = 0.05
MARGIN = 0.05
"""Least relative difference that would matter: the naive client has no tracker, and its turns are a fluid."""

CELLS = {
    "12 leechers, 1 MB, 20 kB/s": (12, 1, 20.0, 90),
    "20 leechers, 2 MB, 50 kB/s": (20, 2, 50.0, 45),
}
"""Leechers, file size [MB], upload limits [kB/s], seeds of the naive simulator."""

Figures = dict[str, NDArray[np.float64]]


def figures(rows: list[list[float]]) -> Figures:
    """Return figures of swarms by name, one a seed."""
    return dict(zip(("mean", "p10", "p90", "last", "copies"), np.array(rows).T, strict=True))


def of_times(times: NDArray[np.float64]) -> list[float]:
    return [float(times.mean()), *(float(np.percentile(times, q)) for q in (10, 90, 100))]


def naive(program: Program, size: int, seeds: int) -> Figures:
    rules, rows = program.rules, []
    blocks = [int(rules.blocks)] * (rules.pieces - 1) + [int(rules.last_piece_blocks)]
    for seed in range(seeds):
        cap, slots = float(program.upload_limit[0]), int(program.upload_slots[0])
        swarm = NaiveSwarm(rules.peers - 1, cap, slots, blocks, 10.0, seed).run()
        times = np.array([peer.done - peer.start for peer in swarm.peers[1:]])
        rows.append([*of_times(times), swarm.peers[0].sent / size])
    return figures(rows)


def flow(program: Program, size: int, seeds: int) -> Figures:
    rows = []
    for seed in range(seeds):
        s = run_swarm(program, seed, 0)
        times = (s.peer.done - s.peer.start)[program.is_seed == 0]
        rows.append([*of_times(times), float(s.peer.bytes_up[0]) / size])
    return figures(rows)


@pytest.fixture(scope="module", params=CELLS)
def both(request: pytest.FixtureRequest) -> tuple[Figures, Figures]:
    """Give the figures of a cell: naive, flow."""
    leechers, size, rate, seeds = CELLS[request.param]
    program = made.program(leechers, rates=(rate,), seed_rate=rate, swarm={"file_size": f"{size} MB"})
    return naive(program, size << 20, seeds), flow(program, size << 20, 300)


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["mean", "p10", "p90", "last", "copies"])
def test_a_figure_is_that_of_the_naive_simulator(both: tuple[Figures, Figures], figure: str) -> None:
    expected, found = (figures[figure] for figures in both)
    assert differs_by_more(found, expected, MARGIN * expected.mean()) < ALPHA


def test_the_naive_simulator_sends_each_block_to_all() -> None:
    swarm = NaiveSwarm(6, 20480.0, 4, [4, 4, 2], 5.0, 1).run()
    assert all(len(peer.have) == 3 and not peer.missing for peer in swarm.peers[1:])
    assert sum(peer.sent for peer in swarm.peers) >= 6 * 10 * 16384
