"""What the sender knows of each segment under way: arrived, lost, sent again.

Paths keep the order, so a segment is lost when three that left after it have arrived (RFC 6675, DupThresh 3).
"""

from btflow.kernels.compiler.jit import kernel
from btflow.kernels.link.laws import utp_libtorrent
from btflow.kernels.link.state import LOST, MESSAGES, RETRANSMITTED, SACKED, SIZED, STREAM

_FLAGS = SACKED | LOST | RETRANSMITTED


@kernel
def segment(net, i, number):
    """The record of a train under way."""
    f = net.flow[i]
    return net.segment[f.ring_at + (number & f.ring_mask)]


@kernel
def payload(net, i, f, number):
    """Payload of a train [B]: the last one of a file may be short."""
    if f.app == STREAM or counts_bytes(f):
        return float(segment(net, i, number).bytes)
    if f.app == SIZED and number == f.written - 1:
        return f.last_payload
    return f.train * f.mss


@kernel
def counts_bytes(f):
    """Whether the window counts the bytes of its segments, as that of libtorrent's uTP, not segments."""
    return utp_libtorrent.rules(f) and f.app != MESSAGES


@kernel
def lacks(f, seg):
    """What a segment lacks to a full one, where the window counts bytes [segments]."""
    return 1.0 - seg.bytes / f.mss if counts_bytes(f) else 0.0


@kernel
def mark_arrived(net, i, f, number):
    """The receiver has train `number`: True if that is news."""
    if number < f.una:
        return False
    seg = segment(net, i, number)
    if seg.bits & SACKED:
        return False
    if seg.bits & LOST and not seg.bits & RETRANSMITTED:
        f.waiting_retransmit -= 1
        f.unexpected += f.train - lacks(f, seg)
    else:
        f.flight -= 1
        f.short -= lacks(f, seg)
    if counts_bytes(f):
        f.came_short += lacks(f, seg)
    seg.bits |= SACKED
    if number > f.top:
        f.top4, f.top3, f.top2, f.top = f.top3, f.top2, f.top, number
    return True


@kernel
def advance(net, i, f):
    """Move `una` over what has arrived: the number of trains newly acknowledged."""
    first = f.una
    while f.una < f.nxt and segment(net, i, f.una).bits & SACKED:
        f.una += 1
    return f.una - first


@kernel
def find_losses(net, i, f):
    """Mark what must be lost by now, three later ones having come; the number of trains newly found so."""
    found = 0
    if utp_libtorrent.rules(f):
        found = find_some_losses(net, i, f)
    elif f.sack:
        for number in range(max(f.judged, f.una), f.top3):
            found += mark_lost(net, i, f, number)
        f.judged = max(f.judged, f.top3)
    elif f.una < f.top3:
        found += mark_lost(net, i, f, f.una)
    if f.lost_retransmit:
        find_lost_again(net, i, f)
    return found


@kernel
def find_some_losses(net, i, f):
    """As `find_losses` by uTP of libtorrent: not many with one ACK, and beyond the first with one more behind them."""
    found = 0
    number = max(f.judged, f.una)
    while found < utp_libtorrent.FOUND_AT_ONCE and number < (f.top3 if number == f.una else f.top4):
        found += mark_lost(net, i, f, number)
        number += 1
    f.judged = number
    return found


@kernel
def find_lost_again(net, i, f):
    """Retransmissions are lost, too, when three segments that were sent after them have arrived: they go once more."""
    ring = f.ring_mask
    while f.again_first < f.again_last:
        number = net.again[f.ring_at + (f.again_first & ring)]
        if number >= f.una:
            seg = segment(net, i, number)
            if seg.bits == LOST | RETRANSMITTED:
                if seg.mark > f.top3:
                    return
                seg.bits = LOST
                f.flight -= 1
                f.waiting_retransmit += 1
                f.repair = min(f.repair, number)
        f.again_first += 1


@kernel
def note_again(net, i, f, number):
    """A train is sent again: remember the order; the oldest entries that no longer fit are forgotten."""
    ring = f.ring_mask + 1
    net.again[f.ring_at + (f.again_last & f.ring_mask)] = number
    f.again_last += 1
    f.again_first = max(f.again_first, f.again_last - ring)


@kernel
def mark_lost(net, i, f, number):
    """Mark a train lost unless something else is known of it; 1 if it was marked."""
    seg = segment(net, i, number)
    if seg.bits & _FLAGS:
        return 0
    seg.bits |= LOST
    f.flight -= 1
    f.short -= lacks(f, seg)
    f.waiting_retransmit += 1
    f.repair = min(f.repair, number)
    return 1


@kernel
def mark_all_lost(net, i, f):
    """After a timeout all that is not known to have arrived counts as lost."""
    f.flight = 0
    f.short = 0.0
    f.waiting_retransmit = 0
    for number in range(f.una, f.nxt):
        seg = segment(net, i, number)
        if not seg.bits & SACKED:
            seg.bits = LOST
            f.waiting_retransmit += 1
    f.judged = f.nxt
    f.repair = f.una


@kernel
def first_lost(net, i, f):
    """The first train that is lost and not sent again (there is one)."""
    number = max(f.repair, f.una)
    while segment(net, i, number).bits != LOST:
        number += 1
    return number


@kernel
def next_lost(net, i, f):
    """That train, which is sent now."""
    number = first_lost(net, i, f)
    f.repair = number + 1
    return number
