"""The window laws, a module each.

A law is up to five small functions, all called by `law.py`, nothing else:

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
