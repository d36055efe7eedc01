"""Seeds of the points: independent of each other, or the same for all."""

from __future__ import annotations

import numpy as np

from btflow.options import MAX_SEED


def point_seed(seed: int, point: int, common: bool) -> int:
    """Return the seed that every replica of a point is run with, a whole number up to ``MAX_SEED``.

    Args:
        seed: Seed of the sweep.
        point: Number of the point, in C order.
        common: Whether all points have the sweep's own seed: replica r of each then draws the same random numbers,
            which makes differences between points more precise (common random numbers).
    """
    if common:
        return seed
    (word,) = np.random.SeedSequence(seed, spawn_key=(point,)).generate_state(1, np.uint64)
    return int(word) & MAX_SEED
