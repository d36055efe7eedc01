"""Random experiments on one access link: who sends when under which law, by number; the same for every call.

Two kinds. `uplink`: one to eight users who upload. `two-hop`: one to four who download beside one to four who upload,
over a downlink of four to sixteen times the uplink, so that the downloads' ACKs wait behind the uploads. A user sends
without end, a file of a size, or is on and off: each period is a connection of its own, since periods that the engines
draw would not be the same ones.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

LAWS = (
    *("newreno", "cubic", "vegas", "ledbat", "ledbat-25", "ledbat-linux"),
    *("utp", "utp-2010", "utp-libtorrent", "ledbatpp", "bbr"),
)
"""Congestion controls that are drawn: laws that flow has, LEDBAT and uTP in several forms; not LP and Nice."""

KINDS = ("uplink", "two-hop")
DURATION, WINDOW = 60.0, 10.0
"""Length of an experiment, and of the windows in which bytes are counted [s]."""

MOST_USERS = {"uplink": 8, "two-hop": 4}
UPLINK = (0.5, 20.0)  # [Mbit/s]
SLOW_UPLINK = (0.5, 4.0)  # of two-hop: a home's, whose downlink is
RATIO = (4.0, 16.0)  # times as fast
TRIP = (0.01, 0.3)  # [s]
BUFFER = (0.02, 2.0)  # [s]
PACKET = 0.0135  # [Mbit]: a buffer holds a packet of 1500 B, and some more for rounding
FILE = (30.0, 3000.0)  # [kB]
PERIOD = 10.0  # mean length of an on or an off period [s]

Options = Mapping[str, Any]


class Pattern(NamedTuple):
    """An experiment: its options, as `btflow link` and `simulate_link` take them."""

    kind: str
    number: int
    options: Options

    @property
    def command(self) -> str:
        """The command that runs it."""
        words = ["btflow", "link"]
        for name, value in self.options.items():
            for text in value if isinstance(value, list) else (value,):
                words += [f"--{'flow' if name == 'flows' else name.replace('_', '-')}", str(text)]
        return shlex.join(words)


def draw(kind: str, number: int) -> Pattern:
    """Return pattern `number` of a kind."""
    random = np.random.default_rng((KINDS.index(kind), number))
    rate = _between(random, *(UPLINK if kind == "uplink" else SLOW_UPLINK))
    options: dict[str, Any] = {
        "rate": f"{rate * 1e3:.0f} kbit/s",
        "rtt": f"{_between(random, *TRIP) * 1e3:.0f} ms",
        "buffer": f"{max(_between(random, *BUFFER), PACKET / rate) * 1e3:.0f} ms",
        "duration": f"{DURATION:.0f} s",
        "warmup": "0 s",
        "sample": f"{WINDOW:.0f} s",
    }
    flows = list(_users(random, MOST_USERS[kind], ""))
    if kind == "two-hop":
        options["reverse_rate"] = f"{rate * _between(random, *RATIO) * 1e3:.0f} kbit/s"
        options["reverse_buffer"] = f"{_between(random, *BUFFER) * 1e3:.0f} ms"
        flows += _users(random, MOST_USERS[kind], ",direction=down")
    return Pattern(kind, number, options | {"flows": flows})


def _between(random: np.random.Generator, low: float, high: float) -> float:
    """Return a number of which all orders of magnitude are as likely."""
    return math.exp(random.uniform(math.log(low), math.log(high)))


def _users(random: np.random.Generator, most: int, way: str) -> Iterator[str]:
    """Yield the flows of one to `most` users; at least the first sends without end."""
    for user in range(1 + int(random.integers(most))):
        law = LAWS[int(random.integers(len(LAWS)))]
        habit = 0 if user == 0 else int(random.integers(3))
        start = random.uniform(0.0, 5.0 if habit == 0 else 0.7 * DURATION)
        if habit == 0:
            yield f"{law}@{start:.2f}s{way}"
        elif habit == 1:
            yield f"{law}@{start:.2f}s,size={_between(random, *FILE):.0f} kB{way}"
        else:
            yield from _periods(random, law, way)


def _periods(random: np.random.Generator, law: str, way: str) -> Iterator[str]:
    """Yield a connection for each period in which a user is on."""
    at = random.exponential(PERIOD)
    while at < DURATION - 1.0:
        until = at + max(random.exponential(PERIOD), 0.5)
        yield f"{law}@{at:.2f}s,stop={until:.2f}s{way}"
        at = until + random.exponential(PERIOD)
