"""A swarm on access links is a function of (scenario, seed, replica), to the last bit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import access_made as made
import numpy as np
import plain
import pytest

import btflow
from btflow.kernels.access.state import Access
from btflow.kernels.swarm.engine import FINISHED
from btflow.kernels.swarm.state import Swarm
from btflow.swarm.program import Program
from btflow.swarm.run import run_replicas, run_with_links

MIXED: dict[str, Any] = {
    "tcp": "cubic",
    "utp": "utp",
    "opens": ["utp", "tcp"],
    "accepts": ["tcp", "utp"],
    "access": {"uplink": made.way("1 Mbit/s"), "downlink": made.way("4 Mbit/s", "30 packets", discipline="fq-codel")},
}
LEAVING: made.Table = {"stay": "random", "mean_stay": 0.2, "replace": True, "discard": 1, "completions": 5}
CASES: dict[str, dict[str, Any]] = {
    "capped": {"common": {"upload_limit": "60 kB/s"}},
    "lossy": {"paths": {"loss": 0.02, "delay_min": "1 ms", "delay_max": "30 ms"}},
    "leaving": {"common": MIXED, "departures": LEAVING, "arrivals": {"kind": "poisson", "interval": "2 s"}},
    "separate": {
        "common": MIXED | {"control": "newreno", "client": {**made.CLIENT, "super_seeding": True}},
        "sockets": "ns2",
        "control_connections": "separate",
    },
}

SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from test_access_determinism import CASES, digest, program
from btflow.swarm.run import run_with_links
for case in CASES:
    print(case, digest(*run_with_links(program(case), 7, 2)))
"""


def program(case: str, leechers: int = 4, file_size: str = "300 kB") -> Program:
    """Return a swarm of one of the cases."""
    return made.program(made.leechers(leechers), swarm={"file_size": file_size}, **CASES[case])


def digest(s: Swarm, x: Access | None) -> str:
    """Return a hash of the results of a swarm, bit by bit."""
    assert x is not None
    found = hashlib.sha256()
    swarm = (s.have_time, s.have_log, s.peer, s.share, s.gaps, s.copies, s.rng, s.offers)
    links = (x.net.queue, x.net.rng, x.crossed, x.queue_packets, x.queue_delay, x.control, x.latency, x.slots, x.wins)
    for array in swarm + links:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    """Return what each case gives."""
    return {case: digest(*run_with_links(program(case), 7, 2)) for case in CASES}


@pytest.mark.parametrize("events", [1, 17, 5000])
@pytest.mark.parametrize("case", CASES)
def test_it_does_not_matter_how_many_events_are_handled_at_a_time(
    case: str, events: int, expected: dict[str, str]
) -> None:
    """The kernel may stop after any event, for Ctrl-C or a larger pool, and go on as if it had not."""
    for s, x, outcome in made.steps(program(case), events, 7, 2):
        last = s, x, outcome
    assert last[2] == FINISHED
    assert digest(*last[:2]) == expected[case]


def test_another_process_finds_the_same(expected: dict[str, str]) -> None:
    """Neither addresses nor the order of imports come into the result."""
    script = SCRIPT.format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", script],
        env=os.environ | {"PYTHONPATH": str(Path(btflow.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert dict(line.rsplit(" ", 1) for line in done.stdout.splitlines()) == expected


@pytest.mark.parametrize("case", CASES)
def test_threads_and_replicas_in_any_order_find_the_same(case: str, expected: dict[str, str]) -> None:
    """Replicas share no state, whether they run at the same time, twice, or in another order."""
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda r: digest(*run_with_links(program(case), 7, r)), [2, 3, 2, 2, 1, 2]))
    assert [found[i] for i in (0, 2, 3, 5)] == [expected[case]] * 4
    assert len(set(found)) == 3
    in_turn = [digest(*run_with_links(program(case), 7, r)) for r in (3, 1)]
    assert in_turn == [found[1], found[4]]


def test_fewer_replicas_are_the_first_of_more() -> None:
    """A replica does not depend on how many are run."""
    few, more = ([s.peer.done.tolist() for s, _ in run_replicas(program("leaving"), 3, n)] for n in (1, 3))
    assert few == more[:1]
    assert more[0] != more[1]


def test_delays_are_drawn_per_peer_and_replica() -> None:
    """Each peer has a propagation delay of its own, the same both ways, from the range that is given."""
    found = []
    for replica in (0, 1):
        s, x = made.run(program("lossy"), 7, replica)
        delay = (
            x.net.pipe["delay"].reshape(-1, 2)[: s.rules.peers] - 0.005
        )  # and half of the one-way delay between two access links
        assert (delay[:, 0] == delay[:, 1]).all()
        assert ((delay >= 0.001) & (delay <= 0.03)).all()
        found += delay[:, 0].tolist()
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("case", CASES)
def test_the_kernels_find_the_same_without_the_jit(case: str) -> None:
    """The same sources as plain Python give the same bits: nothing depends on how Numba compiles them."""
    tiny = program(case, leechers=2, file_size="100 kB")
    assert digest(*plain.simulate.run_with_links(tiny, 7, 0)) == digest(*run_with_links(tiny, 7, 0))
