"""Which runs there are: every grid is a list of the inputs of its runs, in the order of its table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import ceil, sqrt

Inputs = dict[str, str | float]

PACKET_BITS = 8 * 1502  # with PPP's 2 bytes
BUFFERS = (10, 20, 50, 100, 200)  # packets
SEEDS = range(1, 6)

# One flow under random loss.
SINGLE_CC = ("newreno", "linuxreno", "cubic")
RTTS_MS = (20, 50, 100, 200, 400, 1000)
LOSSES = (0.001, 0.005, 0.01, 0.02, 0.05)
FAST_BPS, FAST_BUFFER = 100_000_000, 10_000  # never the bottleneck where there is loss
SLOW_BPS = 10_000_000  # the link without loss
LOSSES_PER_RUN = 400
RAMP_RTTS = 32.5  # one for the opening of the connection, 30.5 of data, one to spare
RAMP_SEEDS = range(1, 101)  # a run's bytes vary as much as they are, so their mean is known to a tenth

# A swarm.
MIXES = ("cubic", "ledbat", "half")
SWARM_BUFFERS = (100, 20)  # packets
SWARM_VARIANTS = ((262_144, 200), (262_144, 1500), (65_536, 200))  # bytes of a piece, ms of RTO beyond the RTT
SWARM_SEEDS = range(1, 9)


@dataclass(frozen=True)
class Grid:
    """Runs of one program and the tables that their results make."""

    program: str
    what: str
    runs: Callable[[], Iterator[Inputs]]
    tables: dict[str, str] = field(default_factory=lambda: {"run": "", "flows": "_flows"})
    """Which part of a result goes to which table: what its name has behind the grid's."""
    folder: str = ""
    """Where the tables are among the others."""


def _slow_buffer(rtt_ms: float) -> int:
    """One bandwidth-delay product of the link without loss, at least 20 packets."""
    return max(20, ceil(SLOW_BPS * rtt_ms / 1e3 / PACKET_BITS))


def _single(cc: str, rtt_ms: float, loss: float, link: tuple[int, int], times: tuple[float, float]) -> Inputs:
    rate, buffer = link
    duration, warmup = times
    return {
        "cc": cc,
        "rtt_ms": rtt_ms,
        "loss": loss,
        "rate_bps": rate,
        "buffer_packets": buffer,
        "duration_s": duration,
        "warmup_s": warmup,
    }


def _long_enough(rtt_ms: float, loss: float) -> tuple[float, float]:
    """Duration and warm-up for about 400 losses by the response functions of Reno and of CUBIC, whichever is faster."""
    rtt = rtt_ms / 1e3
    window = max(1.3 / sqrt(loss), 1.054 * (rtt / loss) ** 0.75)
    warmup = max(60, 100 * rtt)
    return warmup + max(300, ceil(LOSSES_PER_RUN / loss * rtt / window)), warmup


def _steady() -> Iterator[Inputs]:
    for cc, rtt in product(SINGLE_CC, RTTS_MS):
        # Without loss nothing is random, so one seed is enough.
        times = (900, 300) if rtt >= 400 else (600, 200)
        yield {**_single(cc, rtt, 0, (SLOW_BPS, _slow_buffer(rtt)), times), "seed": 1}
        for loss, seed in product(LOSSES, range(1, 4)):
            yield {**_single(cc, rtt, loss, (FAST_BPS, FAST_BUFFER), _long_enough(rtt, loss)), "seed": seed}


def _ramp() -> Iterator[Inputs]:
    for cc, rtt in product(SINGLE_CC, RTTS_MS):
        times = (RAMP_RTTS * rtt / 1e3, 0)
        yield {**_single(cc, rtt, 0, (SLOW_BPS, _slow_buffer(rtt)), times), "seed": 1}
        if rtt <= 200:  # beyond, the windows without loss outgrow the sockets' buffers
            yield {**_single(cc, rtt, 0, (FAST_BPS, FAST_BUFFER), times), "seed": 1}
        for loss, seed in product(LOSSES, RAMP_SEEDS):
            yield {**_single(cc, rtt, loss, (FAST_BPS, FAST_BUFFER), times), "seed": seed}


def _link(
    flows: str,
    buffer: int,
    seed: int,
    *,
    rate: int = 1_000_000,
    rtt_ms: float = 50,
    queue: str = "droptail",
    probe: str = "",
    voip: int = 0,
    times: tuple[float, float] = (300, 60),
) -> Inputs:
    return {
        "flows": flows,
        "queue": queue,
        "rate_bps": rate,
        "rtt_ms": rtt_ms,
        "buffer_packets": buffer,
        "probe": probe,
        "voip": voip,
        "duration_s": times[0],
        "warmup_s": times[1],
        "seed": seed,
    }


