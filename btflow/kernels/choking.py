"""CHOKE and UNCHOKE: the decision, and when the other side is told. Whom is in choker.py and ranked.py."""

from btflow.kernels.causes import set_cause
from btflow.kernels.flags import lower_flag, raise_flag
from btflow.kernels.jit import kernel
from btflow.kernels.limiter import forget, part_sent, sync
from btflow.kernels.messages import enqueue, send
from btflow.kernels.state import (
    BY_PIPELINE,
    CAUSES,
    CHOKE,
    IDLE,
    INTERESTED_IN_US,
    NIL,
    OPTIMISTIC,
    RINGED,
    TOLD,
    UNCHOKE,
    UNCHOKED,
)


@kernel
def choke(s, h, t):
    """Choke end `h`; a part-sent block is finished first, and CHOKE follows it."""
    if s.up[h] & UNCHOKED == 0:
        return
    lower_flag(s.up, h, UNCHOKED)
    lower_flag(s.up, h, OPTIMISTIC)
    s.peer[h >> s.rules.slot_bits].n_unchoked -= 1
    if s.turns[h] > 0 and s.up[h] & RINGED != 0:
        sync(s, h >> s.rules.slot_bits, t)
    if not part_sent(s, h):
        tell_choke(s, h, t)


@kernel
def tell_choke(s, h, t):
    """CHOKE goes out at once."""
    note_choke(s, h, t)
    send(s, h, CHOKE, NIL, t)


@kernel
def note_choke(s, h, t):
    """CHOKE is being written: what is queued is dropped, and requests are ignored from now on."""
    lower_flag(s.up, h, TOLD)
    forget(s, h, t)
    set_cause(s, h, CAUSES, t)


@kernel
def unchoke(s, h, t):
    """Unchoke end `h`; behind a part-sent block the message waits, or takes back a CHOKE not sent yet."""
    c = s.conn[h]
    if s.up[h] & UNCHOKED != 0:
        return
    raise_flag(s.up, h, UNCHOKED)
    s.peer[h >> s.rules.slot_bits].n_unchoked += 1
    c.up_round = s.peer[h >> s.rules.slot_bits].ticks
    if s.rules.tallied == 1:
        s.tally[h].unchoked_at = t
        s.tally[h].sent_since = 0.0
    if s.turns[h] > 0 and s.up[h] & RINGED != 0:
        sync(s, h >> s.rules.slot_bits, t)
    if not part_sent(s, h):
        tell_unchoke(s, h, t)


@kernel
def tell_unchoke(s, h, t):
    """UNCHOKE goes out at once, unless the CHOKE it takes back was never sent."""
    if s.up[h] & TOLD == 0:
        note_unchoke(s, h, t)
        send(s, h, UNCHOKE, NIL, t)


@kernel
def note_unchoke(s, h, t):
    """UNCHOKE is being written: requests are welcome."""
    raise_flag(s.up, h, TOLD)
    s.peer[h >> s.rules.slot_bits].unchokes += 1
    set_cause(s, h, BY_PIPELINE if s.up[h] & INTERESTED_IN_US != 0 else IDLE, t)


@kernel
def tell_behind_block(s, h, t):
    """A block is written: a choke or unchoke decided meanwhile joins the messages that go out behind it."""
    told = s.up[h] & TOLD != 0
    if told and s.up[h] & UNCHOKED == 0:
        note_choke(s, h, t)
        enqueue(s, h, CHOKE, NIL)
    elif not told and s.up[h] & UNCHOKED != 0:
        note_unchoke(s, h, t)
        enqueue(s, h, UNCHOKE, NIL)
