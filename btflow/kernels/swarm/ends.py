"""An end of a connection: whose it is, its bits, its row of requests, and what is left to do for its flow.

Bits are in `up`, `dn` and `mode`. `words_of` gives the bits `dn` of a peer's ends as words of eight ends; the functions
`..._among` give a word with bit 8 i set where end `8 w + i` is meant.

An end takes a row of the request lists with its first request. The row stays while the list is empty, as it often is
for a moment; when rows run short, all idle ones are collected.

The client's kernels know nothing of flows. Where peers have access links they note what an event leaves to do:
connections begun, closed, written to. `kernels/access` does it after the event, in order. `todo[0]` counts the entries;
an entry is 4 h + what.
"""

import numpy as np

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.swarm.state import CAUSES, ENDGAME, FREE, LEFT, LINKED, SEEDING, SERVED, SUPER, WANTING


@kernel
def mate(s, h):
    """The other side's end of the connection of end `h`."""
    return np.int64(s.mate[h])


@kernel
def wire(s, h):
    """The transport of what end `h` sends; without delays there is but one, which does nothing."""
    return s.wire[0] if s.rules.ideal == 1 else s.wire[h]


@kernel
def neighbour(s, h):
    """The peer on the other side of end `h`."""
    return mate(s, h) >> s.rules.slot_bits


@kernel
def client_of(s, p):
    """The constants and rules of the client that peer `p` runs (program.CLIENT)."""
    return s.client[s.peer[p].klass]


EACH = np.uint64(0x0101010101010101)  # the lowest bit of each byte
SECOND, THIRD = np.uint64(1), np.uint64(2)  # shifts that bring SERVED and LINKED there


@kernel
def raise_flag(array, i, bit):
    """Set `bit` of array[i]."""
    array[i] = array[i] | bit


@kernel
def lower_flag(array, i, bit):
    """Clear `bit` of array[i]."""
    array[i] = array[i] & (255 - bit)


@kernel
def seeding(s, p):
    """True if peer `p` has every piece."""
    return s.mode[p] & SEEDING != 0


@kernel
def left(s, p):
    """True if peer `p` has left the swarm."""
    return s.mode[p] & LEFT != 0


@kernel
def super_seeding(s, p):
    """True if peer `p` shows its pieces one by one."""
    return s.rules.super_seeding == 1 and s.mode[p] & SUPER != 0


@kernel
def in_endgame(s, p):
    """True if peer `p` has requested every block."""
    return s.mode[p] & ENDGAME != 0


@kernel
def linked(s, h):
    """True if the connection of end `h` is open."""
    return s.dn[h] & LINKED != 0


@kernel
def wanting(s, h):
    """True if we told the other side that we are interested."""
    return s.dn[h] & WANTING != 0


@kernel
def served(s, h):
    """True if the other side has unchoked us, as far as we know."""
    return s.dn[h] & SERVED != 0


@kernel
def words_of(s, p):
    """The words of `dn_words` that hold the ends of peer `p` that may be in use."""
    base = p << s.rules.slot_bits
    return range(base >> 3, (base + s.peer[p].top + 7) >> 3)


@kernel
def wanting_among(s, w):
    """Ends that said they are interested."""
    return s.dn_words[w] & EACH


@kernel
def served_among(s, w):
    """Ends that are unchoked, as far as they know."""
    return (s.dn_words[w] >> SECOND) & EACH


@kernel
def idle_among(s, w):
    """Open ends that are neither interested nor unchoked."""
    word = s.dn_words[w]
    return (word >> THIRD) & ~(word | word >> SECOND) & EACH


@kernel
def set_cause(s, h, cause, t):
    """From `t` on end `h` is held back by `cause`; the time since the last change is charged to the old one."""
    c = s.conn[h]
    if c.cause != cause:
        if c.cause < CAUSES:
            s.share[h >> s.rules.slot_bits, c.cause] += t - c.cause_since
        c.cause = cause
        c.cause_since = t


NO_ROW = np.int32(-1)


@kernel
def take_row(s, h):
    """Give end `h` a row if it has none; the main loop stops for more before they can run out."""
    c = s.conn[h]
    if c.row != NO_ROW:
        return
    clock = s.clock[0]
    c.row = clock.free_row
    clock.free_row = -1 - s.row_owner[c.row]
    clock.n_free_rows -= 1
    s.row_owner[c.row] = h


@kernel
def collect_rows(s, t):
    """Take back every row that is idle."""
    clock = s.clock[0]
    for row in range(s.row_owner.size):
        h = np.int64(s.row_owner[row])
        if h >= 0 and idle(s, h, t):
            s.conn[h].row = NO_ROW
            s.row_owner[row] = -1 - clock.free_row
            clock.free_row = row
            clock.n_free_rows += 1


@kernel
def idle(s, h, t):
    """True if no request of the other side is sent, waits or is answered, nor a block under way, at end `h`."""
    c = s.conn[h]
    if c.state == FREE:
        return True
    other = s.conn[mate(s, h)]
    if c.up_head != c.up_seen or s.turns[h] != 0 or other.dn_next != other.dn_tail or other.dn_tail != c.up_seen:
        return False
    return s.rules.ideal == 1 or s.wire[h].last_arrival < t


OPENED, CLOSED, WRITTEN = np.int64(0), np.int64(1), np.int64(2)


@kernel
def note(s, h, what):
    """Something is to be done for the connection of end `h`; WRITTEN is noted once."""
    if what == WRITTEN:
        if s.marked[h] != 0:
            return
        s.marked[h] = 1
    s.todo[0] += 1
    s.todo[s.todo[0]] = 4 * h + what
