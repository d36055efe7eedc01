"""Simulates a fitted line under the load that was measured on it, and says how far apart the two are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.config.catalog import parse_as
from btflow.config.files import find
from btflow.errors import InputError
from btflow.lines.line import LIMITS, Line, buffer_of
from btflow.lines.traces import SMOOTHED, Delays, Floats, Load
from btflow.lines.waits import FEWEST, roughly, within
from btflow.link.options import flow
from btflow.link.run import simulate_link
from btflow.link.scenario import LINKS, LinkScenario

if TYPE_CHECKING:
    import xarray as xr

CC = {"cubic": "cubic-6", "reno": "reno-linux", "bbr": "bbr", "vegas": "vegas", "lp": "lp", "nice": "nice"}
"""Congestion controls by the names that Linux has for them; CUBIC where a file does not say."""

AFTER = 1.0
"""Time simulated after the load [s]."""
FILLED = 0.6
"""A load of less than this of the rate was held back by something else, of which its file says nothing. Chosen."""
LONGEST = 600.0
"""Most time that is simulated [s]; a longer load is compared up to there."""


class Figure(NamedTuple):
    """One figure of a line, as it was measured and as it is simulated."""

    name: str
    unit: str
    measured: float
    simulated: float

    @property
    def off(self) -> float:
        """How much the simulated one is above the measured one, as a share of that."""
        return self.simulated / self.measured - 1 if self.measured else 0.0

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]"


@dataclass(frozen=True, repr=False)
class Comparison:
    """A line as it was measured and as it is simulated."""

    line: Line
    result: xr.Dataset
    """What btflow.simulate_link returns."""
    figures: tuple[Figure, ...]
    cc: str
    """Congestion control of the simulated load."""

    def __repr__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """Return how far apart measured and simulated are at most."""
        delays, rates = ([f for f in self.figures if (f.unit == "ms") is kind] for kind in (True, False))
        named = (("round-trip times are", delays), ("the goodput is", rates))
        parts = [f"{what} at most {max(abs(f.off) for f in rows):.0%} off" for what, rows in named if rows]
        return f"Simulated with {self.cc}: {', '.join(parts)}."


def known(line: Line) -> bool:
    """Return whether the load, the rates and the buffers of a line are known, so that a simulation is one of it."""
    loads = [load for trace in line.traces for load in trace.loads]
    longest = max((queue.wait.value for _, queue in line.ways if queue.wait), default=0.0)
    if not loads or (math.isinf(line.rtt.low) and line.rtt.high > longest):  # much of a round trip is not known
        return False
    return all(
        math.isfinite(queue.rate.high)
        and (queue.given or queue.discipline in ("drop-tail", *LIMITS))
        and all(load.paced or roughly(load) > FILLED * queue.rate.value for load in loads if load.way == way)
        for way, queue in line.ways
    )


def compare(line: Line, *, cc: str | None = None, seed: int = 0) -> Comparison:
    """Return a line beside a simulation of it with the same flows, for the same time.

    Args:
        line: What ``btflow.lines.fit`` returns.
        cc: Congestion control of the load, by its name in btflow; None for that of the files, or CUBIC of Linux 6.
        seed: Seed of the simulation.

    Raises:
        InputError: There is no such congestion control, or the load is not to be simulated on this line.
    """
    if not isinstance(line, Line):
        raise InputError("line", line, "is no line", "what btflow.lines.fit returns")
    if cc is not None and not isinstance(cc, str):
        raise InputError("cc", cc, "is no name", "a congestion control, such as bbr")
    if any(queue.given is None and queue.wait is None for _, queue in line.ways):
        hint = 'such as "100 packets"'
        raise InputError("buffer", None, "is needed for a simulation: the files do not show it", hint)
    try:
        result = simulate_link(_scenario(line, cc), seed=seed)
    except InputError as error:  # of a field of the link that is made of the line
        raise error.renamed(error.field.rpartition(".")[2]) from None
    figures = [_goodput(load, number, result) for number, load in enumerate(simulated_loads(line)) if line.shows(load)]
    figures += [figure for delays in _compared(line) for figure in _delays(line, delays, result)]
    used = ", ".join(dict.fromkeys(str(name) for name in result["cc"].values))
    return Comparison(line, result, tuple(figures), used)


def simulated_loads(line: Line) -> list[Load]:
    """Return the loads that are simulated, in the order of their flows: those that begin soon enough."""
    return [load for load in line.loads if load.start < LONGEST]


def _scenario(line: Line, cc: str | None) -> LinkScenario:
    """Return the experiment on a line with the loads that were measured."""
    loads = simulated_loads(line)
    end = min(max(load.end for load in loads), LONGEST)
    if cc is not None:
        find(cc, "congestion", Path(), "cc")
    access = {
        f"{way}link": {"rate": f"{queue.rate.value!r} B/s", "buffer": buffer_of(queue), "discipline": queue.kind}
        for way, queue in line.ways
    }
    flows = {}
    for number, load in enumerate(loads):
        named = CC.get(load.cc, CC["cubic"]) if cc is None else cc
        text = f"{named}:{load.flows}@{max(load.start, 0.0)!r} s,stop={min(load.end, LONGEST)!r} s,direction={load.way}"
        flows[f"load-{number}"] = table = flow(text + (f",rate={load.paced!r} B/s" if load.paced else ""))
        del table["name"]
    tree = {
        "name": "my-line",
        "title": "The load that was measured, on the fitted line",
        "source": "btflow calibrate",
        "duration": f"{end + AFTER!r} s",
        "warmup": "0 s",
        "access": {"home": access},
        "paths": {"rtt": f"{max(line.rtt.value, 1e-4)!r} s", "rtt_spread": "0 s"},
        "flows": flows,
    }
    return parse_as(LINKS, tree).build({})


def rate(result: xr.Dataset, number: int) -> Floats:
    """Return the payload of a load that arrives over time (times,) [B/s]."""
    return np.asarray(result["rate"].isel(flow=_flows(result, number)).sum("flow").values, np.float64)


def _flows(result: xr.Dataset, number: int) -> NDArray[np.intp]:
    """Return the places of a load's flows."""
    return np.flatnonzero([f"{name}-".startswith(f"load-{number}-") for name in result["flow"].values])


