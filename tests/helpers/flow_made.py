"""Capped swarms of any kind for the tests of flow fidelity, and runs of them that a test can look into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from hypothesis import strategies as st

from btflow.config.catalog import parse
from btflow.config.files import read_toml
from btflow.kernels.flow import engine
from btflow.kernels.flow.state import Flow
from btflow.options import Fidelity
from btflow.swarm import flow
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.scenario import Scenario
from btflow.swarm.state import grow

ASES = ("AS1", "AS2", "AS3", "AS4", "AS5")
CLIENTS = ("mainline-4.0", "libtorrent-2", "utorrent-3.0")


def scenario(*counts: int, rates: tuple[float, ...] = (20.0,), seed_rate: float = 20.0, **options: Any) -> Scenario:
    """Return a swarm of a seed and classes of leechers.

    Args:
        counts: Leechers of each class.
        rates: Their upload limits [kB/s of 1024 B].
        seed_rate: The seed's [kB/s of 1024 B].
        options: ``client``, ``super_seeding``, ``seeds``, ``locations`` of classes; ``slots``; ``swarm``,
            ``transport``: fields that replace the usual ones; ``paths``, ``arrivals``, ``departures``: whole tables.
    """
    tree = read_toml(files("btflow.models") / "swarms" / "rao2010.toml")
    client = options.pop("client", "mainline-4.0")
    locations = options.pop("locations", {})
    shows, slots = options.pop("super_seeding", False), options.pop("slots", 0)
    seed = tree["classes"]["seed"] | {"count": options.pop("seeds", 1), "upload_limit": f"{seed_rate} kB/s"}
    tree["classes"] = {"seed": seed}
    del tree["parameters"]
    for i, (count, rate) in enumerate(zip(counts, rates, strict=True)):
        tree["classes"]["abcdefgh"[i]] = {"role": "leecher", "count": count, "upload_limit": f"{rate} kB/s"}
    for name, peer_class in tree["classes"].items():
        peer_class |= {"client": client, "location": locations.get(name, [])}
    tree["transport"] = {"base": tree["transport"]}
    tree["paths"] = {"rtt": "0 ms", "loss": 0.0}
    for name, table in options.items():
        tree[name] = {**(tree.get(name, {}) if name in ("swarm", "transport") else {}), **table}
    return parse(tree).build({}).set(slots=slots, **{"classes.*.client.super_seeding": shows})


def program(*counts: int, fidelity: Fidelity = "flow", **options: Any) -> Program:
    """Return the arrays of `scenario(...)`."""
    return compile_scenario(scenario(*counts, **options), fidelity)


def steps(made: Program, seed: int, looks: int, replica: int = 0) -> Iterator[Flow]:
    """Run a swarm to its end; yields its state after each so many looks, and at the end."""
    s = flow.build(made, seed, replica)
    while True:
        outcome = engine.run(s, looks)
        assert outcome != engine.STUCK, "stuck"
        yield s
        if outcome == engine.FINISHED:
            return
        if outcome == engine.FULL:
            s = grow(s)


@st.composite
def scenarios(draw: st.DrawFn, most: int = 20_000_000) -> Scenario:
    """Any small swarm that flow runs; at most about `most` bytes are received in all."""
    counts = draw(st.lists(st.integers(1, 10), min_size=1, max_size=3))
    piece = draw(st.sampled_from([32, 64, 128, 256, 1024]))
    size = draw(st.integers(60_000, max(100_000, min(3_000_000, most // sum(counts)))))
    options: dict[str, Any] = draw(_paths(tuple("abc"[: len(counts)])))
    options["arrivals"] = draw(_arrivals(sum(counts)))
    if "locations" not in options and draw(st.integers(0, 3)) == 0:
        options["departures"] = draw(_departures(sum(counts)))
    transport = {
        "tso": draw(st.booleans()),
        "nagle": draw(st.booleans()),
        "initial_window": draw(st.sampled_from([3, 10])),
    }
    client = draw(st.sampled_from(CLIENTS))
    slots = draw(st.sampled_from([0, 0, 1, 2, 12]))  # 0: as many as the client's rule says
    return scenario(
        *counts,
        rates=tuple(draw(st.lists(st.floats(4, 200), min_size=len(counts), max_size=len(counts)))),
        seed_rate=draw(st.floats(8, 300)),
        seeds=draw(st.integers(1, 2)),
        client=client,
        super_seeding=draw(st.integers(0, 3)) == 0,
        swarm={
            "file_size": f"{size} B",
            "piece_size": f"{piece} KiB",
            "block_size": f"{draw(st.sampled_from([4, 8, 16, 32]))} KiB",
        },
        transport=transport,
        **options,
    ).set(slots=slots, **_endgame(draw))


def _endgame(draw: st.DrawFn) -> dict[str, Any]:
    """Now and then a client asks nothing twice at the end."""
    return {} if draw(st.integers(0, 3)) else {"classes.*.client.endgame": "none"}


@st.composite
def _paths(draw: st.DrawFn, classes: tuple[str, ...]) -> dict[str, Any]:
    """Give tables of paths: none of any length, all alike, between ASes, or drawn from the Internet's."""
    kind = draw(st.sampled_from(["none", "alike", "alike", "matrix", "internet"]))
    loss = draw(st.sampled_from([0.0, 0.0, 0.01, 0.08]))
    if kind == "alike":
        return {"paths": {"rtt": f"{draw(st.integers(0, 1500))} ms", "loss": loss}}
    if kind == "matrix":
        names = st.lists(st.sampled_from(ASES), min_size=1, unique=True)
        return {
            "paths": {"loss": loss, "matrix": "rao2010-as"},
            "locations": {"seed": ["seed-AS1"]} | {name: draw(names) for name in classes},
        }
    return {"paths": {"internet": "iplane"}} if kind == "internet" else {}


@st.composite
def _arrivals(draw: st.DrawFn, leechers: int) -> Mapping[str, Any]:
    kind = draw(st.sampled_from(["flash", "flash", "poisson", "trace"]))
    if kind == "poisson":
        return {"kind": "poisson", "interval": f"{draw(st.integers(1, 20))} s"}
    if kind == "trace":
        times = draw(st.lists(st.integers(0, 100), min_size=leechers, max_size=leechers))
        return {"kind": "trace", "times": [f"{time} s" for time in times]}
    return {"kind": "flash", "spread": f"{draw(st.sampled_from([0, 10, 60]))} s"}


@st.composite
def _departures(draw: st.DrawFn, leechers: int) -> Mapping[str, Any]:
    stay = draw(st.sampled_from(["leave", "random"]))
    replace, discard = draw(st.booleans()), draw(st.integers(0, leechers - 1))
    last = 2 * leechers if replace else leechers - discard
    table: dict[str, Any] = {"stay": stay, "replace": replace, "discard": discard}
    if stay == "random":
        table["mean_stay"] = draw(st.floats(0.05, 2.0))
    return table | {"completions": draw(st.integers(1, last))}
