"""btflow: a flow-level BitTorrent swarm simulator.

Examples:
    >>> import btflow
    >>> scenario = btflow.load("rao2010").set(upload_limit="50 kB/s", rtt="400 ms")
    >>> result = btflow.simulate(scenario, seed=1, replicas=4)  # doctest: +SKIP
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

TYPE_CHECKING = False  # of typing, which takes milliseconds to import, in which Ctrl-C would end in a traceback
if TYPE_CHECKING:
    from typing import Any

    from btflow import analysis, analytic, explore, lines, motion, paths, plots
    from btflow.config.catalog import load, load_link
    from btflow.config.schema import describe, schema
    from btflow.errors import InputError, ScenarioError, SimulationError, UnitError
    from btflow.files import open_result
    from btflow.link.run import simulate_link
    from btflow.link.scenario import LinkScenario
    from btflow.swarm.run import simulate
    from btflow.swarm.scenario import Scenario
    from btflow.sweeps.api import open_swarms, open_sweep, sweep
    from btflow.sweeps.merge import merge

__version__ = "0.1.0"

__all__ = [
    "InputError",
    "LinkScenario",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "UnitError",
    "__version__",
    "analysis",
    "analytic",
    "describe",
    "explore",
    "lines",
    "load",
    "load_link",
    "merge",
    "motion",
    "open_result",
    "open_swarms",
    "open_sweep",
    "paths",
    "plots",
    "schema",
    "simulate",
    "simulate_link",
    "sweep",
]

# Beside sources lie the packages that a wheel has inside: models, data, docs, notebooks, tools/benchmarks (setup.cfg).
_BESIDE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if all(os.path.exists(os.path.join(_BESIDE, name)) for name in ("setup.cfg", "models/swarms")):
    __path__ += [_BESIDE, os.path.join(_BESIDE, "tools")]

_FROM = {
    "InputError": "btflow.errors",
    "LinkScenario": "btflow.link.scenario",
    "Scenario": "btflow.swarm.scenario",
    "ScenarioError": "btflow.errors",
    "SimulationError": "btflow.errors",
    "UnitError": "btflow.errors",
    "describe": "btflow.config.schema",
    "load": "btflow.config.catalog",
    "load_link": "btflow.config.catalog",
    "merge": "btflow.sweeps.merge",
    "open_result": "btflow.files",
    "open_swarms": "btflow.sweeps.api",
    "open_sweep": "btflow.sweeps.api",
    "schema": "btflow.config.schema",
    "simulate": "btflow.swarm.run",
    "simulate_link": "btflow.link.run",
    "sweep": "btflow.sweeps.api",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for only then, so that ``import btflow`` is fast (PEP 562)."""
    if name in ("analysis", "analytic", "explore", "lines", "motion", "paths", "plots"):
        return import_module(f"btflow.{name}")
    if name not in _FROM:
        raise AttributeError(f"module 'btflow' has no attribute {name!r}")
    value = getattr(import_module(_FROM[name]), name)
    globals()[name] = value
    return value


if "xarray" in sys.modules:  # it is loaded anyway: Datasets that it opens have ds.btflow from the start
    import_module("btflow.accessor")


def __dir__() -> list[str]:
    return sorted(__all__)
