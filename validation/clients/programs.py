"""What a measurement needs: root, the kernel's devices, programs, and libtorrent in environments of its own."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from btflow.errors import SimulationError
from validation.clients.cells import Cell, Program
from validation.clients.network import run

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "cc": "gcc",
    "chrt": "util-linux",
    "transmission-daemon": "transmission-daemon",
    "aria2c": "aria2",
    "iperf3": "iperf3",
}
"""Debian's package of each program."""

LIBTORRENT = {"libtorrent-2.0": "2.0.11", "libtorrent-2.1": "2.1.1"}
"""Versions of the wheels."""

DRIVERS: dict[Program, str] = {
    "libtorrent-2.0": "validation.clients.peers.libtorrent_peer",
    "libtorrent-2.1": "validation.clients.peers.libtorrent_peer",
    "transmission": "validation.clients.peers.transmission_peer",
    "aria2": "validation.clients.peers.aria2_peer",
}
"""Modules of the drivers."""
BUILD = Path(__file__).parents[2] / "build" / "clients"
FORWARDER = Path(__file__).parent / "forwarder.c"


def needed(cells: Iterable[Cell]) -> tuple[set[str], set[str]]:
    """Return the programs that some cells need, and the environments of libtorrent."""
    programs, clients, bulk = {"ip", "tc", "cc", "chrt"}, set[str](), False
    for cell in cells:
        clients |= {peers.client for peers in (cell.seed, *cell.classes.values())}
        bulk |= cell.bulk
    of = {"transmission": "transmission-daemon", "aria2": "aria2c"}
    programs |= {of[name] for name in clients if name in of} | ({"iperf3"} if bulk else set())
    return programs, {name for name in clients if name in LIBTORRENT}


def check(cells: Iterable[Cell]) -> None:
    """Refuse to begin without root, a program or a device.

    Raises:
        SimulationError: The first that is missing, and how to get it; or a cell is kept from a test bed that is gone.
    """
    if old := next((cell for cell in cells if not cell.links), None):
        raise SimulationError(f"{old.name} ran the mainline client: its table is kept, it is measured no more")
    programs, _ = needed(cells)
    for name in sorted(programs):
        if shutil.which(name) is None:
            raise SimulationError(f"{name} is missing: apt-get install {PACKAGES[name]}")
    if os.geteuid() != 0:
        raise SimulationError("measuring real clients needs root, for network namespaces; the report needs none")
    if not Path("/dev/net/tun").exists():
        raise SimulationError("/dev/net/tun is missing: modprobe tun")


def environment(name: str) -> Path:
    """Return the Python of a libtorrent's environment, made on first use.

    Raises:
        SimulationError: The wheel could not be installed.
    """
    folder = BUILD / f"{name}-{LIBTORRENT[name]}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", str(folder))
        run(str(python), "-m", "pip", "install", "--quiet", f"libtorrent=={LIBTORRENT[name]}")
        (folder / "complete").touch()
    return python


def python_for(program: Program) -> Path:
    """Return the Python that runs the driver of a client."""
    return environment(program) if program in LIBTORRENT else Path(sys.executable)


def forwarder() -> Path:
    """Return the compiled forwarder, made where it is missing or older than its source."""
    program = BUILD / "forwarder"
    if not program.exists() or program.stat().st_mtime < FORWARDER.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        partial = BUILD / f"forwarder.{os.getpid()}"  # another test bed may do the same
        run("cc", "-O2", "-o", str(partial), str(FORWARDER))
        partial.replace(program)
    return program


def versions(programs: Iterable[str]) -> dict[str, str]:
    """Return the kernel's version and those of some programs; clients tell theirs when they run."""
    asked = {"ip": ("ip", "-V"), "iperf3": ("iperf3", "--version"), "cc": ("cc", "--version")}
    found = {"kernel": platform.release()}
    for name in sorted(set(programs) & set(asked)):
        said = subprocess.run(asked[name], capture_output=True, text=True, check=False).stdout
        found[name] = said.splitlines()[0].strip()
    return found
