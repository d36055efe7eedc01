"""Places in a result that a lesson points at: where a window falls for the first time, where the buffer is full...

A place is found in the result that is drawn, whatever its inputs are, so that it stays where it belongs.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.plots.series import windows

Floats = NDArray[np.float64]


class Spot(NamedTuple):
    """A place in a figure.

    Attributes:
        part: Axes of a link's figure: window, rate or queue; or the name of a swarm's figure.
        x: Along the axis, in its unit.
        y: Up the axis, in its unit.
    """

    part: str
    x: float
    y: float


def _window(result: xr.Dataset, flow: int) -> Floats:
    return np.asarray(np.nan_to_num(windows(result)[:, flow]), np.float64)  # as it is drawn


def _queue(result: xr.Dataset) -> Floats:
    place = list(result["queue"].values).index(result.attrs["bottleneck"])
    return np.asarray(result["queue_length"].values[:, place], np.float64)


def _at(result: xr.Dataset, part: str, values: Floats, index: int) -> Spot:
    return Spot(part, float(result["time"].values[index]), float(values[index]))


def slow_start(result: xr.Dataset) -> Spot | None:
    """Return half the way up to the first fall of the first flow's window."""
    top = first_fall(result)
    if top is None:
        return None
    window = _window(result, 0)
    return _at(result, "window", window, int(np.argmax(window >= top.y / 2)))


def first_fall(result: xr.Dataset) -> Spot | None:
    """Return the top of the first flow's window before it falls by a fifth for the first time."""
    window = _window(result, 0)
    highest = np.maximum.accumulate(window)
    fallen = np.flatnonzero(window < 0.8 * highest)
    return _at(result, "window", window, int(np.argmax(window[: fallen[0]]))) if len(fallen) else None


def second_flow(result: xr.Dataset) -> Spot | None:
    """Return the second flow's window at two thirds of the time."""
    if result.sizes["flow"] < 2:
        return None
    window = _window(result, 1)
    return _at(result, "window", window, 2 * len(window) // 3)


def queue_longest(result: xr.Dataset) -> Spot | None:
    """Return where the bottleneck's queue is longest for the first time."""
    queue = _queue(result)
    return _at(result, "queue", queue, int(np.argmax(queue)))


def queue_late(result: xr.Dataset) -> Spot | None:
    """Return the middle of the queue in the last third of the time."""
    queue = _queue(result)
    late = queue[2 * len(queue) // 3 :]
    time = result["time"].values
    return Spot("queue", float(time[5 * len(time) // 6]), float(np.median(late)))


def rate_late(result: xr.Dataset) -> Spot | None:
    """Return the last flow's mean rate in the last third of the time [B/s]."""
    rate = result["rate"].values[2 * result.sizes["time"] // 3 :, -1]
    return Spot("rate", float(result["time"].values[5 * result.sizes["time"] // 6]), float(rate.mean()))


def complete(share: float, result: xr.Dataset) -> Spot | None:
    """Return when a share of the leechers that complete have done so; of 0 the first one's completion."""
    times = result["completion_time"].isel(replica=0).values
    times = times[(result["role"].values == "leecher") & np.isfinite(times)]
    if not len(times):
        return None
    return Spot("completion", float(np.quantile(times, share)), 100.0 * (share or 1.0 / len(times)))


def pieces_half(result: xr.Dataset) -> Spot | None:
    """Return when a leecher has half of the pieces in the mean."""
    held = result["pieces_held"].values[0]
    index = int(np.argmax(held >= held[-1] / 2))
    return Spot("pieces", float(result["time"].values[index]), float(held[index]))


def pieces_wait(result: xr.Dataset) -> Spot | None:
    """Return the middle of the longest time in which leechers that have half of the pieces get a tenth in the mean."""
    held, time = result["pieces_held"].values[0], result["time"].values
    ends = np.searchsorted(held, held + 0.1 * held[-1], side="right") - 1
    lasts = np.where(held >= held[-1] / 2, time[ends] - time, 0.0)
    first = int(np.argmax(lasts))
    middle = (first + int(ends[first])) // 2
    return Spot("pieces", float(time[middle]), float(held[middle]))


SPOTS: Mapping[str, Callable[[xr.Dataset], Spot | None]] = {
    found.__name__.replace("_", "-"): found
    for found in (slow_start, first_fall, second_flow, queue_longest, queue_late, rate_late, pieces_half, pieces_wait)
} | {f"{which}-complete": partial(complete, share) for which, share in (("first", 0.0), ("half", 0.5), ("last", 1.0))}
"""What finds a place in a result, by its name in lessons; None where there is no such place."""
