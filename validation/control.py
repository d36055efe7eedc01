"""R05, R06: the seed's choker drops connections that wait for requests, and what that does to the completion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from validation.cases import Case
from validation.experiments import IDLE_RTTS, SWEEP_RTTS, fast_seed, sweep
from validation.statistics import SIGNIFICANT, change, p_greater, p_rank, spread
from validation.verdict import Condition, Finding, Results

BAND = (120, 800)
"""RTTs between which, both left out, the paper sees unchokes cut short often [ms]."""
VANISHED = 0.02
"""Share of the seed's unchokes below which terminations count as vanished, and from which on as frequent."""
ORDER, CAUSE = "400 ms slower than 1000 ms", "most idle ends at 400 ms"
"""Parts of R05, beside the band."""
MARGINAL = 0.15
"""Change below which an effect counts as marginal, as the paper uses the word."""


def slow_seed_cases() -> list[Case]:
    """Return 20 kB/s peers over all RTTs at which terminations are counted."""
    return sweep([20], IDLE_RTTS)


def idle_table(results: Results, cases: Iterable[Case]) -> list[dict[str, object]]:
    """Return, for each case, the seed's unchokes and those that ended idle, with their spread."""
    return [
        {
            "rtt_ms": case.rtt,
            "ended_idle": vars(spread(results[case].seed_idle)),
            "unchokes": vars(spread(results[case].seed_unchokes)),
            "share": vars(spread(results[case].idle_share)),
        }
        for case in cases
    ]


def not_monotonic(results: Results) -> Finding:
    """R05: at 20 kB/s 400 ms is slower than 1000 ms, by the seed's idle terminations."""
    at = {rtt: Case(20, rtt) for rtt in (0, 400, 1000)}
    gain = results.change(at[400], at[1000])
    slow, fast = results.times(at[400]), results.times(at[1000])
    p, idle = p_greater(slow, fast), {rtt: results[case].seed_idle for rtt, case in at.items()}
    p_idle = {rtt: p_greater(idle[400], idle[rtt]) for rtt in (0, 1000)}
    often = [case.rtt for case in slow_seed_cases() if _share(results, case) >= VANISHED]
    peak = max((case for case in sweep([20], SWEEP_RTTS)), key=lambda case: results.spread(case).mean)
    return Finding(
        paper="Table IV: 4023.9 s at 400 ms, 3768.3 s at 1000 ms (+6.8%); unchokes cut short often between 120 and "
        "800 ms",
        ours=f"{results.spread(at[400]).text()} s at 400 ms, {results.spread(at[1000]).text()} s at 1000 ms "
        f"({gain.text}); slowest at {peak.rtt} ms; the seed ends 2% or more of its unchokes idle {_ranges(often)}",
        conditions=(
            Condition(f"400 ms is slower than 1000 ms: {gain.text}, Welch p = {p:.2g}", p < SIGNIFICANT, ORDER),
            *(
                Condition(
                    f"the seed ends more unchokes idle at 400 ms ({np.mean(idle[400]):.0f}) than at {rtt} ms "
                    f"({np.mean(idle[rtt]):.0f}): p = {p_idle[rtt]:.2g}",
                    p_idle[rtt] < SIGNIFICANT,
                    CAUSE,
                )
                for rtt in (0, 1000)
            ),
            *_band_conditions(often),
        ),
        details=(
            f"Mann-Whitney test that 400 ms is slower than 1000 ms: p = {p_rank(slow, fast):.2g}",
            *(
                f"RTT {case.rtt} ms, {len(results.times(case))} replicas: {spread(results[case].seed_idle).text(1)} of "
                f"{np.mean(results[case].seed_unchokes):.0f} unchokes of the seed end idle, "
                f"completion {results.spread(case).text(unit='s')}"
                for case in slow_seed_cases()
            ),
        ),
        numbers={
            "change": vars(gain),
            "p": p,
            "frequent_at_rtts_ms": often,
            "idle": idle_table(results, slow_seed_cases()),
        },
        brief=f"{100 * gain.value:+.1f}%; {_ranges(often).removeprefix('from ')}",
    )


