"""Access links at flow fidelity by brute force: thousands of small steps and the library's error function.

Written from the equations of docs/fidelity.md, not from the kernels.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

PACKET = 1500.0
"""A full packet [B]."""


def scatter(away: float, rate: float, room: float) -> float:
    """Return the standard deviation of a queue [s]: what is `away` elsewhere varies, and the buffer bounds it.

    Args:
        away: Variance of the bytes on the way elsewhere [B2].
        rate: Of the link [B/s].
        room: Buffer [s].
    """
    held = PACKET * room * rate  # packets that come at random fill a buffer of n packets with a variance of n
    variance = 1.0 / (1.0 / away + 1.0 / held) if away > 0.0 else 0.0
    return max(math.sqrt(variance), PACKET / 2) / rate


def mean_of_clipped(mean: float, spread: float, room: float, parts: int = 4000) -> float:
    """Return the mean of a normal variable cut off at 0 and `room`: the areas of so many slices."""
    normal = NormalDist(mean, spread)
    inside = 0.0
    for k in range(parts):
        low, high = room * k / parts, room * (k + 1) / parts
        inside += 0.5 * (low + high) * (normal.cdf(high) - normal.cdf(low))
    return inside + room * (1.0 - normal.cdf(room))


def queue_after(
    mean: float, spread: float, room: float, dt: float, load: Callable[[float], float], steps: int = 1000
) -> tuple[float, float]:
    """Return the mean of a queue after `dt` [s], in so many Euler steps, and how fast its change changed at most [1/s].

    dq/dt = load(q) (1 - P(full)) - (1 - P(empty)); the mean is no less than three spreads below 0.
    """

    def change(q: float) -> float:
        normal = NormalDist(q, spread)
        return load(q) * normal.cdf(room) - (1.0 - normal.cdf(0.0))

    steepest, near = 0.0, 1e-4 * spread
    for _ in range(steps):
        f = change(mean)
        steepest = max(steepest, abs(change(mean + near) - f) / near)
        mean = max(mean + dt / steps * f, -3.0 * spread)
    return mean, steepest


def filled(wants: Sequence[float], cap: float) -> list[float]:
    """Return rates by progressive filling: all rise together, who has what it wants stops, until the cap is reached."""
    rates = [0.0] * len(wants)
    rising, left = [i for i, want in enumerate(wants) if want > 0.0], cap
    while rising and left > 1e-12 * cap:
        rise = min(left / len(rising), min(wants[i] - rates[i] for i in rising))
        for i in rising:
            rates[i] += rise
        left -= rise * len(rising)
        rising = [i for i in rising if wants[i] - rates[i] > 1e-12 * wants[i]]
    return rates


@dataclass(frozen=True)
class Lane:
    """A connection with a fixed window."""

    window: float
    """What it keeps on the way, on the wire [B]."""
    trip: float
    """Its round trip but for queues [s]."""
    downlink: float
    """Rate of its receiver's downlink [B/s]."""


def delivered(lanes: Sequence[Lane], uplink: float, last: float, dt: float = 0.001) -> list[list[float]]:
    """Return what each lane has brought at the end of each step until `last` [s], on the wire [B].

    A window of bytes circulates: through the uplink's queue, first come first served, through the downlink's, and as
    an ACK back after the rest of the round trip, when as many bytes follow.
    """
    steps = round(last / dt)
    line: deque[list[float]] = deque([k, lane.window] for k, lane in enumerate(lanes))
    below = [0.0] * len(lanes)
    back = [deque([0.0] * max(round(lane.trip / dt), 1)) for lane in lanes]
    came: list[list[float]] = [[0.0] for _ in lanes]
    for _ in range(steps):
        for k, due in enumerate(back):
            if (again := due.popleft()) > 0.0:
                line.append([k, again])
        left = uplink * dt
        while line and left > 0.0:
            part = min(left, line[0][1])
            below[int(line[0][0])] += part
            left -= part
            line[0][1] -= part
            if line[0][1] <= 0.0:
                line.popleft()
        for k, lane in enumerate(lanes):
            out = min(below[k], lane.downlink * dt)
            below[k] -= out
            back[k].append(out)
            came[k].append(came[k][-1] + out)
    return came
