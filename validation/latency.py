"""R03, R04, R11, R12: what latency, and latency with loss, adds to the completion time."""

from __future__ import annotations

from collections.abc import Iterable

from validation import reference
from validation.cases import Case
from validation.experiments import LIMITS, SWEEP_RTTS
from validation.statistics import SIGNIFICANT, Change, p_greater
from validation.verdict import Condition, Finding, Results

BOUND = 0.15
"""The paper's bound on the increase of the mean completion time."""


def increases(results: Results, cases: Iterable[Case]) -> dict[Case, Change]:
    """Return by how much each case exceeds RTT 0 without loss at the same limit."""
    return {case: results.change(case, Case(case.limit)) for case in cases}


def published(case: Case) -> float | None:
    """Return the paper's increase over RTT 0 without loss at the same limit, where Table IV has the case."""
    table = reference.table4()
    return table[case] / table[Case(case.limit)] - 1.0 if case in table else None


def _line(case: Case, found: Change) -> str:
    figure = published(case)
    return f"{case.label}: {found.text}" + ("" if figure is None else f", paper {100 * figure:+.1f}%")


def _numbers(found: dict[Case, Change]) -> dict[str, object]:
    return {case.label: {"ours": vars(value), "paper": published(case)} for case, value in found.items()}


def _bounded(results: Results, cases: Iterable[Case], paper: str) -> Finding:
    """Judge whether every case costs less than the paper's bound over RTT 0 without loss."""
    found = increases(results, cases)
    most = max(found, key=lambda case: found[case].value)
    return Finding(
        paper=paper,
        ours=f"at most {found[most].text} ({most.label})",
        conditions=(Condition(f"less than 15%: {100 * found[most].value:+.1f}%", found[most].value < BOUND),),
        details=tuple(_line(case, value) for case, value in found.items()),
        numbers=_numbers(found),
        brief=f"at most {100 * found[most].value:+.1f}%",
    )


def latency_alone(results: Results) -> Finding:
    """R03: without loss every RTT up to 1000 ms costs less than 15%."""
    cases = [Case(limit, rtt) for limit in LIMITS for rtt in SWEEP_RTTS if rtt]
    return _bounded(results, cases, "less than +15%; Table IV: at most +13.1% (10 kB/s, RTT 1000 ms)")


def slow_uploads(results: Results) -> Finding:
    """R04: at 10 kB/s up to 200 ms cost at most 5%, and more latency costs more."""
    found = increases(results, [Case(10, rtt) for rtt in SWEEP_RTTS if rtt])
    small = max((case for case in found if case.rtt <= 200), key=lambda case: found[case].value)
    base, grown = results.times(Case(10, 200)), {rtt: Case(10, rtt) for rtt in (400, 1000)}
    p = {rtt: p_greater(results.times(case), base) for rtt, case in grown.items()}
    return Finding(
        paper="at most +5% up to 200 ms; Table IV: +9.5% at 400 ms, +13.1% at 1000 ms",
        ours=", ".join(f"{found[case].text} at {case.rtt} ms" for case in (small, *grown.values())),
        conditions=(
            Condition(
                f"at most 5% up to 200 ms: {100 * found[small].value:+.1f}%",
                found[small].value <= 0.05,
                "5% up to 200 ms",
            ),
            *(
                Condition(
                    f"{rtt} ms is slower than 200 ms: {results.change(case, Case(10, 200)).text}, p = {p[rtt]:.2g}",
                    p[rtt] < SIGNIFICANT,
                    f"growth from 200 to {rtt} ms",
                )
                for rtt, case in grown.items()
            ),
        ),
        details=tuple(_line(case, value) for case, value in found.items()),
        numbers={**_numbers(found), "p_slower_than_200_ms": p},
        brief=f"{', '.join(f'{100 * found[case].value:+.1f}' for case in (small, *grown.values()))}%",
    )


def latency_and_loss(results: Results) -> Finding:
    """R11: 5% loss and up to 400 ms cost at most 15%."""
    cases = [Case(limit, rtt, loss=5) for limit in LIMITS for rtt in (0, 400)]
    return _bounded(results, cases, "at most +15%; Table IV: at most +12.1% (100 kB/s, RTT 400 ms)")


def worst_case(results: Results) -> Finding:
    """R12: 5% loss and 1000 ms cost more than 15% at 10 and 100 kB/s only."""
    found = increases(results, [Case(limit, 1000, loss=5) for limit in LIMITS])
    conditions = [
        Condition(
            f"{'more than' if above else 'at most'} 15% at {case.limit} kB/s: {100 * value.value:+.1f}%",
            (value.value > BOUND) == above,
        )
        for case, value in found.items()
        for above in [case.limit in (10, 100)]
    ]
    figures = {case.limit: published(case) or 0.0 for case in found}
    return Finding(
        paper=", ".join(f"{100 * figure:+.1f}% at {limit} kB/s" for limit, figure in figures.items()),
        ours=", ".join(f"{value.text} at {case.limit} kB/s" for case, value in found.items()),
        conditions=tuple(conditions),
        details=tuple(_line(case, value) for case, value in found.items()),
        numbers=_numbers(found),
        brief=f"{', '.join(f'{100 * value.value:+.0f}' for value in found.values())}%",
    )
