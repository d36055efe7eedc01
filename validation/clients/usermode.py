"""A run inside Linux 2.6.32: a kernel in user mode, whose TCP and emulator of paths are those of the experiments.

The kernel is no part of btflow: its program is named in the environment variable BTFLOW_LINUX, and its root is this
machine's. It is started for each run and runs ``guest.py`` as its first program.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from btflow.errors import SimulationError
from validation.clients import guest, programs, torrent
from validation.clients.cells import Cell
from validation.clients.guard import LOOSE, Guard, children, starved
from validation.clients.network import TRACKER, TRACKER_PORT, Bed, inside, run as network
from validation.clients.processes import ROOT
from validation.clients.runs import (
    EVERY,
    SETTLE,
    Outcome,
    Progress,
    Record,
    StarvedError,
    driver,
    kinds_of,
    link_of,
    start_times,
)

MEMORY = "1200M"
"""Memory of the kernel: the files of 31 clients take a third of it."""
MOST_LATE = 0.01
"""Most that the clients' timers are late in the mean [s]: chosen, not measured. From outside one sees how long a kernel
waits for a core, not how late that makes its clients. Slots write 94 ms apart at 100 kB/s; alone on a machine timers
are late by 1 ms."""
BOOTED = ("setarch", "-R")
"""Runs it at addresses that do not change: it was written before they did."""
BOOT = 60.0
"""Time that the kernel may take to run its first program [s], chosen; it takes less than one."""


def measure(cell: Cell, seed: int, bed: Bed, progress: Progress, *, starved_ok: bool = False) -> Outcome:
    """Run a cell once inside the kernel in user mode, in a bed that the caller has locked.

    Args:
        cell: The swarm.
        seed: Seed of arrivals, the tracker's replies and the file's content; netem's losses have none.
        bed: Where it runs.
        progress: Takes a line every second.
        starved_ok: Whether a run counts although the machine did not keep up, for looking into faults only.

    Raises:
        SimulationError: The kernel or a client fails, or a peer does not complete within the horizon.
        StarvedError: The machine did not keep up.
    """
    try:
        bed.folder.mkdir()
        outcome = _Run(cell, seed, bed).run(progress)
        late = _late(outcome)
        why = starved(outcome.load, LOOSE) or (
            f"timers of clients were {late:.3f} s late in the mean, more than {MOST_LATE}" if late > MOST_LATE else ""
        )
        if why and not starved_ok:
            raise StarvedError(why)
        return outcome
    finally:
        bed.remove()


class _Run:
    """The kernel and the files that it shares with the test bed."""

    def __init__(self, cell: Cell, seed: int, bed: Bed) -> None:
        folder = bed.folder
        self.cell, self.bed, self.folder, self.said = cell, bed, folder, folder / "said"
        self.guard = Guard({}, time.monotonic())
        files, rng = folder / "files", random.Random(seed)
        files.mkdir()
        announce = f"http://{TRACKER}:{TRACKER_PORT}/announce"
        file, made = torrent.make(folder, cell.file_size, cell.piece_size, announce, seed)
        self.peers = [
            Record(klass, kind, link_of(i + 1, cell, kind), at)
            for i, ((klass, kind), at) in enumerate(zip(kinds_of(cell), start_times(cell, rng), strict=True))
        ]
        shared = TRACKER if cell.one_host else None
        given = {
            "one_host": shared is not None,
            "folder": str(files),
            "out": str(self.said),
            "log": str(folder / "log"),
            "settle": SETTLE,
            "horizon": cell.horizon,
            "netem": ["delay", f"{500 * cell.rtt:g}ms", "loss", f"{100 * cell.loss:g}%"],
            "tracker_address": TRACKER,
            "tracker": [sys.executable, "-m", "validation.clients.tracker", TRACKER, str(TRACKER_PORT), str(seed)],
            "peers": [
                {
                    "index": one.link.index,
                    "at": one.go_at,
                    "seed": one.is_seed,
                    "content": str(file) if one.is_seed else None,
                    "command": driver(one.klass, one.kind, one.link, files / str(one.link.index), made, shared),
                }
                for one in self.peers
            ],
        }
        settings, first = folder / "settings", folder / "init"
        settings.write_text(json.dumps(given), encoding="utf-8")
        kept = {name: os.environ[name] for name in ("PATH", "BTFLOW_MAINLINE") if name in os.environ}
        kept["PYTHONDONTWRITEBYTECODE"] = "1"  # its root is this machine's
        lines = [f"export {name}={shlex.quote(value)}" for name, value in kept.items()]
        lines += ["mount -t proc proc /proc", f"cd {shlex.quote(str(ROOT))}"]
        lines += [f"exec {shlex.quote(sys.executable)} -m {guest.__name__} {shlex.quote(str(settings))}"]
        first.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n", encoding="utf-8")
        first.chmod(0o700)
        self.first = first

    def run(self, progress: Progress) -> Outcome:
        """Run the swarm to its end."""
        command = [*BOOTED, str(programs.linux()), *_options(self.folder), f"init={self.first}"]
        network("ip", "netns", "add", self.bed.core)  # by its namespace the bed finds the kernel, whatever happens here
        with (self.folder / "console").open("w", encoding="utf-8") as console:
            kernel = subprocess.Popen(
                inside(self.bed.core, *command),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env=os.environ | {"TMPDIR": str(self.folder)},  # its memory is a file there
                cwd=self.folder,  # what it leaves if it crashes goes with the bed
                start_new_session=True,
            )
            try:
                return self._watch(kernel, progress)
            finally:
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                    os.killpg(kernel.pid, signal.SIGKILL)
                kernel.wait()

    def _watch(self, kernel: subprocess.Popen[bytes], progress: Progress) -> Outcome:
        """Follow what is said until the swarm is over."""
        start = time.monotonic()
        outcome, release, by_index = Outcome(self.peers, math.nan), "", {one.link.index: one for one in self.peers}
        for said in self._lines(kernel):
            match said["event"]:
                case "kernel":
                    release = said["release"]
                case "began":
                    outcome.began = said["t"]
                    # What it takes to start counts for nothing. Its programs are children of the kernel here.
                    watched = {f"process {pid} of the kernel": [pid] for pid in children(kernel.pid)}
                    self.guard = Guard(watched, time.monotonic())
                case "over":
                    outcome.took = said["t"] - outcome.began
                case "fault":
                    raise SimulationError(f"{self.cell.name}, in {release}: {said['words']}")
                case "wait":
                    complete = sum(one.complete for one in self.peers if not one.is_seed)
                    now = time.monotonic() - start
                    progress(f"{self.cell.name}: {now:.0f} s, {complete} of {self.cell.leechers} complete")
                case _:
                    by_index[said["peer"]].take(said)
        outcome.load = self.guard.load
        program = hashlib.sha256(programs.linux().read_bytes()).hexdigest()
        outcome.versions = {"kernel": release, "kernel's SHA-256": program, "host": platform.release()}
        outcome.versions |= {one.kind.client: one.version for one in self.peers}
        return outcome

    def _lines(self, kernel: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
        """Give what is said inside, line by line, and ``wait`` once a second, until its end.

        Raises:
            SimulationError: The kernel did not start, has ended before, or goes on for longer than it may.
        """
        begun = time.monotonic()
        at, until = 0, begun + BOOT
        at_most = until + guest.START + SETTLE + self.cell.horizon + guest.FAREWELL
        while True:
            ended = kernel.poll() is not None
            content = self.said.read_bytes() if self.said.exists() else b""
            lines, at = content[at : content.rfind(b"\n") + 1].splitlines(), content.rfind(b"\n") + 1
            for line in lines:
                said = json.loads(line)
                if said["event"] == "end":
                    return
                yield said
            if ended or (not content and time.monotonic() > until):
                words = (self.folder / "console").read_text(encoding="utf-8", errors="replace").split("\n")
                last = next((line.strip() for line in reversed(words) if line.strip()), "it said nothing")
                raise SimulationError(f"{self.cell.name}: the kernel {'ended' if ended else 'did not start'}: {last}")
            if time.monotonic() > at_most:
                raise SimulationError(f"{self.cell.name}: the kernel did not end within {at_most - begun:.0f} s")
            self.guard.look(time.monotonic())
            yield {"event": "wait"}
            time.sleep(EVERY)


def _options(folder: Path) -> list[str]:
    """What a kernel in user mode is told: this machine's root as its own, no terminals, and to end if it fails."""
    root, silent = ["rootfstype=hostfs", "rootflags=/", "rw"], ["con=null", "con0=null,fd:1"]
    return [*root, *silent, f"mem={MEMORY}", "panic=1", f"uml_dir={folder}/"]


def _late(outcome: Outcome) -> float:
    """Return how late the clients' timers were in the mean [s]."""
    late = [peer.counts["lates"] for peer in outcome.peers if peer.counts]
    return float(sum(total for total, _ in late) / max(sum(number for _, number in late), 1))
