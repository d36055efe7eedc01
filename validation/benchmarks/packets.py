"""The same swarms and links packet by packet: ns-3's recorded CPU time beside ours of now."""

from __future__ import annotations

from statistics import fmean, median

from btflow.benchmarks.measure import report
from btflow.benchmarks.table import Row, Section, at_least

from btflow import load, simulate
from validation.links.speed import speed
from validation.packet_level.tables import RELEASE
from validation.swarms import packets

RATIO = 10_000.0
REPLICAS = 2
GB = 1e9


def same_swarm() -> Section:
    """Compare the 21-peer swarm on access links, whose segments ours simulates one by one."""
    rows: list[Row] = [("piece, buffer, congestion control", "ours [CPU s]", "ns-3 [CPU s]", "ratio")]
    ratios = []
    for setting in packets.settings():
        name = f"{setting.piece // 1024} KiB, {setting.buffer} packets, {setting.mix}"
        report(name)
        theirs = fmean(float(row["cpu_s"]) for row in packets.rows("swarm_runs", setting))
        own = float(simulate(setting.scenario, seed=packets.SEED, replicas=REPLICAS).attrs["cpu_s"])
        ratios.append(theirs / own)
        rows.append((name, f"{own:.3f}", f"{theirs:.2f}", f"{ratios[-1]:.0f}"))
    return Section(
        "The same swarm packet by packet",
        rows,
        (
            "20 leechers and a seed behind links of 1 Mbit/s, 10 MB (validation/packets.md): our swarms on access "
            f"links, in which every TCP and uTP segment waits in queues, beside ns-3 {RELEASE}, whose CPU time was "
            "recorded with the frozen tables.",
        ),
        (at_least("ns-3's CPU time over ours, swarm on access links, median", RATIO, median(ratios), "", ".0f"),),
    )


def same_link() -> Section:
    """Compare one link with four flows."""
    report("four flows on a link")
    found = speed().numbers
    rows: list[Row] = [("4 flows, 300 s of 1 Mbit/s, 100 packets", "ours [CPU s]", "ns-3 [CPU s]", "ratio")]
    ratios = []
    for name, ms in found.get("cpu_ms", {}).items():
        theirs = found["ns3_cpu_s"][name]
        ratios.append(1e3 * theirs / ms)
        rows.append((name, f"{ms / 1e3:.4f}", f"{theirs:.2f}", f"{ratios[-1]:.0f}"))
    goals = (at_least("ns-3's CPU time over ours, link with four flows, median", RATIO, median(ratios), "", ".0f"),)
    return Section("The same link packet by packet", rows, ("As validation/links.md, P11.",), goals)


def same_bytes() -> Section:
    """Compare plain swarms, which ns-3 did not run, by the CPU time of a byte delivered."""
    report("the CPU time of a byte")
    swarm = next(s for s in packets.settings() if s.mix == "cubic")
    rows = packets.rows("swarm_runs", swarm)
    theirs = sum(float(row["cpu_s"]) for row in rows) / sum(float(row["down_bytes"]) for row in rows)
    linked = simulate(swarm.scenario, seed=packets.SEED, replicas=REPLICAS)
    plain = simulate(load("rao2010"), seed=packets.SEED, replicas=REPLICAS)
    costs = {"ns-3, 21 peers on access links": theirs}
    for name, result in {"ours, the same": linked, "ours, rao2010: 301 peers without access links": plain}.items():
        received = float(result["bytes_received"].sum()) / REPLICAS
        costs[name] = float(result.attrs["cpu_s"]) / received
    table = [(name, f"{GB * cost:.3g}", f"{theirs / cost:.0f}") for name, cost in costs.items()]
    last = theirs / list(costs.values())[-1]
    return Section(
        "CPU time of a byte",
        [("", "CPU [s] per GB delivered", "ratio"), *table],
        (
            "ns-3 has run no swarm of rao2010's size: this is the cost per byte of the swarms that were run, block by "
            "block without queues beside segment by segment and packet by packet.",
        ),
        (at_least("ns-3's CPU time of a byte over ours, swarm without access links", RATIO, last, "", ".0f"),),
    )
