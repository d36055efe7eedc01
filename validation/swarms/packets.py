"""The packet-level swarm beside the same swarm as flows: completion times, class differences, queues, cost.

``python -m validation.swarms.packets`` prints the comparison.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from btflow import load, simulate
from btflow.swarm.scenario import Scenario
from validation.markdown import Report
from validation.packet_level import tables
from validation.statistics import change

FOLDER = Path(__file__).parent.parent / "packet_level"
MODEL = FOLDER / "flow_swarm.toml"
SUMMARY = FOLDER.parent / "packets.md"
"""The only part of the comparison that is kept in the repository."""

MIXES: Mapping[str, float] = {"cubic": 0.0, "ledbat": 1.0, "half": 0.5}
"""Share of the leechers that send with LEDBAT."""

CLASSES = ("cubic", "ledbat")
BUFFERS = (100, 20)
PIECES = (262144, 65536)
RTO_SLACK = "200"
"""Of ns-3's runs with several, the one that Linux has [ms]."""

SEED = 5
MEANS_WITHIN = 0.07
"""How far a class's mean completion time may be from the packet level's."""
POINTS_WITHIN = 7.0
"""How far the difference between the classes may be, in percent of the slower mean."""


@dataclass(frozen=True)
class Setting:
    """One grid point of the packet-level swarm."""

    mix: str
    """Which leechers there are."""
    buffer: int
    """Room in each queue [packets]."""
    piece: int
    """Size of a piece [B]."""

    @property
    def values(self) -> dict[str, str | float]:
        """The parameters of btflow's model."""
        return {
            "ledbat_share": MIXES[self.mix],
            "buffer": f"{self.buffer} packets",
            "piece_size": f"{self.piece} B",
            "seeder": "ns3-ledbat" if self.mix == "ledbat" else "ns3-cubic",
        }

    @property
    def scenario(self) -> Scenario:
        """The same swarm for btflow."""
        return load(MODEL).set(**self.values)


@dataclass(frozen=True)
class Compared:
    """One class of leechers of one setting, in both simulations."""

    setting: Setting
    """Where."""
    name: str
    """Class of the leechers."""
    ours: tuple[float, ...]
    """Mean completion time of each of our runs [s]."""
    packets: tuple[float, ...]
    """The same of each run of ns-3 [s]."""
    longer: tuple[tuple[float, float, float], ...]
    """Packets x, share of the samples of the uplinks with more than x waiting: ours, and ns-3's."""
    cpu: float
    """CPU time of one of our runs, of all classes [s]."""
    packet_cpu: float
    """The same of ns-3 [s]."""

    @property
    def ratio(self) -> float:
        """Our mean completion time over the packet level's."""
        return 1.0 + change(self.ours, self.packets).value

    @property
    def error(self) -> float:
        """Standard error of the ratio."""
        return change(self.ours, self.packets).se


def rows(table: str, setting: Setting) -> list[dict[str, str]]:
    """Return the rows of a frozen table for a setting."""
    wanted = (setting.mix, str(setting.buffer), str(setting.piece), RTO_SLACK)
    return [
        row
        for row in tables.rows(f"swarms/{table}")
        if (row["mix"], row["buffer_packets"], row["piece_bytes"], row["rto_slack_ms"]) == wanted
    ]


def settings(pieces: tuple[int, ...] = PIECES) -> Iterator[Setting]:
    """Yield the grid."""
    for piece in pieces:
        for buffer in BUFFERS:
            for mix in MIXES:
                yield Setting(mix, buffer, piece)


def compare(setting: Setting, runs: int | None = None) -> list[Compared]:
    """Simulate a setting, as often as ns-3 did unless told otherwise, and put each class beside ns-3's."""
    frozen = rows("swarm_runs", setting)
    result = simulate(setting.scenario, seed=SEED, replicas=runs or len(frozen))
    packet_cpu = float(np.mean([float(row["cpu_s"]) for row in frozen]))
    out = []
    for name in CLASSES:
        packets = [float(row[f"{name}_completion_mean_s"]) for row in frozen if row[f"{name}_completion_mean_s"]]
        if not packets:
            continue
        times = result["completion_time"].isel(peer=(result["peer_class"] == name).values)
        ours = tuple(float(x) for x in times.mean("peer").values)
        cpu = float(result.attrs["cpu_s"])
        out.append(Compared(setting, name, ours, tuple(packets), _longer(result, name, setting), cpu, packet_cpu))
    return out


