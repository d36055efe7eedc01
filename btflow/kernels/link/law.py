"""Calls the window law of a flow; see `laws/__init__.py` for what a law is."""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import bbr, cubic, ledbat, ledbatpp, lp, newreno, nice, utp, vegas
from btflow.kernels.link.state import BBR, CUBIC, LEDBAT, LEDBATPP, LP, NEWRENO, NICE, UTP, VEGAS


@kernel
def start(net, i, f, t):
    """The flow starts."""
    if f.law == CUBIC:
        cubic.start(net, i, f, t)
    elif f.law == VEGAS:
        vegas.start(net, i, f, t)
    elif f.law == LP:
        lp.start(net, i, f, t)
    elif f.law == NICE:
        nice.start(net, i, f, t)
    elif f.law == LEDBAT:
        ledbat.start(net, i, f, t)
    elif f.law == UTP:
        utp.start(net, i, f, t)
    elif f.law == LEDBATPP:
        ledbatpp.start(net, i, f, t)
    elif f.law == BBR:
        bbr.start(net, i, f, t)


@kernel
def sample(net, i, f, t, acked):
    """`acked` segments are newly known to have arrived."""
    if f.law == CUBIC:
        cubic.sample(net, i, f, t, acked)
    elif f.law == VEGAS:
        vegas.sample(net, i, f, t, acked)
    elif f.law == LP:
        lp.sample(net, i, f, t, acked)
    elif f.law == NICE:
        nice.sample(net, i, f, t, acked)
    elif f.law == LEDBAT:
        ledbat.sample(net, i, f, t, acked)
    elif f.law == UTP:
        utp.sample(net, i, f, t, acked)
    elif f.law == LEDBATPP:
        ledbatpp.sample(net, i, f, t, acked)
    elif f.law == BBR:
        bbr.sample(net, i, f, t, acked)


@kernel
def grow(net, i, f, t, acked):
    """`acked` segments are newly acknowledged in order, and the window may grow; other laws do all in `sample`."""
    if f.law == NEWRENO:
        newreno.grow(net, i, f, t, acked)
    elif f.law == CUBIC:
        cubic.grow(net, i, f, t, acked)
    elif f.law == VEGAS:
        vegas.grow(net, i, f, t, acked)
    elif f.law == LP:
        lp.grow(net, i, f, t, acked)
    elif f.law == NICE:
        nice.grow(net, i, f, t, acked)


@kernel
def reduce(net, i, f, t):
    """The slow-start threshold after a loss found by duplicate ACKs."""
    if f.law == NEWRENO:
        return newreno.reduce(net, i, f, t)
    if f.law == CUBIC:
        return cubic.reduce(net, i, f, t)
    if f.law == VEGAS:
        return vegas.reduce(net, i, f, t)
    if f.law == LP:
        return lp.reduce(net, i, f, t)
    if f.law == NICE:
        return nice.reduce(net, i, f, t)
    if f.law == LEDBAT:
        return ledbat.reduce(net, i, f, t)
    if f.law == UTP:
        return utp.reduce(net, i, f, t)
    if f.law == LEDBATPP:
        return ledbatpp.reduce(net, i, f, t)
    return bbr.reduce(net, i, f, t)


@kernel
def timeout(net, i, f, t):
    """The slow-start threshold after a timeout."""
    if f.law == NEWRENO:
        return newreno.timeout(net, i, f, t)
    if f.law == CUBIC:
        return cubic.timeout(net, i, f, t)
    if f.law == VEGAS:
        return vegas.timeout(net, i, f, t)
    if f.law == LP:
        return lp.timeout(net, i, f, t)
    if f.law == NICE:
        return nice.timeout(net, i, f, t)
    if f.law == LEDBAT:
        return ledbat.timeout(net, i, f, t)
    if f.law == UTP:
        return utp.timeout(net, i, f, t)
    if f.law == LEDBATPP:
        return ledbatpp.timeout(net, i, f, t)
    return bbr.timeout(net, i, f, t)
