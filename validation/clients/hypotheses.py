"""What could make the cluster of 2010 differ from the model: each hypothesis a switch, and what it moves.

The swarms are those of the mainline client's cells, so that the client itself, the model and the paper stand in one
table: by how much a setting takes longer than the same upload limit without delay and loss.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from validation import command
from validation.clients import cells, mainline, predictions, scenario
from validation.clients.report import compare, table
from validation.markdown import Report
from validation.statistics import Change, change

REPORT = cells.FOLDER.parent / "hypotheses.md"
PART = cells.FOLDER.parent / "report" / "hypotheses.md"
"""Where a report on some of them goes: it does not take the place of that on all."""

SETTINGS = (
    (10, 400, 0),
    (20, 200, 0),
    (20, 400, 0),
    (10, 1000, 5),
    (20, 1000, 5),
    (50, 1000, 5),
    (100, 400, 5),
    (100, 1000, 5),
)
"""Upload limit [kB/s], round-trip time [ms] and loss [%] of the cells that the open claims are about."""
PAPER = ("+9.5%", "–", "+10.7%", "+20.7%", "+12.9%", "+13.9%", "+12.1%", "+93.1%")
"""Table IV, 300 leechers and 50 MB."""
UNSWITCHED = (
    "What 5% loss on the way in does to ACKs and set-ups is part of the model: data, ACKs, SYNs and messages are lost"
    " alike (`paths.loss`), as in the test bed.",
    "The emulator: netem was told to hold 100,000 frames, which 100 clients do not fill, and its timers have been of"
    " high resolution since Linux 2.6.22; both sides of each device delay, the way in loses. netem itself does so in"
    " the cells inside Linux 2.6.32; elsewhere the test bed's forwarder does, late by less than a millisecond on"
    " average.",
    "Cached route metrics (ssthresh, RTT) of Linux 2.6.32 are on in the test bed's cells `old` and `2009`; the model"
    " has none, as connections last for the whole of a swarm. All clients on one host, with one address: `2009-host`.",
)
"""What else the cluster may differ by, and why there is no switch for it."""
QUESTION = "What could make its swarms differ from the model's, and what does it move?"
REPLICAS = 8
MOVED = 0.05
"""A figure has moved if it did by more than this and twice the standard error."""
SEED = 21

_LINKS = """tcp = "cubic-2.6"
opens = "tcp"
accepts = "tcp"
[classes.{name}.access.uplink]
rate = "100 Mbit/s"
buffer = "1 s"
[classes.{name}.access.downlink]
rate = "400 Mbit/s"
buffer = "200 ms"
"""


@dataclass(frozen=True)
class Hypothesis:
    """A mechanism that may have been there."""

    about: str
    """What it says."""
    source: str
    """Why it may be so."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Fields of the scenario that it sets."""
    hosts: int = 0
    """What hosts add to every round-trip time [ms]."""
    segments: bool = False
    """Whether TCP is moved segment by segment, on links that are too fast to matter."""


HYPOTHESES = {
    "model": Hypothesis("the model of the paper's experiment", "models/swarms/rao2010.toml"),
    "segments": Hypothesis(
        "TCP segment by segment, not in rounds", "the engine of access links, which ns-3 checks", segments=True
    ),
    "linux-6": Hypothesis("TCP of Linux 6", "the kernel of the test bed", {"transport": "linux-6"}),
    "prompt-acks": Hypothesis(
        "ACKs of lone segments are not delayed",
        "Linux since 6.6; that of 2.6.32 delays them, which the model lacked before",
        {"transport.push_acks": True},
    ),
    "late-choker": Hypothesis(
        "the choker's timer is 50 ms late each time",
        "4.0.2 RawServer.py starts it anew when it has run; 100 clients with a log share a host",
        {"classes.seed.client.choke_interval": "10050 ms", "classes.leechers.client.choke_interval": "10050 ms"},
    ),
    "slow-hosts": Hypothesis(
        "hosts add 20 ms to a request's path",
        "the paper's figure 2 lets 100 clients on a host lengthen the RTT by up to 15%; mainline.md has what the client"
        " takes in the test bed",
        hosts=20,
    ),
    "no-nagle": Hypothesis(
        "requests are not held by Nagle's rule", "4.0.2 RawServer.py sets no TCP_NODELAY", {"transport.nagle": False}
    ),
    "slow-acks": Hypothesis(
        "ACKs are delayed by 200 ms, never quick",
        "Linux 2.6.32 include/net/tcp.h, TCP_DELACK_MAX",
        {"transport.delayed_ack": "200 ms", "transport.quick_acks": 0},
    ),
    "no-idle-reset": Hypothesis(
        "windows survive a pause",
        "assumed: a cluster may set tcp_slow_start_after_idle = 0; the paper does not say",
        {"transport.idle_reset": False},
    ),
    "all-at-once": Hypothesis(
        "all leechers start at once", "the paper says: a flash crowd", {"arrivals.spread": "0 s"}
    ),
}


