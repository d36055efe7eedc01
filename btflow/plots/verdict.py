"""What came out of a run, in one sentence that can be read aloud."""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from btflow.errors import InputError
from btflow.plots.style import counted_times, leecher_classes
from btflow.plots.words import group_of, spelled
from btflow.units.formatting import counted, ratio_in_words

MOST_NAMED = 3
"""Flows that are named; of more the first, and the others together."""

_SATISFIED = (
    (4.34, "very good"),
    (4.03, "good"),
    (3.60, "some are dissatisfied"),
    (3.10, "many are dissatisfied"),
    (2.58, "nearly all are dissatisfied"),
)
"""Least mean opinion score of each category of users' satisfaction (ITU-T G.107, annex B, table B.1)."""


_SMALL = ("uTP", "ns-")  # names that begin with a small letter, in a sentence too


def verdict(result: xr.Dataset) -> str:
    """Return what came out of a swarm or a link experiment in one sentence.

    Of a link: who takes which share of the bottleneck's capacity, how long the queue is, and how the first call sounds,
    all from the warm-up on. Of a swarm: when half of the peers are complete, and by how much the slowest class is later
    than the quickest; medians of all replicas.

    Raises:
        InputError: `result` is neither.
    """
    if isinstance(result, xr.Dataset) and "peer" in result.dims:
        return _of_swarm(result)
    if isinstance(result, xr.Dataset) and "queue_mean_packets" in result:
        return _of_link(result)
    raise InputError("result", result, "is no result", "what btflow.simulate or btflow.simulate_link returns")


def satisfaction(mos: float) -> str:
    """Return in words what a mean opinion score means."""
    return next((said for least, said in _SATISFIED if mos >= least), "unusable")


def _of_link(result: xr.Dataset) -> str:
    place = list(result["queue"].values).index(result.attrs["bottleneck"])
    packets, delay = (float(result[f"queue_mean_{what}"].values[place]) for what in ("packets", "delay"))
    waits = f"the queue holds {counted(round(packets), 'packet')}, {_seconds(delay)}"
    queue = waits if packets >= 0.5 else "the queue is empty"
    mos = result["voip_mos"].values
    call = f"the call's MOS is {mos[0]:.1f} ({satisfaction(mos[0])})" if len(mos) and np.isfinite(mos[0]) else ""
    said = "; ".join(part for part in (_shares(result, place), queue, call) if part)
    return f"{said}." if said.startswith(_SMALL) else f"{said[:1].upper()}{said[1:]}."


def _shares(result: xr.Dataset, place: int) -> str:
    """Return who takes which share of the bottleneck, the largest first."""
    found = _taken(result, float(result["capacity"].values[place]))
    ranked = sorted(found.items(), key=lambda item: -sum(item[1]))
    if not ranked:
        return ""
    named = ranked if len(ranked) <= MOST_NAMED else ranked[:1]
    called = [name if len(each) == 1 else f"{len(each)} {name} flows" for name, each in named]
    parts = [f"{name} {sum(each):.0%}" for name, (_, each) in zip(called, named, strict=True)]
    if len(named) < len(ranked):
        parts.append(f"the others together {sum(sum(each) for _, each in ranked[1:]):.0%}")
    first, _, share = parts[0].rpartition(" ")
    verb = "takes" if len(ranked[0][1]) == 1 else "take"
    *others, last = [f"{first} {verb} {share} of the link", *parts[1:]]
    return " and ".join([", ".join(others), last] if others else [last])


def _taken(result: xr.Dataset, capacity: float) -> dict[str, list[float]]:
    """Return the shares of the flows of each group, which is called after its congestion control if that tells it."""
    columns = (result[name].values for name in ("flow", "cc", "kind", "goodput"))
    flows = [(group_of(str(f)), str(cc), float(g) / capacity) for f, cc, kind, g in zip(*columns, strict=True)
             if kind not in ("voip", "messages")]  # fmt: skip
    groups = {cc: {group for group, other, _ in flows if other == cc} for _, cc, _ in flows}
    found: dict[str, list[float]] = {}
    for group, cc, share in flows:
        name = spelled(cc) if len(groups[cc]) == 1 else f"{group} ({spelled(cc)})"
        found.setdefault(name, []).append(share)
    return found


def _of_swarm(result: xr.Dataset) -> str:
    times = counted_times(result)
    known = times[np.isfinite(times)]
    if not known.size:
        return "No peer completes."
    peers, done = times.shape[1], known.size / times.shape[0]
    lost = "" if done == peers else f" of the {done / peers:.0%} that complete"
    first = f"Half of {counted(peers, 'peer')}{lost} complete after {_seconds(float(np.median(known)))}"
    return "; ".join([first, *_classes(result)]) + "."


def _classes(result: xr.Dataset) -> Iterable[str]:
    """Yield by how much the slowest class is later than the quickest, if there are several."""
    times = {name: counted_times(result, name) for name in leecher_classes(result)}
    middle = {name: float(np.nanmedian(one)) for name, one in times.items() if np.isfinite(one).any()}
    if len(middle) > 1:
        quick, slow = min(middle, key=middle.__getitem__), max(middle, key=middle.__getitem__)
        ratio, to = middle[slow] / middle[quick], f"{spelled(quick)} peers"
        yield f"{spelled(slow)} peers {ratio_in_words(ratio, 'later', 'earlier', 'as late', to=to)}"


def _seconds(time: float) -> str:
    """Return a time as people say it: 0.048 ms, 516 ms, 1.2 s, 183 s, 12 min."""
    if time < 0.00995:
        return f"{1000 * time:.2g} ms"
    if time < 0.9995:
        return f"{1000 * time:.0f} ms"
    if time < 600.0:
        return f"{time:.1f} s" if time < 9.95 else f"{time:.0f} s"
    return f"{time / 60:.0f} min"
