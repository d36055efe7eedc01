"""What the link panel says in words and numbers: tables in HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.explore.link_figure import groups, rates_at
from btflow.words import counted

_OF_QUEUE = ("capacity", "utilisation", "queue_mean_packets", "queue_mean_delay", "queue_quantile", "drops")


def numbers(result: xr.Dataset) -> str:
    """Return the figures of a result that count from the warm-up on: by group of flows, and of the bottleneck."""
    bottleneck = str(result.attrs["bottleneck"])
    place = list(result["queue"].values).index(bottleneck)  # arrays: a selection of a whole result takes long
    queue = {name: result[name].values[place] for name in _OF_QUEUE}
    flows = {name: result[name].values for name in ("goodput", "sent", "resent", "rtt_mean")}
    rows = []
    for name, columns in groups(result).items():
        goodput, sent, resent = (float(flows[what][columns].sum()) for what in ("goodput", "sent", "resent"))
        share = resent / sent if sent else 0.0
        mean_rtt = _ms(_mean(flows["rtt_mean"][columns]))
        rows.append((name, _rate(goodput), f"{goodput / float(queue['capacity']):.0%}", mean_rtt, f"{share:.2%}"))
    table = _table(("flows", "goodput", "of the capacity", "mean RTT", "sent again"), rows)
    p95 = float(queue["queue_quantile"][list(result["quantile"].values).index(0.95)])
    said = (
        f"{bottleneck}: {float(queue['utilisation']):.0%} used, mean queue "
        f"{float(queue['queue_mean_packets']):.1f} packets = {_ms(float(queue['queue_mean_delay']))}, "
        f"95% of the time at most {counted(round(p95), 'packet')}, {int(queue['drops'])} dropped."
    )
    warmup = f" Counted from {float(result.attrs['warmup']):g} s on."
    return table + "".join(f"<p>{html.escape(line)}</p>" for line in (said + warmup, *_calls(result)))


def moment(result: xr.Dataset, index: int) -> str:
    """Return what there is at the index-th sample: window, rate as its line has it and RTT of each flow; the queue."""
    now = result.isel(time=index)
    queue = now.sel(queue=str(result.attrs["bottleneck"]))
    rates = rates_at(result, float(now["time"]))
    rows = [
        (str(flow), _number(window, "segments"), _rate(rate), _ms(srtt))
        for flow, window, rate, srtt in zip(
            now["flow"].values, now["window"].values, rates, now["srtt"].values, strict=True
        )
    ]
    length = int(queue["queue_length"])
    waiting = f"{counted(length, 'packet')} {'waits' if length == 1 else 'wait'}"
    caption = f"At {float(now['time']):.2f} s: {waiting}, {_ms(float(queue['queue_delay']))}"
    return _table(("flow", "window", "rate", "smoothed RTT"), rows, caption)


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
