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

MAINLINE: Program = "mainline-4.0.2"
MAINLINE_VERSION = "4.0.2"
"""Release of the client of 2005, of which the user has a copy: its licence is not ours, and none of it is here."""

DRIVERS: dict[Program, str] = {
    "libtorrent-2.0": "validation.clients.peers.libtorrent_peer",
    "libtorrent-2.1": "validation.clients.peers.libtorrent_peer",
    "transmission": "validation.clients.peers.transmission_peer",
    "aria2": "validation.clients.peers.aria2_peer",
    "mainline-4.0.2": "validation.clients.peers.mainline_peer",
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
    if old := next((cell for cell in cells if cell.kernel is not None), None):
        raise SimulationError(f"{old.name} ran inside Linux {old.kernel}: its table is kept, it is measured no more")
    programs, _ = needed(cells)
    for name in sorted(programs):
        if shutil.which(name) is None:
            raise SimulationError(f"{name} is missing: apt-get install {PACKAGES[name]}")
    if os.geteuid() != 0:
        raise SimulationError("measuring real clients needs root, for network namespaces; the report needs none")
    if any(peers.client == MAINLINE for cell in cells for peers in (cell.seed, *cell.classes.values())):
        python2()
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
    if program == MAINLINE:
        return Path(python2())
    return environment(program) if program in LIBTORRENT else Path(sys.executable)


def python2() -> str:
    """Return CPython 2.7, which the mainline client of 2005 needs.

    Raises:
        SimulationError: There is none, or no copy of the client.
    """
    folder = os.environ.get("BTFLOW_MAINLINE", "")
    version = Path(folder, "BitTorrent", "__init__.py")
    if not folder or not version.exists():
        raise SimulationError(
            f"BTFLOW_MAINLINE is {folder!r}, not the folder of a copy of BitTorrent {MAINLINE_VERSION}"
        )
    if f"version = '{MAINLINE_VERSION}'" not in version.read_text(encoding="latin-1"):
        raise SimulationError(f"BTFLOW_MAINLINE is {folder!r}, which is not BitTorrent {MAINLINE_VERSION}")
    python = os.environ.get("BTFLOW_PYTHON2") or shutil.which("python2.7")
    if python is None or not os.access(python, os.X_OK):
        raise SimulationError("python2.7 is missing: name a CPython 2.7 in BTFLOW_PYTHON2")
    return python


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