def rtt(line: Line, result: xr.Dataset, delays: Delays) -> Floats:
    """Return the round-trip time that packets of some kind would measure, over the result's times (times,) [s]."""
    if delays.of == SMOOTHED:
        time = result["time"]
        sent = [(load, own) for number, load in enumerate(simulated_loads(line)) for own in [_flows(result, number)]]
        parts = [result["srtt"].isel(flow=own).mean("flow").where(within(time.values, [load])) for load, own in sent]
        return np.asarray(np.fmax.reduce(parts), np.float64)
    slowest = min(queue.rate.value for _, queue in line.ways)
    passes = delays.of == "pings" and any(queue.kind == "fq-codel" for _, queue in line.ways)
    wait = np.zeros(result.sizes["time"]) if passes else result["queue_delay"].sum("queue").values  # flows are alike
    return np.asarray(line.rtt.value + delays.size / slowest + wait, np.float64)


def _compared(line: Line) -> list[Delays]:
    """Return the round-trip times to be compared: of each kind those with most samples while there was a load."""
    seen = during(line)
    kinds = dict.fromkeys(delays.of for delays in seen)
    return [max((one for one in seen if one.of == kind), key=lambda one: len(one.time)) for kind in kinds]


def during(line: Line) -> list[Delays]:
    """Return the round-trip times while there was a load, as far as that is simulated."""
    start, end = min(load.start for load in line.loads), min(max(load.end for load in line.loads), LONGEST)
    least = min(load.end - load.start for load in line.loads) / 2
    found = []
    for delays in (one for trace in line.traces for one in trace.delays):
        kept = (delays.time >= start) & (delays.time <= end)
        if kept.sum() >= FEWEST and np.ptp(delays.time[kept]) > least:  # not the handshakes of flows
            found.append(replace(delays, time=delays.time[kept], rtt=delays.rtt[kept]))
    return found


def _goodput(load: Load, number: int, result: xr.Dataset) -> Figure:
    """Return the goodput of a load, the one with a number."""
    length = np.diff(load.edges)
    goodput = load.arrived[0] / load.arrived[1] if load.arrived else float(np.average(load.goodput, weights=length))
    simulated = float(rate(result, number)[within(result["time"].values, [load])].mean())
    return Figure(f"goodput {load.way}", "Mbit/s", 8e-6 * goodput, 8e-6 * simulated)


def _delays(line: Line, delays: Delays, result: xr.Dataset) -> list[Figure]:
    """Return the median and the 90th percentile of round-trip times."""
    known = rtt(line, result, delays)
    there = np.isfinite(known)
    if not there.any():
        return []
    both = (delays.rtt, np.interp(delays.time, result["time"].values[there], known[there]))
    names = (f"round-trip time of {delays.of}, {name}" for name in ("median", "90th percentile"))
    values = 1e3 * np.quantile(both, (0.5, 0.9), axis=1)
    return [Figure(name, "ms", *map(float, row)) for name, row in zip(names, values, strict=True)]
