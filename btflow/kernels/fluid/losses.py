"""Losses on a link without packets: when the sender finds out, and what it does; the rules of `flow/losses.py`.

A sender finds a loss by three segments that come behind the lost one, or by its timer if its window is too small for
that or nothing follows. What it sends again may be lost again.
"""

import math

from btflow.kernels.flow.losses import DUPLICATES, fall
from btflow.kernels.jit import kernel
from btflow.kernels.link.state import BBR, FOREVER, PER_LOSS
from btflow.kernels.rng import uniform


@kernel
def lose(s, i, full, t):
    """A segment of flow `i` is lost where the buffer is full with the chance `full`."""
    lane, f = s.lane[i], s.link.flow[i]
    lane.lost += 1
    if t >= s.link.rules.warmup:
        f.resent += 1.0
    if lane.answer == FOREVER:
        lane.lost_at = t
        lane.fires = t + f.rto + (0.5 * f.rtt if f.cwnd >= 2.0 else 0.0)  # what is ahead of it still puts it off
    moving = f.cwnd - lane.lost
    found = FOREVER
    if moving > 0.0 and lane.rest >= DUPLICATES:
        found = lane.lost_at + f.rtt * math.ceil(DUPLICATES / moving)
    lane.timer = 1 if lane.fires < found else 0
    lane.silent = t + f.rtt
    lane.answer = min(found, lane.fires)


@kernel
def fullest(s, i):
    """Chance that a segment of flow `i` is dropped now."""
    chance = 0.0
    for j in range(2):
        k = s.passage[i, j].queue
        if k >= 0:
            chance = max(chance, s.hop[k].full)
    return chance


@kernel
def answer(s, i, f, lane, t):
    """The sender has found a loss, and sends again what was lost: some of it is dropped again."""
    lost, timed = lane.lost, lane.timer
    lane.answer = FOREVER
    lane.lost = lane.timer = 0
    if f.law != BBR:
        f.flight = int(f.cwnd)
    f.nxt = f.una + f.flight
    again = timed == 1 or f.recovery != PER_LOSS  # else it takes the place of a segment that has left
    if again and uniform(s.link.rng) > (1.0 - fullest(s, i)) ** lost:
        lane.lost = 1
        lane.timer = 1 if timed == 1 or not f.lost_retransmit else 0
        lane.silent = lane.lost_at = t
        lane.fires = t + (2.0 if timed == 1 else 1.0) * f.rto
        lane.answer = lane.fires if lane.timer == 1 else t + f.rtt
    if fall(s.link, i, f, timed, int(t >= s.link.rules.warmup), t):
        lane.repaired = t + f.rtt