def text(limit: int, rtt: int, loss: int, hypothesis: Hypothesis, leechers: int = 30, size: int = 10 * 2**20) -> str:
    """Return the model file of a swarm under a hypothesis that no field of a scenario can set: TCP on links."""
    peers = {"client": "mainline-4.0.2", "cap": f"{1024 * limit} B/s", "transports": "tcp"}
    cell = cells.read(
        {
            "cells": {
                "hypothesis": {
                    "about": hypothesis.about,
                    "leechers": leechers,
                    "file_size": f"{size} B",
                    "uplink": "100 Mbit/s",
                    "buffer": "1 s",
                    "rtt": f"{rtt + hypothesis.hosts} ms",
                    "loss": f"{loss}%",
                    "spread": "10 s",
                    "transport": "linux-2.6.32",
                    "seed": peers,
                    "classes": {"leechers": peers},
                }
            }
        }
    )["hypothesis"]
    made = scenario.text(cell)
    if not hypothesis.segments:
        return made
    made = made.replace('transport = "linux-2.6.32"', 'sockets = "linux-2.6"')
    for name in ("seed", "leechers"):
        head = f"[classes.{name}]\n"
        body = made.index("upload_limit", made.index(head))
        end = made.index("\n", body) + 1
        made = made[:end] + _LINKS.format(name=name) + made[end:]
    return made


def completion(limit: int, rtt: int, loss: int, hypothesis: Hypothesis, replicas: int, **size: int) -> list[float]:
    """Return the mean completion of each of some swarms [s]."""
    import btflow

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hypothesis.toml"
        path.write_text(text(limit, rtt, loss, hypothesis, **size), encoding="utf-8")
        swarm = btflow.load(path).set(**hypothesis.values)
    times = btflow.simulate(swarm, replicas=replicas, seed=SEED)["completion_time"]
    return [float(value) for value in times.mean("peer").values]


def costs(hypothesis: Hypothesis, replicas: int = REPLICAS, **size: int) -> list[Change]:
    """Return by how much each of the settings takes longer than its upload limit without delay and loss."""
    base = {
        limit: completion(limit, 0, 0, hypothesis, replicas, **size) for limit in {limit for limit, _, _ in SETTINGS}
    }
    return [change(completion(*setting, hypothesis, replicas, **size), base[setting[0]]) for setting in SETTINGS]


def _text(one: Change) -> str:
    """Return a cost with its interval, as those of the client have it."""
    return f"{100 * one.value:+.1f} ± {196 * one.se:.0f}%"


def page(found: Mapping[str, list[Change]], client: Mapping[str, list[str]]) -> Report:
    """Return the report: what each hypothesis makes of the settings, and the client and the paper beside it.

    Args:
        found: Costs of the settings by hypothesis.
        client: Costs as measured, in words, by the kernel's TCP.
    """
    head = ("", *(f"{limit} kB/s, {rtt} ms{', 5% loss' if loss else ''}" for limit, rtt, loss in SETTINGS))
    rows = [(f"`{name}`: {HYPOTHESES[name].about}", *map(_text, values)) for name, values in found.items()]
    rows += [(f"the client itself, {name}", *values) for name, values in client.items()]
    rows.append(("the paper, 300 leechers and 50 MB", *PAPER))
    sources = [f"- `{name}`: {one.source}" for name, one in HYPOTHESES.items()]
    base = found["model"]
    others = [values for name, values in found.items() if name != "model"]
    if not others:
        return Report("Hypotheses about the cluster of 2010", QUESTION, ["The model alone."], [table(head, rows)])
    moved = sum(
        abs(one.value - old.value) > MOVED + 2 * math.hypot(one.se, old.se)
        for name, values in found.items()
        if name != "model"
        for one, old in zip(values, base, strict=True)
    )
    return Report(
        "Hypotheses about the cluster of 2010",
        QUESTION,
        [f"{moved} of {len(others) * len(SETTINGS)} figures move by more than {100 * MOVED:.0f} points beyond chance."],
        [
            "\n\n".join(
                [
                    "By how much a setting takes longer than its upload limit without delay and loss: 30 leechers,"
                    f" 10 MiB, the mean of {REPLICAS} swarms, of the client one to three, each ± 95%. None is part of"
                    " the model of the experiment: neither the paper nor the client's own run says that it was there."
                    " Made by `python -m validation.clients hypotheses`; do not edit.",
                    table(head, rows),
                    "Sources:",
                    "\n".join(sources),
                    "Without a switch:\n",
                    "\n".join(f"- {line}" for line in UNSWITCHED),
                ]
            )
        ],
    )


def chosen(names: str) -> dict[str, Hypothesis]:
    """Return the hypotheses of a comma-separated list, all for an empty one, and the model itself.

    Raises:
        InputError: There is no such hypothesis.
    """
    wanted = command.chosen("--only", names, HYPOTHESES, "a hypothesis")
    return {name: one for name, one in HYPOTHESES.items() if name in wanted or name == "model"}


def write(wanted: Mapping[str, Hypothesis], path: Path = REPORT) -> Path:
    """Simulate hypotheses and write the report, of some of them one beside it; return where it is."""
    found = mainline.Found(compare(cells.load().values()), predictions.read())
    client = {
        words: [found.cost(limit, rtt, bool(loss), tcp).split(" (")[0] for limit, rtt, loss in SETTINGS]
        for words, tcp in (
            ("TCP of Linux 6", ""),
            ("TCP as old as that kernel allows", mainline.OLD),
            ("TCP of Linux 2.6.32 itself", mainline.OF_2009),
            ("the same, all clients on one host", f"{mainline.OF_2009}-host"),
        )
    }
    if set(wanted) != set(HYPOTHESES) and path == REPORT:
        path = PART
        path.parent.mkdir(exist_ok=True)
    page({name: costs(one) for name, one in wanted.items()}, client).write(path)
    return path
