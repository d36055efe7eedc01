"""R08, R09, R10: leechers and seed spread over emulated autonomous systems."""

from __future__ import annotations

import numpy as np

from validation.cases import Case
from validation.experiments import AS_LIMITS, LEECHER_ASES, placements
from validation.statistics import SIGNIFICANT, Change, change, p_greater
from validation.verdict import Condition, Finding, Results

BOUND = 0.15
"""The paper's bound on the differences of the mean completion times."""
NEAR, *FAR = LEECHER_ASES
"""ASes with RTTs of 100 ms at most, and those with AS4 or AS5."""
FAREST, EVERYWHERE = Case(20, leechers_in=("AS1", "AS3", "AS5"), seed_in="AS5"), Case(20, 400)
"""The case of Fig. 8c that the paper compares with 400 ms everywhere, and that."""


def _line(results: Results, case: Case) -> str:
    parts = "; ".join(f"{name} {np.mean(times):.0f}" for name, times in results[case].by_place.items())
    return f"{case.label}: {results.spread(case).text(unit='s')} ({parts})"


def _numbers(results: Results, cases: list[Case]) -> dict[str, object]:
    return {
        case.label: vars(results.spread(case))
        | {"by_place_s": {name: float(np.mean(times)) for name, times in results[case].by_place.items()}}
        for case in cases
    }


def near_seeds(results: Results) -> Finding:
    """R08: leechers in AS1 to AS3, the seed in each of their ASes."""
    cases = placements(20, [NEAR])
    slow = max(cases, key=lambda case: results.spread(case).mean)
    fast = min(cases, key=lambda case: results.spread(case).mean)
    most = results.change(slow, fast)
    return Finding(
        paper="means differ by less than 15%",
        ours=f"greatest difference {most.text} ({slow.seed_in}' against {fast.seed_in}')",
        conditions=(Condition(f"less than 15%: {100 * most.value:+.1f}%", most.value < BOUND),),
        details=tuple(_line(results, case) for case in cases),
        numbers=_numbers(results, cases),
        brief=f"{100 * most.value:.1f}%",
    )


def far_leechers(results: Results) -> Finding:
    """R09: AS4 or AS5 against AS1 to AS3, at both limits."""
    rises: dict[Case, Change] = {}
    for limit in AS_LIMITS:
        base = [time for case in placements(limit, [NEAR]) for time in results.times(case)]
        rises |= {case: change(results.times(case), base) for case in placements(limit, FAR)}
    most = max(rises, key=lambda case: rises[case].value)
    cases = [case for limit in AS_LIMITS for case in placements(limit)]
    return Finding(
        paper="not more than +15% over AS1 to AS3",
        ours=f"at most {rises[most].text} ({most.label})",
        conditions=tuple(
            Condition(f"at most 15% at {limit} kB/s: {100 * value:+.1f}%", value <= BOUND)
            for limit in AS_LIMITS
            for value in [max(rise.value for case, rise in rises.items() if case.limit == limit)]
        ),
        details=tuple(_line(results, case) for case in cases),
        numbers={case.label: vars(value) for case, value in rises.items()} | {"cases": _numbers(results, cases)},
        brief=f"at most {100 * rises[most].value:+.1f}%",
    )


def homogeneous_bounds(results: Results) -> Finding:
    """R10: 400 ms everywhere is slower than placements whose largest RTT is 400 ms."""
    gain = results.change(FAREST, EVERYWHERE)
    p = p_greater(results.times(EVERYWHERE), results.times(FAREST))
    others = {
        case: p_greater(results.times(case), results.times(Case(limit, 400)))
        for limit in AS_LIMITS
        for case in placements(limit, FAR)
    }
    slower = [case for case, value in others.items() if value < SIGNIFICANT]
    return Finding(
        paper="at 20 kB/s AS1, AS3 and AS5 with the seed in AS'5 faster than 400 ms everywhere",
        ours=f"{results.spread(FAREST).text()} s against {results.spread(EVERYWHERE).text()} s ({gain.text})",
        conditions=(
            Condition(f"faster than 400 ms everywhere: {gain.text}, Welch p = {p:.2g}", p < SIGNIFICANT),
            Condition(
                f"no placement with AS4 or AS5 is significantly slower than 400 ms everywhere: {len(slower)} of "
                f"{len(others)}",
                not slower,
            ),
        ),
        details=tuple(
            f"{case.label}: {results.change(case, Case(case.limit, 400)).text} against 400 ms everywhere"
            for case in others
        ),
        numbers={"change": vars(gain), "p": p, "p_slower": {case.label: value for case, value in others.items()}},
        brief=f"{100 * gain.value:+.1f}%" + (f"; {len(slower)} of {len(others)} slower" if slower else ""),
    )
