"""Calls the window law of a flow; see `laws/__init__.py` for what a law is."""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import bbr, cubic, ledbat, ledbatpp, lp, newreno, nice, utp, vegas
from btflow.kernels.link.state import BBR, CUBIC, LEDBAT, LEDBATPP, LP, NEWRENO, NICE, UTP, VEGAS


@kernel
def start(s, i, f, t):
    """The flow starts."""
    if f.law == CUBIC:
        cubic.start(s, i, f, t)
    elif f.law == VEGAS:
        vegas.start(s, i, f, t)
    elif f.law == LP:
        lp.start(s, i, f, t)
    elif f.law == NICE:
        nice.start(s, i, f, t)
    elif f.law == LEDBAT:
        ledbat.start(s, i, f, t)
    elif f.law == UTP:
        utp.start(s, i, f, t)
    elif f.law == LEDBATPP:
        ledbatpp.start(s, i, f, t)
    elif f.law == BBR:
        bbr.start(s, i, f, t)


@kernel
def sample(s, i, f, t, acked):
    """`acked` segments are newly known to have arrived."""
    if f.law == CUBIC:
        cubic.sample(s, i, f, t, acked)
    elif f.law == VEGAS:
        vegas.sample(s, i, f, t, acked)
    elif f.law == LP:
        lp.sample(s, i, f, t, acked)
    elif f.law == NICE:
        nice.sample(s, i, f, t, acked)
    elif f.law == LEDBAT:
        ledbat.sample(s, i, f, t, acked)
    elif f.law == UTP:
        utp.sample(s, i, f, t, acked)
    elif f.law == LEDBATPP:
        ledbatpp.sample(s, i, f, t, acked)
    elif f.law == BBR:
        bbr.sample(s, i, f, t, acked)


@kernel
def grow(s, i, f, t, acked):
    """`acked` segments are newly acknowledged in order, and the window may grow; other laws do all in `sample`."""
    if f.law == NEWRENO:
        newreno.grow(s, i, f, t, acked)
    elif f.law == CUBIC:
        cubic.grow(s, i, f, t, acked)
    elif f.law == VEGAS:
        vegas.grow(s, i, f, t, acked)
    elif f.law == LP:
        lp.grow(s, i, f, t, acked)
    elif f.law == NICE:
        nice.grow(s, i, f, t, acked)


@kernel
def reduce(s, i, f, t):
    """The slow-start threshold after a loss found by duplicate ACKs."""
    if f.law == NEWRENO:
        return newreno.reduce(s, i, f, t)
    if f.law == CUBIC:
        return cubic.reduce(s, i, f, t)
    if f.law == VEGAS:
        return vegas.reduce(s, i, f, t)
    if f.law == LP:
        return lp.reduce(s, i, f, t)
    if f.law == NICE:
        return nice.reduce(s, i, f, t)
    if f.law == LEDBAT:
        return ledbat.reduce(s, i, f, t)
    if f.law == UTP:
        return utp.reduce(s, i, f, t)
    if f.law == LEDBATPP:
        return ledbatpp.reduce(s, i, f, t)
    return bbr.reduce(s, i, f, t)


@kernel
def timeout(s, i, f, t):
    """The slow-start threshold after a timeout."""
    if f.law == NEWRENO:
        return newreno.timeout(s, i, f, t)
    if f.law == CUBIC:
        return cubic.timeout(s, i, f, t)
    if f.law == VEGAS:
        return vegas.timeout(s, i, f, t)
    if f.law == LP:
        return lp.timeout(s, i, f, t)
    if f.law == NICE:
        return nice.timeout(s, i, f, t)
    if f.law == LEDBAT:
        return ledbat.timeout(s, i, f, t)
    if f.law == UTP:
        return utp.timeout(s, i, f, t)
    if f.law == LEDBATPP:
        return ledbatpp.timeout(s, i, f, t)
    return bbr.timeout(s, i, f, t)
