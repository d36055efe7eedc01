"""What each model that comes with btflow takes by keyword, for type checkers, editors and shells.

Made by ``python -m tools.keywords`` of the model files; not to be changed by hand.
"""

from typing import TypedDict

Text = str
"""A text with a unit, or a word."""
Number = int | str
"""A whole number."""
Share = float | str
"""A number from 0 to 1, or a percentage."""
Flag = bool | str
"""Whether."""
Words = str | list[str] | tuple[str, ...]
"""Names, in a list or separated by commas."""
Table = str | dict[str, object] | None
"""Name or path of a file, or a table in place of it."""


class Flashcrowd(TypedDict, total=False):
    """Parameters of ``flashcrowd``."""

    client: Text
    """BitTorrent client of every peer (mainline-4.0, utorrent-3.0, libtorrent-2, libtorrent-2.1, qbittorrent-5,
    transmission-4, transmission-3, ns2-eger)."""
    leechers: Number
    """Number of leechers."""
    file_size: Text
    """Size of the file."""
    piece_size: Text
    """Size of a piece, a multiple of the 16 KiB block."""
    upload_limit: Text
    """Upload limit set in the client of every peer; none for no limit."""
    slots: Number
    """Upload slots of every peer; 0 leaves them to the client's rule."""
    uplink: Text
    """Rate of the leechers' uplinks; unlimited for none."""
    seed_uplink: Text
    """Rate of the seed's uplink; unlimited for none."""
    downlink: Text
    """Rate of the downlinks; unlimited for none."""
    buffer: Text
    """Room in the queues of each access link, both ways: packets, bytes, ms or BDP."""
    aqm: Text
    """Discipline of the queues of each access link, both ways (drop-tail, codel, fq-codel, pie, cake)."""
    delay_min: Text
    """Least one-way propagation delay of a peer's access link."""
    delay_max: Text
    """Greatest one-way propagation delay of a peer's access link."""
    rtt: Text
    """Round-trip time between any two access links."""
    loss: Share
    """Chance that a packet is lost on its way, apart from the queues."""
    utp_share: Share
    """Share of the leechers that open uTP connections."""
    utp_target: Text
    """Queueing delay that uTP aims at."""
    utp_gain: Text
    """Growth of uTP's window in a round trip without queue."""
    stay: Text
    """How long a leecher stays once it has the file: forever, leave (not at all), or random (forever, random,
    leave)."""


class Rao2010(TypedDict, total=False):
    """Parameters of ``rao2010``."""

    upload_limit: Text
    """Upload limit of every peer, the seed's too unless seed_upload_limit is given."""
    seed_upload_limit: Text
    """Upload limit of the seed."""
    rtt: Text
    """Round-trip time between any two peers; not used when ASes or internet are given."""
    loss: Share
    """Chance that a packet is lost on its way to a peer, data and ACKs alike."""
    internet: Table
    """Model of the Internet's paths, from which RTT and loss of each pair of peers are drawn, in place of rtt, loss and
    ASes."""
    tso: Flag
    """Whether TCP segmentation offload sends segments larger than the MSS; without loss it changes no times."""
    leechers: Number
    """Number of leechers."""
    file_size: Text
    """Size of the file."""
    piece_size: Text
    """Size of a piece, a multiple of the 16 KiB block."""
    leecher_as: Words
    """ASes over which the leechers are split evenly, such as AS1,AS2,AS3 (AS1, AS2, AS3, AS4, AS5)."""
    seed_as: Words
    """AS whose delays the seed's own AS has: AS1 stands for the paper's AS'1 (AS1, AS2, AS3, AS4, AS5)."""
    initial_window: Number
    """Initial congestion window in segments."""
    arrival_spread: Text
    """Time over which the leechers start, uniformly at random."""


class Testa2011(TypedDict, total=False):
    """Parameters of ``testa2011``."""

    utp_share: Share
    """Share of the leechers that upload over uTP."""
    stay: Text
    """How long a leecher stays once it has the file: forever, leave (not at all), or random (forever, random,
    leave)."""
    buffer: Text
    """Room in the queues of each access link, both ways."""
    aqm: Text
    """Discipline of the queues of each access link, both ways (drop-tail, codel, fq-codel, pie, cake)."""
    utp_target: Text
    """Queueing delay that uTP aims at."""
    utp_gain: Share
    """Growth of uTP's window in a round trip without queue, in segments."""
    leechers: Number
    """Number of leechers."""
    file_size: Text
    """Size of the file."""
    discard: Number
    """Downloads that are completed first and do not count; as many as are left of the leechers do."""
    super_seeding: Flag
    """Whether the seed shows its pieces one by one."""
    snub_time: Text
    """Time without a block after which a peer is snubbed."""
    ideal_control: Flag
    """Ablation: control messages travel past all queues and data."""
    ideal_acks: Flag
    """Ablation: ACKs take no room in the queues."""


