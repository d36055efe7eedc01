"""What every number of a result obeys, by its name and unit: a new variable or figure without a rule fails."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.link import results as link_results
from btflow.options import Fidelity
from btflow.swarm import results
from btflow.swarm.scenario import Scenario
from btflow.sweeps.link_figures import Links
from btflow.sweeps.swarm_figures import Swarms

RULES: tuple[tuple[str, str, float, float], ...] = (  # words in the name, unit, least and greatest value
    ("share|utilisation|loss|limited|index", "1", 0.0, 1.0),
    ("mos", "1", 1.0, 4.5),
    ("rank", "1", -1.0, math.inf),
    ("falls|timeouts|phase|sent|delivered|counted|blocks|copies|count|drops|downloads|packets", "1", 0.0, math.inf),
    ("unchokes|terminations|slots", "1", 0.0, math.inf),
    ("", "s|B|B/s|packets|segments|pieces", 0.0, math.inf),
)
IN_THE_MEAN = ("upload_utilisation", "1", 0.0, 1.01)
"""At flow fidelity without links: a lane that pauses while others send is let off part of its last unit."""
UNKNOWN = (
    "completion|start_time|rtt|srtt|ssthresh|window|voip|probe_delay|limited|utilisation|message_delay|latency|"
    "download_slots"
)
"""Of datasets: values that nobody has (of who did not finish, what was not sent, nobody there) are NaN."""
OF_FIGURES = f"{UNKNOWN}|share|index|mos|delay|delivered|jitter|loss|queue_packets|bottleneck|queue"
ROUNDING = 1e-9


def has(words: str, name: str) -> bool:
    return re.search(rf"(^|_)({words})(_|$)", name) is not None


def check_number(name: str, unit: str, values: NDArray[Any], unknown: str, mean: bool) -> None:
    """Hold values against the rule of their name and unit; `mean`: an upload limit is kept in the mean."""
    found = [
        rule
        for rule in (*[IN_THE_MEAN] * mean, *RULES)
        if re.fullmatch(rule[1], unit) and (not rule[0] or has(rule[0], name))
    ]
    assert found, f"{name} [{unit}] has no rule"
    known = values[~np.isnan(values)]
    assert known.size == values.size or has(unknown, name), f"{name} is NaN"
    assert known.size == 0 or found[0][2] - ROUNDING <= known.min(), f"{name} is {known.min()}"
    assert known.size == 0 or known.max() <= found[0][3] + ROUNDING, f"{name} is {known.max()}"


def check_variables(data: xr.Dataset, mean: bool) -> None:
    """Hold every variable against its rule; quantiles are ordered, shares add up."""
    for name, variable in data.data_vars.items():
        if variable.dtype != object:
            check_number(str(name), variable.units, variable.values.astype(float), UNKNOWN, mean)
        if "quantile" in variable.dims:
            assert not (variable.diff("quantile") < 0).any(), name
    for name, dim in (("queue_share", "packets"), ("limited_share", "cause")):
        if name in data:
            sums = data[name].sum(dim, skipna=False)
            np.testing.assert_allclose(sums.values[~np.isnan(sums.values)], 1.0, rtol=ROUNDING)


def find(kind: Links | Swarms, scenario: Any, fidelity: Fidelity, seed: int) -> xr.Dataset:
    """Return the result of a run, whose variables and, as a sweep finds them, figures have kept their rules."""
    program: Any = kind.compile(scenario, fidelity)
    figures: Any = kind.figures(scenario, program)
    end: Any = kind.run(program, seed, 0, lambda: None)
    kept: Any = kind.collect(program, end, series=True)
    if isinstance(scenario, Scenario):
        data = results.to_dataset(scenario, program, [kept], seed)
    else:
        data = link_results.to_dataset(scenario, program, kept, seed, 0.0)
    mean = isinstance(scenario, Scenario) and fidelity == "flow" and not scenario.linked
    check_variables(data, mean)
    row = figures.of(kind.common(scenario, program, figures), kept)
    for table in figures.tables:
        values, row = row[: table.width].reshape(len(table.parts), -1), row[table.width :]
        for i, statistic in enumerate(table.statistics):
            check_number(statistic.name, statistic.units, values[:, i], OF_FIGURES, mean)
        if table.dimension == "flow_group":
            shares = values[:, [s.name for s in table.statistics].index("group_share")]
            assert np.isnan(shares).all() or math.isclose(np.nansum(shares), 1.0)
    return data
