"""The engines alike: small experiments of each, run whole or in pieces, and a hash of all that comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import access_made
import flow_made
import golden_links
import numpy as np
import states
from numpy.typing import NDArray

from btflow.kernels.link import engine
from btflow.kernels.swarm.engine import FINISHED
from btflow.link.run import run_link
from btflow.link.state import build
from btflow.swarm.program import compile_scenario
from btflow.swarm.run import run_with_links


class Engine(NamedTuple):
    """An engine with experiments."""

    cases: Mapping[str, Any]
    """What they have, by name."""
    program: Callable[[str], Any]
    """Returns the arrays of a case."""
    run: Callable[[Any, int, int], Any]
    """Runs a program with a seed, as the replica of a number, and returns what is left at the end."""
    arrays: Callable[[Any], Iterator[NDArray[Any]]]
    """Gives the results in it."""
    pieces: tuple[int, ...] = ()
    """Into how many events or looks at a time a run is cut."""
    cut: Callable[[Any, int], Any] | None = None
    """Runs a program with seed 7 as replica 2, so many at a time."""

    def found(self, case: str, seed: int = 7, replica: int = 2) -> str:
        """Return the hash of a case's results."""
        return self.digest(self.run(self.program(case), seed, replica))

    def digest(self, end: Any) -> str:
        """Return a hash of results, bit by bit."""
        found = hashlib.sha256()
        for array in self.arrays(end):
            for name in array.dtype.names or [None]:
                found.update(np.ascontiguousarray(array if name is None else array[name]).tobytes())
        return found.hexdigest()


def _of(state: Any, names: str) -> Iterator[NDArray[Any]]:
    return (getattr(state, name) for name in names.split())


# -- swarms behind upload limits --------------------------------------------------------------------------------------

SWARMS: dict[str, dict[str, Any]] = {
    "no delay": {"leechers": 6, "file_size": "700 kB"},
    "delay and loss": {"leechers": 6, "file_size": "700 kB", "rtt": "120 ms", "loss": 0.04, "upload_limit": "50 kB/s"},
    "large blocks": {"leechers": 4, "file_size": "1 MB", "piece_size": "128 KiB", "block_size": "64 KiB"},
    "many blocks": {"leechers": 3, "file_size": "1 MB", "piece_size": "512 KiB", "block_size": "4 KiB", "rtt": "90 ms"},
    "ASes": {"leechers": 5, "file_size": "500 kB", "leecher_as": ["AS1", "AS4"], "seed_as": ["AS2"], "loss": 0.02},
}

# -- swarms on access links -------------------------------------------------------------------------------------------

MIXED: dict[str, Any] = {
    "tcp": "cubic",
    "utp": "utp",
    "opens": ["utp", "tcp"],
    "accepts": ["tcp", "utp"],
    "access": {
        "uplink": access_made.way("1 Mbit/s"),
        "downlink": access_made.way("4 Mbit/s", "30 packets", discipline="fq-codel"),
    },
}
LEAVING = {"stay": "random", "mean_stay": 0.2, "replace": True, "discard": 1, "completions": 5}
ON_LINKS: dict[str, dict[str, Any]] = {
    "capped": {"common": {"upload_limit": "60 kB/s"}},
    "lossy": {"paths": {"loss": 0.02, "delay_min": "1 ms", "delay_max": "30 ms"}},
    "leaving": {"common": MIXED, "departures": LEAVING, "arrivals": {"kind": "poisson", "interval": "2 s"}},
    "separate": {
        "common": MIXED | {"control": "newreno", "client": {**access_made.CLIENT, "super_seeding": True}},
        "sockets": "ns2",
        "control_connections": "separate",
    },
}


def on_links(case: str, leechers: int = 4, file_size: str = "300 kB") -> Any:
    """Return the arrays of a swarm on access links."""
    return access_made.program(access_made.leechers(leechers), swarm={"file_size": file_size}, **ON_LINKS[case])


