"""What must hold of any swarm on access links, whatever its peers, links and comings and goings."""

from __future__ import annotations

from itertools import product
from typing import Any

import access_checks as checks
import access_made as made
import bounds
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, reject, settings, strategies as st

from btflow import load
from btflow.config.catalog import parse
from btflow.errors import InputError, SimulationError
from btflow.kernels.access.engine import CRAMPED
from btflow.kernels.swarm.engine import FINISHED, FULL
from btflow.options import FIDELITIES, Fidelity
from btflow.swarm.program import compile_scenario
from btflow.swarm.scenario import Scenario
from btflow.sweeps.swarm_figures import Swarms

CONTROLS = ("newreno", "cubic", "ledbat", "utp", "vegas", "nice")
WAYS = (("tcp",), ("utp",), ("tcp", "utp"), ("utp", "tcp"))
DISCIPLINES = ("drop-tail", "codel", "fq-codel", "pie", "cake")


@st.composite
def ways(draw: st.DrawFn, slowest: int, fastest: int) -> made.Table:
    """One direction of an access link [kbit/s]."""
    if draw(st.integers(0, 5)) == 0:
        return made.way()
    packets = f"{draw(st.integers(5, 200))} packets"
    buffer = draw(st.sampled_from([packets, packets, f"{draw(st.integers(60, 1000))} ms"]))
    rate = f"{draw(st.integers(slowest, fastest))} kbit/s"
    return made.way(rate, buffer, discipline=draw(st.sampled_from(DISCIPLINES)))


@st.composite
def classes(draw: st.DrawFn, separate: bool) -> dict[str, Any]:
    """What peers of a class have."""
    fields: dict[str, Any] = {
        "tcp": draw(st.sampled_from(CONTROLS)),
        "utp": draw(st.sampled_from(CONTROLS)),
        "opens": list(draw(st.sampled_from(WAYS))),
        "accepts": list(draw(st.sampled_from(WAYS))),
        "attempts": draw(st.sampled_from(["sequential", "parallel"])),
        "upload_limit": draw(st.sampled_from(["unlimited", f"{draw(st.integers(10, 300))} kB/s"])),
        "access": {"uplink": draw(ways(200, 5000)), "downlink": draw(ways(500, 20000))},
    }
    return fields | ({"control": draw(st.sampled_from(CONTROLS))} if separate else {})


@st.composite
def departures(draw: st.DrawFn, leechers: int) -> dict[str, Any]:
    """Who leaves when, and how many downloads are waited for."""
    stay = draw(st.sampled_from(["forever", "leave", "random"]))
    replace = draw(st.booleans())
    discard = draw(st.integers(0, leechers - 1))
    most = leechers - discard + (4 if replace and stay != "forever" else 0)
    return {
        "stay": stay,
        "mean_stay": draw(st.floats(0.05, 2)),
        "replace": replace,
        "discard": discard,
        "completions": draw(st.integers(1, most)),
    }


@st.composite
def arrivals(draw: st.DrawFn, leechers: int) -> dict[str, Any]:
    """When the leechers come."""
    kind = draw(st.sampled_from(["flash", "poisson", "trace"]))
    if kind == "flash":
        return {"kind": kind, "spread": f"{draw(st.integers(0, 20))} s"}
    if kind == "poisson":
        return {"kind": kind, "interval": f"{draw(st.floats(0.1, 5))} s"}
    times = draw(st.lists(st.floats(0, 30), min_size=leechers, max_size=leechers))
    return {"kind": kind, "times": [f"{time} s" for time in times]}


