"""Makes a line in the test bed of real clients and measures it with the programs that people use."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import typer

from btflow.errors import SimulationError
from validation.clients import programs
from validation.clients.network import TUN, Bed, Link, inside, run
from validation.clients.processes import Child
from validation.clients.runs import FAST
from validation.lines.made import LINES, SESSIONS, Made, Session, path

IDLE = 5
"""Seconds of ping before the load, and flent's own delay."""
PING_EVERY = 0.2
"""[s]."""
SNAPLEN = 96
"""Bytes kept of a packet: headers with TCP's options."""


def measure(names: list[str], bed_number: int) -> None:
    """Run sessions again and write their files.

    Raises:
        SimulationError: A program is missing or fails.
    """
    for program in ("iperf3", "ping", "tcpdump", "flent", "netperf", "netserver"):
        if subprocess.run(["which", program], capture_output=True, check=False).returncode:
            raise SimulationError(f"{program} is missing: tests/lines/recorded/README.md says where it is from")
    programs.check(())
    bed = Bed(bed_number)
    with bed.locked():
        for session in SESSIONS:
            if not names or f"{session.line}-{session.name}" in names:
                typer.echo(f"{session.line}-{session.name} ...")
                try:
                    _Run(bed, LINES[session.line], session).measure()
                finally:
                    bed.remove()


class _Run:
    """One session on one line."""

    def __init__(self, bed: Bed, made: Made, session: Session) -> None:
        self.bed, self.made, self.session = bed, made, session
        room = round(made.delay * made.uplink)
        up, room = (FAST, FAST) if made.managed else (made.uplink, room)
        self.home = Link(1, up, room, made.downlink, made.downlink_room)
        self.server = Link(2, FAST, FAST, FAST, FAST)
        bed.build([self.home, self.server])
        self.log = (bed.folder / "log").open("w", encoding="utf-8")
        self.router = self._start_router()
        bed.shape([self.home, self.server])
        if made.unit == "packets" and not made.managed:
            own = ("parent", "1:2", "handle", "f:", "pfifo", "limit", str(made.room))
            run("tc", "-n", bed.core, "qdisc", "replace", "dev", TUN, *own)

    def _start_router(self) -> Child:
        one_way = self.made.rtt / 2
        if self.made.managed:
            numbers = [str(value) for value in (self.made.uplink, self.made.downlink, one_way)]
            command = [sys.executable, "-m", "validation.lines.router", TUN, self.home.address, *numbers]
        else:
            command = [str(programs.forwarder()), TUN, str(round(1e9 * one_way)), "0", "0"]
        child = Child("the router", self.bed.core, ["chrt", "--rr", "50", *command], self.log)
        if not self.made.managed:
            links = (self.home, self.server)
            child.tell("\n".join(f"peer {link.index} {link.uplink} {link.downlink}" for link in links) + "\ngo")
        child.line()
        return child

    def measure(self) -> None:
        """Run the programs and keep what they say."""
        servers = [
            self._start(self.server, "iperf3", "--server", "--json", "-i", "0.2"),
            self._start(self.server, "netserver", "-D"),
        ]
        time.sleep(0.5)
        try:
            if self.session.flent:
                self._flent()
            else:
                self._iperf3()
        finally:
            for server in servers:
                server.terminate()

    def _start(self, link: Link, *command: str, output: Path | None = None) -> subprocess.Popen[bytes]:
        to = self.log if output is None else output.open("wb")
        return subprocess.Popen(
            inside(self.bed.namespace(link), *command), stdout=to, stderr=self.log, stdin=subprocess.DEVNULL
        )

    def _iperf3(self) -> None:
        session, folder = self.session, self.bed.folder
        ping, load, captured = (folder / name for name in ("ping", "iperf3", "pcap"))
        watching = [self._start(self.home, "ping", "-D", "-i", str(PING_EVERY), self.server.address, output=ping)]
        if session.capture:
            what = ("tcpdump", "-i", "eth0", "-s", str(SNAPLEN), "-w", str(captured), "-U", "-Z", "root")
            watching.append(self._start(self.home, *what))
        time.sleep(IDLE)
        given = ["-c", self.server.address, "-t", str(session.duration), "-i", "0.2", "-J", "-P", str(session.flows)]
        given += ["-R"] * session.reverse + ["-b", session.paced] * bool(session.paced)
        given += ["--get-server-output"] * session.server
        if self._start(self.home, "iperf3", *given, output=load).wait():
            raise SimulationError(f"iperf3: {load.read_text()[-300:]}")
        time.sleep(1)
        for program in watching:
            program.send_signal(2)
            program.wait()
        self._keep("ping", ping)
        self._keep("iperf3", load)
        if session.capture:
            self._keep("tcpdump", captured)

    def _flent(self) -> None:
        given = (self.session.flent, "-H", self.server.address, "-l", str(self.session.duration))
        status = self._start(self.home, "flent", *given, "-D", str(self.bed.folder)).wait()
        made = list(self.bed.folder.glob("*.flent.gz"))
        if status or not made:
            raise SimulationError(f"flent: {Path(self.log.name).read_text()[-300:]}")
        self._keep("flent", made[0])

    def _keep(self, program: str, file: Path) -> None:
        target = path(self.session, program)
        target.parent.mkdir(parents=True, exist_ok=True)
        with gzip.GzipFile(filename="", fileobj=target.open("wb"), mode="wb", mtime=0) as packed:
            packed.write((gzip.decompress if file.suffix == ".gz" else bytes)(file.read_bytes()))
        typer.echo(f"  {os.path.relpath(target)}: {target.stat().st_size} B")
