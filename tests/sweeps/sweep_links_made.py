"""Sweeps of link experiments in tests: short ones, a model file, and a swept experiment beside its single run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

from btflow import load_link
from btflow.link.scenario import LinkScenario
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.plan import Plan

Vary = dict[str | tuple[str, ...], object]

QUEUE_FIGURES = {"utilisation": "utilisation", "delay_mean": "queue_mean_delay", "packets_mean": "queue_mean_packets"}
"""Figures of queues that are variables of a single run, by their names there."""

FLOW_FIGURES = {"goodput": "goodput", "rtt_mean": "rtt_mean", "timeouts": "timeouts", "window_falls": "window_falls"}
"""Figures of a group of one flow that are variables of a single run, by their names there."""


def short(model: str = "coexistence", **values: object) -> LinkScenario:
    """Return an experiment of about a millisecond."""
    return load_link(model).set(**{"duration": "10 s", "warmup": "1 s", **values})


VARY: Vary = {"buffer": ["10 packets", "40 packets"], "low_cc": ["ledbat", "utp"], "high": [0, 1, 2]}


def planned(scenario: LinkScenario | None = None, **said: Any) -> Plan:
    """Return a sweep of 24 short experiments, declared."""
    scenario = scenario or short()
    how = {name: said.pop(name) for name in ("fidelity", "check") if name in said}
    given = declaration(said.pop("vary", VARY), {}, "vary", **{"replicas": 2, **said})
    return declare(scenario.document, scenario.given, given, **how)


def same(found: object, expected: object) -> bool:
    """Return whether numbers are equal to the last bit, or both NaN."""
    return np.array_equal(np.asarray(found, float), np.asarray(expected, float), equal_nan=True)


def members(run: xr.Dataset, group: str) -> list[int]:
    """Return which flows of a single run belong to a group, by their names."""
    return [i for i, name in enumerate(run["flow"].values) if name == group or str(name).startswith(f"{group}-")]


def fairness(goodput: NDArray[np.float64]) -> float:
    """Return Jain's index; NaN where nothing arrived, so that nothing was shared."""
    return float(goodput.sum() ** 2 / (len(goodput) * (goodput**2).sum())) if goodput.any() else np.nan


def check_point(at: xr.Dataset, run: xr.Dataset, counted: int) -> None:
    """Compare a swept experiment with the single run of its scenario and seed, in the plainest way."""
    assert int(at.status) == 1
    goodput = run.goodput.values[:counted]
    assert same(at.goodput, goodput.sum())
    assert float(at.jain_index) == pytest.approx(fairness(goodput), rel=1e-12, nan_ok=True)
    assert same(at.retransmitted_share, run.resent[:counted].sum() / run.sent[:counted].sum())
    for name in at["queue"].values:
        at_queue = at.sel(queue=name)
        if name not in run["queue"].values:
            assert np.isnan(float(at_queue.queue_utilisation))
            continue
        queue = run.sel(queue=name)
        for mine, own in QUEUE_FIGURES.items():
            assert same(at_queue[f"queue_{mine}"], queue[own])
        assert same(at_queue.queue_packets_p95, queue.queue_quantile.sel(quantile=0.95))
        late = np.quantile(queue.queue_delay.values[run["time"].values >= run.attrs["warmup"]], 0.95)
        assert same(at_queue.queue_delay_p95, late)
        assert same(at_queue.queue_dropped_share, queue.drops / queue.arrivals if queue.arrivals > 0 else np.nan)
        if name == run.attrs["bottleneck"]:
            for mine in ("delay_mean", "delay_p95", "packets_median", "packets_p95", "dropped_share", "utilisation"):
                assert same(at[f"bottleneck_{mine}"], at_queue[f"queue_{mine}"])
    for name in at["flow_group"].values:
        own_flows, group = members(run, str(name)), at.sel(flow_group=name)
        flows = run.isel(flow=own_flows)
        if not own_flows:
            assert all(np.isnan(float(group[n])) for n in group.data_vars if str(n).startswith("group_"))
            continue
        assert same(group.group_goodput, flows.goodput.values.sum())
        assert same(group.group_goodput_mean, flows.goodput.values.mean())
        assert same(group.group_goodput_min, flows.goodput.values.min())
        assert same(group.group_goodput_max, flows.goodput.values.max())
        for mine, own in (("rtt_mean", flows.rtt_mean), ("rtt_p95", flows.rtt_quantile.sel(quantile=0.95))):
            timed = own.values[np.isfinite(own.values)]  # a flow may never have measured one
            assert same(group[f"group_{mine}"], np.mean(timed) if len(timed) else np.nan)
        assert float(group.group_jain_index) == pytest.approx(fairness(flows.goodput.values), rel=1e-12, nan_ok=True)
        if len(own_flows) == 1:
            for mine, own in FLOW_FIGURES.items():
                assert same(group[f"group_{mine}"], flows[own][0])
            assert same(group.group_retransmitted_share, (flows.resent / flows.sent)[0])


FILE = """
name = "mixed"
title = "Everything that a flow can be"
source = "a test"
duration = "20 s"

[access.home]
base = "adsl"

[paths]
rtt = "50 ms"

[flows.long]
cc = "cubic"
from = "home"
to = "internet"

[flows.short]
cc = "newreno"
from = "home"
to = "internet"
count = 2
size = "40 kB"

[flows.call]
codec = "g729"
from = "home"
to = "internet"

[flows.probe]
cc = "cubic"
from = "home"
to = "internet"
message = "100 B"
period = "500 ms"

[sweep]
seed = 3
set = { "flows.short.count" = 1 }
vary = { "access.home.uplink.buffer" = ["10 packets", "60 packets"], "flows.call.count" = [0, 1, 2] }
"""
