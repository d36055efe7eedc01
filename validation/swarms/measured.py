"""The figures taken of a setting: per run and class of leechers, and pooled over runs for the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.options import Fidelity
from btflow.swarm.replica import quantile
from validation.swarms.experiments import Plan, Setting
from validation.sweeps import Sweeps

Floats = NDArray[np.float64]

ALL = "all"
"""The leechers of all classes."""
LONG = 100
"""Queue that the paper of 2011 counts as long [packets]."""
PERCENTS = tuple(range(101))
"""Quantiles kept for the figures [%]."""
QUEUE_PERCENTS = (*(float(p) for p in range(100)), 99.5, 99.9, 100.0)
"""Quantiles kept of queues [%]."""
KINDS = ("request", "have", "unchoke")
"""Messages whose delay is kept."""
TRAFFIC_ACKS = ("TCP ACKs", "uTP ACKs")


@dataclass(frozen=True)
class Group:
    """One class of leechers, or all."""

    runs: Mapping[str, Sequence[float]]
    """By name, one number per run. Completion times of what counts [s]: mean, p10, p25, p50, p75, p90, last, spread
    (p90 less p10); count; queues of the uplinks: queue_mean, queue_p50, queue_p90 [packets], delay_mean, delay_p50,
    delay_p90 [s], above (share of samples above LONG packets); request_delay, have_delay, unchoke_delay, block_latency
    [s]; haves (HAVEs sent per leecher and second), slots (connections served on), acks (share of the uplinks' bytes),
    drops (per leecher)."""
    completion: Sequence[float]
    """PERCENTS of the completion times of all runs [s]."""
    queue: Sequence[float]
    """QUEUE_PERCENTS of the samples of the uplinks' queues of all runs [packets]."""
    delay: Sequence[float]
    """The same of the time until the queue is empty [s]."""


@dataclass(frozen=True)
class Measured:
    """A setting's figures."""

    groups: Mapping[str, Group]
    """By class, and of all leechers."""
    ranked: Sequence[Sequence[float]]
    """Completion times by rank, a row per run [s]."""
    cpu: float
    """CPU time of a run [s]."""
    file_size: float
    """Size of the file [B]."""

    @property
    def number(self) -> int:
        """Number of runs."""
        return len(self.ranked)

    def of(self, name: str, group: str = ALL) -> Floats:
        """Return a figure of each run; NaN where there is none."""
        return np.asarray(self.groups[group].runs[name], np.float64)


def measure(result: xr.Dataset) -> Measured:
    """Take the figures of a result."""
    leechers = result["role"].values == "leecher"
    classes = [str(name) for name in dict.fromkeys(result["peer_class"].values[leechers])]
    groups = {name: _group(result, [name]) for name in classes}
    times = result["completion_time"].transpose("replica", "peer").values
    ranks = result["completion_rank"].transpose("replica", "peer").values
    ranked = [
        [float(t) for _, t in sorted((r, t) for r, t in zip(rank, row, strict=True) if r >= 0)]
        for rank, row in zip(ranks, times, strict=True)
    ]
    return Measured(
        {**groups, ALL: _group(result, classes)},
        ranked,
        float(result.attrs["cpu_s"]),
        float(result.attrs["file_size"]),
    )


def _group(result: xr.Dataset, classes: Sequence[str]) -> Group:
    members = np.isin(result["peer_class"].values, classes)
    own = result.isel(peer=members)
    times = own["completion_time"].transpose("replica", "peer").values
    counted = own["counted"].transpose("replica", "peer").values.astype(bool) & np.isfinite(times)
    per_run = [row[mask] for row, mask in zip(times, counted, strict=True)]
    runs: dict[str, list[float]] = {"count": [float(len(found)) for found in per_run]}
    for percent in (10, 25, 50, 75, 90):
        runs[f"p{percent}"] = [float(np.percentile(found, percent)) if len(found) else np.nan for found in per_run]
    runs["mean"] = [float(found.mean()) if len(found) else np.nan for found in per_run]
    runs["last"] = [float(found.max()) if len(found) else np.nan for found in per_run]
    runs["spread"] = [high - low for high, low in zip(runs["p90"], runs["p10"], strict=True)]
    pooled = np.concatenate(per_run)
    uplinks, queue, delay = _uplinks(result.sel(sender_class=list(classes)))
    last = np.nanmax(result["completion_time"] + result["start_time"], axis=1)
    haves = _messages(result.sel(sender_class=list(classes)), "have").sum(axis=1)
    runs |= uplinks | {"haves": [float(x) for x in haves / last / members.sum()]}
    moved = own["uplink_bytes"].transpose("replica", "traffic", "peer").values.sum(axis=2)
    acks = [list(own["traffic"].values).index(kind) for kind in TRAFFIC_ACKS]
    total = moved.sum(axis=1)
    share = np.divide(moved[:, acks].sum(axis=1), total, out=np.full(len(total), np.nan), where=total > 0)
    runs["acks"] = [float(x) for x in share]
    runs["drops"] = [float(x) for x in own["uplink_drops"].transpose("replica", "peer").values.mean(axis=1)]
    percentiles = np.percentile(pooled, PERCENTS) if len(pooled) else np.full(len(PERCENTS), np.nan)
    return Group(runs, [float(x) for x in percentiles], queue, delay)


def _messages(part: xr.Dataset, kind: str) -> Floats:
    """Return the number of messages of a kind (replica, class)."""
    counts = part["message_delay_count"].sel(message=kind).sum("delay").transpose("replica", "sender_class")
    return np.asarray(counts.values, np.float64)


def _weighted(means: Floats, weights: Floats) -> list[float]:
    """Return the mean over classes, weighted, of each run (replica, class); NaN without any weight."""
    total = weights.sum(axis=1)
    summed = (np.nan_to_num(means) * weights).sum(axis=1)
    return [float(x) for x in np.divide(summed, total, out=np.full(len(total), np.nan), where=total > 0)]


def _uplinks(part: xr.Dataset) -> tuple[dict[str, list[float]], list[float], list[float]]:
    """Return what is kept of the uplinks of some classes, and the pooled quantiles of their queues."""
    runs: dict[str, list[float]] = {}
    pooled: list[list[float]] = []
    for name, variable, axis in (
        ("queue", "queue_packets_count", "queue_packets"),
        ("delay", "queue_delay_count", "queue_delay"),
    ):
        counts = part[variable].sum("sender_class").transpose("replica", axis).values.astype(float)
        values = part[axis].values.astype(float)
        total = counts.sum(axis=1)
        runs[f"{name}_mean"] = [float(x) for x in (counts * values).sum(axis=1) / total]
        for percent in (50, 90):
            runs[f"{name}_p{percent}"] = [quantile(values, row, percent / 100) for row in counts]
        if name == "queue":
            runs["above"] = [float(x) for x in counts[:, values > LONG].sum(axis=1) / total]
        together = counts.sum(axis=0)
        pooled.append([quantile(values, together, percent / 100) for percent in QUEUE_PERCENTS])
    for kind in KINDS:
        means = part["message_delay"].sel(message=kind).transpose("replica", "sender_class").values
        runs[f"{kind}_delay"] = _weighted(means, _messages(part, kind))
    blocks = part["block_latency_count"].sum("latency").transpose("replica", "sender_class").values.astype(float)
    runs["block_latency"] = _weighted(part["block_latency"].transpose("replica", "sender_class").values, blocks)
    runs["slots"] = [float(x) for x in part["download_slots"].mean("sender_class").values]
    return runs, pooled[0], pooled[1]


class Results:
    """Simulates settings when they are asked for, each once."""

    def __init__(self, plan: Plan, sweeps: Sweeps) -> None:
        """Take what an earlier call has run with the same sources."""
        self.plan, self.sweeps = plan, sweeps
        self._found: dict[Setting, Measured] = {}

    def __getitem__(self, setting: Setting) -> Measured:
        """Return the figures of a setting, simulating it if need be."""
        if setting not in self._found:
            self._found[setting] = self._run(setting)
        return self._found[setting]

    @property
    def settings(self) -> list[Setting]:
        """The settings asked for up to now."""
        return list(self._found)

    @property
    def swarms(self) -> int:
        """Number of runs of all of them."""
        return sum(found.number for found in self._found.values())

    @property
    def cpu(self) -> float:
        """CPU time of all of them [s]."""
        return sum(found.cpu * found.number for found in self._found.values())

    def add(self, setting: Setting, found: Measured) -> None:
        """Take figures as those of a setting."""
        self._found[setting] = found

    def _run(self, setting: Setting, fidelity: Fidelity = "full") -> Measured:
        return measure(self.sweeps.result(setting.run(self.plan.of(setting), fidelity)))
