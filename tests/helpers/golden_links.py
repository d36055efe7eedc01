"""Golden runs of links: small experiments whose results are kept to the last digit; as golden.py does for swarms.

python tests/helpers/golden_links.py --write
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import link_made as made
import numpy as np
from golden import main
from link_made import flow

from btflow.link.run import run_link
from btflow.link.state import LinkProgram

FILE = Path(__file__).with_suffix(".json")

CASES: dict[str, tuple[tuple[str | made.Table, ...], dict[str, Any]]] = {
    "newreno and cubic": (("newreno", flow("cubic", count=2)), {"buffer": "40 packets", "spread": "2 ms"}),
    "delay-driven uploads": (("vegas", "lp", "nice", "ledbat"), {"buffer": "60 packets", "spread": "2 ms"}),
    "uTP of both kinds and BBR": (("utp-2010", "utp-2013", "ledbatpp", flow("bbr", start="3 s")), {"loss": 0.005}),
    "loss on both ways": (("reno-linux", "cubic-2.6"), {"rate": "3 Mbit/s", "loss": 0.02, "ack_loss": 0.05}),
    "applications": (
        (
            flow("cubic", size="300 kB", start="1 s"),
            flow("reno-linux", rate="200 kbit/s"),
            flow("ledbat", on="1 s", off="500 ms"),
            flow("reno-linux", message="100 B", period="250 ms"),
            flow(None, codec="g729", count=2),
        ),
        {"reverse": "300 kbit/s", "reverse_buffer": "20 packets"},
    ),
    "CoDel": (("cubic", flow("newreno", way="down")), {"queue": {"discipline": "codel"}, "reverse": "400 kbit/s"}),
    "FQ-CoDel": ((flow("cubic", count=3), "ledbat"), {"queue": {"discipline": "fq-codel"}}),
    "CAKE": ((flow("cubic", count=3, host="pc"), flow("ledbat", host="tv")), {"queue": {"discipline": "cake"}}),
    "PIE": ((flow("newreno", count=2), flow(None, codec="g711")), {"queue": {"discipline": "pie", "framing": "18 B"}}),
    "steps": (
        ("cubic", flow(None, codec="g729")),
        {"rate": "2 Mbit/s, 500 kbit/s@8s", "rtt": "40 ms, 90 ms@12s", "queue": {"discipline": "fq-codel"}},
    ),
    "trace, ATM": (
        ("cubic", flow("newreno", way="down")),
        {"rate": [3, 9, 9, 20, 41], "reverse": "400 kbit/s", "queue": {"framing": "40 B", "link_layer": "atm"}},
    ),
}
NAMES = list(CASES)
SEED = 2010


def program(case: str) -> LinkProgram:
    """Return the arrays of a case."""
    flows, options = CASES[case]
    return made.program(*flows, **{"duration": "20 s", "warmup": "2 s"} | options)


def run(case: str) -> dict[str, Any]:
    """Return what is kept of a case: the exact text of each figure."""
    s = run_link(program(case), SEED)
    return {
        "goodput [B]": [repr(float(x)) for x in s.flow["goodput"]],
        "sent again [segments]": [repr(float(x)) for x in s.flow["resent"]],
        "mean RTT [s]": [repr(float(x)) for x in s.flow["rtt_sum"] / np.maximum(s.flow["rtt_count"], 1)],
        "queue [B s]": [repr(float(x)) for x in s.queue["byte_seconds"]],
        "drops": [repr(int(x)) for x in s.queue["drops"]],
        "events": repr(int(s.clock[0].events)),
    }


if __name__ == "__main__":
    main(FILE, NAMES, run)
