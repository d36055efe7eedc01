"""The constants of a BitTorrent client: choker, requests, piece picker, limiter, connections."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

from btflow.units.quantity import FrozenModel, Quantity

Count = Annotated[int, Quantity("count", 0, 10**6)]
Positive = Annotated[int, Quantity("count", 1, 10**6)]
Bytes = Annotated[int, Quantity("size", 1, 2**20)]
Interval = Annotated[float, Quantity("time", 0.1, 86400)]
Rate = Annotated[float, Quantity("rate", 1, 10 * 2**30)]
Factor = Annotated[float, Quantity("fraction", 0, 1)]
Flag = Annotated[bool, Quantity("flag")]
Duration = Annotated[float, Quantity("time", 0, 86400)]


SECOND = 1.0
"""Time between two looks of a client that measures by the second [s] (libtorrent session_impl.cpp, on_tick)."""


class SlotStep(FrozenModel):
    """One row of the automatic number of upload slots: limits below a rate get so many slots."""

    below: Rate
    """Upload limits below this rate [B/s] use this row."""
    uploads: Positive
    """Upload slots, the optimistic one included."""


class Client(FrozenModel):
    """The rules' constants of one BitTorrent client, the same for every peer that runs it."""

    name: str
    """Name of the client and its release."""
    title: str
    """One line for people."""
    source: str
    """Where the client's rules were read."""

    choker: Annotated[Literal["list", "last-round", "salted-rate"], Quantity("choice")]
    """Whom it unchokes. ``list``: mainline's two chokers, over one list of connections. The others rank all interested
    peers, leeching or seeding. ``last-round``: libtorrent's order, by what came from each in the last round, then by
    the share of its slot it had, what it was sent, and how long it waits. ``salted-rate``: Transmission's, by the rate
    from it (seeding: to it), who has a slot first, then at random."""
    free_slots: Annotated[Literal["tick", "at-once"], Quantity("choice")]
    """When a free slot is given to a peer that becomes interested: at the choker's tick, or at once."""
    optimistic: Annotated[Literal["list-head", "longest-waiting", "random"], Quantity("choice")]
    """Who gets the optimistic slots: the head of the list, whose last one is longest ago (a fifth of all slots, at
    least one), or one drawn at random."""
    interest: Annotated[Literal["unrequested", "missing"], Quantity("choice")]
    """In whom it is interested: who has a piece of which some block was not asked for, or who has one it lacks."""
    requests: Annotated[Literal["rate", "slow-start", "seconds"], Quantity("choice")]
    """How many requests are kept outstanding. ``rate``: ``pipeline_floor`` and ``pipeline_seconds`` of data.
    ``slow-start``: one more with each block until a second brings hardly more than the one before, then
    ``pipeline_seconds`` of data, at least the floor. ``seconds``: that from the start."""
    picker: Annotated[Literal["begun-first", "whole-pieces", "fewest-left"], Quantity("choice")]
    """Which piece is next. ``begun-first``: mainline's strict priority. ``whole-pieces``: libtorrent's, a fast
    connection has whole pieces for itself. ``fewest-left``: Transmission's, the one with the fewest blocks left to ask
    for."""
    endgame: Annotated[Literal["none", "everywhere", "when-idle", "when-idle-kept"], Quantity("choice")]
    """What is asked twice at the end: nothing; everything that is missing, of everybody; one block by a connection that
    has nothing else to ask for. ``when-idle-kept``: so, too, and the other requests of a block that came are never
    cancelled."""
    limiter: Annotated[Literal["turns", "quota", "shares"], Quantity("choice")]
    """How an upload limit is kept. ``turns``: connections one after the other. ``quota``: so, too, but what they have
    paid for leaves every ``limiter_interval``. ``shares``: each that waits gets an equal share of a quota, and writes
    when it has all it asked for: a block, or what it uploads in two quotas."""
    limit_counts: Annotated[Literal["messages", "packets"], Quantity("choice")]
    """What counts against it: messages, or all of a connection's packets with their headers, ACKs too. With ``shares``
    all messages count and wait, else PIECE messages and what is behind them."""
    mixed_mode: Annotated[Literal["prefer-tcp", "peer-proportional"], Quantity("choice")]
    """Whether TCP connections have an upload limit together where uTP is in use: none, or one in proportion to their
    number."""

    choke_interval: Interval
    """Time between two ticks of the choker [s]."""
    optimistic_rounds: Positive
    """Ticks for which an optimistic unchoke lasts."""
    recent_unchoke_rounds: Positive
    """A seed's unchokes younger than so many ticks are kept first."""
    min_uploads: Positive
    """Interested peers that a leecher unchokes at least, as far as it has slots; ``list``."""
    piece_quota: Count = 0
    """Pieces after which a slot may go to another; ``last-round``."""
    slot_time: Duration = 0.0
    """Time for which a slot is kept at least, whatever was sent [s]; ``last-round``."""
    max_uploads: Annotated[int, Quantity("count", 0, 1000)]
    """Upload slots, the optimistic one included; 0 takes them from the upload limit."""
    unlimited_slots: Positive
    """Automatic upload slots of a peer without an upload limit."""
    slot_table: tuple[SlotStep, ...]
    """Automatic upload slots of small limits, in rising order."""
    slot_factor: Factor
    """Automatic upload slots of larger limits: root of this times the limit in units of 1024 B/s."""
    snub_time: Interval
    """A peer that sent no block for longer than this is snubbed [s]."""

    super_seeding: Flag
    """Whether the initial seeds show their pieces one by one (BEP 16) instead of saying that they have them all."""

    rate_window: Interval
    """Longest time over which a rate is averaged [s]."""
    rate_fudge: Interval
    """Time before its creation at which a rate's first window starts [s]."""

    pipeline_floor: Positive
    """Requests kept outstanding at rate 0."""
    pipeline_seconds: Duration
    """Data kept requested beyond the floor, as time at the current download rate [s]."""
    pipeline_refill: Positive
    """A refill asks for so many times the outstanding requests beyond the floor."""
    pipeline_cap: Positive
    """Outstanding requests above which the number grows by ``pipeline_cap_slope`` only."""
    reqq: Count = 0
    """Requests that it tells others they may have outstanding at it (BEP 10); a client that tells this keeps to what
    others tell in place of ``pipeline_cap``. 0: it tells nothing; ``slow-start``, ``seconds``."""
    pipeline_cap_slope: Factor
    """Share of the wanted requests that counts above the limit."""
    pipeline_start: Positive = 2
    """Requests outstanding at the start; ``slow-start``."""
    request_interval: Duration = 0.0
    """Time between two looks at what may be asked for [s]; 0: it is asked for when something comes. With it interest is
    reviewed at the choker's tick, too."""
    retry_interval: Duration = 0.0
    """Time after which a connection that found nothing to ask for looks again [s]; ``whole-pieces``."""
    request_timeout: Duration = 0.0
    """A connection that brings no block for so long at most is snubbed, sooner if its blocks came sooner [s]; 0: never;
    ``slow-start``."""
    piece_timeout: Duration = 0.0
    """And one that sends nothing for so long though it was asked [s]; 0: never; ``slow-start``."""
    whole_piece_time: Duration = 0.0
    """A connection that brings a piece in this time takes whole ones [s]; ``whole-pieces``."""
    refill_below: Factor = 1.0
    """It asks once no more than this share of what is to be outstanding is; other pickers than ``begun-first``."""
    allowed_fast_set_size: Annotated[int, Quantity("count", 0, 100)] = 0
    """Pieces that each peer may ask for choked or not (BEP 6)."""
    fast_extension: Flag = False
    """Whether it asks for such pieces of others."""
    batch_interval: Duration = 0.0
    """Messages wait for the client's next look at its connections, a HAVE alone so long [s]; 0: all leave at once."""
    write_ahead: Duration = 0.0
    """Blocks are taken ahead of the socket, as time at the rate of their upload [s]; messages wait behind them."""
    write_ahead_least: Annotated[int, Quantity("size", 0, 2**20)] = 0
    """What may be taken ahead at least [B]; ``write_ahead``."""
    rarest_first_cutoff: Count
    """Complete pieces from which on the picker is rarest first instead of random."""

    limiter_interval: Duration = 0.0
    """Time between two quotas [s]; ``quota``, ``shares``."""
    quota_kept: Duration = 0.0
    """What nobody asked for is kept, up to what the limit gives in this time [s]; ``shares``."""
    quota_spare: Duration = 0.0
    """What is kept beyond that of this time is given at once, without waiting for a quota [s]; ``shares``."""
    upload_unit: Bytes
    """Bytes that one turn of the upload limiter may write [B]."""
    connection_speed: Count = 0
    """Connections that it opens a second; as many at once with the tracker's replies; 0: all at once."""
    connect_timeout: Duration = 0.0
    """An attempt to connect ends if its SYN is not answered by then [s]; 0: never."""
    handshake_timeout: Duration = 0.0
    """An attempt to connect ends if its handshake is not answered by then [s]; 0: never."""
    idle_timeout: Duration = 0.0
    """A seed closes a connection that it serves if nothing was asked or sent there for so long [s]; 0: never."""
    reconnect_interval: Duration = 0.0
    """It tries so long after a connection ended to make it again; n failures: n + 1 times as long [s]; 0: never."""
    max_failures: Count = 0
    """Attempts that may fail one after the other; ``reconnect_interval``."""
    choke_grace: Duration = 0.0
    """A neighbour that asks for a block later than so long after a CHOKE loses the connection [s]; 0: never."""
    preemptive_unchoke: Flag = False
    """Whether one who has a piece serves a new connection while a slot is free, before anybody is interested."""
    drops_seeds: Flag = False
    """Whether it closes the connection to a neighbour whose last piece is the only one that it lacks itself."""
    max_allow_in: Annotated[int, Quantity("count", 1, 16_000)]
    """Connections above which incoming ones are refused."""
    max_initiate: Positive
    """Connections above which none is opened."""
    min_peers: Positive
    """Connections below which a client without incoming ones asks the tracker again."""
    min_peers_incoming: Count
    """Connections at or below which a client with incoming ones asks the tracker again."""
    check_interval: Interval
    """Time between two checks whether peers are short [s]."""
    rerequest_interval: Interval
    """Shortest time between two announces of a client short of peers [s]."""

    extended_size: Count = 0
    """Length of its extension handshake (BEP 10) [B]; 0: it has none."""
    exchange_interval: Duration = 0.0
    """Time after which neighbours hear of new peers (BEP 11) [s]; 0: never."""
    handshake_size: Bytes
    """Length of a handshake [B]."""
    piece_header: Bytes
    """Length of a PIECE message without its block [B]."""
    request_size: Bytes
    """Length of a REQUEST or CANCEL message [B]."""
    have_size: Bytes
    """Length of a HAVE message [B]."""
    state_size: Bytes
    """Length of CHOKE, UNCHOKE, INTERESTED and NOT INTERESTED [B]."""

    @property
    def pulse(self) -> float:
        """Time between two looks of the client at all its connections [s]; 0 if its rules need none."""
        if self.request_interval > 0.0:
            return self.request_interval
        waits = (self.retry_interval, self.exchange_interval, self.idle_timeout)
        opens = (self.connection_speed, self.connect_timeout, self.handshake_timeout)
        timed = self.mixed_mode == "peer-proportional" or any((*waits, *opens))
        return SECOND if timed else 0.0

    def upload_slots(self, upload_limit: float) -> int:
        """Return the upload slots, optimistic one included, of a peer with an upload limit [B/s], infinite for none."""
        if self.max_uploads:
            return self.max_uploads
        if math.isinf(upload_limit):
            return self.unlimited_slots
        for step in self.slot_table:
            if upload_limit < step.below:
                return step.uploads
        return int(math.sqrt(self.slot_factor * upload_limit / 1024))


def _words(annotation: Any) -> tuple[str, ...]:
    return get_args(annotation) if get_origin(annotation) is Literal else ()


RULES: Mapping[str, tuple[str, ...]] = {
    name: words for name, field in Client.model_fields.items() if (words := _words(field.annotation))
}
"""Names of the rules by field, in the order of their numbers in the kernels (kernels/swarm/state.py)."""
