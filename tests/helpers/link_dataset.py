"""A made-up result of a link experiment: sawtooths drawn by formula, so that figures of it can be checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

RATE = 125e3  # of the uplink [B/s]: 1 Mbit/s, 12 ms for a packet
PACKET = 1500.0
LIMIT = 100


def dataset(
    flows: int = 3, samples: int = 601, duration: float = 300.0, *, down: float = 0.0, **attrs: Any
) -> xr.Dataset:
    """Return `flows` sawtooths that share one uplink; flow k starts at 10 k seconds; `down` packets wait downstream."""
    time = np.linspace(0.0, duration, samples)
    starts = 10.0 * np.arange(flows)
    running = time[:, None] >= starts
    phase = ((time[:, None] - starts) / (20.0 + 7.0 * np.arange(flows))) % 1.0
    share = 1.0 / running.sum(axis=1)
    window = np.where(running, share[:, None] * 100.0 * (0.7 + 0.3 * np.cbrt(phase)), np.nan)
    rate = np.where(running, 0.97 * RATE * share[:, None] * (0.9 + 0.2 * phase), np.nan)
    waiting = np.clip(np.nansum(window, axis=1) - 5.0, 0.0, LIMIT).round()
    length = np.stack([waiting, np.full(samples, down)], axis=1)
    share_of_time = np.stack([np.bincount(column.astype(int), minlength=LIMIT + 1) / samples for column in length.T])
    queues = ["home.uplink", "home.downlink"]
    data = {
        "window": _array(("time", "flow"), window, "segments", "congestion window"),
        "rate": _array(("time", "flow"), rate, "B/s", "payload delivered"),
        "srtt": _array(("time", "flow"), 0.05 + waiting[:, None] * PACKET / RATE + 0 * rate, "s", "smoothed RTT"),
        "queue_length": _array(("time", "queue"), length, "packets", "packets waiting"),
        "queue_delay": _array(("time", "queue"), length * PACKET / np.array([RATE, 8 * RATE]), "s", "wait"),
        "queue_share": _array(("queue", "packets"), share_of_time, "1", "share of the time"),
        "goodput": _array(("flow",), np.nanmean(rate, axis=0), "B/s", "goodput"),
    }
    kinds = ("cubic", "ledbat", "vegas", "newreno", "bbr")
    coords = {
        "time": _array(("time",), time, "s", "time"),
        "flow": [f"{kinds[k % 5]}-{k + 1}" for k in range(flows)],
        "cc": ("flow", [kinds[k % 5] for k in range(flows)]),
        "kind": ("flow", ["long"] * flows),
        "queue": queues,
        "packets": _array(("packets",), np.arange(LIMIT + 1), "packets", "packets waiting"),
    }
    known = {"bottleneck": queues[0], "title": "1 Mbit/s, 50 ms, 100 packets", "seed": 7, "warmup": 30.0}
    return xr.Dataset(data, coords=coords, attrs=known | {"rate_home.uplink": RATE} | attrs)


def _array(dims: tuple[str, ...], values: np.ndarray, unit: str, meaning: str) -> xr.DataArray:
    return xr.DataArray(values, dims=dims, attrs={"long_name": meaning, "units": unit})
