"""Figures of a finished link experiment, from the histograms and records its kernels kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from btflow.kernels.link.stats import BINS_PER_OCTAVE, LOWEST_EXPONENT

Floats = NDArray[np.float64]

QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def whole_quantiles(weight: Floats, shares: tuple[float, ...] = QUANTILES) -> Floats:
    """Least whole number up to which at least each share of the weight lies (shares,); 0 if there is no weight.

    Args:
        weight: Weight of 0, 1, 2... (numbers,).
        shares: Between 0 and 1.
    """
    total = np.cumsum(weight)
    places = np.searchsorted(total, np.asarray(shares) * total[-1] * (1.0 - 1e-12))
    return np.asarray(np.minimum(places, len(weight) - 1), np.float64)


def rtt_quantiles(counts: NDArray[np.int64], shares: tuple[float, ...] = QUANTILES) -> Floats:
    """Quantiles of round-trip times counted in bins [s] (shares,), linear within a bin; NaN if there are none."""
    total = np.cumsum(counts)
    if total[-1] == 0:
        return np.full(len(shares), np.nan)
    wanted = np.asarray(shares) * total[-1]
    place = np.searchsorted(total, wanted)
    within = (wanted - (total[place] - counts[place])) / np.maximum(counts[place], 1)
    low = bin_edges(place)
    return np.asarray(low + within * (bin_edges(place + 1) - low), np.float64)


def bin_edges(place: NDArray[np.int64]) -> Floats:
    """Lower edge of a bin of round-trip times [s]: equal steps within each octave."""
    octave, step = np.divmod(place, BINS_PER_OCTAVE)
    return np.asarray(np.ldexp(0.5 + step / (2 * BINS_PER_OCTAVE), octave + LOWEST_EXPONENT), np.float64)


def delay_quantiles(delays: Floats, shares: tuple[float, ...] = QUANTILES) -> Floats:
    """Quantiles of delays [s] (shares,); NaN if there are none."""
    return np.quantile(delays, shares) if len(delays) else np.full(len(shares), np.nan)


def mean(values: Floats) -> float:
    """Mean, NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")
