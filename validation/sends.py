"""R07, R15: how a peer's sends follow each other on a connection, and how large its segments are."""

from __future__ import annotations

import itertools

from validation.cases import Case
from validation.experiments import LIMITS, TABLE_RTTS, table4
from validation.statistics import quantile, share_above
from validation.table4 import TSO_NOTE
from validation.verdict import Condition, Finding, Results

GAP_RTTS = (0, 400)
"""RTTs of Fig. 6a and 6b [ms]."""
RAMP_UP = {10: 200, 20: 120, 50: 20, 100: 20}
"""The paper's RTT above which a ramp-up is needed [ms], by upload limit [kB/s]."""
OFTEN = 0.25
"""Share of the times between sends that counts as significant."""
RARE = 0.10
"""Share of the times between sends up to which connections may need a ramp-up and the RTT is still below threshold."""
FACTOR = 2.0
"""Tolerance of the thresholds: times come in whole multiples of the time of one unit at the upload limit."""
HEADERS = 52
"""TCP and IP header with the timestamp option [B]."""
MTU = 1500
"""Largest packet of the network [B]."""
MSS = MTU - HEADERS
"""Largest payload without offload [B]."""


def times_between_sends(results: Results) -> Finding:
    """R07: the distribution of the time between two sends, and where it puts the need for a ramp-up."""
    often = {rtt: share_above(results[Case(10, rtt)].gaps, 0.2) for rtt in GAP_RTTS}
    ours = {limit: 1000.0 * quantile(results[Case(limit)].gaps, RARE) for limit in LIMITS}
    thresholds = ", ".join(f"{ours[limit]:.0f}" for limit in LIMITS)
    return Finding(
        paper="often above 200 ms at 10 kB/s; ramp-up needed above 200, 120, 20, 20 ms at 10, 20, 50, 100 kB/s",
        ours=f"{100 * often[0]:.0f}% above 200 ms at 10 kB/s and RTT 0, {100 * often[400]:.0f}% at RTT 400 ms; "
        f"ramp-up above {thresholds} ms",
        conditions=(
            *(
                Condition(
                    f"10 kB/s, RTT {rtt} ms: {100 * share:.0f}% of the times are above 200 ms",
                    share > OFTEN,
                    "share above 200 ms at 10 kB/s",
                )
                for rtt, share in often.items()
            ),
            *(
                Condition(
                    f"{limit} kB/s: a tenth of the times is at or below {ours[limit]:.0f} ms, paper {paper} ms",
                    paper / FACTOR <= ours[limit] <= paper * FACTOR,
                    "thresholds of the ramp-up",
                )
                for limit, paper in RAMP_UP.items()
            ),
        ),
        details=tuple(
            f"{limit} kB/s, RTT {rtt} ms: 1%, 5%, 10% and half of the times are at or below "
            f"{_quantiles(gaps)} ms, "
            f"{100 * share_above(gaps, 0.2):.0f}% above 200 ms, {100 * share_above(gaps, RAMP_UP[limit] / 1000):.0f}% "
            f"above the paper's {RAMP_UP[limit]} ms"
            for limit in LIMITS
            for rtt in GAP_RTTS
            for gaps in [results[Case(limit, rtt)].gaps]
        ),
        numbers={"above_200_ms": often, "ramp_up_ms": ours, "paper_ramp_up_ms": RAMP_UP},
        brief=f"{100 * min(often.values()):.0f}%; {thresholds} ms",
    )


def _quantiles(gaps: list[tuple[float, int]]) -> str:
    return ", ".join(f"{1000 * quantile(gaps, share):.0f}" for share in (0.01, 0.05, RARE, 0.5))


def segment_sizes(results: Results) -> Finding:
    """R15: larger segments with TSO as the RTT grows, none above the MSS without."""
    share = {rtt: share_above(results[Case(20, rtt, tso=True)].payloads, MSS) for rtt in TABLE_RTTS}
    largest = {case: max(size for size, _ in results[case].payloads) for case in table4()}
    off = max(size for case, size in largest.items() if not case.tso)
    on = max(size for case, size in largest.items() if case.tso)
    listed = ", ".join(f"{100 * value:.2f}% at {rtt} ms" for rtt, value in share.items())
    values = list(share.values())
    return Finding(
        paper="TSO on: the share of segments above the MTU grows with the RTT; TSO off: none",
        ours=f"TSO on, 20 kB/s: {listed} above the MTU; TSO off: largest payload {off} B",
        conditions=(
            Condition(
                f"TSO on, 20 kB/s: the share above the MTU grows with the RTT: {listed}",
                all(a < b for a, b in itertools.pairwise(values)),
                "larger segments at larger RTTs with TSO",
            ),
            Condition(
                f"TSO off, 24 cells: no payload above the MSS of {MSS} B: {off} B", off <= MSS, "MSS without TSO"
            ),
        ),
        details=(
            f"TSO on: largest payload {on} B",
            f"TSO off: the model cuts what is written into segments of {MSS} B, so that none can be larger",
            f"TSO on: {TSO_NOTE}",
        ),
        numbers={"share_above_mtu": share, "largest_payload_tso_off_B": off, "largest_payload_tso_on_B": on},
        brief=f"{', '.join(f'{100 * value:.0f}' for value in values)}%; {off} B",
    )
