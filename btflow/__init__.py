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

from btflow.lazy import lazily

TYPE_CHECKING = False  # of typing, which takes milliseconds to import, in which Ctrl-C would end in a traceback
if TYPE_CHECKING:
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

__getattr__, __dir__ = lazily(
    "btflow",
    {
        "": ("analysis", "analytic", "explore", "lines", "motion", "paths", "plots"),
        "config.catalog": ("load", "load_link"),
        "config.schema": ("describe", "schema"),
        "errors": ("InputError", "ScenarioError", "SimulationError", "UnitError"),
        "files": ("open_result",),
        "link.run": ("simulate_link",),
        "link.scenario": ("LinkScenario",),
        "swarm.run": ("simulate",),
        "swarm.scenario": ("Scenario",),
        "sweeps.api": ("open_swarms", "open_sweep", "sweep"),
        "sweeps.merge": ("merge",),
    },
)

if "xarray" in sys.modules:  # it is loaded anyway: Datasets that it opens have ds.btflow from the start
    import_module("btflow.accessor")
