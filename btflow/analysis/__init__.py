"""What a sweep says: effects with intervals, pairs, Sobol indices, response curves, swings, tables, and flow's error.

Everything takes the Dataset of a sweep (``btflow.sweep``), or a part of it chosen with ``sel``, and a statistic in it.
Swarms that failed or were not run are never counted. The same Dataset and seed give the same figures.
"""

from btflow.analysis.against_full import corrected, flow_error
from btflow.analysis.effect import mean_effect, paired_difference, response, sensitivity
from btflow.analysis.select import select
from btflow.analysis.sobol import sobol_indices
from btflow.analysis.table import write_table

__all__ = [
    "corrected",
    "flow_error",
    "mean_effect",
    "paired_difference",
    "response",
    "select",
    "sensitivity",
    "sobol_indices",
    "write_table",
]


def __dir__() -> list[str]:
    return sorted(__all__)
