"""Which piece next, by mainline's picker, and the parts in `begun` of the pieces that a peer fetches."""

import numpy as np

from btflow.kernels import bits
from btflow.kernels.compiler.jit import kernel
from btflow.kernels.flow.ends import told_all
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.ends import client_of
from btflow.kernels.swarm.picking import NOTHING, rarest_piece
from btflow.kernels.swarm.whole_pieces import all_blocks


@kernel
def next_piece(s, y, p, row):
    """First part of the piece that peer `y` asks `p` for, or NOTHING; `row` of `has` is what `y` knows of."""
    on_seed = told_all(s, p)
    entry = begun_piece(s, y, row, on_seed)
    if entry != NOTHING:
        return entry
    if rules.picks_at_random(client_of(s, y), s.peer[y].n_log):
        return begin(s, y, first_wanted(s, y, row, s.random_order[y], s.rules.pieces), on_seed)
    return begin(s, y, rarest_piece(s, NOTHING, y, row, there), on_seed)


@kernel
def begun_piece(s, y, row, on_seed):
    """Strict priority: the begun piece with fewest known copies, ties at random; on seeds only those begun on seeds."""
    best, fewest, ties = NOTHING, 1 << 30, 0
    for word in range(s.has.shape[1]):
        candidates = s.has[row, word] & s.open[y, word]
        while candidates != bits.EMPTY:
            piece = (word << 6) + bits.first(candidates)
            candidates &= candidates - bits.ONE
            if not rules.may_continue(on_seed, bits.has_piece(s.seeded, y, piece)):
                continue
            better, fewest, ties = rules.fewer(s.rng, np.int64(s.copies[piece, y]), fewest, ties)
            if better:
                best = first_part(s, y, piece)
    return best


@kernel
def there(s, u, row, piece):  # full needs `u`
    """True if `piece` is in `row` of `has`."""
    return bits.has_piece(s.has, row, piece)


@kernel
def first_wanted(s, y, row, order, n):
    """The first piece of `order[:n]` that is in `row` and of which `y` may still ask for blocks, or NOTHING."""
    for i in range(n):
        piece = np.int64(order[i])
        if bits.has_piece(s.want, y, piece) and bits.has_piece(s.has, row, piece):
            return piece
    return NOTHING


@kernel
def begin(s, y, piece, on_seed):
    """First part of `piece` in `begun`, a new one unless it has one; NOTHING for no piece, or if all are in use."""
    if piece == NOTHING:
        return NOTHING
    if not bits.has_piece(s.open, y, piece) and not take_row(s, y, piece):
        return NOTHING
    if on_seed:
        bits.put_piece(s.seeded, y, piece)
    return first_part(s, y, piece)


@kernel
def take_row(s, y, piece):
    """Fresh parts in `begun` for `piece`; False if all are in use."""
    peer = s.peer[y]
    if rows_taken(s, y):
        return False
    row = bits.first(~np.uint64(peer.taken))
    peer.taken = bits.with_bit(peer.taken, row)
    bits.put_piece(s.open, y, piece)
    s.row[y, piece] = row
    for part in range(1 << s.part_bits):
        begun = s.begun[y, (row << s.part_bits) + part]
        begun.piece = piece
        begun.last = 0.0
        begun.missing = begun.unrequested = all_blocks(s, piece, part)
    return True


@kernel
def first_part(s, y, piece):
    """The first part of a begun piece in `begun`."""
    return np.int64(s.row[y, piece]) << s.part_bits


@kernel
def parts(s, entry):
    """All parts of the piece of part `entry`."""
    first = entry >> s.part_bits << s.part_bits
    return range(first, first + (1 << s.part_bits))


@kernel
def any_free(s, y, entry):
    """True if some block of the begun piece of part `entry` was never requested."""
    for part in parts(s, entry):
        if s.begun[y, part].unrequested != bits.EMPTY:
            return True
    return False


@kernel
def rows_taken(s, y):
    """True if peer `y` has begun as many pieces as it can: it still wants others, and asks when one is complete."""
    return s.peer[y].taken == ~bits.EMPTY


@kernel
def begun_row(s, u):
    """Row of `begun` that belongs to the downloader of lane `u`."""
    return np.int64(s.lane[u].g) >> s.rules.slot_bits
