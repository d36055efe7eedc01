"""What the application gives the sender to send: everything, a file, a rate, bursts, messages, voice packets."""

import math

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link import path
from btflow.kernels.link.events import source, wake
from btflow.kernels.link.state import BULK, DATA, FOREVER, MESSAGES, ON_OFF, RATE, SEND_TIMER, SIZED
from btflow.kernels.random import uniform

PLENTY = 1 << 60


@kernel
def begin(net, i, f, t):
    """The application starts writing."""
    f.budget_at = t
    f.written = 0
    if f.app == BULK:
        f.written = PLENTY
    elif f.app == SIZED:
        f.written = int(math.ceil(f.total / f.train))
    elif f.app == ON_OFF:
        f.on_until = t + length(net, f, f.on)


@kernel
def length(net, f, mean):
    """Length of a period of an on-off source: constant or exponential."""
    return -mean * math.log(1.0 - uniform(net.rng)) if f.exponential else mean


@kernel
def due(t, since, rate):
    """How many have come by `t` of what comes at `rate`, the first at `since`.

    The time at which one is due is rounded. It counts as reached, or the flow would be woken for it again and again.
    """
    return int(math.floor((t - since) * rate + 1e-9 + 1e-15 * t * rate)) + 1


@kernel
def write(net, i, f, t):
    """Bring `written` up to date: how many trains the application has written by `t`; asks to be woken for the next."""
    if f.app == BULK or f.app == SIZED:
        return
    if t >= f.stop:
        return
    if f.app == MESSAGES:
        f.message = due(t, f.start, 1.0 / f.period)
        f.written = f.message * int(f.total)
        wake(net, source(net, i, SEND_TIMER), f.start + f.message * f.period)
    elif f.app == RATE:
        f.written = due(t, f.budget_at, f.app_rate / f.train)
        wake(net, source(net, i, SEND_TIMER), f.budget_at + f.written * f.train / f.app_rate)
    elif f.app == ON_OFF:
        write_in_bursts(net, i, f, t)


@kernel
def write_in_bursts(net, i, f, t):
    """While it is on, all that can be sent, or `app_rate`; then nothing until it is on again."""
    while t >= f.on_until:
        f.budget_at = f.on_until + length(net, f, f.off)
        f.on_until = f.budget_at + length(net, f, f.on)
        f.message = f.nxt
    if t < f.budget_at:
        f.written = f.nxt
        wake(net, source(net, i, SEND_TIMER), f.budget_at)
    elif f.app_rate > 0.0:
        f.written = f.message + due(t, f.budget_at, f.app_rate / f.train)
        wake(net, source(net, i, SEND_TIMER), f.budget_at + (f.written - f.message) * f.train / f.app_rate)
    else:
        f.written = f.nxt + (1 << 20)
        wake(net, source(net, i, SEND_TIMER), f.on_until)


@kernel
def speak(net, i, f, t):
    """A constant-rate flow (voice over UDP) sends a packet, whatever the network does, and the next a period later."""
    if t >= f.stop:
        return
    path.emit(net, i, f, DATA, t, f.message, t, 0.0, f.mss + f.header, 1)
    f.message += 1
    if t >= net.rules.warmup:
        f.sent += 1.0
    following = f.start + f.message / f.app_rate
    wake(net, source(net, i, SEND_TIMER), following if following < f.stop else FOREVER)
