"""The engine as plain Python: the same sources, imported a second time with Numba's JIT off.

Every kernel can then be called on its own, without a compilation, and replaced by a test that wants to watch or to
script it. That the compiled engine does the same is checked in test_determinism.py.
"""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np

import btflow
import btflow.errors
import btflow.kernels
import btflow.program
import btflow.simulation

MODULES = [
    "bits",
    "causes",
    "choker",
    "clock",
    "closing",
    "download",
    "endgame",
    "ends",
    "engine",
    "flags",
    "flow.engine",
    "flow.fetch",
    "flow.state",
    "flow.queues",
    "flow.upload",
    "limiter",
    "link.codel",
    "link.events",
    "link.fqcodel",
    "link.laws.bbr",
    "link.pie",
    "link.recovery",
    "link.state",
    "link.stats",
    "link.waiting",
    "messages",
    "peerset",
    "picker",
    "pipeline",
    "prefetch",
    "rate",
    "rng",
    "rows",
    "rules",
    "shares",
    "state",
    "tally",
    "tcp",
    "whole",
    "window",
    "link.state",
    *(f"link.laws.{law}" for law in ("delay", "ledbat", "ledbatpp", "lp", "newreno", "nice", "rounds", "utp", "vegas")),
]


settings: Any = numba.config


def _ours(name: str) -> bool:
    return name.startswith("btflow.kernels") or name in ("btflow.flow", "btflow.swarm", "btflow.simulation")


def _import() -> dict[str, Any]:
    """Import the kernels and what runs them without the JIT, and leave the compiled ones as they were."""
    compiled = {name: sys.modules.pop(name) for name in list(sys.modules) if _ours(name)}
    names = [name for name in ("flow", "kernels", "swarm", "simulation") if name in vars(btflow)]
    attributes = {name: getattr(btflow, name) for name in names}
    before, settings.DISABLE_JIT = settings.DISABLE_JIT, 1
    try:
        found = {name: importlib.import_module(f"btflow.kernels.{name}") for name in MODULES}
        found |= {name: importlib.import_module(f"btflow.{name}") for name in ("flow", "swarm", "simulation")}
    finally:
        settings.DISABLE_JIT = before
        for name in [name for name in sys.modules if _ours(name)]:
            del sys.modules[name]
        sys.modules.update(compiled)
        for name, value in attributes.items():
            setattr(btflow, name, value)
    return found


_found = _import()
bits, choker, clock, closing = (_found[n] for n in ("bits", "choker", "clock", "closing"))
download, engine = (_found[n] for n in ("download", "engine"))
ends, flags, limiter, messages, peerset = (_found[n] for n in ("ends", "flags", "limiter", "messages", "peerset"))
endgame, picker, pipeline, rate = (_found[n] for n in ("endgame", "picker", "pipeline", "rate"))
rng, rows, rules, state = (_found[n] for n in ("rng", "rows", "rules", "state"))
tally, tcp, whole, window = (_found[n] for n in ("tally", "tcp", "whole", "window"))
link = SimpleNamespace(**{name.rpartition(".")[2]: _found[name] for name in MODULES if name.startswith("link.")})
flow = SimpleNamespace(**{name.rpartition(".")[2]: _found[name] for name in MODULES if name.startswith("flow.")})
flow.build, flow.run = _found["flow"].build, _found["flow"].run
swarm, simulate = _found["swarm"], _found["simulation"]

# 64-bit arithmetic that is meant to wrap around warns only where NumPy does it.
rng.next_u64 = np.errstate(over="ignore")(rng.next_u64)
rules.tie_rank = np.errstate(over="ignore")(rules.tie_rank)


def link_module(name: str) -> Any:
    """Return a module of the link experiments' kernels."""
    return _found[f"link.{name}"]