def _longer(result: xr.Dataset, name: str, setting: Setting) -> tuple[tuple[float, float, float], ...]:
    """How often more than x packets wait at the uplinks of a class, for the x of the frozen table."""
    counts = result["queue_packets_count"].sel(sender_class=name).sum("replica")
    waiting, number = counts["queue_packets"].values, counts.values
    frozen = [row for row in rows("swarm_queue", setting) if row["class"] == name]
    found = []
    for column in frozen[0]:
        if column.startswith("packets_over_"):
            x = float(column.removeprefix("packets_over_"))
            theirs = float(np.mean([float(row[column]) for row in frozen]))
            found.append((x, float(number[waiting > x].sum() / number.sum()), theirs))
    return tuple(found)


def difference(pair: list[Compared]) -> tuple[float, float]:
    """Return by how much CUBIC's mean exceeds LEDBAT's in a mixed swarm, ours and ns-3's [% of CUBIC's]."""
    cubic, ledbat = pair
    return (
        100 * (1 - float(np.mean(ledbat.ours) / np.mean(cubic.ours))),
        100 * (1 - float(np.mean(ledbat.packets) / np.mean(cubic.packets))),
    )


def same_sign(pair: list[Compared]) -> bool:
    """Return whether the classes differ in the same direction, or by less than the runs' spread in both."""
    ours, theirs = difference(pair)
    noise = 100 * max(entry.error for entry in pair)
    return ours * theirs > 0.0 or (abs(ours) <= noise and abs(theirs) <= noise)


def reached(found: list[Compared]) -> bool:
    """Return whether a setting's figures are."""
    means = all(abs(entry.ratio - 1.0) <= MEANS_WITHIN for entry in found)
    if len(found) < len(CLASSES):
        return means
    ours, theirs = difference(found)
    return means and same_sign(found) and abs(ours - theirs) <= POINTS_WITHIN


SHOWN = (0.0, 20.0, 50.0, 80.0)
"""Packets of which the summary says how often more wait."""


def table(found: list[list[Compared]]) -> list[str]:
    """Return the comparison as rows of a Markdown table, one per setting and class."""
    lines = [
        "| piece | buffer | mix | class | ours [s] | ns-3 [s] | ratio | CUBIC over LEDBAT, ours and ns-3 | "
        "more than 0, 20, 50, 80 packets wait, ours and ns-3 [%] | CPU: ours, ns-3 [s] | |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for group in found:
        gap = "{:+.1f} %, {:+.1f} %".format(*difference(group)) if len(group) == len(CLASSES) else ""
        for entry in group:
            s = entry.setting
            queues = [[100 * row[way] for row in entry.longer if row[0] in SHOWN] for way in (1, 2)]
            waits = "; ".join(", ".join(f"{share:.0f}" for share in row) for row in queues)
            lines.append(
                f"| {s.piece // 1024} KiB | {s.buffer} packets | {s.mix} | {entry.name} "
                f"| {np.mean(entry.ours):.1f} | {np.mean(entry.packets):.1f} "
                f"| {entry.ratio:.3f} ± {1.96 * entry.error:.3f} "
                f"| {gap} | {waits} | {entry.cpu:.2f}, {entry.packet_cpu:.1f} "
                f"| {'' if reached(group) else 'not reached'} |"
            )
    return lines


TITLE = "The packet-level swarm beside the same swarm as flows"
QUESTION = "Does a swarm whose segments are moved as flows of packets come out as packet by packet in ns-3?"


def summary(found: list[list[Compared]]) -> Report:
    """Return the frozen summary."""
    missed, means = sum(not reached(group) for group in found), 100 * MEANS_WITHIN
    ratio = float(np.median([entry.packet_cpu / entry.cpu for group in found for entry in group]))
    verdict = (
        f"{len(found) - missed} of {len(found)} settings are reached. ns-3 takes {ratio:.0f} times our CPU time in the "
        "median; the two were measured at different times."
    )
    text = f"""\
Written by `python -m validation.swarms.packets`. 20 leechers and a seed, 10 MB, 1 Mbit/s up, 8 Mbit/s down, mainline's
rules without an upload limit, CUBIC and LEDBAT; {len(found[0][0].packets)} runs of each
([packet_level/README.md](packet_level/README.md)). Mean completion times are to agree within {means:.0f} %,
the difference between the classes in sign and within {POINTS_WITHIN:.0f} points; ± is the 95 % interval of the ratio.

Those that miss have small pieces and long queues full of CUBIC. There ns-3's timers expire needlessly most
(packet_level/README.md, RTO slack), and its leechers get more blocks twice than ours; how much of the gap that is was
not measured.
"""
    return Report(TITLE, QUESTION, [verdict], [text, *table(found)])


def main() -> int:
    """Compare the whole grid, print it and renew the summary; 1 if a figure is not reached."""
    found = []
    for setting in settings():
        found.append(compare(setting))
        for line in table(found[-1:])[2:]:
            print(line, flush=True)
    summary(found).write(SUMMARY)
    return int(not all(reached(group) for group in found))


if __name__ == "__main__":
    sys.exit(main())
