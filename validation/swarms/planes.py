"""D01 to D05: congestion controls and clients on a cluster, after Testa, Rossi, Rao and Legout (2012)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from validation import reference
from validation.swarms.compare import CONFIDENCE, Interval, Paired, interval, paired, spearman
from validation.swarms.experiments import CHECK_FULL, FACTORS, FULL_2012, HALVES, HOMOGENEOUS, LARGE, SMALL, capped
from validation.swarms.measured import ALL, PERCENTS, QUEUE_PERCENTS, Measured, Results
from validation.verdict import Condition, Finding

Floats = NDArray[np.float64]

MODERATE = 0.20
"""Greatest mean completion time of a homogeneous mainline swarm over the least, less 1, that counts as moderate."""
WITHIN = 0.25
"""Allowed difference of a correlation."""
DRAWS = 2000
"""Draws of the runs for the confidence intervals of correlations."""
TIERS = (("UT:utp", "BT:nice", "BT:vegas"), ("BT:lp", "BT:newreno"), ("BT:cubic",))
"""Homogeneous swarms by the paper's order of buffer occupancy."""
QUANTILES = (50, 90)
OTHERWISE = ("in packets", "of peers of all runs together", "each run a swarm of its own")
"""Other ways to compute Table III, which says that statistics are of a swarm and the correlation is over swarms: queues
as packets and not as time; quantiles of all runs' peers in place of the mean of the runs'; runs as further swarms."""


def _ordered(text: str, found: Paired, greater: bool, part: str) -> Condition:
    return Condition(f"{text}: {found.ordered(greater)}", found.greater if greater else found.less, part)


def _client(results: Results, client: str, name: str) -> Floats:
    """Return a figure of each run, mean over the homogeneous swarms of a client."""
    rows = [results[setting].of(name) for key, setting in HOMOGENEOUS.items() if key.startswith(client)]
    return np.asarray(np.mean(rows, axis=0), np.float64)


def homogeneous(results: Results) -> Finding:
    """D01: completion times of homogeneous swarms."""
    means = {name: results[setting].of("mean") for name, setting in HOMOGENEOUS.items()}
    spreads = {name: results[setting].of("spread") for name, setting in HOMOGENEOUS.items()}
    lasts = {name: results[setting].of("last") for name, setting in HOMOGENEOUS.items()}
    mainline = [interval(values).mean for name, values in means.items() if name.startswith("BT")]
    range_ = max(mainline) / min(mainline) - 1.0
    faster = paired(_client(results, "UT", "mean"), _client(results, "BT", "mean"))
    fairer = paired(_client(results, "UT", "spread"), _client(results, "BT", "spread"))
    slowest = {name: paired(lasts["BT:nice"], lasts[name]) for name in HOMOGENEOUS if name != "BT:nice"}
    return Finding(
        "mainline alike within limits; uTorrent faster, fairer, and fastest with uTP; slowest of all: mainline's Nice",
        "; ".join(
            f"{name} {interval(means[name]).text(0, 's')} (p90 - p10 {interval(spreads[name]).text(0, 's')})"
            for name in HOMOGENEOUS
        ),
        (
            Condition(
                f"mainline: greatest mean {100 * range_:.1f}% above the least, at most {100 * MODERATE:g}%",
                range_ <= MODERATE,
                "moderate effect",
            ),
            _ordered("uTorrent over mainline", faster, False, "uTorrent faster"),
            _ordered("p90 - p10, uTorrent over mainline", fairer, False, "uTorrent fairer"),
            _ordered("UT:utp over UT:cubic", paired(means["UT:utp"], means["UT:cubic"]), False, "uTP beats CUBIC"),
            *(_ordered(f"last, BT:nice over {name}", c, True, "Nice slowest") for name, c in slowest.items()),
        ),
        tuple(f"{name}: last {interval(lasts[name]).text(0, 's')}" for name in HOMOGENEOUS),
        brief=f"{100 * range_:.0f}%; {100 * faster.relative.mean:+.0f}%, {100 * fairer.relative.mean:+.0f}%",
    )


