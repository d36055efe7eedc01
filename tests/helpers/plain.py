"""The engine as plain Python: the same sources, imported a second time with Numba's JIT off.

Every kernel can then be called on its own, without a compilation, and replaced by a test that wants to watch or to
script it. That the compiled engine does the same is checked in test_determinism.py.
"""

from __future__ import annotations

import importlib
import sys
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np

import btflow
import btflow.errors
import btflow.kernels
import btflow.swarm.program
import btflow.swarm.run
from btflow.kernels.link import laws

SHARED = ("bits", "calendar", "random")
SWARM = (
    *("choking", "choking_ranked", "downloading", "ends", "engine", "limiter", "limiter_shares", "messages"),
    *("nagle", "peer_set", "picking", "picking_whole", "rates", "requests"),
    *("rules", "state", "superseeding", "tcp", "tcp_window", "tracker", "whole_pieces"),
)
FLOW = ("engine", "links", "queues", "requests", "state", "uploads", "windows")
LINK = (
    *("cake", "codel", "events", "fq_codel", "parcels", "pie", "recovery", "scoreboard", "state", "turns"),
    *(f"laws.{law.name}" for law in iter_modules(laws.__path__)),
)
RUNNING = ("flow", "state", "run")
"""Modules of ``btflow.swarm`` that call kernels."""

settings: Any = numba.config


def _ours(name: str) -> bool:
    return name.startswith("btflow.kernels") or name in {f"btflow.swarm.{module}" for module in RUNNING}


def _import() -> dict[str, Any]:
    """Import the kernels and what runs them without the JIT, and leave the compiled ones as they were."""
    compiled = {name: sys.modules.pop(name) for name in list(sys.modules) if _ours(name)}
    places = [(btflow, "kernels"), *((btflow.swarm, module) for module in RUNNING)]
    attributes = [(place, name, getattr(place, name)) for place, name in places if hasattr(place, name)]
    before, settings.DISABLE_JIT = settings.DISABLE_JIT, 1
    wanted = {
        *(f"kernels.{name}" for name in SHARED),
        *(f"kernels.swarm.{name}" for name in SWARM),
        *(f"kernels.flow.{name}" for name in FLOW),
        *(f"kernels.link.{name}" for name in LINK),
        *(f"swarm.{name}" for name in RUNNING),
    }
    try:
        found = {name: importlib.import_module(f"btflow.{name}") for name in sorted(wanted)}
    finally:
        settings.DISABLE_JIT = before
        for name in [name for name in sys.modules if _ours(name)]:
            del sys.modules[name]
        sys.modules.update(compiled)
        for place, name, value in attributes:
            setattr(place, name, value)
    return found


def _in(room: str, *names: str) -> tuple[Any, ...]:
    return tuple(_found[f"kernels.{room}{name}"] for name in names)


def _room(room: str, names: tuple[str, ...]) -> SimpleNamespace:
    return SimpleNamespace(**{name.rpartition(".")[2]: _found[f"kernels.{room}.{name}"] for name in names})


_found = _import()
bits, calendar, random = _in("", *SHARED)
choking, choking_ranked, downloading, ends = _in("swarm.", *SWARM[:4])
engine, limiter, limiter_shares, messages = _in("swarm.", *SWARM[4:8])
nagle, peer_set, picking, picking_whole, rates, requests = _in("swarm.", *SWARM[8:14])
rules, state, superseeding, tcp, tcp_window, tracker, whole_pieces = _in("swarm.", *SWARM[14:])
link, flow = _room("link", LINK), _room("flow", FLOW)
flow.build, flow.run = _found["swarm.flow"].build, _found["swarm.flow"].run
swarm, simulate = _found["swarm.state"], _found["swarm.run"]

# 64-bit arithmetic that is meant to wrap around warns only where NumPy does it.
random.next_u64 = np.errstate(over="ignore")(random.next_u64)
rules.tie_rank = np.errstate(over="ignore")(rules.tie_rank)


def link_module(name: str) -> Any:
    """Return a module of the link experiments' kernels."""
    return _found[f"kernels.link.{name}"]
