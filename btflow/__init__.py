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
    from btflow import (
        analysis as analysis,
        analytic as analytic,
        explore as explore,
        lines as lines,
        motion as motion,
        paths as paths,
        plots as plots,
    )
    from btflow.config.catalog import load as load, load_link as load_link
    from btflow.config.schema import describe as describe, schema as schema
    from btflow.errors import (
        InputError as InputError,
        ScenarioError as ScenarioError,
        SimulationError as SimulationError,
        UnitError as UnitError,
    )
    from btflow.files import open_result as open_result
    from btflow.link.run import simulate_link as simulate_link
    from btflow.link.scenario import LinkScenario as LinkScenario
    from btflow.swarm.run import simulate as simulate
    from btflow.swarm.scenario import Scenario as Scenario
    from btflow.sweeps.api import open_swarms as open_swarms, open_sweep as open_sweep, sweep as sweep
    from btflow.sweeps.merge import merge as merge

__version__ = "0.1.0"

# Beside sources lie the packages that a wheel has inside: models, data, docs, notebooks, tools/benchmarks (setup.cfg).
_BESIDE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if all(os.path.exists(os.path.join(_BESIDE, name)) for name in ("setup.cfg", "models/swarms")):
    __path__ += [_BESIDE, os.path.join(_BESIDE, "tools")]

__getattr__, __dir__, __all__ = lazily(
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
__all__ += ["__version__"]

if "xarray" in sys.modules:  # it is loaded anyway: Datasets that it opens have ds.btflow from the start
    import_module("btflow.accessor")
