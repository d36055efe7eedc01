"""The swarms that are run at both fidelities: the cells of Table IV, one swarm of each other kind, and a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from btflow.options import Fidelity
from validation.cases import MODEL, Setting
from validation.experiments import LEECHER_ASES, LIMITS, TABLE_RTTS
from validation.sweeps import Run

TWO_CLASSES = str(Path(__file__).parent / "classes.toml")
"""The model of leechers of two upload limits."""


@dataclass(frozen=True)
class Setup:
    """A swarm but for its seed and its fidelity."""

    label: str
    """What is special about it, different for each."""
    settings: Mapping[str, Any] = field(hash=False)
    """Parameters and fields of the model that are set."""
    seeds: int
    """How many seeds are run, at most: few where full fidelity is dear."""
    model: str = field(default=MODEL, compare=False)
    """The model."""


@dataclass(frozen=True)
class Swarm:
    """One swarm at one fidelity."""

    setup: Setup
    """What is run."""
    seed: int
    """Seed of its random numbers, the same at both fidelities: so are its starts and paths."""
    fidelity: Fidelity
    """How it is run."""

    @property
    def run(self) -> Run:
        """What is simulated."""
        return Run(self.setup.model, self.setup.settings, self.seed, fidelity=self.fidelity)


SEEDS = 8
"""Seeds of a cell."""
LOSSES = (0, 5)
"""Losses of the cells [%]."""
DEAR = 4
"""Seeds of swarms that take a minute at full fidelity."""


def cell(limit: int, rtt: int, loss: int, smaller: Mapping[str, Setting]) -> Setup:
    """Return a cell: upload limit [kB/s], round-trip time [ms], loss [%]."""
    settings = {"upload_limit": f"{limit} kB/s", "rtt": f"{rtt} ms", "loss": f"{loss}%"}
    return Setup(f"{limit} kB/s, {rtt} ms, {loss}%", {**settings, **smaller}, SEEDS)


def cells(smaller: Mapping[str, Setting]) -> list[Setup]:
    """Return the 24 cells, made smaller by some parameters."""
    return [cell(limit, rtt, loss, smaller) for loss in LOSSES for limit in LIMITS for rtt in TABLE_RTTS]


def _kinds() -> dict[str, dict[str, Any]]:
    """Settings of the swarms of other kinds, 20 kB/s at RTT 0 but for what is set, by label."""
    near = {"rtt": "100 ms"}
    return {
        "internet=iplane, 20 kB/s": {"internet": "iplane"},
        "internet=iplane, 50 kB/s": {"internet": "iplane", "upload_limit": "50 kB/s"},
        **{
            f"{'+'.join(ases)}, seed {ases[-1]}'": {"leecher_as": ",".join(ases), "seed_as": ases[-1]}
            for ases in LEECHER_ASES
        },
        **{f"seed 50 kB/s, {rtt} ms": {"seed_upload_limit": "50 kB/s", "rtt": f"{rtt} ms"} for rtt in TABLE_RTTS},
        "TSO, 50 kB/s, 400 ms, 5%": {"tso": True, "upload_limit": "50 kB/s", "rtt": "400 ms", "loss": "5%"},
        "pieces of 64 kB, 100 ms": {"piece_size": "64 kB", **near},
        "pieces of 1 MB, 100 ms": {"piece_size": "1 MB", **near},
        "arrivals poisson, 10 s apart": {"arrivals.kind": "poisson", "arrivals.interval": "10 s", **near},
        "leave at once": {"departures.stay": "leave", **near},
        "stay for a random time": {"departures.stay": "random", "departures.mean_stay": 0.5, **near},
        "leave and are replaced": {
            "departures.stay": "leave",
            "departures.replace": True,
            "departures.discard": 300,
            "departures.completions": 900,
            **near,
        },
        "libtorrent-2": {"classes.*.client": "libtorrent-2", **near},
        "libtorrent-2, 50 kB/s, 400 ms": {
            "classes.*.client": "libtorrent-2",
            "upload_limit": "50 kB/s",
            "rtt": "400 ms",
        },
        "ns2-eger, super-seeding": {"classes.*.client": "ns2-eger", **near},
        "ns2-eger, an ordinary seed": {
            "classes.*.client": "ns2-eger",
            "classes.*.client.super_seeding": False,
            **near,
        },
        "utorrent-3.0": {"classes.*.client": "utorrent-3.0", **near},
        "mainline-4.0, super-seeding": {"classes.*.client.super_seeding": True, **near},
    }


CLASSES = "150 leechers of 10, 150 of 50 kB/s"
LARGE = {"1,000 peers": (999, SEEDS), "3,000 peers": (2999, DEAR)}


def kinds(smaller: Mapping[str, Setting]) -> list[Setup]:
    """Return the swarms of other kinds, made smaller by some parameters."""
    found = [Setup(label, {**settings, **smaller}, SEEDS) for label, settings in _kinds().items()]
    found.append(Setup(CLASSES, {"rtt": "100 ms", **smaller}, SEEDS, TWO_CLASSES))
    for label, (leechers, seeds) in LARGE.items():
        settings = {"leechers": leechers, "upload_limit": "50 kB/s", "rtt": "100 ms"}
        found.append(Setup(label, {**settings, **smaller}, seeds))
    return found