def _swarm_and_links(end: Any) -> Iterator[NDArray[Any]]:
    s, x = end
    yield from _of(s, "have_time have_log peer share gaps copies rng offers")
    yield from _of(x.net, "queue rng")
    yield from _of(x, "crossed queue_packets queue_delay control latency slots wins")


def _steps_on_links(program: Any, events: int) -> Any:
    for s, x, outcome in access_made.steps(program, events, 7, 2):
        last = s, x, outcome
    assert last[2] == FINISHED
    return last[:2]


# -- swarms in flow ---------------------------------------------------------------------------------------------------

FLOW: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "no delay": ((12,), {"swarm": {"file_size": "1 MB"}}),
    "two classes, delay and loss": ((6, 6), {"rates": (10.0, 60.0), "paths": {"rtt": "300 ms", "loss": 0.05}}),
    "replaced": ((6,), {"departures": {"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 20}}),
    "super-seeding": ((12,), {"super_seeding": True, "seed_rate": 60.0, "paths": {"rtt": "300 ms", "loss": 0.02}}),
    "two super-seeds, replaced": (
        (6,),
        {
            "super_seeding": True,
            "seeds": 2,
            "departures": {"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 12},
        },
    ),
    "three super-seeds of two slots": (
        (12,),
        {
            "super_seeding": True,
            "seeds": 3,
            "seed_rate": 300.0,
            "swarm": {"file_size": "300 kB", "piece_size": "256 KiB"},
            "slots": 2,
            "paths": {"rtt": "300 ms", "loss": 0.02},
            "departures": {"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 24},
        },
    ),
    "whole pieces, allowed-fast sets": ((12,), {"client": "libtorrent-2", "seed_rate": 60.0}),
    "whole pieces, delay and loss, replaced": (
        (6,),
        {
            "client": "libtorrent-2",
            "seed_rate": 100.0,
            "paths": {"rtt": "300 ms", "loss": 0.02},
            "departures": {"stay": "random", "mean_stay": 0.5, "replace": True, "completions": 20},
        },
    ),
    "drawn paths": ((9,), {"paths": {"internet": "iplane"}, "client": "libtorrent-2"}),
}


def in_flow(case: str) -> Any:
    """Return the arrays of a swarm in flow."""
    counts, options = FLOW[case]
    return flow_made.program(*counts, **{"swarm": {"file_size": "1 MB"}} | options)


def _looks(program: Any, looks: int) -> Any:
    for s in flow_made.steps(program, 7, looks, 2):
        last = s
    return last, None


def _events(program: Any, events: int) -> Any:
    state = build(program, 7 + 2)
    while engine.run(state, events) != engine.DONE:
        pass
    return state


SWARM_ARRAYS = "have_time have_log peer share gaps bursts copies rng"
FLOW_ARRAYS = "have_time have_log peer end copies order gaps bursts rng births"
LINK_ARRAYS = "flow queue queue_time rtt_bins record_delay flow_series queue_series rng queue_delay_series"

ENGINES = {
    "swarm": Engine(
        SWARMS,
        lambda case: compile_scenario(states.scenario(seeds=2, **SWARMS[case])),
        run_with_links,
        lambda end: _of(end[0], SWARM_ARRAYS),
    ),
    "access": Engine(ON_LINKS, on_links, run_with_links, _swarm_and_links, (1, 17, 5000), _steps_on_links),
    "flow": Engine(FLOW, in_flow, run_with_links, lambda end: _of(end[0], FLOW_ARRAYS), (1, 13), _looks),
    "link": Engine(
        golden_links.CASES,
        golden_links.program,
        lambda program, seed, replica: run_link(program, seed + replica),
        lambda end: _of(end, LINK_ARRAYS),
        (1, 7, 10_000_000),
        _events,
    ),
}
EVERY = [(engine, case) for engine, found in ENGINES.items() for case in found.cases]
