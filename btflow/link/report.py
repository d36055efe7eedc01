"""What a link experiment has found, as one JSON object or as a short text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from btflow.columns import listed, table

if TYPE_CHECKING:
    import xarray

_QUEUE_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_LONGEST_NAME = 18
_APART = ("voip", "messages")
"""Kinds of flows that have lists of their own."""


def summary(result: xarray.Dataset) -> dict[str, Any]:
    """Return the figures of a result that `btflow link --json` prints; what is not known is None.

    They count from the warm-up on. Voice calls and probes are not among ``flows``; a share is of what these get in all.
    ``queue`` and ``utilisation`` are those of the bottleneck, the packet being sent not counted.
    """
    queues = [_queue(result, i) for i in range(result.sizes["queue"])]
    named = {str(name): i for i, name in enumerate(result["queue"].values)}
    bottleneck = named.get(str(result.attrs["bottleneck"]))
    finishes = _finishes(result)
    return {
        "model": str(result.attrs["model"]),
        "title": str(result.attrs["title"]),
        "parameters": json.loads(result.attrs.get("parameters", "{}")),
        "seed": int(result.attrs["seed"]),
        "fidelity": str(result.attrs.get("fidelity", "full")),
        "duration_s": float(result.attrs["duration"]),
        "warmup_s": float(result.attrs["warmup"]),
        "flows": _flows(result),
        "bottleneck": str(result.attrs["bottleneck"]) or None,
        "queue": None if bottleneck is None else _lengths(queues[bottleneck]),
        "utilisation": None if bottleneck is None else queues[bottleneck]["utilisation"],
        "queues": queues,
        "voip": [_call(result, i) for i in range(result.sizes.get("voip", 0))],
        "probes": [_probe(result, i) for i in range(result.sizes.get("probe", 0))],
        "completion_s": finishes,
        "cpu_s": float(result.attrs["cpu_s"]),
    }


def as_text(result: xarray.Dataset) -> str:
    """Return a result as a few tables for people."""
    found = summary(result)
    settings = listed(f"{name} = {value}" for name, value in found["parameters"].items())
    span = f"{found['duration_s']:g} s, counted from {found['warmup_s']:g} s on"
    fidelity = ", flow fidelity" * (found["fidelity"] == "flow")
    blocks = [[f"{found['model']}, {span}, seed {found['seed']}{fidelity}", *([settings] if settings else [])]]
    for rows, columns in (
        (found["flows"], _FLOW_COLUMNS),
        (found["queues"], _QUEUE_COLUMNS),
        (found["voip"], _VOIP_COLUMNS),
        (found["probes"], _PROBE_COLUMNS),
        ([{"name": name, "time": time} for name, time in found["completion_s"].items()], _FINISH_COLUMNS),
    ):
        if rows:
            blocks.append(_table(rows, columns))
    blocks.append([f"CPU time {found['cpu_s']:.3f} s"])
    return "\n\n".join("\n".join(block) for block in blocks)


def _flows(result: xarray.Dataset) -> list[dict[str, Any]]:
    """Return one entry for each flow that is neither a voice call nor a probe."""
    kinds = [str(kind) for kind in result["kind"].values]
    counted = [i for i, kind in enumerate(kinds) if kind not in _APART]
    total = sum(float(result["goodput"][i]) for i in counted)
    return [_flow(result.isel(flow=i), total) for i in counted]


def _flow(flow: xarray.Dataset, total: float) -> dict[str, Any]:
    goodput = float(flow["goodput"])
    sent = float(flow["sent"])
    return {
        "name": str(flow["flow"].item()),
        "cc": str(flow["cc"].item()),
        "goodput_bps": _number(8 * goodput),
        "share": _number(goodput / total) if total > 0 else None,
        "retransmitted": _number(float(flow["resent"]) / sent) if sent > 0 else None,
        "rtt_mean_ms": _milliseconds(flow["rtt_mean"]),
        "rtt_p50_ms": _milliseconds(_quantile(flow["rtt_quantile"], 0.5)),
        "rtt_p95_ms": _milliseconds(_quantile(flow["rtt_quantile"], 0.95)),
    }


def _queue(result: xarray.Dataset, place: int) -> dict[str, Any]:
    queue = result.isel(queue=place)
    came = float(queue["arrivals"])
    lengths = {
        f"p{round(100 * share)}_packets": _number(_quantile(queue["queue_quantile"], share)) for share in _QUEUE_SHARES
    }
    return {
        "name": str(queue["queue"].item()),
        "mean_packets": _number(queue["queue_mean_packets"]),
        "mean_ms": _milliseconds(queue["queue_mean_delay"]),
        **lengths,
        "utilisation": _number(queue["utilisation"]),
        "dropped": _number(float(queue["drops"]) / came) if came > 0 else None,
    }


def _lengths(queue: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a queue's entry that is about its length."""
    return {name: value for name, value in queue.items() if name.endswith(("_packets", "_ms"))}


