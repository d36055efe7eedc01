"""A stand-in for ``btflow.swarm.run.simulate``: the Dataset's form without a simulation."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import xarray as xr

from btflow.options import Fidelity
from btflow.swarm.scenario import Scenario

CAUSES = ("limiter", "window", "loss", "pipeline", "idle")


def simulate(
    scenario: Scenario,
    *,
    seed: int = 0,
    replicas: int = 1,
    fidelity: Fidelity = "full",
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Return made-up results: leecher i of replica r completes after 1000 + 10 r + i seconds."""
    names = [c.name for c in scenario.classes for _ in range(c.number)]
    roles = [c.role for c in scenario.classes for _ in range(c.number)]
    peers = len(names)
    times = 1000.0 + 10 * np.arange(replicas)[:, None] + np.arange(peers)[None, :]
    times[:, np.array(roles) == "seed"] = np.nan
    per_peer = np.ones((replicas, peers))
    for done in range(1, replicas + 1):
        if progress is not None:
            progress(done)
    return xr.Dataset(
        {
            "completion_time": (("replica", "peer"), times),
            "start_time": (("replica", "peer"), 0.0 * per_peer),
            "counted": (("replica", "peer"), ~np.isnan(times)),
            "upload_utilisation": (("replica", "peer"), 0.5 * per_peer),
            "idle_terminations": (("replica", "peer"), 2 * per_peer),
            "unchokes": (("replica", "peer"), 8 * per_peer),
            "seed_copies": ("replica", np.full(replicas, 1.25)),
            "limited_share": (("replica", "peer", "cause"), np.full((replicas, peers, 5), 0.2)),
        },
        coords={"peer_class": ("peer", names), "role": ("peer", roles), "cause": list(CAUSES)},
        attrs={
            "model": scenario.name,
            "parameters": json.dumps(dict(scenario.parameters)),
            "seed": seed,
            "fidelity": fidelity,
            "scenario_hash": scenario.digest(),
            "version": "0.1.0",
            "cpu_s": 0.125,
        },
    )
