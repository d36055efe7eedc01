"""Losses on a link without packets: when the sender finds out, and what it does; the rules of `flow/losses.py`.

A sender finds a loss by three segments that come behind the lost one, or by its timer if its window is too small for
that or nothing follows. What it sends again may be lost again.
"""

import math

from btflow.kernels.flow.losses import DUPLICATES, fall, found_by_time
from btflow.kernels.jit import kernel
from btflow.kernels.link.state import BBR, FOREVER, PER_LOSS, RACK
from btflow.kernels.rng import uniform


@kernel
def lose(s, i, t):
    """A segment of flow `i` is lost."""
    lane, f = s.lane[i], s.link.flow[i]
    lane.lost += 1
    if t >= s.link.rules.warmup:
        f.resent += 1.0
    if lane.answer == FOREVER:
        lane.lost_at = t
        lane.fires = t + f.rto + (0.5 * f.rtt if f.cwnd >= 2.0 else 0.0)  # what is ahead of it still puts it off
    lane.last_at = lane.silent = t
    lane.silent += f.rtt
    if lane.again == 0 or lane.timer == 0:  # a lost segment that was sent again waits for its timer, come what may
        find(f, lane)


@kernel
def find(f, lane):
    """When the sender finds the loss at `lost_at`, and by what."""
    moving = f.cwnd - lane.lost
    found = FOREVER
    if moving > 0.0 and lane.rest >= DUPLICATES:
        found = lane.lost_at + f.rtt * math.ceil(DUPLICATES / moving)
    if f.detection == RACK:
        found = lane.lost_at + found_by_time(f, moving, lane.rest)
        if f.tail_probe:  # which goes before the timer fires, and starts that anew
            lane.fires = found
    lane.timer = 1 if lane.fires < found else 0
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
    lost, timed, again = lane.lost, lane.timer, lane.again
    lane.answer = FOREVER
    lane.lost = lane.timer = lane.again = 0
    if f.law != BBR:
        f.flight = int(f.cwnd)
    f.nxt = f.una + f.flight
    if timed == 0 and f.recovery == PER_LOSS:
        if lost > 1:
            wait_for_next(f, lane, lost - 1, t)
    elif uniform(s.link.rng) > (1.0 - fullest(s, i)) ** lost:
        lane.lost = lane.again = 1
        lane.timer = 1 if timed == 1 or not f.lost_retransmit else 0
        lane.silent = lane.lost_at = lane.last_at = t
        lane.fires = t + (2.0 if timed == 1 else 1.0) * f.rto
        lane.answer = lane.fires if lane.timer == 1 else t + f.rtt
    counts = int(t >= s.link.rules.warmup)
    one_phase = again == 1 and timed == 0 and lost == 1  # nothing else was lost: the recovery lasts longer
    if one_phase or fall(s.link, i, f, timed, counts, t):
        lane.repaired = t + f.rtt


@kernel
def wait_for_next(f, lane, lost, t):
    """Without a phase of recovery each loss is found by itself; they are spread from the first to the last."""
    lane.lost = lost
    lane.fires = t + f.rto  # what was found by now restarts it
    lane.lost_at += (lane.last_at - lane.lost_at) / lost
    find(f, lane)
