"""What must hold of the completion of any swarm: everybody gets everything once, and bounds are not beaten."""

from __future__ import annotations

from typing import Any

import numpy as np

from btflow.kernels.swarm.state import Swarm
from btflow.swarm.program import Program


def check_completion(program: Program, s: Swarm) -> None:
    """Every leecher holds every piece, got one after another; the seeds hold all from the start."""
    pieces, leechers = program.rules.pieces, np.flatnonzero(program.is_seed == 0)
    assert s.clock[0].unfinished == 0
    assert (s.n_log == pieces).all()
    assert (np.sort(s.have_log, axis=1) == np.arange(pieces)).all()
    assert not s.want.any()
    assert not s.blocks.any()
    times = s.have_time[leechers]
    assert (np.diff(times, axis=1) >= 0).all()
    assert (times[:, -1] == s.peer.done[leechers]).all()
    assert (times[:, 0] > s.peer.start[leechers]).all()
    assert np.isnan(s.have_time[program.is_seed == 1]).all()
    assert s.clock[0].now == times.max() < program.rules.horizon
    assert not s.peer.bytes_down[program.is_seed == 1].any()


def forwarding_bound(size: float, piece: float, seed_rate: float, rates: Any) -> float:
    """Least time [s] to copy the file if only whole pieces are passed on: a leecher idles until it has got one.

    With k pieces' bytes delivered at most k leechers hold one, so at most k leechers and the seeds upload. The bound of
    Mundinger et al. for M pieces does not hold here: it lets a peer receive each piece from one other, while the blocks
    of a piece may come from several.
    """
    piece, rate, rest, time = min(piece, size), seed_rate, len(rates) * size, 0.0
    for own in sorted(rates, reverse=True):
        time += piece / rate
        rest -= piece
        rate += own
    return time + rest / rate
