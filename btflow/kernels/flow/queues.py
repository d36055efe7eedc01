"""Queues of the access links without packets: their means, and what their buffers do not take.

With windows W and round trips base + q a lane offers W MSS / (base + q); the queue takes what the link does not
(Misra, Gong and Towsley, SIGCOMM 2000). Not its length is followed but its mean: what is on the way elsewhere scatters
like random arrivals, by its root, and within the buffer by no more than the buffer's root, so the queue is normal with
`spread`, cut off where it is empty and where it is full. Where it is empty the link idles, where it is full packets are
dropped:

    dq/dt = (in / C) (1 - P(full)) - (1 - P(empty))
"""

import math

from btflow.kernels.compiler.jit import kernel

FULL_SIZE = 1500.0  # a full packet [B]
FAR = 8.0  # standard deviations: 1e-15 is beyond
LEAST_SHARE = 0.05  # of an uplink that data keep, however many ACKs there are: those are dropped before


@kernel
def step(link, came, slope, away, dt, room, bursts=0.0):
    """The mean of a queue after `dt` [s]: `came` bytes a second come, less by `slope` for each second of queue.

    `away` is the variance of what is on the way elsewhere, `bursts` that of what comes in bursts besides [B2].
    """
    held = FULL_SIZE * room / link.per_byte
    spread = max(math.sqrt(away * held / (away + held) + bursts), 0.5 * FULL_SIZE) * link.per_byte
    low, high = link.queue / spread, (link.queue - room) / spread
    at_low, at_high, full, empty = 0.0, 0.0, 0.0, 0.0
    if low < FAR:
        at_low = normal_at(low)
        empty = 1.0 - normal_below(low, at_low)
    if high > -FAR:
        at_high = normal_at(high)
        full = normal_below(high, at_high)
    load = came * link.per_byte
    stiff = slope * link.per_byte * (1.0 - full) + (load * at_high + at_low) / spread
    change = (load * (1.0 - full) - 1.0 + empty) * dt + link.control * link.per_byte
    link.queue = max(link.queue + change / (1.0 + dt * stiff), -3.0 * spread)
    link.control = 0.0
    link.room, link.spread, link.full, link.empty = room, spread, full, empty
    link.seen = clipped_mean(link.queue, spread, room)
    link.drops += came * full * dt / FULL_SIZE


@kernel
def normal_at(z):
    """Density of a standard normal variable."""
    return 0.3989422804014327 * math.exp(-0.5 * z * z)


@kernel
def normal_below(z, at):
    """Chance that it is below `z`, where its density is `at`: Abramowitz and Stegun, 26.2.17, within 1e-7."""
    r = 1.0 / (1.0 + 0.2316419 * abs(z))
    tail = ((((1.330274429 * r - 1.821255978) * r + 1.781477937) * r - 0.356563782) * r + 0.319381530) * r * at
    return tail if z < 0.0 else 1.0 - tail


@kernel
def clipped_mean(mean, spread, most):
    """Mean of a normal variable that is cut off at 0 and at `most`."""
    low, high = mean / spread, (mean - most) / spread
    within = low
    if low < FAR:
        at_low = normal_at(low)
        within = at_low + low * normal_below(low, at_low)
    if high > -FAR:
        at_high = normal_at(high)
        within -= at_high + high * normal_below(high, at_high)
    return min(max(spread * within, 0.0), most)


@kernel
def buffer(link):
    """Time that a full buffer of an uplink takes to empty, with the packets that come now [s]."""
    return min(link.room_bytes, (link.room_packets + 1.0) * packet_size(link)) * link.per_byte


@kernel
def packet_size(link):
    """Mean size of the packets that come to an uplink now, ACKs among them [B]."""
    acks = min(link.acks * link.per_byte, 0.9)
    return 1.0 / ((1.0 - acks) / FULL_SIZE + acks / link.bare)


@kernel
def passed(link, total, emptied):
    """What an uplink lets through [B/s] of `total` that lanes bring; `emptied` brings along what they have waiting.

    While something waits it is busy, whatever comes, but for the chance that it is empty, as the queue will be a step
    later: what comes and does not stay passes.
    """
    acks = link.acks * link.per_byte
    most = max(1.0 - acks, LEAST_SHARE)
    load = total * link.per_byte
    if link.queue <= 0.0:
        return min(load, most) / link.per_byte
    low = link.queue / link.spread
    if low < FAR:
        at_low = normal_at(low)
        stays = (load - normal_below(low, at_low) + acks) / (1.0 + link.step * at_low / link.spread)
        most = min(max(load - stays, 0.0), most)
    return min(most / link.per_byte, emptied)


@kernel
def settle_downlink(link, t):
    """Bring the queue of a downlink up to `t`: what comes has been the same since the last time."""
    if t <= link.down_at:
        return
    excess = link.inflow * link.per_byte_down - 1.0
    if excess > 0.0 or link.down_queue > 0.0:
        lengthen(link, (t - link.down_at) * excess)
    link.down_at = t


@kernel
def lengthen(link, more):
    """Add `more` [s] to the queue of a downlink; its buffer takes no more than it holds."""
    link.down_queue = max(0.0, link.down_queue + more)
    if link.down_queue > link.down_room:
        link.down_drops += (link.down_queue - link.down_room) / (FULL_SIZE * link.per_byte_down)
        link.down_queue = link.down_room


@kernel
def let_through(link, change, step, t):
    """What a downlink brings for each byte that comes, when that changes by `change` [B/s] at `t`.

    More comes than it takes: a part. What waits comes in the next `step`, at the link's rate at most.
    """
    if link.per_byte_down == 0.0:
        return 1.0
    settle_downlink(link, t)
    link.inflow += change
    load = link.inflow * link.per_byte_down
    if t < link.down_at:  # it is ahead of what sends to it
        busy = link.down_queue > 0.0
        lengthen(link, (link.down_at - t) * (change * link.per_byte_down if busy else load - 1.0))
    if load > 1.0:
        return 1.0 / load
    if link.down_queue > 0.0 and load > 0.0:
        return min(1.0 / load, 1.0 + link.down_queue / (step * load))
    return 1.0
