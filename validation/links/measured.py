"""Our figures of an experiment, under the names of the frozen tables' columns."""

from __future__ import annotations

from functools import cache
from itertools import count, islice

import numpy as np
import xarray as xr

from btflow.kernels.link.sampling import IN_ORDER, WINDOW
from btflow.link.program import compile_link
from btflow.link.run import run_link, simulate_link
from validation.links.experiments import SAMPLES_PER_RTT, Bottleneck, Experiment, Single
from validation.links.frozen import Figures

RAMP_RTTS = (1.5, 3.5, 10.5, 30.5)
"""Round-trip times after the first segment at which a ramp is compared: a round has come in, the next has not begun."""


@cache
def measure(experiment: Experiment, runs: int) -> Figures:
    """Return the figures of an experiment for each of its seeds."""
    if isinstance(experiment, Single) and not experiment.warmup:
        ramps = (_ramp(experiment, experiment.seed(number)) for number in count())
        found = list(islice((ramp for ramp in ramps if ramp), runs))
    else:
        found = [_whole(experiment, experiment.seed(number)) for number in range(runs)]
    return {name: tuple(run[name] for run in found) for name in found[0]}


def _ramp(experiment: Experiment, seed: int) -> dict[str, float]:
    """Return the bytes delivered in order some round trips after the first segment was sent.

    Nothing if the first SYN was lost: the packet-level runs lose nothing until there are data.
    """
    series = run_link(compile_link(experiment.scenario), seed).flow_series[:, 0]
    opened = int(np.argmax(series[:, WINDOW] > 0.0))  # the first sample after that: the connection has a window
    if opened > SAMPLES_PER_RTT + 1:
        return {}
    first = max(opened - 1, 0)
    return {f"bytes_{rtts:g}rtt": float(series[first + round(SAMPLES_PER_RTT * rtts), IN_ORDER]) for rtts in RAMP_RTTS}


def _whole(experiment: Experiment, seed: int) -> dict[str, float]:
    """Return the figures after the warm-up."""
    result = simulate_link(experiment.scenario, seed=seed)
    goodput = 8.0 * result["goodput"]
    bulk = goodput[result["kind"].values == "long"]
    found = {"goodput_bps": float(bulk.sum()), "cpu_s": float(result.attrs["cpu_s"])}
    sent = float(result["sent"].sum())
    found["retransmitted_fraction"] = float(result["resent"].sum()) / sent if sent else 0.0
    if isinstance(experiment, Bottleneck):
        found |= _queue(result) | _delays(result) | _shares(experiment, bulk)
    return found


def _queue(result: xr.Dataset) -> dict[str, float]:
    link = result.sel(queue=result.attrs["bottleneck"])
    found = {
        f"queue_p{round(100 * float(share))}_packets": float(link["queue_quantile"].sel(quantile=share))
        for share in result["quantile"]
    }
    came = float(link["arrivals"])
    return found | {
        "queue_mean_packets": float(link["queue_mean_packets"]),
        "queue_mean_ms": 1e3 * float(link["queue_mean_delay"]),
        "utilisation": float(link["utilisation"]),
        "drop_fraction": float(link["drops"]) / came if came else 0.0,
    }


def _delays(result: xr.Dataset) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in ("probe", "voip"):
        if result.sizes[kind]:
            one = result.isel({kind: 0})
            found[f"{kind}_mean_ms"] = 1e3 * float(one[f"{kind}_delay_mean"])
            for share in (0.5, 0.95, 0.99):
                value = float(one[f"{kind}_delay_quantile"].sel(quantile=share))
                found[f"{kind}_p{round(100 * share)}_ms"] = 1e3 * value
    if result.sizes["voip"]:
        found["voip_loss_fraction"] = float(result["voip_loss"][0])
        found["voip_jitter_mean_ms"] = 1e3 * float(result["voip_jitter"][0])
    return found


def _shares(experiment: Bottleneck, goodput: xr.DataArray) -> dict[str, float]:
    shares = goodput.values / goodput.values.sum()
    names = np.repeat([name for name, _ in experiment.listed], [count for _, count in experiment.listed])
    found = {f"share_{name}": float(shares[names == name].sum()) for name in dict.fromkeys(names.tolist())}
    return found | {"largest_share": float(shares.max())}