def occupancy(results: Results) -> Finding:
    """D02: buffer occupancy of homogeneous swarms."""
    found = {name: results[setting].of("delay_mean") for name, setting in HOMOGENEOUS.items()}
    conditions = [
        _ordered(f"{a} over {b}", paired(found[a], found[b]), False, f"{_tier(low)} below {_tier(high)}")
        for low, high in pairwise(TIERS)
        for a, b in product(low, high)
    ]
    order = sorted(found, key=lambda name: float(found[name].mean()))
    return Finding(
        "uTP, Nice, Vegas < LP, NewReno < CUBIC",
        "mean time until an uplink's queue is empty: "
        + ", ".join(f"{name} {interval(found[name]).text(0, 'ms', 1e3)}" for name in order),
        tuple(conditions),
        tuple(
            f"{name}: median {interval(results[s].of('delay_p50')).text(0, 'ms', 1e3)}, 90th percentile "
            f"{interval(results[s].of('delay_p90')).text(0, 'ms', 1e3)}"
            for name, s in HOMOGENEOUS.items()
        ),
        brief=f"{'; '.join(', '.join(f'{1e3 * found[name].mean():.0f}' for name in tier) for tier in TIERS)} ms",
    )


def _tier(names: Sequence[str]) -> str:
    return "/".join(name.partition(":")[2] for name in names)


def heterogeneous(results: Results) -> Finding:
    """D03: half CUBIC, half another."""
    half = {name: results[setting].of("mean", "x") for name, setting in HALVES.items()}
    cubic = {name: results[setting].of("mean", "cubic") for name, setting in HALVES.items()}
    gaps = {name: paired(half[name], cubic[name]) for name in HALVES}
    mainline = [name for name in HALVES if name.startswith("BT")]
    best = {name: paired(half["BT:nice"], half[name]) for name in HALVES if name != "BT:nice"}
    best["UT:cubic beside it"] = paired(half["BT:nice"], cubic["UT:utp"])
    same = gaps["UT:utp"]
    full = results[CHECK_FULL]
    check = paired(full.of("mean", "x"), full.of("mean", "cubic"))
    conditions = [
        _ordered(f"{name} over its CUBIC half", gaps[name], False, "CUBIC slower than its other half")
        for name in mainline
    ]
    conditions += [
        _ordered(
            f"CUBIC half beside {name} over UT:utp",
            paired(cubic[name], half["UT:utp"]),
            True,
            "CUBIC slower than uTorrent",
        )
        for name in mainline
    ]
    conditions += [_ordered(f"BT:nice over {name}", c, False, "Nice fastest") for name, c in best.items()]
    conditions.append(
        Condition(f"uTorrent, uTP half over CUBIC half: {same.equivalence}", same.equal, "uTorrent's halves alike")
    )
    return Finding(
        "mainline's CUBIC slowest, Nice fastest; uTorrent's halves indistinguishable",
        "half over its CUBIC half: " + "; ".join(f"{name} {100 * c.relative.mean:+.1f}%" for name, c in gaps.items()),
        tuple(conditions),
        (
            *(
                f"{name}: {interval(half[name]).text(0, 's')}, its CUBIC half {interval(cubic[name]).text(0, 's')}"
                for name in HALVES
            ),
            f"half Nice half CUBIC with the paper's {FULL_2012} MB: {interval(full.of('mean', 'x')).text(0, 's')} and "
            f"{interval(full.of('mean', 'cubic')).text(0, 's')}: {check.text}",
        ),
        brief=f"{', '.join(f'{100 * gaps[name].relative.mean:+.0f}' for name in mainline)}; "
        f"{100 * same.relative.mean:+.0f}%",
    )


