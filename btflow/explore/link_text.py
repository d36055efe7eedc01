"""What the link panel says in words and numbers: tables in HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.explore.link_figure import groups, rates_at
from btflow.plots.link import rate_points
from btflow.words import counted

_OF_QUEUE = ("utilisation", "queue_mean_packets", "queue_mean_delay", "queue_quantile", "drops")


def numbers(result: xr.Dataset, fluid: xr.Dataset | None = None) -> str:
    """Return the figures of a result that count from the warm-up on: by group of flows, and of the bottleneck.

    Those of a fluid follow, but for calls, of whose packets it knows nothing.
    """
    head = ("flows", "goodput", "of the capacity", "mean RTT", "sent again")
    rows, said = _of_flows(result), [_of_queue(result)]
    if fluid is not None:
        rows += [(f"{name}, fluid", *cells) for name, *cells in _of_flows(fluid)]
        said.append(f"Fluid: {_of_queue(fluid)}")
    said[-1] += f" Counted from {float(result.attrs['warmup']):g} s on."
    return _table(head, rows) + "".join(f"<p>{html.escape(line)}</p>" for line in (*said, *_calls(result)))


def _of_flows(result: xr.Dataset) -> list[tuple[str, ...]]:
    """Return the figures of each group of flows, after its name."""
    capacity = float(result["capacity"].values[_bottleneck(result)])
    flows = {name: result[name].values for name in ("goodput", "sent", "resent", "rtt_mean")}
    rows: list[tuple[str, ...]] = []
    for name, columns in groups(result).items():
        goodput, sent, resent = (float(flows[what][columns].sum()) for what in ("goodput", "sent", "resent"))
        share = resent / sent if sent else 0.0
        mean_rtt = _ms(_mean(flows["rtt_mean"][columns]))
        rows.append((name, _rate(goodput), f"{goodput / capacity:.0%}", mean_rtt, f"{share:.2%}"))
    return rows


def _of_queue(result: xr.Dataset) -> str:
    """Return the figures of the bottleneck's queue."""
    place = _bottleneck(result)
    queue = {name: result[name].values[place] for name in _OF_QUEUE}
    p95 = float(queue["queue_quantile"][list(result["quantile"].values).index(0.95)])
    return (
        f"{result['queue'].values[place]}: {float(queue['utilisation']):.0%} used, mean queue "
        f"{float(queue['queue_mean_packets']):.1f} packets = {_ms(float(queue['queue_mean_delay']))}, "
        f"95% of the time at most {counted(round(p95), 'packet')}, {int(queue['drops'])} dropped."
    )


def _bottleneck(result: xr.Dataset) -> int:
    """Return the place of the bottleneck among the queues, for arrays: a selection of a whole result takes long."""
    return list(result["queue"].values).index(str(result.attrs["bottleneck"]))


def moment(result: xr.Dataset, index: int, fluid: xr.Dataset | None = None) -> str:
    """Return what there is at the index-th sample: window, rate as its line has it and RTT of each flow; the queue."""
    points = rate_points(result)
    rows, said = _now(result, index, points)
    if fluid is not None:
        of_fluid, waiting = _now(fluid, index, points)
        rows, said = rows + [(f"{name}, fluid", *cells) for name, *cells in of_fluid], f"{said}; fluid: {waiting}"
    caption = f"At {float(result['time'][index]):.2f} s: {said}"
    return _table(("flow", "window", "rate", "smoothed RTT"), rows, caption)


def _now(result: xr.Dataset, index: int, points: int) -> tuple[list[tuple[str, ...]], str]:
    """Return what each flow has at the index-th sample, after its name, and how long the queue is.

    Rates are averaged over so many times, as in their lines.
    """
    now = result.isel(time=index)
    queue = now.sel(queue=str(result.attrs["bottleneck"]))
    rates = rates_at(result, float(now["time"]), points)
    rows: list[tuple[str, ...]] = [
        (str(flow), _number(window, "segments"), _rate(rate), _ms(srtt))
        for flow, window, rate, srtt in zip(
            now["flow"].values, now["window"].values, rates, now["srtt"].values, strict=True
        )
    ]
    length = round(float(queue["queue_length"]))
    return rows, f"{counted(length, 'packet')} {'waits' if length == 1 else 'wait'}, {_ms(float(queue['queue_delay']))}"


def _calls(result: xr.Dataset) -> Iterable[str]:
    for name, delay, loss, mos in zip(
        result["voip_name"].values,
        result["voip_delay_mean"].values,
        result["voip_loss"].values,
        result["voip_mos"].values,
        strict=True,
    ):
        yield f"Call {name}: mean delay {_ms(delay)}, {loss:.1%} lost, mean opinion score {mos:.1f} (4.5 is best)."


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "") -> str:
    titles = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in head)
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    said = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f'<table class="btflow-table">{said}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def _rate(rate: float) -> str:
    if np.isnan(rate):
        return "-"
    return f"{rate * 8e-3:.0f} kbit/s" if rate < 250_000 else f"{rate * 8e-6:.2f} Mbit/s"


def _ms(seconds: float) -> str:
    return _number(1000 * seconds, "ms")


def _number(value: float, unit: str) -> str:
    return "-" if np.isnan(value) else f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"


def _mean(values: NDArray[np.float64]) -> float:
    found = values[~np.isnan(values)]
    return float(found.mean()) if len(found) else float("nan")
