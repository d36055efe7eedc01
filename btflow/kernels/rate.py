"""The client's rate estimate: a mean over at most `window` seconds, updated in place (4.0.2 CurrentRateMeasure)."""

from btflow.kernels.ends import client_of
from btflow.kernels.jit import kernel


@kernel
def measured_from(r, t):
    """Time from which a connection that opens at `t` is measured: some seconds before, so that it starts gently."""
    return t - r.rate_fudge


@kernel
def updated(rate, since, last, t, n, window):
    """(rate, since, last) after `n` bytes at time `t` [s]; rate in B/s. With n = 0 this is also how it is read."""
    rate = (rate * (last - since) + n) / (t - since)
    return rate, max(since, t - window), t


@kernel
def download_rate(r, c, t, n):
    """Count `n` bytes received on end `c` at `t` and return the estimate [B/s]."""
    c.dn_rate, c.dn_since, c.dn_last = updated(c.dn_rate, c.dn_since, c.dn_last, t, n, r.rate_window)
    return c.dn_rate


@kernel
def upload_rate(s, h, t, n):
    """Count `n` bytes handed to the socket of end `h` at `t` and return the estimate [B/s]."""
    c = s.conn[h]
    c.up_rate, c.up_since, c.up_last = updated(
        c.up_rate, c.up_since, c.up_last, t, n, client_of(s, h >> s.rules.slot_bits).rate_window
    )
    return c.up_rate