def sets() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return which swarms Table III correlates, as names and classes, by scenario and clients.

    The paper does not say how many; its figures are multiples of the steps of 5 and 7 pairs (homogeneous) and of 8 and
    10 (heterogeneous): one pair per homogeneous swarm, one per half of a heterogeneous one.
    """
    alone = [(name, ALL) for name in HOMOGENEOUS]
    halves = [(name, part) for name in HALVES for part in ("x", "cubic")]
    found = {}
    for scenario, pairs in (("homogeneous", alone), ("heterogeneous", halves)):
        found[scenario, "multi"] = pairs
        found[scenario, "mono"] = [pair for pair in pairs if pair[0].startswith("BT")]
    return found


def correlation(times: Floats, queues: Floats) -> Interval:
    """Return the correlation over swarms of the means over runs (swarm, run), with an interval by drawing runs."""
    number = times.shape[1]
    value = spearman(times.mean(axis=1), queues.mean(axis=1))
    draw = np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        chosen = draw.integers(0, number, number)
        drawn.append(spearman(times[:, chosen].mean(axis=1), queues[:, chosen].mean(axis=1)))
    tail = 50.0 * (1.0 - CONFIDENCE)
    low, high = np.percentile(drawn, (tail, 100.0 - tail))
    return Interval(value, float(low), float(high), number)


def correlations(results: Results) -> Finding:
    """D04: Spearman correlations over swarms."""
    published = reference.spearman()
    conditions, details, near = [], [], 0
    for (scenario, clients), pairs in sets().items():
        named = HOMOGENEOUS if scenario == "homogeneous" else HALVES
        settings = [(named[name], part) for name, part in pairs]
        for t, b in product(QUANTILES, QUANTILES):
            times = np.array([results[s].of(f"p{t}", part) for s, part in settings])
            queues = np.array([results[s].of(f"delay_p{b}", part) for s, part in settings])
            found, theirs = correlation(times, queues), published[scenario, clients, t, b]
            held = found.mean * theirs > 0.0 and abs(found.mean - theirs) <= WITHIN
            near += held
            name = f"{scenario}, {'both clients' if clients == 'multi' else 'mainline only'}, T{t} and B{b}"
            conditions.append(
                Condition(
                    f"{name}: {found.mean:+.2f} (95% CI {found.low:+.2f} to {found.high:+.2f}), paper {theirs:+.2f}",
                    held,
                    f"{scenario}, {'both clients' if clients == 'multi' else 'mainline'}",
                )
            )
    details.append(
        f"intervals: {DRAWS} draws of the runs with replacement, the swarms being the same; 5, 7, 8 and 10 pairs"
    )
    details += [otherwise(results, way) for way in OTHERWISE]
    return Finding(
        "homogeneous: 0.10 to 0.54, with mainline only -0.30 to 0.10; heterogeneous: 0.56 to 0.77",
        f"{near} of {len(conditions)} with the same sign and within {WITHIN:g}",
        tuple(conditions),
        tuple(details),
        brief=f"{near} of {len(conditions)}",
    )


def otherwise(results: Results, way: str) -> str:
    """Return what comes of Table III if it is computed in another of the ways in ``OTHERWISE``."""
    published, found = reference.spearman(), {}
    for (scenario, clients), pairs in sets().items():
        named = HOMOGENEOUS if scenario == "homogeneous" else HALVES
        sides = [(results[named[name]], part) for name, part in pairs]
        for t, b in product(QUANTILES, QUANTILES):
            one, other = zip(*(_statistics(swarm, part, t, b, way) for swarm, part in sides), strict=True)
            found[scenario, clients, t, b] = spearman(np.ravel(one), np.ravel(other))
    near = sum(abs(found[key] - published[key]) <= WITHIN and found[key] * published[key] > 0.0 for key in found)
    ranges = {key[:2]: [value for at, value in found.items() if at[:2] == key[:2]] for key in found}
    shown = "; ".join(
        f"{scenario}, {'both clients' if clients == 'multi' else 'mainline only'} {min(v):+.2f} to {max(v):+.2f}"
        for (scenario, clients), v in ranges.items()
    )
    return f"computed otherwise, {way}: {near} of {len(found)}: {shown}"


def _statistics(swarm: Measured, part: str, t: int, b: int, way: str) -> tuple[Floats, Floats]:
    """Return a quantile of completion times and one of queues: of each run, of all, or means over the runs."""
    if way == OTHERWISE[1]:
        group = swarm.groups[part]
        of_times, of_queues = group.completion[PERCENTS.index(t)], group.delay[QUEUE_PERCENTS.index(float(b))]
        return np.array([of_times]), np.array([of_queues])
    times, queues = swarm.of(f"p{t}", part), swarm.of(f"{'queue' if way == OTHERWISE[0] else 'delay'}_p{b}", part)
    if way == OTHERWISE[2]:
        return times, queues
    return np.array([times.mean()]), np.array([queues.mean()])


def sending_rates(results: Results) -> Finding:
    """D05: throughput and control delay against the sending rate."""
    speed = {
        (f, b): results[capped(f, b)].file_size / results[capped(f, b)].of("mean")
        for f in FACTORS
        for b in (SMALL, LARGE)
    }
    delay = {(f, b): results[capped(f, b)].of("request_delay") for f in FACTORS for b in (SMALL, LARGE)}
    news = {f: results[capped(f, LARGE)].of("haves") for f in FACTORS}
    least = min(FACTORS, key=lambda f: float(delay[f, LARGE].mean()))
    top, most = FACTORS[-1], f"{FACTORS[-1]:g} C"
    flat = {b: paired(speed[top, b], speed[1.0, b]) for b in (SMALL, LARGE)}
    below = [f for f in FACTORS if f < least]
    conditions = [
        Condition(f"throughput, {most} over C, buffer {b}: {c.equivalence}", c.equal, "throughput saturates")
        for b, c in flat.items()
    ]
    conditions += [
        _ordered(
            f"request delay, {most} over {least:g} C, buffer {b}",
            paired(delay[top, b], delay[least, b]),
            True,
            "delay grows above C",
        )
        for b in (SMALL, LARGE)
    ]
    conditions.append(
        _ordered(
            f"request delay at {most}, buffer {LARGE} over {SMALL}",
            paired(delay[top, LARGE], delay[top, SMALL]),
            True,
            "more with the buffer",
        )
    )
    conditions += [
        _ordered(f"throughput, {f:g} C over C", paired(speed[f, LARGE], speed[1.0, LARGE]), False, "data below C")
        for f in FACTORS
        if f < 1.0
    ]
    conditions += [
        _ordered(
            f"request delay, {f:g} C over {least:g} C",
            paired(delay[f, LARGE], delay[least, LARGE]),
            True,
            "control below C",
        )
        for f in below
    ]
    details = [
        f"{f:g} C, buffer {b}: {interval(speed[f, b]).text(0, 'kB/s', 1e-3)}, request delay "
        f"{interval(delay[f, b]).text(0, 'ms', 1e3)}"
        for b in (SMALL, LARGE)
        for f in FACTORS
    ]
    details += [f"{f:g} C, HAVEs per leecher and second: {interval(news[f]).text(2)}" for f in FACTORS]
    return Finding(
        "a sketch: throughput rises to C and stays, delay least at C",
        f"throughput {interval(speed[FACTORS[0], LARGE]).text(0, 'kB/s', 1e-3)} at {FACTORS[0]:g} C, "
        f"{interval(speed[1.0, LARGE]).text(0, 'kB/s', 1e-3)} at C, {interval(speed[top, LARGE]).text(0, 'kB/s', 1e-3)}"
        f" at {most}; request delay {interval(delay[FACTORS[0], LARGE]).text(0, 'ms', 1e3)}, least "
        f"{interval(delay[least, LARGE]).text(0, 'ms', 1e3)} at {least:g} C, "
        f"{interval(delay[top, LARGE]).text(0, 'ms', 1e3)} at {most} "
        f"({interval(delay[top, SMALL]).text(0, 'ms', 1e3)} with a buffer of {SMALL})",
        tuple(conditions),
        tuple(details),
        brief=f"{speed[1.0, LARGE].mean() / 1e3:.0f}, {speed[top, LARGE].mean() / 1e3:.0f} kB/s; "
        f"{1e3 * delay[least, LARGE].mean():.0f}, {1e3 * delay[top, LARGE].mean():.0f} ms",
    )