@st.composite
def swarms(draw: st.DrawFn) -> dict[str, Any]:
    """Any small swarm: two classes of leechers with a share each, and one seed, that can all send to each other."""
    separate = draw(st.booleans())
    groups = [draw(classes(separate)) for _ in range(3)]
    for sender, receiver in product(groups, groups):
        if not set(sender["opens"]) & set(receiver["accepts"]):
            receiver["accepts"] = ["tcp", "utp"]
    opened = {way for group in groups for way in group["opens"]}
    for group, way in product(groups, ("tcp", "utp")):
        if way not in group["opens"] and not (way in group["accepts"] and way in opened) and draw(st.booleans()):
            del group[way]  # it is never used
    seed, one, other = groups
    leechers = draw(st.integers(5, 12))
    low, high = sorted(draw(st.tuples(st.integers(0, 50), st.integers(0, 50))))
    client = {
        "base": draw(st.sampled_from(["mainline-4.0", "ns2-eger"])),
        "max_allow_in": 16,
        "super_seeding": draw(st.booleans()),
        "choke_interval": f"{draw(st.integers(2, 10))} s",
        "rerequest_interval": "30 s",
        "check_interval": "20 s",
    }
    return made.tree(
        {"role": "leecher", "share": draw(st.integers(0, 10)) / 10, **one},
        {"role": "leecher", "rest": True, **other},
        seed=seed,
        common={"client": client},
        population=leechers,
        horizon="10 d",  # Nice may starve on a slow link, where a full packet is late by its own length
        sockets=draw(st.sampled_from(["linux-2.6", "ns2"])),
        control_connections="separate" if separate else "shared",
        swarm={
            "file_size": f"{draw(st.integers(200, 1200))} kB",
            "piece_size": f"{draw(st.sampled_from([16, 64, 128, 256, 2048]))} KiB",
        },
        paths={
            "rtt": f"{draw(st.integers(0, 100))} ms",
            "loss": draw(st.sampled_from([0.0, 0.0, 0.003, 0.03])),
            "delay_min": f"{low} ms",
            "delay_max": f"{high} ms",
        },
        arrivals=draw(arrivals(leechers)),
        departures=draw(departures(leechers)),
    )


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(swarms(), st.integers(0, 2**32), st.integers(50, 3000))
def test_random_swarms_on_links_keep_their_books_and_come_to_their_end(
    swarm: dict[str, Any], seed: int, step: int
) -> None:
    """Between any two events the books are right, and every download that counts is completed before the horizon."""
    program = compile_scenario(parse(swarm).build({}))
    served = checks.Served(program)
    seen = set()
    for number, (s, x, outcome) in enumerate(made.steps(program, step, seed)):
        seen.add(outcome)
        if number % (1 + number // 15) == 0 or outcome == FINISHED:  # ever more seldom
            checks.check(s, x)
            checks.check_bytes(s, x)
            served.look(s, x)
    checks.check_completion(program, s)
    event(f"the pool of nodes grew: {FULL in seen}")
    event(f"the pool of rings grew: {CRAMPED in seen}")


LIMITS = ["100 B/s", "1 kB/s", "100 kB/s", "10 MB/s"]
RATES = ["10 kbit/s", "1 Mbit/s", "10 Gbit/s"]
EDGES = {
    "rao2010": {"upload_limit": LIMITS, "seed_upload_limit": LIMITS, "tso": ["true", "false"]},
    "flashcrowd": {
        "upload_limit": ["unlimited", *LIMITS],
        "uplink": RATES,
        "downlink": RATES,
        "buffer": ["1500 B", "100 packets", "10 s"],
        "aqm": list(DISCIPLINES),
        "utp_share": ["0%", "50%", "100%"],
        "stay": ["leave", "forever"],
    },
}
"""Parameters of small swarms, capped and on access links."""


@st.composite
def edges(draw: st.DrawFn) -> Scenario:
    """A small swarm whose limits are at their edges."""
    model = draw(st.sampled_from(sorted(EDGES)))
    common = {
        "leechers": ["1", "2", "7"],
        "file_size": ["1 B", "16 KiB", "40 kB", "300 kB"],
        "piece_size": ["16 KiB", "64 KiB"],
        "classes.*.client": [
            "mainline-4.0",
            "libtorrent-2",
            "libtorrent-2.1",
            "transmission-3",
            "utorrent-3.0",
            "ns2-eger",
        ],
        "slots": ["0", "1"],
        "rtt": ["0 ms", "1 ms", "1 s"],
        "loss": ["0%", "10%"],
    }
    return load(model, **{name: draw(st.sampled_from(values)) for name, values in (common | EDGES[model]).items()})


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(edges(), st.integers(0, 2**32), st.sampled_from(FIDELITIES))
def test_no_number_of_a_swarm_passes_its_bounds(scenario: Scenario, seed: int, fidelity: Fidelity) -> None:
    try:
        data = bounds.find(Swarms(), scenario, fidelity, seed)
    except (InputError, SimulationError):  # in flow, or it starves
        reject()
    size, leechers = data.attrs["file_size"], (data.role == "leecher").values
    assert (data.bytes_received.sum("peer") <= data.bytes_sent.sum("peer")).all()
    assert (data.bytes_received[:, leechers] >= size).sum() >= data.counted.sum()
    assert (data.slots_dry <= data.slots_seen).all() if fidelity == "full" else True
    assert (data.seed_copies >= 1.0).all()
    assert (np.diff(data.pieces_held) >= 0.0).all()
    fastest = data.uplink_rate if "uplink_rate" in data.coords else data.upload_limit
    early = 16397 * (~leechers).sum()  # a unit is written before it is paid for
    done = data.start_time + data.completion_time
    assert done.min() >= (size - early) / fastest[~leechers].sum() * (1 - 1e-9)
