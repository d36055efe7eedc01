"""What a run has found, as one JSON object or as a short text."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray

_COLUMNS = ("mean", "min", "p10", "p50", "p90", "max")


def summary(result: xarray.Dataset) -> dict[str, Any]:
    """Return the figures of a result that ``btflow run --json`` prints.

    Completion times are in seconds, over every leecher of every replica.
    """
    times = result["completion_time"].transpose("replica", "peer").values
    leecher = (result["role"] == "leecher").values
    classes = result["peer_class"].values
    by_class = {
        str(name): {
            "count": int(np.sum(classes == name)),
            "completion_s": _statistics(times[:, leecher & (classes == name)]),
        }
        for name in dict.fromkeys(classes)
    }
    return {
        "model": result.attrs["model"],
        "parameters": json.loads(result.attrs["parameters"]),
        "seed": int(result.attrs["seed"]),
        "replicas": int(result.sizes["replica"]),
        "completion_s": _statistics(times[:, leecher]),
        "by_class": by_class,
        "cpu_s_per_swarm": float(result.attrs["cpu_s_per_swarm"]),
        "scenario_hash": result.attrs["scenario_hash"],
        "version": result.attrs["version"],
    }


def as_text(result: xarray.Dataset) -> str:
    """Return a result as a few lines for people."""
    found = summary(result)
    rows = {"all leechers": found["completion_s"]}
    rows |= {name: entry["completion_s"] for name, entry in found["by_class"].items()}
    rows = {name: row for name, row in rows.items() if row is not None}
    if len(rows) == 2:
        rows.popitem()
    settings = ", ".join(f"{name} = {value}" for name, value in found["parameters"].items())
    lines = [
        f"{found['model']}, {_times(found['replicas'], 'replica')}, seed {found['seed']}",
        settings,
        "",
        *_table(rows),
        "",
        *_mechanism(result),
        f"{'CPU time per swarm':<34}{_shown(found['cpu_s_per_swarm'], 3)} s",
    ]
    return "\n".join(lines)


def _statistics(times: np.ndarray) -> dict[str, Any] | None:
    """Return the statistics of completion times [s] (replica, peer); None for the initial seeds."""
    if np.isnan(times).all():
        return None
    # Row by row: the order in which an array is summed depends on its shape, and with it the last bit.
    means = [float(np.ascontiguousarray(row).mean()) for row in times]
    p10, p50, p90 = (float(p) for p in np.percentile(times, (10, 50, 90)))
    return {
        "mean": float(times.mean()),
        "min": float(times.min()),
        "max": float(times.max()),
        "p10": p10,
        "p50": p50,
        "p90": p90,
        "replica_means": means,
    }


def _table(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Return completion times by row, one column for each statistic."""
    header = f"{'completion time [s]':<22}" + "".join(f"{name:>10}" for name in _COLUMNS)
    return [header] + [
        f"{name[:21]:<22}" + "".join(f"{_shown(row[column], 1):>10}" for column in _COLUMNS)
        for name, row in rows.items()
    ]


def _mechanism(result: xarray.Dataset) -> list[str]:
    """Return what the swarm's completion time was made of."""
    peers = {
        "leechers": result.isel(peer=(result["role"] == "leecher").values),
        "seeds": result.isel(peer=(result["role"] == "seed").values),
    }
    lines = [f"{'copies uploaded by the seed':<34}{_shown(result['seed_copies'].mean(), 2)}"]
    for name, part in peers.items():
        lines.append(f"{f'upload utilisation, {name}':<34}{_percent(part['upload_utilisation'].mean())}")
    for name, part in peers.items():
        ended, opened = (float(part[v].sum()) for v in ("idle_terminations", "unchokes"))
        lines.append(f"{f'unchokes ended idle, {name}':<34}{ended:.0f} of {opened:.0f}")
    shares = peers["leechers"]["limited_share"].mean(("replica", "peer"))
    causes = ", ".join(
        f"{cause} {_percent(share)}" for cause, share in zip(shares["cause"].values, shares.values, strict=True)
    )
    return [*lines, f"{'leechers uploads limited by':<34}{causes}"]


def _shown(value: Any, digits: int) -> str:
    return "-" if math.isnan(value) else f"{float(value):.{digits}f}"


def _percent(share: Any) -> str:
    return "-" if math.isnan(share) else f"{_shown(100 * share, 1)}%"


def _times(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
