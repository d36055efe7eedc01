"""Golden runs: small swarms whose results are kept to the last digit.

A change of the engine that is meant to change nothing leaves them as they are. After one that is meant to change
results, look at the difference and write them anew:

    python tests/helpers/golden.py --write
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import states

from btflow import load
from btflow.swarm.program import compile_scenario
from btflow.swarm.run import run_swarm

FILE = Path(__file__).with_suffix(".json")

OTHERS = {"leechers": 20, "file_size": "3 MB", "upload_limit": "60 kB/s", "rtt": "50 ms", "loss": 0.01}

CASES: dict[str, dict[str, Any]] = {
    "flash crowd": {"leechers": 40, "file_size": "5 MB"},
    "fast seed, long round trips": {
        "leechers": 30,
        "file_size": "4 MB",
        "rtt": "400 ms",
        "seed_upload_limit": "50 kB/s",
    },
    "loss": {"leechers": 20, "file_size": "3 MB", "upload_limit": "100 kB/s", "rtt": "50 ms", "loss": 0.05},
    "loss without delay": {"leechers": 20, "file_size": "3 MB", "upload_limit": "10 kB/s", "loss": 0.05},
    "three ASes, two seeds": {
        "seeds": 2,
        "leechers": 30,
        "file_size": "3000001 B",
        "piece_size": "64 KiB",
        "leecher_as": ["AS1", "AS3", "AS5"],
        "seed_as": ["AS2"],
        "initial_window": 10,
    },
    "libtorrent": {"client": {"base": "libtorrent-2"}} | OTHERS,
    "Transmission 4": {"client": {"base": "transmission-4"}} | OTHERS,
    "Transmission 3": {"client": {"base": "transmission-3"}} | OTHERS,
}

LINKED: dict[str, dict[str, str]] = {
    "links: libtorrent beside Transmission": {
        "classes.tcp.client": "libtorrent-2",
        "classes.utp.client": "transmission-3",
    },
    "links: upload limits of libtorrent and Transmission": {
        "upload_limit": "60 kB/s",
        "classes.tcp.client": "libtorrent-2.1",
        "classes.utp.client": "transmission-4",
    },
}
"""Flash crowds on access links, half TCP and half uTP, with what is set in them."""
NAMES = [*CASES, *LINKED]


def run(case: str) -> dict[str, str]:
    """Return what is kept of a case: the exact text of each figure."""
    if case in LINKED:
        small = {"leechers": "12", "file_size": "2 MB", "utp_share": "50%"}
        program = compile_scenario(load("flashcrowd", **small | LINKED[case]))
    else:
        program = compile_scenario(states.scenario(**CASES[case]))
    s = run_swarm(program, 2010, 0)
    return figures(s.peer, program.is_seed == 0, "unchokes")


def figures(peer: Any, leecher: Any, counted: str) -> dict[str, str]:
    """Return the exact text of figures of peers, one of them a count of that name."""
    completion = (peer.done - peer.start)[leecher]
    found = {"mean completion [s]": repr(float(np.mean(completion)))}
    found["last completion [s]"] = repr(float(np.max(completion)))
    names = {"sent [B]": "bytes_up", "received [B]": "bytes_down", counted: counted}
    names |= {"idle terminations": "idle_ends", "cancelled requests": "cancelled"}
    return found | {shown: repr(int(peer[name].sum())) for shown, name in names.items()}


def main(file: Path, names: Sequence[str], run: Callable[[str], dict[str, Any]]) -> None:
    """Print golden runs as they are now, or write them to their file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {file.name}")
    text = json.dumps({case: run(case) for case in names}, indent=2) + "\n"
    if parser.parse_args().write:
        file.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main(FILE, NAMES, run)