class Testa2012(TypedDict, total=False):
    """Parameters of ``testa2012``."""

    cc: Text
    """Congestion control of the peers of class x: cubic, newreno, vegas, nice, lp, or utp beside cubic (cubic, newreno,
    vegas, nice, lp, utp)."""
    cubic_share: Share
    """Share of the leechers whose TCP is CUBIC and who open no uTP connections, whatever cc is."""
    client: Text
    """BitTorrent client of every peer: mainline or utorrent (mainline, utorrent)."""
    utp_target: Text
    """Queueing delay that uTP aims at."""
    utp_gain: Text
    """Growth of uTP's window in a round trip without queue."""
    leechers: Number
    """Number of leechers."""
    file_size: Text
    """Size of the file."""
    aqm: Text
    """Discipline of the uplinks' queues (drop-tail, codel, fq-codel, pie, cake)."""
    super_seeding: Flag
    """Whether the seed shows its pieces one by one."""
    snub_time: Text
    """Time without a block after which a peer is snubbed."""
    ideal_control: Flag
    """Ablation: control messages travel past all queues and data."""
    ideal_acks: Flag
    """Ablation: ACKs take no room in the queues."""
    uplink_queue: Text
    """Where the uplinks' queues are: modem (drops in silence) or host (its TCP is told) (modem, host)."""
    attempts: Text
    """Ablation: how a peer that opens both transports tries them: parallel or sequential (parallel, sequential)."""


class Bufferbloat(TypedDict, total=False):
    """Parameters of ``bufferbloat``."""

    cc: Text
    """Congestion control of the upload (newreno, reno-linux, cubic, cubic-2.6, cubic-6, vegas, lp, nice, bbr, ledbat,
    ledbat-25, ledbat++, utp-2010, utp-2013, utp)."""
    uploads: Number
    """Number of uploads."""
    buffer: Text
    """Buffer of the uplink."""
    aqm: Text
    """Discipline of the uplink (drop-tail, codel, fq-codel, pie, cake)."""
    rate: Text
    """Rate of the uplink."""
    rtt: Text
    """Base round-trip time."""


class Coexistence(TypedDict, total=False):
    """Parameters of ``coexistence``."""

    high: Number
    """Flows of the first kind."""
    low: Number
    """Flows of the second kind."""
    high_cc: Text
    """Congestion control of the first kind (newreno, reno-linux, cubic, cubic-2.6, cubic-6, bbr)."""
    low_cc: Text
    """Congestion control of the second kind (vegas, lp, nice, ledbat, ledbat-25, ledbat-linux, ledbat++, utp-2010,
    utp-2013, utp)."""
    rate: Text
    """Rate of the uplink."""
    buffer: Text
    """Buffer of the uplink."""
    rtt: Text
    """Base round-trip time."""


class Geni(TypedDict, total=False):
    """Parameters of ``geni``."""

    transport: Text
    """What the seeds use: tcp is aria2, utp is transmission with the libutp of its day (since 2013) (tcp, utp)."""
    seeds: Text
    """Number of seeds (0, 1, 2)."""
    buffer: Text
    """Buffer of the downlink."""
    rtt: Text
    """Base round-trip time."""
    aqm: Text
    """Discipline of the downlink (drop-tail, codel, fq-codel, pie, cake)."""
    duration: Text
    """Simulated time."""


class Latecomer(TypedDict, total=False):
    """Parameters of ``latecomer``."""

    cc: Text
    """Congestion control of both (ledbat, ledbat-25, ledbat-linux, ledbat++, utp-2010, utp-2013, utp)."""
    start: Text
    """When the second one starts."""
    rate: Text
    """Rate of the uplink."""
    buffer: Text
    """Buffer of the uplink."""
    rtt: Text
    """Base round-trip time."""


class Opnet2009(TypedDict, total=False):
    """Parameters of ``opnet2009``."""

    transport: Text
    """What the first pair uses: utp stands for the project's changed TCP (sfu-utp), which is not uTP (tcp, utp)."""
    downloads: Number
    """Downloads of the first pair."""
    buffer: Text
    """Buffer of each queue of the first pair, both ways."""
    rtt: Text
    """Base round-trip time."""
    duration: Text
    """Simulated time."""
