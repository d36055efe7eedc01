"""Whether two samples have the same mean, by two one-sided tests (TOST): never because no difference was found."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats


def differs_by_more(a: Any, b: Any, margin: float) -> float:
    """Return the p-value of means of `a` and `b` that are `margin` or more apart (Schuirmann 1987, by Welch's t).

    Args:
        a: A sample (n,).
        b: Another (m,).
        margin: Least difference that would matter, in their unit.
    """
    above = stats.ttest_ind(np.asarray(a) + margin, b, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind(np.asarray(a) - margin, b, equal_var=False, alternative="less").pvalue
    return float(max(above, below))
