"""The two small papers: an iperf connection beside BitTorrent seeds (G01, G02), a call beside downloads (V01, V02)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.config.catalog import link_document, load_link
from btflow.link.flow import Flow
from btflow.link.run import simulate_link
from btflow.link.scenario import LinkScenario
from btflow.options import Fidelity
from btflow.units.formatting import counted
from validation import reference
from validation.statistics import SIGNIFICANT, Spread, p_greater, spread
from validation.verdict import Condition, Finding

RUNS = 12
"""Seeds of each setting, unless more are asked for."""
BUFFERS = (4, 8, 16, 32, 48, 64, 100, 200, 400, 1000)  # packets
SETTINGS = (("tcp", 2), ("tcp", 1), ("tcp", 0), ("utp", 2))
G01_SHARE, G02_SHARE = 0.15, 0.10
COLLAPSED, RECOVERED = 0.25, 0.9
EPISODES = ((60.0, 90.0), (120.0, 150.0))
"""When iperf runs in the figure of rates over time [s]: 30 s, several times, as in the paper's figure 2."""
SETTLE = 10.0
"""What is left out after iperf starts or stops [s]: the time that the windows need."""
LESS, SIMILAR = 0.25, 0.25
BIN = 1.0  # of the network latency [s]


@cache
def iperf(transport: str, seeds: int, buffer: int | None, runs: int, fidelity: Fidelity = "full") -> Spread:
    """Return the goodput of iperf [Mbit/s] at a buffer [packets], None for the model's."""
    scenario = load_link("geni", transport=transport, seeds=seeds)
    if buffer is not None:
        scenario = load_link("geni", transport=transport, seeds=seeds, buffer=f"{buffer} packets")
    found = [simulate_link(scenario, seed=seed, fidelity=fidelity)["goodput"].sel(flow="iperf") for seed in range(runs)]
    return spread([8e-6 * float(value) for value in found])


def stated_buffer() -> str:
    """Return the buffer of the model's downlink."""
    return str(link_document("geni").tree["access"]["downloader"]["downlink"]["buffer"])


def beside_tcp(runs: int, fidelity: Fidelity = "full") -> Finding:
    """Judge G01."""
    conditions, parts, numbers = [], [], {}
    for transport, seeds in SETTINGS[:3]:
        paper, found = reference.geni_iperf()[transport, seeds], iperf(transport, seeds, None, runs, fidelity)
        error = found.mean / paper - 1.0
        shown = f"{found.mean_text(3, 'Mbit/s')} beside {seeds} ({100 * error:+.0f}%)"
        conditions.append(Condition(f"{shown}, the paper has {paper:g}", abs(error) <= G01_SHARE, f"beside {seeds}"))
        parts.append(shown)
        numbers[f"iperf_mbps_{seeds}_seeds"] = [found.mean, found.min, found.max]
    papers = ", ".join(f"{reference.geni_iperf()[setting]:g}" for setting in SETTINGS[:3])
    return Finding(
        f"{papers} Mbit/s beside 2, 1 and 0 seeds",
        f"at a buffer of {stated_buffer()}: {'; '.join(parts)}",
        tuple(conditions),
        (f"{counted(runs, 'seed')}; ± is half a 95% confidence interval", *_sweep_lines(runs, ("tcp",), fidelity)),
        numbers,
        brief=f"{', '.join(f'{mean:.2f}' for mean, *_ in numbers.values())} Mbit/s",
    )


def beside_utp(runs: int, fidelity: Fidelity = "full") -> Finding:
    """Judge G02."""
    paper, found = reference.geni_iperf()["utp", 2], iperf("utp", 2, None, runs, fidelity)
    error = found.mean / paper - 1.0
    rates = [episode_rates(seed, fidelity) for seed in range(runs)]
    before, during, after = (float(np.mean([rate[i] for rate in rates])) for i in range(3))
    conditions = (
        Condition(f"iperf {found.mean_text(3, 'Mbit/s')} ({100 * error:+.0f}%)", abs(error) <= G02_SHARE, "rate"),
        Condition(
            f"the seeds' rate falls from {before:.2f} to {during:.2f} Mbit/s while iperf runs",
            during <= COLLAPSED * before,
            "collapse",
        ),
        Condition(f"and is {after:.2f} Mbit/s after it", after >= RECOVERED * before, "recovery"),
    )
    ours = (
        f"at a buffer of {stated_buffer()}: {found.mean_text(3, 'Mbit/s')} ({100 * error:+.0f}%); the seeds "
        f"{before:.2f} Mbit/s before, {during:.2f} during, {after:.2f} after iperf"
    )
    numbers = {"iperf_mbps": [found.mean, found.min, found.max], "seeds_mbps": [before, during, after]}
    return Finding(
        f"{paper:g} Mbit/s beside two seeds; the seeds drop drastically each time iperf runs",
        ours,
        conditions,
        (f"{counted(runs, 'seed')}; ± is half a 95% confidence interval", *_sweep_lines(runs, ("utp",), fidelity)),
        numbers,
        brief=f"{found.mean:.2f}; {before:.2f} to {during:.2f} Mbit/s",
    )


