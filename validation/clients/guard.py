"""Whether the machine kept up: CPU time that was left, and how long processes waited for a core."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")

# A run is refused beyond these.
LEAST_IDLE = 0.15
"""Least share of all cores that is free over the whole of it."""
IDLE_SECONDS = 5
"""So many seconds one after the other in which no time was left (less than `NO_IDLE`)."""
NO_IDLE = 0.02
MOST_WAIT = 0.05
"""Most that a process waits for a core, as a share of the run."""
MOST_IN_SECOND = 0.5
"""Most that a process waits for a core within one second [s]."""
MOST_LATE = 0.05
"""Most that the forwarder is late with a packet [s]."""


@dataclass
class Load:
    """What was seen of the machine, one entry for each interval of about a second."""

    took: list[float] = field(default_factory=list)
    """Lengths of the intervals [s]."""
    idle: list[float] = field(default_factory=list)
    """Share of all cores that was idle."""
    waited: dict[str, list[float]] = field(default_factory=dict)
    """Time that each process waited for a core [s]."""
    used: float = 0.0
    """Time that all these processes ran [s]."""
    latest: float = 0.0
    """The most that the forwarder was late with a packet [s]."""
    late: float = 0.0
    """How late it was on average, in the worst interval [s]."""

    @property
    def idle_share(self) -> float:
        """Share of all cores that was idle over the run."""
        total = sum(self.took)
        return sum(t * share for t, share in zip(self.took, self.idle, strict=True)) / total if total else 1.0

    @property
    def worst_process(self) -> tuple[str, float]:
        """The process that waited longest, and the share of the run that it waited."""
        shares = {name: sum(times) / max(sum(self.took), 1e-9) for name, times in self.waited.items()}
        return max(shares.items(), key=lambda item: item[1], default=("none", 0.0))

    @property
    def worst_second(self) -> tuple[str, float]:
        """The process that waited longest within an interval, and how long [s]."""
        most = {name: max(times, default=0.0) for name, times in self.waited.items()}
        return max(most.items(), key=lambda item: item[1], default=("none", 0.0))


def starved(load: Load) -> str:
    """Return why a run is refused, in one line; nothing if the machine kept up."""
    if load.idle_share < LEAST_IDLE:
        return f"the machine was starved: {load.idle_share:.0%} of its cores were idle, less than {LEAST_IDLE:.0%}"
    streak = 0
    for idle in load.idle:
        streak = streak + 1 if idle < NO_IDLE else 0
        if streak >= IDLE_SECONDS:
            return f"the machine was starved: no core was idle for {streak} s"
    name, share = load.worst_process
    if share > MOST_WAIT:
        return f"{name} was starved: it waited {share:.1%} of the run for a core, more than {MOST_WAIT:.0%}"
    name, most = load.worst_second
    if most > MOST_IN_SECOND:
        return f"{name} was starved: it waited {most:.2f} s within one second for a core, more than {MOST_IN_SECOND}"
    if load.latest > MOST_LATE:
        return f"the forwarder was starved: a packet was {load.latest:.3f} s late, more than {MOST_LATE}"
    return ""


class Guard:
    """Watches the machine and the processes of a run."""

    def __init__(self, processes: Mapping[str, Iterable[int]], t: float) -> None:
        """Begin to watch.

        Args:
            processes: Process ids by name of the peer or helper that they are.
            t: Monotonic time [s].
        """
        self.load = Load(waited={name: [] for name in processes})
        self._processes = {name: tuple(pids) for name, pids in processes.items()}
        self._last = (t, *_cores())
        self._waits = {name: _wait(pids) for name, pids in self._processes.items()}
        self._ran = self._all_ran()

    def _all_ran(self) -> float:
        return sum(_ran(pid) for pids in self._processes.values() for pid in pids)

    def look(self, t: float) -> None:
        """End an interval."""
        then, idle_then, total_then = self._last
        idle, total = _cores()
        self.load.took.append(t - then)
        self.load.idle.append((idle - idle_then) / max(total - total_then, 1))
        self._last = (t, idle, total)
        ran = self._all_ran()
        self.load.used += max(ran - self._ran, 0.0)
        self._ran = ran
        for name, pids in self._processes.items():
            wait = _wait(pids)
            self.load.waited[name].append(max(wait - self._waits[name], 0.0))
            self._waits[name] = wait


def children(pid: int) -> list[int]:
    """Return a process and all that it has started, as far as they live."""
    found = [pid]
    for one in found:
        for path in (PROC / str(one) / "task").glob("*/children"):
            try:
                found += [int(child) for child in path.read_text().split()]
            except OSError:
                continue
    return found


def _cores() -> tuple[int, int]:
    """Return ticks of all cores that were free, and all; time that a hypervisor took is not free.

    What niced processes took is: they give way, and how long others waited nevertheless is watched by itself.
    """
    ticks = [int(tick) for tick in (PROC / "stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[1] + ticks[3] + ticks[4], sum(ticks)


def _ran(pid: int) -> float:
    """Return how long a process has run [s], the kernel's work for it included."""
    try:
        after_name = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def _wait(pids: Iterable[int]) -> float:
    """Return how long the threads of processes have waited for a core [s]: the longest of each process, added up."""
    return sum(max((_thread_wait(task) for task in _tasks(pid)), default=0.0) for pid in pids)


def _tasks(pid: int) -> list[Path]:
    try:
        return list((PROC / str(pid) / "task").iterdir())
    except OSError:
        return []


def _thread_wait(task: Path) -> float:
    try:
        return int((task / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