def _call(result: xarray.Dataset, place: int) -> dict[str, Any]:
    call = result.isel(voip=place)
    return {
        "name": str(call["voip_name"].item()),
        "delay_mean_ms": _milliseconds(call["voip_delay_mean"]),
        "delay_p50_ms": _milliseconds(_quantile(call["voip_delay_quantile"], 0.5)),
        "delay_p95_ms": _milliseconds(_quantile(call["voip_delay_quantile"], 0.95)),
        "jitter_ms": _milliseconds(call["voip_jitter"]),
        "loss": _number(call["voip_loss"]),
        "mos": _number(call["voip_mos"]),
    }


def _probe(result: xarray.Dataset, place: int) -> dict[str, Any]:
    probe = result.isel(probe=place)
    quantiles = {
        f"p{round(100 * share)}_ms": _milliseconds(_quantile(probe["probe_delay_quantile"], share))
        for share in (0.5, 0.95, 0.99)
    }
    return {
        "name": str(probe["probe_name"].item()),
        "sent": int(probe["probe_sent"]),
        "delivered": int(probe["probe_delivered"]),
        "mean_ms": _milliseconds(probe["probe_delay_mean"]),
        **quantiles,
    }


def _finishes(result: xarray.Dataset) -> dict[str, float | None]:
    """Return the time from start to end of each flow of a given size, None if it did not end."""
    names = [str(name) for name in result["flow"].values]
    sized = [i for i, kind in enumerate(result["kind"].values) if kind == "sized"]
    return {names[i]: _number(result["completion_time"][i]) for i in sized}


def _quantile(quantiles: xarray.DataArray, share: float) -> float:
    return float(quantiles.sel(quantile=share, method="nearest"))


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(float(value)) else None


def _milliseconds(value: Any) -> float | None:
    return _number(1e3 * float(value))


Column = tuple[str, str, Callable[[Any], str]]


def _fixed(digits: int, scale: float = 1.0) -> Callable[[Any], str]:
    return lambda value: "-" if value is None else f"{scale * value:.{digits}f}"


def _name(value: Any) -> str:
    """Return a name as the first columns of a table have it."""
    return str(value) if len(str(value)) <= _LONGEST_NAME else f"{str(value)[: _LONGEST_NAME - 3]}..."


_FLOW_COLUMNS: tuple[Column, ...] = (
    ("flow", "name", _name),
    ("cc", "cc", _name),
    ("goodput [kbit/s]", "goodput_bps", _fixed(1, 1e-3)),
    ("share [%]", "share", _fixed(1, 100)),
    ("resent [%]", "retransmitted", _fixed(2, 100)),
    ("RTT [ms]", "rtt_mean_ms", _fixed(1)),
    ("p50", "rtt_p50_ms", _fixed(1)),
    ("p95", "rtt_p95_ms", _fixed(1)),
)
_QUEUE_COLUMNS: tuple[Column, ...] = (
    ("queue", "name", _name),
    ("mean [ms]", "mean_ms", _fixed(1)),
    ("mean [packets]", "mean_packets", _fixed(1)),
    ("p10", "p10_packets", _fixed(0)),
    ("p50", "p50_packets", _fixed(0)),
    ("p90", "p90_packets", _fixed(0)),
    ("p99", "p99_packets", _fixed(0)),
    ("utilisation [%]", "utilisation", _fixed(1, 100)),
    ("dropped [%]", "dropped", _fixed(2, 100)),
)
_VOIP_COLUMNS: tuple[Column, ...] = (
    ("call", "name", _name),
    ("delay mean [ms]", "delay_mean_ms", _fixed(1)),
    ("p50", "delay_p50_ms", _fixed(1)),
    ("p95", "delay_p95_ms", _fixed(1)),
    ("jitter [ms]", "jitter_ms", _fixed(2)),
    ("lost [%]", "loss", _fixed(2, 100)),
    ("MOS", "mos", _fixed(2)),
)
_PROBE_COLUMNS: tuple[Column, ...] = (
    ("probe", "name", _name),
    ("written", "sent", str),
    ("delivered", "delivered", str),
    ("delay mean [ms]", "mean_ms", _fixed(1)),
    ("p50", "p50_ms", _fixed(1)),
    ("p95", "p95_ms", _fixed(1)),
    ("p99", "p99_ms", _fixed(1)),
)
_FINISH_COLUMNS: tuple[Column, ...] = (("flow", "name", _name), ("completion time [s]", "time", _fixed(2)))


def _table(rows: list[dict[str, Any]], columns: tuple[Column, ...]) -> list[str]:
    """Return rows as lines: names to the left, numbers to the right; ``p50`` is in the unit of the mean before it."""
    cells = [[header for header, _, _ in columns]] + [[show(row[key]) for _, key, show in columns] for row in rows]
    return table(cells, right=[n for n, (_, _, show) in enumerate(columns) if show not in (str, _name)]).splitlines()