def _alone() -> Iterator[Inputs]:
    for cc in ("newreno", "linuxreno", "cubic", "vegas", "lp", "ledbat", "ledbat25"):
        for count, buffer, seed in product((1, 4), BUFFERS, SEEDS):
            yield _link(f"{cc}:{count}", buffer, seed)


def _noisy(runs: Callable[[], Iterator[Inputs]]) -> Callable[[], Iterator[Inputs]]:
    """The same runs with short packets at random times in 2 % of the rate."""
    return lambda: ({**inputs, "noise": 0.02} for inputs in runs())


def _long() -> Iterator[Inputs]:
    # With a full buffer of 200 packets Reno's window takes 200 s (LinuxReno) or 400 s from one loss to the next.
    for cc, count, buffer, seed in product(("newreno", "linuxreno"), (1, 4), (100, 200), SEEDS):
        yield _link(f"{cc}:{count}", buffer, seed, times=(2400, 400))


def _rtts() -> Iterator[Inputs]:
    for cc, rtt, count, buffer, seed in product(("newreno", "cubic"), (20, 200), (1, 4), BUFFERS, SEEDS):
        yield _link(f"{cc}:{count}", buffer, seed, rtt_ms=rtt)


def _pairs() -> Iterator[Inputs]:
    against_cubic = [f"cubic:1,{cc}:1" for cc in ("newreno", "linuxreno", "vegas", "lp", "ledbat", "ledbat25")]
    against_newreno = [f"newreno:1,{cc}:1" for cc in ("lp", "ledbat", "ledbat25")]
    for flows, buffer, seed in product(against_cubic + against_newreno, BUFFERS, SEEDS):
        yield _link(flows, buffer, seed)


def _probe() -> Iterator[Inputs]:
    for cc, buffer, seed in product(("cubic", "newreno", "ledbat"), BUFFERS, SEEDS):
        yield _link(f"{cc}:1", buffer, seed, probe="100@1")


def _voip() -> Iterator[Inputs]:
    for cc, buffer, seed in product(("cubic", "newreno", "ledbat"), (20, 50, 100, 200), SEEDS):
        yield _link(f"{cc}:3", buffer, seed, rate=1_536_000, voip=1)


def _aqm() -> Iterator[Inputs]:
    for queue, count, buffer, seed in product(("codel", "fq_codel", "pie"), (1, 4), (100, 200), SEEDS):
        yield _link(f"cubic:{count}", buffer, seed, queue=queue)


def _swarm() -> Iterator[Inputs]:
    for (piece, slack), mix, buffer, seed in product(SWARM_VARIANTS, MIXES, SWARM_BUFFERS, SWARM_SEEDS):
        yield {"mix": mix, "buffer_packets": buffer, "piece_bytes": piece, "rto_slack_ms": slack, "seed": seed}


SWARM_TABLES = {"run": "_runs", "leechers": "", "queues": "_queue"}

GRIDS = {
    "alone": Grid("bottleneck", "1 or 4 flows of one congestion control on a drop-tail bottleneck", _alone),
    "long": Grid("bottleneck", "as alone, long enough for Reno on the two largest buffers", _long),
    "pairs": Grid("bottleneck", "one flow against another on a drop-tail bottleneck", _pairs),
    "alone_noise": Grid("bottleneck", "as alone, with 2 % of short packets at random times", _noisy(_alone)),
    "pairs_noise": Grid("bottleneck", "as pairs, with 2 % of short packets at random times", _noisy(_pairs)),
    "ramp": Grid("single", "the first 30 RTTs of one flow under random loss", _ramp),
    "steady": Grid("single", "the goodput of one flow under random loss", _steady),
    "probe": Grid("bottleneck", "the delay of short messages beside one bulk flow", _probe),
    "voip": Grid("bottleneck", "a G.729 call beside three bulk flows on a T1 line", _voip),
    "aqm": Grid("bottleneck", "1 or 4 CUBIC flows with active queue management", _aqm),
    "rtts": Grid("bottleneck", "as alone, at other RTTs", _rtts),
    "swarm": Grid("swarm", "a BitTorrent swarm with CUBIC, LEDBAT or both", _swarm, SWARM_TABLES, "swarms"),
}
