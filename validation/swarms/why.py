"""What the runs show of the mechanism where a claim does not come out; nothing here decides anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from validation.swarms.compare import interval, paired
from validation.swarms.experiments import BELOW, BUFFERS, HALVES, HOMOGENEOUS, STATED, adsl, buffered
from validation.swarms.measured import ALL, Measured, Results
from validation.verdict import Verdict

PACKET_TIME = 0.012
"""Time of a full packet of 1500 B on an uplink of 1 Mbit/s [s]."""


def empty(found: Measured, group: str = ALL) -> int:
    """Return the share of samples in which an uplink's queue is empty, all runs together [%, to 1]."""
    return sum(length <= 0.0 for length in found.groups[group].queue)


def _delay(found: Measured, name: str = "request_delay", group: str = ALL) -> str:
    return interval(found.of(name, group)).text(0, "ms", 1e3)


def _random_stay(results: Results) -> str:
    tcp, utp = results[adsl(0.0)], results[adsl(1.0)]
    return (
        f"All uTP's time over all TCP's: {paired(utp.of('mean'), tcp.of('mean')).text}. Its uplinks' queues are empty "
        f"in {empty(utp)}% of the samples, TCP's in {empty(tcp)}%: a short queue runs dry more often. A request takes "
        f"{_delay(utp)} against {_delay(tcp)}, which does not make up for it. The paper compares curves of 10 runs by "
        "eye."
    )


def _buffers(results: Results) -> str:
    swarms = [results[buffered(packets)] for packets in (BUFFERS[0], STATED, BELOW)]
    gaps = [paired(found.of("mean", "utp"), found.of("mean", "tcp")).text for found in swarms]
    drops = [
        " against ".join(interval(found.of("drops", group)).text(1) for group in ("utp", "tcp")) for found in swarms
    ]
    return (
        f"{BUFFERS[0]} full packets last {1e3 * BUFFERS[0] * PACKET_TIME:.0f} ms at 1 Mbit/s, as the paper's own 100 "
        "packets last more than a second; the 12 ms that it gives for them are one packet. uTP's target of 25 ms fits "
        f"into {BUFFERS[0]} packets: uTP over TCP {gaps[0]}; packets dropped at an uplink {drops[0]}. With {STATED} "
        f"packet, as it is stated: {gaps[1]}; dropped {drops[1]}. With {BELOW}: {gaps[2]}; dropped {drops[2]}."
    )


def _homogeneous(results: Results) -> str:
    utp, cubic = results[HOMOGENEOUS["UT:utp"]], results[HOMOGENEOUS["UT:cubic"]]
    upper = [
        f"{name} {interval(results[s].of('p90') - results[s].of('p50')).text(0, 's')}"
        for name, s in HOMOGENEOUS.items()
    ]
    return (
        f"uTorrent's requests take {_delay(utp)} with uTP against {_delay(cubic)} with CUBIC, and its uplinks drop "
        f"{interval(utp.of('drops')).text(0)} against {interval(cubic.of('drops')).text(0)} packets; but their queues "
        f"are empty in {empty(utp)}% of the samples against {empty(cubic)}%: what the control plane gains the data "
        "plane loses. How even completions are depends on the choker, which is closed in uTorrent's case: here its "
        "rules are libtorrent's and mainline's, and some leechers are early; from the median to the 90th percentile it "
        f"takes {'; '.join(upper)}."
    )


def _occupancy(results: Results) -> str:
    vegas = results[HOMOGENEOUS["BT:vegas"]]
    served = float(vegas.of("slots").mean())
    low, high = (1e3 * n * served * PACKET_TIME for n in (2, 4))
    return (
        "Vegas keeps 2 to 4 packets of each flow in the queue, whatever their number. Mainline's rule for a cap of "
        f"five times the uplink gives 19 upload slots, and a leecher is served on {served:.0f} connections, as many "
        f"as it serves: {low:.0f} to {high:.0f} ms of full packets, beside {_delay(vegas, 'delay_mean')} found. Nice "
        f"({_delay(results[HOMOGENEOUS['BT:nice']], 'delay_mean')}) and uTP "
        f"({_delay(results[HOMOGENEOUS['UT:utp']], 'delay_mean')}) bound the queue of all flows together."
    )


def _heterogeneous(results: Results) -> str:
    nice, utp = results[HALVES["BT:nice"]], results[HALVES["UT:utp"]]
    return (
        f"Nice's uplinks hold {_delay(nice, 'delay_mean', 'x')}, those of CUBIC beside it "
        f"{_delay(nice, 'delay_mean', 'cubic')}; a request takes {_delay(nice, group='x')} and "
        f"{_delay(nice, group='cubic')}. What is left is uTorrent: its uTP half's uplinks hold "
        f"{_delay(utp, 'delay_mean', 'x')}, its CUBIC half's {_delay(utp, 'delay_mean', 'cubic')}, where TCP starves "
        "the uTP beside it. The announcement of uTorrent 1.9, which the paper cites, has uTP's delay control the rate "
        "of TCP; how is not public, and it is not modelled."
    )


def _correlations(results: Results) -> str:
    times = {name: interval(results[s].of("p50")).mean for name, s in HOMOGENEOUS.items()}
    queues = {name: interval(results[s].of("delay_p50")).mean for name, s in HOMOGENEOUS.items()}
    return (
        "Ranks of a handful of swarms decide these figures: one pair out of order moves them by up to 0.4 (5 pairs). "
        f"Homogeneous, by median time: {_order(times)}; by median queue: {_order(queues)}. What moves the ranks is "
        "said at D01 to D03."
    )


def _order(values: Mapping[str, float]) -> str:
    return " < ".join(sorted(values, key=lambda name: values[name]))


WHY: Mapping[str, Callable[[Results], str]] = {
    "T03": _random_stay,
    "T06": _buffers,
    "D01": _homogeneous,
    "D02": _occupancy,
    "D03": _heterogeneous,
    "D04": _correlations,
}
"""What there is to say about a claim that does not come out as published."""


def why(verdicts: Sequence[Verdict], results: Results) -> dict[str, str]:
    """Return what the runs show about the claims that are not reproduced, by claim."""
    return {v.claim.id: WHY[v.claim.id](results) for v in verdicts if not v.holds and v.claim.id in WHY}
