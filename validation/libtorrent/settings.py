"""Settings that a script draws: swarms of libtorrent, as the oracle and as the simulator take them.

The seeds below were committed before anything was run with them. A sample is judged once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

SEEDS = {"development": 381, "judgement": 382, "fresh": 383}
"""Seed of each sample: the first is for trying things out, the second is mended by, the third is never looked at."""
SIZES = {"development": 24, "judgement": 60, "fresh": 30}
BLOCK = 16384
TRAFFIC = 800e6
"""All leechers together fetch no more than so many bytes, so that a run takes minutes."""
LEAST_TIME, MOST_TIME = 40.0, 600.0
"""A leecher uploads a copy in a time between these [s]."""
FAST = 12.5e6
"""Rate of links that are too fast to matter [B/s]."""


Transport = Literal["tcp", "utp", "half"]
Bound = Literal["client", "link"]


@dataclass(frozen=True)
class Setting:
    """A swarm of one client. Rates are in B/s, times in s."""

    name: str
    version: Literal["2.0.11", "2.1.0"]
    leechers: int
    pieces: int
    piece_size: int
    rate: float
    """What a leecher can upload."""
    seed_rate: float
    bound: Bound
    """Whether the client's limit or the access link bounds it."""
    limit: float
    """Upload limit of leechers; 0 for none."""
    counts: Literal["packets", "messages"]
    """What counts against limits."""
    transport: Transport
    links: bool
    """False: without access links."""
    buffer: int
    """Packets that may wait at an uplink."""
    slots: int
    allowed_fast: int
    rtt: float
    loss: float
    churn: bool
    """Leechers arrive one by one and leave once they are complete; else all come within 10 s and stay."""

    @property
    def file_size(self) -> int:
        """Size of the file [B]."""
        return self.pieces * self.piece_size

    @property
    def uplink(self) -> float:
        """Rate of a leecher's uplink [B/s]."""
        return self.rate if self.bound == "link" else 10.0 * self.rate

    @property
    def seed_uplink(self) -> float:
        """Rate of the seed's uplink [B/s]."""
        return self.seed_rate if self.bound == "link" else 10.0 * self.seed_rate

    @property
    def seed_limit(self) -> float:
        """Upload limit of the seed [B/s]; 0 for none."""
        return self.seed_rate if self.bound == "client" else 0.0

    @property
    def interval(self) -> float:
        """Mean time between two arrivals [s]: a swarm of a third of all, were each as fast as its upload."""
        return 3.0 * self.file_size / self.rate / self.leechers

    @property
    def horizon(self) -> float:
        """A run is given up then [s]."""
        share = (self.seed_rate / self.leechers + self.rate) / self.leechers
        slowest = min(self.rate, max(self.seed_rate, share))
        return 600.0 + 20.0 * self.file_size / slowest + (3.0 * self.interval * self.leechers if self.churn else 0.0)

    @property
    def classes(self) -> dict[str, int]:
        """Leechers by class: ``tcp``, ``utp`` or both."""
        if self.transport == "half":
            return {"tcp": self.leechers - self.leechers // 2, "utp": self.leechers // 2}
        return {self.transport: self.leechers}


def _log(chance: random.Random, low: float, high: float) -> float:
    return float(low * (high / low) ** chance.random())


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def draw(sample: str) -> Iterator[Setting]:
    """Yield the settings of a sample.

    `random.Random` gives the same numbers in every version of Python (its documentation, Notes on Reproducibility).
    """
    chance = random.Random(SEEDS[sample])
    for number in range(SIZES[sample]):
        leechers = round(_log(chance, 20, 150))
        rate = _digits(min(_log(chance, 15e3, 400e3), TRAFFIC / leechers / LEAST_TIME))
        size = min(rate * _log(chance, LEAST_TIME, MOST_TIME), TRAFFIC / leechers)
        piece_size = min(max(2 ** round(math.log2(size / _log(chance, 4, 400))), 2 * BLOCK), 2**22)
        transport: Transport = chance.choice(("tcp", "utp", "half"))
        bound: Bound = chance.choice(("client", "link"))
        limited_too = bound == "link" and chance.random() < 0.25
        share = chance.uniform(0.5, 0.95)
        without = chance.random() < 0.5
        yield Setting(
            name=f"{sample[0]}{number + 1:02}",
            version=chance.choice(("2.0.11", "2.0.11", "2.0.11", "2.1.0")),
            leechers=leechers,
            pieces=max(4, round(size / piece_size)),
            piece_size=piece_size,
            rate=rate,
            seed_rate=_digits(rate * _log(chance, 0.3, 10.0)),
            bound=bound,
            limit=rate if bound == "client" else _digits(share * rate) if limited_too else 0.0,
            counts=chance.choice(("packets", "packets", "messages")),
            transport=transport,
            links=not (bound == "client" and transport == "tcp" and without),
            buffer=round(_log(chance, 10, 300)),
            slots=chance.randint(2, 16),
            allowed_fast=chance.choice((0, 5)),
            rtt=_digits(1.2 * chance.random() ** 2),
            loss=_digits(0.05 * chance.random()) if chance.random() < 0.5 else 0.0,
            churn=chance.random() < 0.25,
        )


def oracle_text(setting: Setting, seed: int) -> str:
    """Return a run's settings as the oracle reads them."""
    chance = random.Random(f"{setting.name} {seed}")
    lines = [
        f"seed {seed}",
        f"horizon {setting.horizon:.0f}",
        f"rtt {setting.rtt}",
        f"loss {setting.loss}",
        f"file_size {setting.file_size}",
        f"piece_size {setting.piece_size}",
    ]
    starts = _starts(setting, chance)
    lines.append(_peer(setting, "seed", 0.0))
    for klass, count in setting.classes.items():
        for _ in range(count):
            lines.append(_peer(setting, klass, next(starts)))
    return "\n".join(lines) + "\n"


def _starts(setting: Setting, chance: random.Random) -> Iterator[float]:
    times = [chance.uniform(0.0, 10.0) for _ in range(setting.leechers)]
    if setting.churn:
        now = 0.0
        for i in range(setting.leechers):
            now += chance.expovariate(1.0 / setting.interval)
            times[i] = now
    chance.shuffle(times)
    return iter(times)


def _opens(setting: Setting, name: str) -> tuple[str, ...]:
    own = setting.transport if name == "seed" else name
    return ("tcp",) if own == "tcp" else ("utp", "tcp")


def _link(setting: Setting, name: str) -> tuple[float, float, int]:
    """Rates of a peer's uplink and downlink [B/s], and the packets that may wait at the latter: 200 ms of it."""
    up = setting.seed_uplink if name == "seed" else setting.uplink
    down = max(8.0 * setting.uplink, FAST if setting.bound == "client" else 0.0)
    return up, down, max(setting.buffer, math.ceil(0.2 * down / 1500.0))


def _limit(setting: Setting, name: str) -> float:
    return setting.seed_limit if name == "seed" else setting.limit


def _peer(setting: Setting, name: str, start: float) -> str:
    up, down, room = _link(setting, name)
    links = f" uplink={up} downlink={down} up_room={setting.buffer} down_room={room}" if setting.links else ""
    return (
        f"peer class={name} seed={int(name == 'seed')} start={start:.6f} limit={_limit(setting, name):.0f} "
        f"slots={setting.slots} allowed_fast={setting.allowed_fast} overhead={int(setting.counts == 'packets')} "
        f"transports={','.join(_opens(setting, name))} leaves={int(setting.churn and name != 'seed')}{links}"
    )


def _class(setting: Setting, name: str, count: int) -> str:
    limit, (up, down, room) = _limit(setting, name), _link(setting, name)
    transports = f"""tcp = "cubic-6"
utp = "utp-libtorrent"
opens = "{", ".join(_opens(setting, name))}"
accepts = "tcp, utp"
"""
    links = f"""
[classes.{name}.access.uplink]
rate = "{up} B/s"
buffer = "{setting.buffer} packets"

[classes.{name}.access.downlink]
rate = "{down} B/s"
buffer = "{room} packets"
"""
    return f"""
[classes.{name}]
role = "{"seed" if name == "seed" else "leecher"}"
count = {count}
upload_limit = "{f"{limit:.0f} B/s" if limit else "unlimited"}"
{transports if setting.links else ""}
[classes.{name}.client]
base = "{"libtorrent-2" if setting.version == "2.0.11" else "libtorrent-2.1"}"
limit_counts = "{setting.counts}"
allowed_fast_set_size = {setting.allowed_fast}
max_uploads = {setting.slots}
{links if setting.links else ""}"""


def model_text(setting: Setting) -> str:
    """Return the simulator's model file of a setting."""
    kind = f'"poisson"\ninterval = "{setting.interval} s"' if setting.churn else '"flash"\nspread = "10 s"'
    return f"""name = "{setting.name}"
title = "A swarm of libtorrent, drawn by validation/libtorrent/settings.py"
source = "validation/libtorrent/settings.py"
{'sockets = "linux-6"' if setting.links else 'transport = "linux-6"'}

[swarm]
file_size = "{setting.file_size} B"
piece_size = "{setting.piece_size} B"
block_size = "{BLOCK} B"
{_class(setting, "seed", 1)}{"".join(_class(setting, name, count) for name, count in setting.classes.items())}
[paths]
rtt = "{setting.rtt} s"
loss = "{100 * setting.loss:g}%"

[arrivals]
kind = {kind}

[departures]
stay = "{"leave" if setting.churn else "forever"}"

[tracker]
reply_peers = 200
announce_interval = "1800 s"
"""
