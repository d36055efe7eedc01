"""What a link experiment has found, as one JSON object or as a short text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from btflow.columns import listed, table

if TYPE_CHECKING:
    import xarray

_LONGEST_NAME = 18
_APART = ("voip", "messages")
"""Kinds of flows that have lists of their own."""


def summary(result: xarray.Dataset) -> dict[str, Any]:
    """Return the figures of a result that `btflow link --json` prints; what is not known is None.

    They count from the warm-up on. Voice calls and probes are not among ``flows``; a share is of what these get in all.
    ``queue`` and ``utilisation`` are those of the bottleneck, the packet being sent not counted.
    """
    queues = _entries(result, "queue", _QUEUE)
    named = {str(name): i for i, name in enumerate(result["queue"].values)}
    bottleneck = named.get(str(result.attrs["bottleneck"]))
    at_bottleneck = {} if bottleneck is None else queues[bottleneck]
    lengths = {name: value for name, value in at_bottleneck.items() if name.endswith(("_packets", "_ms"))}
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
        "queue": lengths or None,
        "utilisation": at_bottleneck.get("utilisation"),
        "queues": queues,
        "voip": _entries(result, "voip", _CALL),
        "probes": _entries(result, "probe", _PROBE),
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
        (found["flows"], _FLOW),
        (found["queues"], _QUEUE),
        (found["voip"], _CALL),
        (found["probes"], _PROBE),
        ([{"name": name, "time": time} for name, time in found["completion_s"].items()], _FINISH),
    ):
        if rows:
            blocks.append(_table(rows, columns))
    blocks.append([f"CPU time {found['cpu_s']:.3f} s"])
    return "\n\n".join("\n".join(block) for block in blocks)


def _flows(result: xarray.Dataset) -> list[dict[str, Any]]:
    """Return one entry for each flow that is neither a voice call nor a probe."""
    counted = result.isel(flow=[i for i, kind in enumerate(result["kind"].values) if str(kind) not in _APART])
    total = sum(float(goodput) for goodput in counted["goodput"])
    return _entries(counted.assign(total=total), "flow", _FLOW)


def _entries(result: xarray.Dataset, dim: str, figures: tuple[Figure, ...]) -> list[dict[str, Any]]:
    """Return the figures of each flow, queue, call or probe, by their keys."""
    each = (result.isel({dim: i}) for i in range(result.sizes.get(dim, 0)))
    return [{figure.key: figure.of(one) for figure in figures} for one in each]


def _finishes(result: xarray.Dataset) -> dict[str, float | None]:
    """Return the time from start to end of each flow of a given size, None if it did not end."""
    names = [str(name) for name in result["flow"].values]
    sized = [i for i, kind in enumerate(result["kind"].values) if kind == "sized"]
    return {names[i]: _number(result["completion_time"][i]) for i in sized}


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(float(value)) else None


class Figure(NamedTuple):
    """A figure of a flow, a queue, a call or a probe: its key in JSON, and its column in the text."""

    key: str
    of: Callable[[Any], Any]
    """The figure, of the part of a result that is about one flow."""
    header: str = ""
    """Of its column; empty for a figure that is in JSON alone."""
    show: Callable[[Any], str] = str


def _mean(variable: str, scale: float = 1.0) -> Callable[[Any], float | None]:
    return lambda one: _number(scale * float(one[variable]))


def _quantile(variable: str, share: float, scale: float = 1.0) -> Callable[[Any], float | None]:
    return lambda one: _number(scale * float(one[variable].sel(quantile=share, method="nearest")))


def _ratio(part: str, whole: str) -> Callable[[Any], float | None]:
    return lambda one: _number(float(one[part]) / float(one[whole])) if float(one[whole]) > 0 else None


def _fixed(digits: int, scale: float = 1.0) -> Callable[[Any], str]:
    return lambda value: "-" if value is None else f"{scale * value:.{digits}f}"


def _short(value: Any) -> str:
    """Return a name as the first columns of a table have it."""
    return str(value) if len(str(value)) <= _LONGEST_NAME else f"{str(value)[: _LONGEST_NAME - 3]}..."


def _name(variable: str, key: str = "name", header: str = "") -> Figure:
    return Figure(key, lambda one: str(one[variable].item()), header or variable, _short)


_FLOW = (
    _name("flow"),
    _name("cc", "cc"),
    Figure("goodput_bps", _mean("goodput", 8), "goodput [kbit/s]", _fixed(1, 1e-3)),
    Figure("share", _ratio("goodput", "total"), "share [%]", _fixed(1, 100)),
    Figure("retransmitted", _ratio("resent", "sent"), "resent [%]", _fixed(2, 100)),
    Figure("rtt_mean_ms", _mean("rtt_mean", 1e3), "RTT [ms]", _fixed(1)),
    Figure("rtt_p50_ms", _quantile("rtt_quantile", 0.5, 1e3), "p50", _fixed(1)),
    Figure("rtt_p95_ms", _quantile("rtt_quantile", 0.95, 1e3), "p95", _fixed(1)),
)
_QUEUE = (
    _name("queue"),
    Figure("mean_ms", _mean("queue_mean_delay", 1e3), "mean [ms]", _fixed(1)),
    Figure("mean_packets", _mean("queue_mean_packets"), "mean [packets]", _fixed(1)),
    *(
        Figure(f"p{share}_packets", _quantile("queue_quantile", share / 100), f"p{share}" * shown, _fixed(0))
        for share, shown in ((10, 1), (25, 0), (50, 1), (75, 0), (90, 1), (95, 0), (99, 1))
    ),
    Figure("utilisation", _mean("utilisation"), "utilisation [%]", _fixed(1, 100)),
    Figure("dropped", _ratio("drops", "arrivals"), "dropped [%]", _fixed(2, 100)),
)
_CALL = (
    _name("voip_name", header="call"),
    Figure("delay_mean_ms", _mean("voip_delay_mean", 1e3), "delay mean [ms]", _fixed(1)),
    Figure("delay_p50_ms", _quantile("voip_delay_quantile", 0.5, 1e3), "p50", _fixed(1)),
    Figure("delay_p95_ms", _quantile("voip_delay_quantile", 0.95, 1e3), "p95", _fixed(1)),
    Figure("jitter_ms", _mean("voip_jitter", 1e3), "jitter [ms]", _fixed(2)),
    Figure("loss", _mean("voip_loss"), "lost [%]", _fixed(2, 100)),
    Figure("mos", _mean("voip_mos"), "MOS", _fixed(2)),
)
_PROBE = (
    _name("probe_name", header="probe"),
    Figure("sent", lambda one: int(one["probe_sent"]), "written"),
    Figure("delivered", lambda one: int(one["probe_delivered"]), "delivered"),
    Figure("mean_ms", _mean("probe_delay_mean", 1e3), "delay mean [ms]", _fixed(1)),
    *(
        Figure(f"p{share}_ms", _quantile("probe_delay_quantile", share / 100, 1e3), f"p{share}", _fixed(1))
        for share in (50, 95, 99)
    ),
)
_FINISH = (Figure("name", str, "flow", _short), Figure("time", float, "completion time [s]", _fixed(2)))


def _table(rows: list[dict[str, Any]], figures: tuple[Figure, ...]) -> list[str]:
    """Return rows as lines: names to the left, numbers to the right; ``p50`` is in the unit of the mean before it."""
    shown = [figure for figure in figures if figure.header]
    cells = [[figure.header for figure in shown]] + [[figure.show(row[figure.key]) for figure in shown] for row in rows]
    return table(cells, right=[n for n, figure in enumerate(shown) if figure.show not in (str, _short)]).splitlines()
