"""Sweeps in the form of ``btflow.sweep``'s Datasets: of any function, and of real swarms one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow import load, simulate
from btflow.errors import SimulationError
from btflow.sweeps.dataset import write_sums

Floats = NDArray[np.float64]

UNITS = {"rtt": "s", "upload_limit": "B/s", "file_size": "B", "loss": "1", "leechers": "1"}
MEANINGS = {
    "rtt": "round-trip time between any two peers",
    "upload_limit": "upload limit of every leecher",
    "loss": "packets lost",
}
STATISTICS = {"completion_mean": ("s", "mean completion time"), "seed_copies": ("1", "payload sent by the seeds")}


def store(ds: xr.Dataset, path: Path, **how: Any) -> None:
    """Write a sweep as the arrays of a store, with their digests."""
    ds.to_zarr(path, **how)
    write_sums(path, ds.variables)


def coordinate(name: str, dim: str, values: Sequence[Any]) -> xr.Variable:
    """Return the values of a varied name along a dimension, as a sweep has them."""
    attrs = {"units": UNITS.get(name, "1"), "long_name": MEANINGS.get(name, name)}
    kind: Any = object if isinstance(values[0], str) else None
    return xr.Variable((dim,), np.array(values, kind), attrs)


def _dataset(dims: tuple[str, ...], values: Floats, coords: Mapping[str, Any], attrs: dict[str, Any]) -> xr.Dataset:
    """Return a sweep with one statistic (dims..., replica); NaN stands for a failed swarm."""
    failed = ~np.isfinite(values)
    unit, meaning = STATISTICS["completion_mean"]
    rows = (*dims, "replica")
    reasons = np.where(failed, "peers left, too slow", "").astype(object)
    ds = xr.Dataset(
        {
            "completion_mean": (rows, values.astype(float), {"units": unit, "long_name": meaning}),
            "status": (rows, np.where(failed, 2, 1).astype(np.int8)),
            "seed": (dims, np.arange(values[..., 0].size, dtype=np.int64).reshape(values.shape[:-1])),
        },
        dict(coords) | {"replica": np.arange(values.shape[-1]), "failure": (rows, reasons)},
    )
    about = {"model": "rao2010", "scenario_hash": "0", "version": "0", "byte_prefix": "decimal"}
    return ds.assign_attrs(about | {"complete": 1, "replicas": values.shape[-1]} | attrs)


def grid(
    axes: Mapping[str, Sequence[Any]],
    function: Callable[..., Any] | None = None,
    *,
    values: Floats | None = None,
    replicas: int = 3,
    noise: float = 0.0,
    common: bool = False,
    seed: int = 0,
) -> xr.Dataset:
    """Return a grid whose statistic is a function of the varied values plus normal noise, or some values.

    With `common`, the noise of a replica is that of all points.
    """
    shape = tuple(len(a) for a in axes.values())
    if values is None:
        assert function is not None
        exact = np.array([function(*point) for point in product(*axes.values())], float).reshape(shape)
        rng = np.random.default_rng(seed)
        own = rng.normal(size=replicas) if common else rng.normal(size=(*shape, replicas))
        values = exact[..., None] + noise * own
    attrs = {"design": "grid", "varied": json.dumps({name: list(v) for name, v in axes.items()})}
    coords = {name: coordinate(name, name, v) for name, v in axes.items()}
    return _dataset(tuple(axes), values, coords, attrs | {"common_random_numbers": int(common)})


def sample(columns: Mapping[str, Sequence[Any]], values: Floats, design: str = "lhs:8", common: int = 0) -> xr.Dataset:
    """Return samples of a design with some values of the statistic (samples, replicas)."""
    attrs = {"design": design, "varied": json.dumps(dict.fromkeys(columns, "uniform")), "common_random_numbers": common}
    coords = {name: coordinate(name, "sample", v) for name, v in columns.items()}
    return _dataset(("sample",), values, coords | {"sample": np.arange(len(values))}, attrs)


def saltelli(
    function: Callable[[Floats], Floats], ends: Mapping[str, tuple[float, float]], n: int, replicas: int = 1
) -> xr.Dataset:
    """Return a Saltelli design of n base samples over uniform names, of a function of (names, samples)."""
    from scipy.stats import qmc

    d = len(ends)
    low, high = (np.array([end[side] for end in ends.values()])[:, None] for side in (0, 1))
    cube = qmc.Sobol(2 * d, rng=1).random(n).T
    a, b = (low + (high - low) * half for half in (cube[:d], cube[d:]))
    blocks = [a, b]
    for i in range(d):
        mixed = a.copy()
        mixed[i] = b[i]
        blocks.append(mixed)
    points = np.concatenate(blocks, axis=1)
    values = np.repeat(function(points)[:, None], replicas, axis=1)
    return sample(dict(zip(ends, points, strict=True)), values, design=f"saltelli:{n}")


def real(axes: Mapping[str, Sequence[str]], si: Mapping[str, Sequence[float]], replicas: int = 2) -> xr.Dataset:
    """Return a grid of real, small swarms of rao2010; `si` are the values in SI units."""
    values = np.full((*[len(a) for a in axes.values()], replicas), np.nan)
    for place in np.ndindex(*values.shape[:-1]):
        setting = {name: texts[i] for (name, texts), i in zip(axes.items(), place, strict=True)}
        scenario = load("rao2010").set(**{"leechers": 9, "file_size": "1 MB"} | setting)
        try:
            result = simulate(scenario, seed=int(np.ravel_multi_index(place, values.shape[:-1])), replicas=replicas)
        except SimulationError:
            continue
        times = result["completion_time"].where(result["role"] == "leecher")
        values[place] = times.mean("peer").values
    return grid(si, values=values).assign_attrs(byte_prefix="binary")


def with_check(ds: xr.Dataset, points: Sequence[int], full: Floats) -> xr.Dataset:
    """Return a sweep in flow of which one swarm of some points, by their numbers in C order, was run in full, too.

    Args:
        ds: The sweep.
        points: The numbers.
        full: What each gives in full (checked points,), NaN for a swarm that failed.
    """
    dims = [str(dim) for dim in ds["status"].dims if dim != "replica"]
    index = dict(zip(dims, np.unravel_index(np.array(points), [ds.sizes[dim] for dim in dims]), strict=True))
    rows, failed = "check", ~np.isfinite(full)
    values = {str(n): c for n, c in ds.coords.items() if len(c.dims) == 1 and c.dims[0] in dims and n != "sample"}
    coords = {f"check_{n}": ("check", c.values[index[str(c.dims[0])]], c.attrs) for n, c in values.items()}
    return (
        ds.assign(
            full_completion_mean=(rows, full, ds["completion_mean"].attrs),
            full_status=(rows, np.where(failed, 2, 1).astype(np.int8)),
        )
        .assign_coords(
            coords
            | {
                "check": np.array(points),
                "check_seed": ("check", np.arange(len(points))),
                "full_failure": (rows, np.where(failed, "too slow", "").astype(object)),
            }
        )
        .assign_attrs(fidelity="flow", check=len(points))
    )