def _sweep_lines(runs: int, transports: Sequence[str], fidelity: Fidelity) -> list[str]:
    """Return what iperf gets at each buffer; not at flow, of which nobody reads it."""
    lines: list[str] = []
    if fidelity == "flow":
        return lines
    for transport, seeds in SETTINGS:
        if transport in transports:
            found = [f"{n}: {iperf(transport, seeds, n, runs).mean_text(2)}" for n in BUFFERS]
            lines.append(f"iperf [Mbit/s] beside {seeds} by {transport}, by the buffer [packets]: {', '.join(found)}")
    return lines


@cache
def episodes() -> LinkScenario:
    """Return the experiment of figure 2: uTP seeds all the time, iperf now and then."""
    scenario = load_link("geni", transport="utp", seeds=2)
    once = next(flow for flow in scenario.flows if flow.name == "iperf")
    rest = tuple(flow for flow in scenario.flows if flow.name != "iperf")
    runs = tuple(_during(once, f"iperf-{i + 1}", *times) for i, times in enumerate(EPISODES))
    return scenario.model_copy(update={"flows": (*runs, *rest)})


def _during(flow: Flow, name: str, start: float, stop: float) -> Flow:
    return flow.model_copy(update={"name": name, "start": start, "stop": stop})


@cache
def episode_run(seed: int, fidelity: Fidelity = "full") -> xr.Dataset:
    """Return a run of it."""
    return simulate_link(episodes(), seed=seed, fidelity=fidelity)


def rates(result: xr.Dataset, prefix: str) -> NDArray[np.float64]:
    """Return the rate of the flows whose names begin so, over time [Mbit/s]."""
    names = [name for name in result["flow"].values if name.startswith(prefix)]
    return np.asarray(8e-6 * result["rate"].sel(flow=names).sum("flow").values, np.float64)


def episode_rates(seed: int, fidelity: Fidelity = "full") -> tuple[float, float, float]:
    """Return the seeds' mean rate before iperf runs, while it does and after [Mbit/s]."""
    result = episode_run(seed, fidelity)
    time, rate = result["time"].values, rates(result, "seed")
    end = float(result.attrs["duration"])
    following = [start for start, _ in EPISODES[1:]] + [end]
    before = rate[(time > EPISODES[0][0] - 30.0) & (time <= EPISODES[0][0])].mean()
    during = np.mean([rate[(time > start + SETTLE) & (time <= stop)].mean() for start, stop in EPISODES])
    after = np.mean(
        [
            rate[(time > stop + SETTLE) & (time <= then)].mean()
            for (_, stop), then in zip(EPISODES, following, strict=True)
        ]
    )
    return float(before), float(during), float(after)


CALL_FIGURES = {
    "delay": ("VoIP delay", "ms"),
    "jitter": ("VoIP jitter", "ms"),
    "throughput": ("transfer rate", "kbit/s"),
    "latency": ("network latency, mean", "ms"),
    "burstiness": ("network latency, variation", "1"),
}
"""What V01 is about: name and unit."""


@cache
def call_run(transport: str, seed: int) -> dict[str, float]:
    """Return the figures of V01 of one run: the call's, the pair's transfer rate, and the latency of all pairs.

    The latency is that of the packets of all five pairs, from the servers to the clients, in bins of a second; its
    variation is its standard deviation over its mean.
    """
    scenario = load_link("opnet2009", transport=transport)
    result = simulate_link(scenario, seed=seed)
    time = result["time"].values
    counted = time >= result.attrs["warmup"]
    with_data = (("s", "uplink"), ("c", "downlink"))
    passed = [name for name in result["queue"].values if (name[0], name.partition(".")[2]) in with_data]
    waits = result["queue_delay"].sel(queue=passed).values[counted].sum(axis=1) / len(scenario.access) * 2
    latency = scenario.paths.rtt / 2 + waits
    bins = ((time[counted] - time[counted][0]) / BIN).astype(int)
    binned = np.bincount(bins, latency) / np.bincount(bins)
    pair = [name for name in result["flow"].values if name.startswith("pair-0")]
    return {
        "delay": 1e3 * float(result["voip_delay_mean"][0]),
        "jitter": 1e3 * float(result["voip_jitter"][0]),
        "throughput": 8e-3 * float(result["goodput"].sel(flow=pair).sum()),
        "latency": 1e3 * float(binned.mean()),
        "burstiness": float(binned.std() / binned.mean()),
    }


