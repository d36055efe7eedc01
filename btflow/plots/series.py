"""Series of a link experiment as they are drawn: thinned for a screen, rates by round trips, marks of what happened."""

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.kernels.link import sampling

Floats = NDArray[np.float64]

MOST_POINTS = 2000
"""Points of one line over time."""

MOST_RATES = 500
"""Most times over which the rates of a flow are averaged."""

OF_CALLS = 1.0
"""Time over which the rate of a call is averaged [s]: some 50 packets."""

MOST_MARKS = 300
"""Marks of one kind; of more, those that are close to each other are one."""


def envelope(time: Floats, values: Floats, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Thin a series to at most `most` of its points: the least and the greatest of equal parts, in their order.

    No peak and no trough is lost; a part without a value keeps one NaN, so that a line breaks there.
    """
    keep = places(values, most)
    return time[keep], values[keep]


def places(values: Floats, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Return which points of a series `envelope` keeps."""
    if len(values) <= most:
        return np.arange(len(values))
    parts = most // 2
    size = -(-len(values) // parts)
    whole = np.full(parts * size, np.nan)
    whole[: len(values)] = values
    rows = whole.reshape(parts, size)
    starts = size * np.arange(parts)
    empty = np.isnan(rows)
    least = starts + np.where(empty, np.inf, rows).argmin(axis=1)
    greatest = starts + np.where(empty, -np.inf, rows).argmax(axis=1)
    keep = np.unique(np.concatenate([least, greatest]))
    return keep[keep < len(values)]


def windows(result: xr.Dataset) -> Floats:
    """Return the window of each flow as it is drawn [segments] (time, flow).

    While losses are repaired that is the threshold the window falls to, as in a textbook's sawtooth. The sender's own
    variable is something else there: with proportional rate reduction (RFC 6937) it is set anew with every ACK to what
    is in flight and one or two segments more, and between the loss and the next ACK to the threshold. Drawn sample by
    sample that is a hairline or a slope which no law has meant. The `window` of a result has it as it is.
    """
    window = np.asarray(result["window"].values, np.float64)
    if "phase" not in result:
        return window
    repairs = (result["phase"].values == sampling.RECOVERY) & ~np.isnan(result["ssthresh"].values)
    return np.where(repairs, result["ssthresh"].values, window)


def rates(result: xr.Dataset, column: int, most: int = MOST_RATES) -> tuple[Floats, Floats]:
    """Return the middles of times [s] and the mean rate of a flow in each of them [B/s].

    A time is a round trip long as the sender measures it just then: a window leaves in bursts, and in shorter ones the
    rate is theirs, while in longer ones the doubling of slow start would not be seen. It is at least a sample long, and
    there are at most `most` of them. Of a call, which measures no round trips, it is OF_CALLS.
    """
    time, rate = result["time"].values, result["rate"].values[:, column]
    step, span = float(time[1] - time[0]), float(time[-1] - time[0])
    least = max(step, span / most)
    length = np.maximum(np.nan_to_num(result["srtt"].values[:, column]), least)
    if result["kind"].values[column] == "voip":
        length = np.maximum(length, OF_CALLS)
    number = np.concatenate([[0.0], np.cumsum(step / length[1:])])  # of times that are over
    edges = np.interp(np.arange(int(number[-1] + 1e-9) + 1), number, time)
    came = np.interp(edges, time, np.cumsum(np.nan_to_num(rate)) * step)
    return 0.5 * (edges[1:] + edges[:-1]), np.diff(came) / np.diff(edges)


class Marks(NamedTuple):
    """What happened when."""

    time: Floats
    """[s]"""
    value: Floats
    """Of the series that is marked."""
    number: NDArray[np.int64]
    """How many times."""


def marks(time: Floats, counted: NDArray[np.int64], values: Floats) -> Marks:
    """Return where a number that is counted from the start on grows, beside the greater value of the samples around it.

    Args:
        time: Of the samples [s] (samples,).
        counted: What has happened by then (samples,).
        values: Of the series that is marked (samples,).
    """
    more = np.diff(counted, prepend=counted[:1])
    at = np.flatnonzero(more > 0)
    height = np.fmax(values[at], values[np.maximum(at - 1, 0)])
    if len(at) <= MOST_MARKS:
        return Marks(time[at], height, more[at])
    part = np.floor((time[at] - time[0]) / (time[-1] - time[0]) * (MOST_MARKS - 1e-6))
    first = np.flatnonzero(np.diff(part, prepend=-1.0) > 0.0)
    return Marks(time[at[first]], np.maximum.reduceat(height, first), np.add.reduceat(more[at], first))


def slow_start(result: xr.Dataset, column: int, values: Floats) -> Floats:
    """Return a flow's window where it is in slow start, NaN elsewhere."""
    phase = result["phase"].values[:, column]
    return np.where(phase == sampling.SLOW_START, values, np.nan)


def exceedance(packets: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return numbers of packets and the share of the time with more than that many, as far as that is above 0."""
    total = float(np.nansum(share))
    if total <= 0.0:
        return np.zeros(0), np.zeros(0)
    above = np.clip(np.cumsum(np.nan_to_num(share)[::-1])[::-1] / total, 0.0, 1.0)
    above = np.append(above[1:], 0.0)
    used = above > 1e-12
    last = int(used.sum())
    # the last step ends where the queue is longest
    x = np.asarray(packets[: last + 1] if last else packets[:1], np.float64)
    return x, np.append(above[:last], above[last - 1] if last else 0.0)
