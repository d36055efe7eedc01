"""The window laws, a module each, and the calls of a flow's own.

A law is up to five small functions, all called from here, nothing else:

    start(net, i, f, t)         the flow starts; the sender has set cwnd = initial_window, ssthresh = FOREVER
    sample(net, i, f, t, acked) an ACK brought `acked` > 0 segments newly known to have arrived (by SACK too), in any
                                phase; f.rtt, f.srtt, f.min_rtt, f.owd are up to date
    grow(net, i, f, t, acked)   `acked` segments newly acknowledged in order, the window was the limit and no fast
                                recovery is on (after a timeout: slow start); not for laws that do all in `sample`
    reduce(net, i, f, t)        a loss was found by duplicate ACKs: returns the new ssthresh; the sender lowers cwnd
                                to it as f.recovery says (PER_LOSS: the law lowers f.cwnd itself)
    timeout(net, i, f, t)       the retransmission timer fired: returns the new ssthresh; the sender sets cwnd = 1

`net` is the state by reference, `i` the flow's number, `f` its record `net.flow[i]`, `t` the time [s]. Windows are in
segments, may be fractions, and never fall below f.min_window. A law reads the constants of its flow (beta, gain,
target...) and keeps its own state in the fields of the record named for it in state.py.
"""

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
