"""What a run has found, as one JSON object or as a short text."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from btflow.columns import listed, paragraph, table, width
from btflow.errors import brief
from btflow.swarm.replica import mean_of_known, quantile
from btflow.units.formatting import counted

if TYPE_CHECKING:
    import xarray

_UPLINKS = (
    "uplink's queue [ms]",
    "p50",
    "p90",
    "p99",
    ">100 packets [%]",
    "request [ms]",
    "block [ms]",
    "slots",
    "uTP [%]",
)
"""Of each class: the time in the queue, the share of the time with more packets in it, what a request and the block
that it asks for take, slots that peers have at others, and the share of uTP of the bytes."""

_COLUMNS = ("mean", "min", "p10", "p50", "p90", "max")


def summary(result: xarray.Dataset) -> dict[str, Any]:
    """Return the figures of a result that ``btflow run --json`` prints.

    Completion times are in seconds, over every download that counts of every replica.
    """
    times = result["completion_time"].transpose("replica", "peer").values
    counted = result["counted"].transpose("replica", "peer").values.astype(bool)
    classes = result["peer_class"].values
    names = [str(name) for name in dict.fromkeys(classes)]
    by_class = {name: _of_class(result, name, times, counted) for name in names}
    return {
        "model": result.attrs["model"],
        "parameters": json.loads(result.attrs["parameters"]),
        "seed": int(result.attrs["seed"]),
        "fidelity": result.attrs.get("fidelity", "full"),
        "replicas": int(result.sizes["replica"]),
        "completion_s": _statistics(times, counted),
        "by_class": by_class,
        "cpu_s": float(result.attrs["cpu_s"]),
        "cpu_s_per_swarm": float(result.attrs["cpu_s"]),  # its name until 2026, for scripts
        "scenario_hash": result.attrs["scenario_hash"],
        "version": result.attrs["version"],
    }


def _of_class(result: xarray.Dataset, name: str, times: np.ndarray, counted: np.ndarray) -> dict[str, Any]:
    """Return the figures of one class: of its completion times, once more without the table, and of its uplinks."""
    members = (result["peer_class"] == name).values
    completion = _statistics(times, counted & members)
    started = np.isfinite(result["start_time"].transpose("replica", "peer").values[:, members])
    count = round(float(started.sum(axis=1).mean()))
    figures: dict[str, Any] = {"count": count, "completion_s": completion, **(completion or {})}
    if "queue_delay_count" in result:
        figures |= _of_uplinks(result, name)
    return figures


def _of_uplinks(result: xarray.Dataset, name: str) -> dict[str, Any]:
    """Return the figures of the uplinks of a class, all replicas together; None where nothing was seen."""
    own = result.sel(sender_class=name)
    packets, delays = own["queue_packets_count"].sum("replica"), own["queue_delay_count"].sum("replica")
    figures = {
        f"queue_{unit}_p{int(100 * q)}": quantile(counts[axis].values, counts.values, q)
        for unit, counts, axis in (("packets", packets, "queue_packets"), ("s", delays, "queue_delay"))
        for q in (0.5, 0.9, 0.99)
    }
    seen = float(packets.sum())
    longer = float(packets.where(packets["queue_packets"] > 100, 0).sum())
    figures["queue_above_100_packets"] = longer / seen if seen else math.nan
    for message in ("request", "have", "unchoke"):
        figures[f"{message}_delay_s"] = mean_of_known(own["message_delay"].sel(message=message).values)
    figures["request_to_block_s"] = mean_of_known(own["block_latency"].values)
    figures["download_slots"] = mean_of_known(own["download_slots"].values)
    moved = result["uplink_bytes"].isel(peer=(result["peer_class"] == name).values).sum(("replica", "peer"))
    total = float(moved.sum())
    parts = zip(moved["traffic"].values, moved.values, strict=True)
    shares = {str(kind): float(part) / total for kind, part in parts} if total else {}
    return {key: None if math.isnan(value) else value for key, value in figures.items()} | {"traffic_share": shares}


def as_text(result: xarray.Dataset) -> str:
    """Return a result as a few lines for people."""
    found = summary(result)
    rows = {"all leechers": found["completion_s"]}
    rows |= {name: entry["completion_s"] for name, entry in found["by_class"].items()}
    rows = {name: row for name, row in rows.items() if row is not None}
    if len(rows) == 2:
        rows.popitem()
    lines = [
        f"{found['model']}, {counted(found['replicas'], 'replica')}, seed {found['seed']}"
        + ", flow fidelity" * (found["fidelity"] == "flow"),
        listed(f"{name} = {brief(value)}" for name, value in found["parameters"].items()),
        "",
        *_table(rows),
        "",
        *_mechanism(result),
        f"{'CPU time per swarm':<34}{_shown(found['cpu_s'], 3)} s",
    ]
    return "\n".join(lines)


def _statistics(times: np.ndarray, chosen: np.ndarray) -> dict[str, Any] | None:
    """Return the statistics of the chosen completion times [s] (replica, peer); None if there are none."""
    chosen = chosen & np.isfinite(times)
    if not chosen.any():
        return None
    # Row by row: the order in which an array is summed depends on its shape, and with it the last bit.
    means = [float(row[mask].mean()) if mask.any() else None for row, mask in zip(times, chosen, strict=True)]
    found = times[chosen]
    p10, p50, p90 = (float(p) for p in np.percentile(found, (10, 50, 90)))
    return {
        "mean": float(found.mean()),
        "min": float(found.min()),
        "max": float(found.max()),
        "p10": p10,
        "p50": p50,
        "p90": p90,
        "replica_means": means,
    }


def _table(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Return completion times by row, one column for each statistic."""
    own = min(10, (width() - 22) // len(_COLUMNS))
    header = f"{'completion time [s]':<22}" + "".join(f"{name:>{own}}" for name in _COLUMNS)
    return [header] + [
        f"{name[:21]:<22}" + "".join(f"{_shown(row[column], 1):>{own}}" for column in _COLUMNS)
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
        of = f" of {float(part['unchokes'].sum()):.0f}" if "unchokes" in part else ""
        lines.append(f"{f'unchokes ended idle, {name}':<34}{float(part['idle_terminations'].sum()):.0f}{of}")
    if "limited_share" not in result:
        return [*lines, *_paths(result), *_uplinks(result)]
    shares = peers["leechers"]["limited_share"].mean(("replica", "peer"))
    causes = ", ".join(
        f"{cause} {_percent(share)}" for cause, share in zip(shares["cause"].values, shares.values, strict=True)
    )
    held = paragraph(f"{'leechers uploads limited by':<34}{causes}", " " * 34)
    return [*lines, held, *_paths(result), *_uplinks(result)]


def _paths(result: xarray.Dataset) -> list[str]:
    """Return what the paths were that were drawn, if they were."""
    if "path_rtt" not in result:
        return []
    rtt, loss = result["path_rtt"], result["path_loss"]
    mean, least, most = (_milliseconds(float(found)) for found in (rtt.mean(), rtt.min(), rtt.max()))
    text = f"RTT {mean} ms (by peer {least} ms to {most} ms), loss {100 * float(loss.mean()):.2f}%"
    return [paragraph(f"{'mean of the paths'.ljust(34)}{text}, of {result.attrs['internet']}", " " * 34)]


def _uplinks(result: xarray.Dataset) -> list[str]:
    """Return what was seen on the access links, a line for each class that was looked at."""
    if "queue_delay_count" not in result:
        return []
    rows: list[tuple[str, ...]] = [_UPLINKS]
    for name in result["sender_class"].values:
        figures = _of_uplinks(result, str(name))
        if figures["queue_s_p50"] is None:
            continue
        times = [figures[key] for key in ("queue_s_p50", "queue_s_p90", "queue_s_p99")]
        waits = [figures[key] for key in ("request_delay_s", "request_to_block_s")]
        shares = [figures["queue_above_100_packets"], figures["traffic_share"].get("uTP data", 0.0)]
        slots = "-" if figures["download_slots"] is None else _shown(figures["download_slots"], 1)
        longer, utp = ("-" if math.isnan(share) else _shown(100 * share, 1) for share in shares)
        rows.append((str(name)[:21], *map(_milliseconds, times), longer, *map(_milliseconds, waits), slots, utp))
    return ["", table(rows, right=range(1, len(_UPLINKS))), ""]


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{1000 * value:.0f}"


def _shown(value: Any, digits: int) -> str:
    return "-" if math.isnan(value) else f"{float(value):.{digits}f}"


def _percent(share: Any) -> str:
    return "-" if math.isnan(share) else f"{_shown(100 * share, 1)}%"
