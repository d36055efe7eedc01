"""The claims: which cases each needs, and the function that judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from validation import control, latency, paths, placement, reference, sends, table4
from validation.cases import Case
from validation.experiments import (
    AS_LIMITS,
    IDLE_RTTS,
    LEECHER_ASES,
    LIMITS,
    TABLE_RTTS,
    Plan,
    at_once,
    fast_seed,
    placements,
    sweep,
    table4 as table4_cases,
)
from validation.verdict import Finding, Results, Verdict

Need = dict[Case, int]
"""Cases with the number of replicas wanted."""

WHOLE, SWEEP, STEPS = 1.0, 0.5, 0.25
"""An experiment gets a cell's replicas, half or a quarter of them."""
MANY = 4.0
"""The two cases of R10 get four times as many: single swarms at 20 kB/s are 2.2% apart (standard deviation), so that
Welch's test finds means that are 2% apart in one of two tests with 8 of each, and in 97 of 100 with 32."""


@dataclass(frozen=True)
class Check:
    """How a claim is judged."""

    judge: Callable[[Results], Finding]
    """What makes a finding of the results."""
    cases: Callable[[], list[tuple[list[Case], float]]]
    """What has to be simulated, in groups with the part of a cell's replicas each gets."""


def _rtt0() -> list[tuple[list[Case], float]]:
    return [([Case(limit) for limit in LIMITS], WHOLE)]


def _table() -> list[tuple[list[Case], float]]:
    return [(table4_cases(), WHOLE)]


def _table_and_starts() -> list[tuple[list[Case], float]]:
    return [*_table(), (list(at_once().values()), STEPS)]


def _lossless() -> list[tuple[list[Case], float]]:
    return [(sweep(rtts=TABLE_RTTS), WHOLE), (sweep(), SWEEP)]


def _idle() -> list[tuple[list[Case], float]]:
    return [*_lossless(), (sweep([20], IDLE_RTTS), STEPS)]


def _fast_seed() -> list[tuple[list[Case], float]]:
    return [(sweep(rtts=TABLE_RTTS), WHOLE), (fast_seed(TABLE_RTTS), WHOLE), (fast_seed(IDLE_RTTS), STEPS)]


def _loss() -> list[tuple[list[Case], float]]:
    return [([case for case in table4_cases() if not case.tso], WHOLE)]


def _near() -> list[tuple[list[Case], float]]:
    return [(placements(20, LEECHER_ASES[:1]), SWEEP)]


def _all_placements() -> list[tuple[list[Case], float]]:
    return [([case for limit in AS_LIMITS for case in placements(limit)], SWEEP)]


def _bounded() -> list[tuple[list[Case], float]]:
    others = [case for limit in AS_LIMITS for case in (*placements(limit, placement.FAR), Case(limit, 400))]
    return [(others, WHOLE), ([placement.FAREST, placement.EVERYWHERE], MANY)]


CHECKS = {
    "R01": Check(table4.rtt0_column, _rtt0),
    "R02": Check(table4.whole_table, _table_and_starts),
    "R03": Check(latency.latency_alone, _lossless),
    "R04": Check(latency.slow_uploads, _lossless),
    "R05": Check(control.not_monotonic, _idle),
    "R06": Check(control.fast_seeds, _fast_seed),
    "R07": Check(sends.times_between_sends, lambda: [(sweep(rtts=sends.GAP_RTTS), WHOLE)]),
    "R08": Check(placement.near_seeds, _near),
    "R09": Check(placement.far_leechers, _all_placements),
    "R10": Check(placement.homogeneous_bounds, _bounded),
    "R11": Check(latency.latency_and_loss, _loss),
    "R12": Check(latency.worst_case, _loss),
    "R13": Check(table4.segmentation_offload, _table),
    "R14": Check(paths.published_points, list),
    "R15": Check(sends.segment_sizes, _table),
}
"""The checks by claim, in the order of the report."""


def needed(plan: Plan, ids: Iterable[str]) -> Need:
    """Return the cases that the claims named need, each with the most replicas any of them wants."""
    found: Need = {}
    for cases, part in [group for name in ids for group in CHECKS[name].cases()]:
        for case in cases:
            found[case] = max(found.get(case, 0), plan.share(part))
    return found


def judged(results: Results, ids: Iterable[str]) -> list[Verdict]:
    """Return the verdict on each of the claims named."""
    return [Verdict(reference.claims()[name], CHECKS[name].judge(results)) for name in ids]