def _band_conditions(often: Sequence[int]) -> list[Condition]:
    """Whether terminations are frequent where the paper sees them so, from its onset on, and nowhere else."""
    low, high = BAND
    parts = {
        f"between {low} and {high} ms": ([rtt for rtt in IDLE_RTTS if low < rtt < high], True),
        f"up to {low} ms": ([rtt for rtt in IDLE_RTTS if rtt <= low], False),
        f"from {high} ms on": ([rtt for rtt in IDLE_RTTS if rtt >= high], False),
    }
    return [
        Condition(
            f"{where} the seed ends {'2% or more' if wanted else 'less than 2%'} of its unchokes idle: "
            + (f"not at RTTs {_ranges(wrong)}" if wrong else f"at all {len(rtts)} RTTs looked at"),
            not wrong,
            f"band from {low} to {high} ms",
        )
        for where, (rtts, wanted) in parts.items()
        for wrong in [[rtt for rtt in rtts if (rtt in often) != wanted]]
    ]


def _ranges(rtts: Sequence[int]) -> str:
    """RTTs at which something was counted, in words: neighbours as ranges."""
    found: list[list[int]] = []
    for rtt in sorted(rtts):
        if found and IDLE_RTTS.index(rtt) == IDLE_RTTS.index(found[-1][-1]) + 1:
            found[-1].append(rtt)
        else:
            found.append([rtt])
    texts = [f"from {run[0]} to {run[-1]} ms" if len(run) > 1 else f"{run[0]} ms" for run in found]
    return ", ".join(texts) or "no RTT"


def fast_seeds(results: Results) -> Finding:
    """R06: with a fast seed the terminations vanish, and the RTT hardly changes how pieces spread."""
    swarms = {"50 kB/s seed, 20 kB/s leechers": fast_seed(IDLE_RTTS)}
    swarms |= {f"all at {limit} kB/s": sweep([limit], (0, 400, 1000)) for limit in (50, 100)}
    most = {name: max((_share(results, case), case.rtt) for case in cases) for name, cases in swarms.items()}
    half = {case.rtt: results[case].half_time for case in fast_seed((0, 400, 1000))}
    growth = {rtt: change(half[rtt], half[0]) for rtt in (400, 1000)}
    slow = _share(results, Case(20, 400))
    spread_out = ", ".join(f"{value.text} at {rtt} ms" for rtt, value in growth.items())
    fast = most["50 kB/s seed, 20 kB/s leechers"]
    return Finding(
        paper="no unchoke cut short with a 50 kB/s seed, nor at 50 and 100 kB/s; marginal effect on the pieces held",
        ours=f"with a 50 kB/s seed at most {100 * fast[0]:.1f}% of its unchokes end idle (RTT {fast[1]} ms), "
        f"{100 * slow:.1f}% with a 20 kB/s seed at 400 ms; time to half the pieces {spread_out}",
        conditions=(
            *(
                Condition(
                    f"{name}: at most {100 * share:.1f}% of the seed's unchokes end idle (RTT {rtt} ms), less than 2%",
                    share < VANISHED,
                    "no idle ends with fast seeds",
                )
                for name, (share, rtt) in most.items()
            ),
            Condition(
                f"with a 20 kB/s seed they do not vanish: {100 * slow:.1f}% at 400 ms, 2% or more",
                slow >= VANISHED,
                "no idle ends with fast seeds",
            ),
            Condition(
                f"time to half the pieces changes by less than 15% from RTT 0: {spread_out}",
                all(abs(value.value) < MARGINAL for value in growth.values()),
                "marginal effect of the RTT on the pieces held",
            ),
        ),
        details=tuple(
            f"{case.label}: {spread(results[case].seed_idle).text(1)} of {np.mean(results[case].seed_unchokes):.0f} "
            "unchokes of the seed end idle"
            for cases in swarms.values()
            for case in cases
        ),
        numbers={
            "idle": idle_table(results, fast_seed(IDLE_RTTS)),
            "half_time_s": {rtt: vars(spread(times)) for rtt, times in half.items()},
            "greatest_share": {name: share for name, (share, _) in most.items()},
        },
        brief=f"{100 * fast[0]:.1f}%; {', '.join(f'{100 * value.value:+.1f}' for value in growth.values())}%",
    )


def _share(results: Results, case: Case) -> float:
    values: Sequence[float] = results[case].idle_share
    return float(np.mean(values))
