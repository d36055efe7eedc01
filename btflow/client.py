"""The constants of a BitTorrent client: choker, requests, piece picker, limiter, connections."""

from __future__ import annotations

import math
from typing import Annotated

from btflow.quantity import FrozenModel, Quantity

Count = Annotated[int, Quantity("count", 0, 10**6)]
Positive = Annotated[int, Quantity("count", 1, 10**6)]
Bytes = Annotated[int, Quantity("size", 1, 2**20)]
Interval = Annotated[float, Quantity("time", 0.1, 86400)]
Rate = Annotated[float, Quantity("rate", 1, 10 * 2**30)]
Factor = Annotated[float, Quantity("fraction", 0, 1)]
Flag = Annotated[bool, Quantity("flag")]
Duration = Annotated[float, Quantity("time", 0, 86400)]


class SlotStep(FrozenModel):
    """One row of the automatic number of upload slots: caps below a rate get so many slots."""

    below: Rate
    """Upload caps below this rate [B/s] use this row."""
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

    choke_interval: Interval
    """Time between two ticks of the choker [s]."""
    optimistic_rounds: Positive
    """Ticks between two rotations of a leecher's optimistic unchoke."""
    recent_unchoke_rounds: Positive
    """A seed's unchokes younger than so many ticks are kept first."""
    min_uploads: Positive
    """Interested peers that a leecher unchokes at least, reciprocal and optimistic together."""
    max_uploads: Annotated[int, Quantity("count", 0, 1000)]
    """Upload slots, the optimistic one included; 0 takes them from the upload cap."""
    unlimited_slots: Positive
    """Automatic upload slots of a peer without an upload cap."""
    slot_table: tuple[SlotStep, ...]
    """Automatic upload slots of small caps, in rising order."""
    slot_factor: Factor
    """Automatic upload slots of larger caps: root of this times the cap in units of 1024 B/s."""
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
    pipeline_cap_slope: Factor
    """Share of the wanted requests that counts above the cap."""
    endgame: Flag
    """Whether outstanding blocks are requested from every peer once none is unrequested."""
    rarest_first_cutoff: Count
    """Complete pieces from which on the picker is rarest first instead of random."""

    upload_unit: Bytes
    """Bytes that one turn of the upload limiter may write [B]."""
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

    def upload_slots(self, upload_limit: float) -> int:
        """Return the upload slots, optimistic one included, of a peer with an upload cap [B/s], infinite for none."""
        if self.max_uploads:
            return self.max_uploads
        if math.isinf(upload_limit):
            return self.unlimited_slots
        for step in self.slot_table:
            if upload_limit < step.below:
                return step.uploads
        return int(math.sqrt(self.slot_factor * upload_limit / 1024))