def call_values(transport: str, figure: str, runs: int) -> list[float]:
    """Return a figure of V01 for each seed."""
    return [call_run(transport, seed)[figure] for seed in range(runs)]


def call(runs: int) -> Finding:
    """Judge V01."""
    tcp, utp = ({name: call_values(t, name, runs) for name in CALL_FIGURES} for t in ("tcp", "utp"))
    fell = {name: 1.0 - float(np.mean(utp[name]) / np.mean(tcp[name])) for name in CALL_FIGURES}
    lower = {name: p_greater(tcp[name], utp[name]) < SIGNIFICANT for name in CALL_FIGURES}
    burstier = p_greater(utp["burstiness"], tcp["burstiness"]) < SIGNIFICANT

    def text(name: str) -> str:
        title, unit = CALL_FIGURES[name]
        digits = 2 if unit == "1" else 1
        a, b = (spread(side[name]).mean_text(digits, "" if unit == "1" else unit) for side in (tcp, utp))
        return f'{title} {a} by TCP, {b} by "uTP" ({-100 * fell[name]:+.0f}%)'

    conditions = (
        Condition(text("delay"), lower["delay"] and fell["delay"] >= LESS, "less VoIP delay"),
        Condition(text("jitter"), lower["jitter"] and fell["jitter"] >= LESS, "less VoIP jitter"),
        Condition(text("throughput"), lower["throughput"], "lower transfer rate"),
        Condition(text("burstiness"), burstier, "burstier latency"),
        Condition(text("latency"), abs(fell["latency"]) <= SIMILAR, "similar mean latency"),
    )
    ours = "; ".join(f"{CALL_FIGURES[name][0]} {-100 * fell[name]:+.0f}%" for name in CALL_FIGURES)
    numbers = {name: [float(np.mean(tcp[name])), float(np.mean(utp[name]))] for name in CALL_FIGURES}
    details = (
        f"{counted(runs, 'seed')}; ± is half a 95% confidence interval",
        "the figures' numbers are in images that the text does not have: order and sign alone are judged",
        "latency: mean over the packets' paths of all five pairs; only the first pair changes, so a similar mean is "
        "nearly built in",
    )
    return Finding(
        "less delay, less jitter, less throughput; latency similar on average, burstier",
        ours,
        conditions,
        details,
        numbers,
        brief=f"{', '.join(f'{-100 * fell[name]:+.0f}' for name in ('delay', 'jitter', 'throughput'))}%",
    )


def headers(runs: int) -> Finding:
    """Judge V02: the ceilings of the two congestion controls, and that no run passes them."""
    conditions, parts, numbers = [], [], {}
    for transport, (payload, packet) in {"utp": (300, 340), "tcp": (1460, 1500)}.items():
        scenario = load_link("opnet2009", transport=transport)
        flow = next(flow for flow in scenario.flows if flow.name == "pair-0")
        assert flow.cc is not None
        exact = flow.cc.mss * packet == payload * flow.packet
        rate = 8e-3 * scenario.queues["s0.uplink"].rate
        most = max(call_values(transport, "throughput", runs)) / rate
        name = f"{payload}/{packet}"
        conditions += [
            Condition(f"{flow.cc.name}: {flow.cc.mss} B in {flow.packet} B", exact, name),
            Condition(f"at most {100 * most:.1f}% of the link is payload", most <= payload / packet, name),
        ]
        parts.append(f"{flow.cc.mss}/{flow.packet}, runs at most {100 * most:.1f}%")
        numbers[name] = most
    return Finding(
        "300/340 and 1460/1500 of the link",
        "; ".join(parts),
        tuple(conditions),
        (),
        numbers,
        by_construction="the packets' sizes are the model's",
        brief=f"{', '.join(f'{100 * most:.1f}' for most in numbers.values())}%",
    )
