"""Golden runs at flow fidelity: small swarms whose results are kept to the last digit; as golden.py does for full.

python tests/helpers/golden_flow.py --write
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flow_made as made
import numpy as np
from golden import figures, main

from btflow import load
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.run import run_swarm

FILE = Path(__file__).with_suffix(".json")

CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "flash crowd": ((40,), {"swarm": {"file_size": "5 MB"}}),
    "fast seed, long round trips": ((30,), {"seed_rate": 50.0, "paths": {"rtt": "400 ms", "loss": 0.0}}),
    "loss": ((20,), {"rates": (100.0,), "seed_rate": 100.0, "paths": {"rtt": "50 ms", "loss": 0.05}}),
    "segments of many units": ((20,), {"paths": {"rtt": "50 ms", "loss": 0.05}, "transport": {"tso": True}}),
    "three ASes, two seeds": (
        (30,),
        {
            "seeds": 2,
            "swarm": {"file_size": "3000001 B", "piece_size": "64 KiB"},
            "locations": {"seed": ["seed-AS2"], "a": ["AS1", "AS3", "AS5"]},
            "paths": {"loss": 0.0, "matrix": "rao2010-as"},
        },
    ),
    "two classes that come and go": (
        (10, 10),
        {
            "rates": (10.0, 60.0),
            "arrivals": {"kind": "poisson", "interval": "5 s"},
            "departures": {"stay": "random", "mean_stay": 0.3, "replace": True, "discard": 5, "completions": 40},
        },
    ),
    "drawn paths": ((20,), {"client": "libtorrent-2", "paths": {"internet": "iplane"}}),
}

LINKED: dict[str, tuple[str, dict[str, str]]] = {
    "links: TCP and uTP, a small buffer": ("flashcrowd", {"utp_share": "50%", "buffer": "20 packets"}),
    "links: long queues at uplinks and downlinks": (
        "flashcrowd",
        {"client": "mainline-4.0", "utp_share": "50%"}
        | {"buffer": "2 s", "downlink": "1 Mbit/s", "seed_uplink": "5 Mbit/s"},
    ),
    "links: upload limits, losses on the way, leechers that leave": (
        "flashcrowd",
        {"upload_limit": "80 kB/s", "loss": "1%", "rtt": "100 ms", "stay": "leave"},
    ),
    "links: connections of their own for messages": ("testa2011", {"utp_share": "50%", "discard": "2"}),
    "links: ideal ACKs and messages": (
        "testa2011",
        {"utp_share": "50%", "discard": "2", "ideal_acks": "true", "ideal_control": "true"},
    ),
    "links: uTorrent beside CUBIC": ("testa2012", {"cc": "utp", "client": "utorrent", "cubic_share": "50%"}),
}
"""Swarms on access links: model and parameters."""
NAMES = [*CASES, *LINKED]


def program(case: str) -> Program:
    """Return the arrays of a case."""
    if case in LINKED:
        model, parameters = LINKED[case]
        return compile_scenario(load(model, **{"leechers": "12", "file_size": "2 MB"} | parameters), "flow")
    counts, options = CASES[case]
    return made.program(*counts, **{"swarm": {"file_size": "3 MB"}} | options)


def run(case: str) -> dict[str, str]:
    """Return what is kept of a case: the exact text of each figure, and of links what their queues did."""
    swarm = program(case)
    s = run_swarm(swarm, 2010, 0)
    found = figures(s.peer, (swarm.is_seed == 0) & (s.peer.done >= 0.0), "duplicates")
    if case in LINKED:
        looks, link = s.net.queue_delay.sum(axis=0), s.net.link
        found["dropped at uplinks, downlinks"] = repr([float(x.sum()) for x in (link.dropped, link.dropped_down)])
        found["looks at uplinks, bins of delay"] = repr([int(looks.sum()), int(looks @ np.arange(looks.size))])
    return found


if __name__ == "__main__":
    main(FILE, NAMES, run)
