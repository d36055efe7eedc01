"""Makes a line in the test bed of real clients and measures it with the programs that people use."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import typer

from btflow.errors import SimulationError
from btflow.lines.traces import PING
from validation.clients import programs
from validation.clients.network import ETHERNET, TUN, Bed, Link, inside, run, set_sysctls
from validation.clients.processes import Child
from validation.clients.runs import FAST
from validation.lines.made import LINES, RECORDED, SEEDS, Made, Session, draw, record, sessions

IDLE = 5
"""Seconds of ping before the load, and flent's own delay."""
ATTEMPTS = 3
"""Of a session, until the test bed holds the line."""


def measure(names: list[str], bed_number: int, which: str) -> None:
    """Run sessions again and write their files.

    Args:
        names: Of the sessions; none for all.
        bed_number: Of the test bed.
        which: ``chosen``, or the seed of what is drawn.

    Raises:
        SimulationError: A program is missing or fails.
    """
    pings = ("busybox", "inetutils-ping", "fping", "dumpcap")
    for program in ("iperf3", "ping", "tcpdump", "flent", "netperf", "netserver", *pings):
        if shutil.which(program) is None:
            raise SimulationError(f"{program} is missing: tests/lines/recorded/README.md says where it is from")
    programs.check(())
    bed = Bed(bed_number)
    with bed.locked():
        for made, session in draw(which) if which in SEEDS else ((LINES[one.line], one) for one in sessions(which)):
            if not names or f"{session.line}-{session.name}" in names:
                _measured(bed, made, session)


def _measured(bed: Bed, made: Made, session: Session) -> None:
    """Run a session, again if the test bed did not hold what was set."""
    for attempt in range(ATTEMPTS):
        typer.echo(f"{session.line}-{session.name} ...")
        try:
            said = _Run(bed, made, session).measure()
        finally:
            bed.remove()
        typer.echo(f"  {said}")
        if held(made, said):
            return record(made, session, {"attempts": attempt + 1, **said})
    raise SimulationError(f"{session.line}-{session.name}: the test bed does not hold the line")


def held(made: Made, said: dict[str, float]) -> bool:
    """Return whether the test bed held the base round-trip time and the rates."""
    size = PING / made.uplink + PING / made.downlink
    near = 0.0 <= said["idle"] - made.rtt <= 2e-3 + size and said.get("late", 0.0) <= 2e-3
    return near and all(said[way] <= 1.02 * made.truth(way)[0] for way in ("up", "down"))


class _Run:
    """One session on one line."""

    def __init__(self, bed: Bed, made: Made, session: Session) -> None:
        self.bed, self.made, self.session = bed, made, session
        fast = [FAST] * 4
        rates = fast if made.managed else [int(x) for way in ("up", "down") for x in made.truth(way)]
        links = self.home, self.server = Link(1, *rates), Link(2, *fast)
        bed.build(links)
        self.log = (bed.folder / "log").open("w", encoding="utf-8")
        values = {"net/ipv4/tcp_sack": f"{session.sack:d}", "net/ipv4/tcp_timestamps": f"{session.stamps:d}"}
        values |= {"net/ipv4/tcp_congestion_control": session.cc} if session.cc != "cubic" else {}
        for link in links:
            set_sysctls(bed.namespace(link), values)
        if session.offload:
            self._offload()
        self.router = self._start_router()
        bed.shape(links)
        if made.unit == "packets" and not made.managed:
            self._count_packets(TUN, "1:2", made.room)
        if made.downlink_unit == "packets" and not made.managed:
            shaper = run("tc", "-n", bed.core, "qdisc", "show", "dev", "v1").split()[2]
            self._count_packets("v1", f"{shaper}1", made.downlink_room)

    def _count_packets(self, device: str, parent: str, room: int) -> None:
        own = ("parent", parent, "handle", "f:", "pfifo", "limit", str(room))
        run("tc", "-n", self.bed.core, "qdisc", "replace", "dev", device, *own)

    def _offload(self) -> None:
        """Have TCP send through a bridge, which takes segments of many packets; the device behind it takes none."""
        space, address = self.bed.namespace(self.home), self.home.address
        run(*inside(space, "ethtool", "-K", "eth0", "tso", "off"))
        script = (
            "link set eth0 gso_max_segs 65535\nlink add br0 type bridge\nlink set br0 up\naddress flush dev eth0\n"
            f"link set eth0 master br0\naddress add {address}/30 dev br0\n"
            f"route add default via {address.rpartition('.')[0]}.1\n"
        )
        run("ip", "-n", space, "-batch", "-", given=script)

    def _start_router(self) -> Child:
        made, one_way, peers = self.made, self.made.rtt / 2, ""
        if made.managed:
            command = [sys.executable, "-m", "validation.lines.router", TUN, self.home.address, made.managed]
            command += map(str, (made.uplink, made.downlink, one_way))
        else:
            command = [str(programs.forwarder()), TUN, str(round(1e9 * one_way)), "0", "0"]
            peers = "".join(f"peer {one.index} {one.uplink} {one.downlink}\n" for one in (self.home, self.server))
        child = Child("the router", self.bed.core, ["chrt", "--rr", "50", *command], self.log)
        if peers:
            child.tell(f"{peers}go")
        child.line()
        return child

    def measure(self) -> dict[str, float]:
        """Run the programs and keep what they say.

        Returns:
            Least round-trip time of the idle line [s]; the most that each way carried over two seconds [B/s]; how
            late the forwarder delivered on average [s].
        """
        servers = [self._start(self.server, *one.split()) for one in ("iperf3 --server --json -i 0.2", "netserver -D")]
        time.sleep(0.5)
        idle = run(*inside(self.bed.namespace(self.home), "ping", "-c", "10", "-i", "0.1", self.server.address))
        ended, counted = threading.Event(), list[tuple[float, int, int]]()
        counting = threading.Thread(target=self._count, args=(counted, ended))
        counting.start()
        try:
            (self._flent if self.session.flent else self._iperf3)()
        finally:
            ended.set()
            counting.join()
            for server in servers:
                server.terminate()
        pairs = np.array(counted[2:]) - np.array(counted[:-2])
        said = {"idle": float(idle.rpartition(" = ")[2].partition("/")[0]) / 1e3}
        said |= {way: round((pairs[:, place] / pairs[:, 0]).max()) for place, way in ((1, "up"), (2, "down"))}
        if not self.made.managed:
            self.router.tell("")
            said["late"] = float(self.router.message()["late"])
        return said

    def _count(self, counted: list[tuple[float, int, int]], ended: threading.Event) -> None:
        """Note each second how much of IP has gone to the server and to the home [B]."""
        while not ended.wait(1.0):
            found = json.loads(run("ip", "-n", self.bed.core, "-s", "-j", "link", "show", "type", "veth"))
            sent = {one["ifname"]: one["stats64"]["tx"] for one in found}
            up, down = (sent[name]["bytes"] - ETHERNET * sent[name]["packets"] for name in ("v2", "v1"))
            counted.append((time.monotonic(), up, down))

    def _start(self, link: Link, *command: str, output: Path | None = None) -> subprocess.Popen[bytes]:
        to = self.log if output is None else output.open("wb")
        whole = inside(self.bed.namespace(link), "nice", "-n", "-10", *command)
        return subprocess.Popen(whole, stdout=to, stderr=self.log, stdin=subprocess.DEVNULL)

    def _iperf3(self) -> None:
        session, folder = self.session, self.bed.folder
        ping, load, captured = (folder / name for name in ("ping", "iperf3", "pcap"))
        watching = [self._start(self.home, *session.ping.split(), self.server.address, output=ping)]
        if session.capture and not session.late:
            watching.append(self._capture(captured))
        time.sleep(IDLE)
        given = ["-c", self.server.address, "-t", str(session.duration), "-i", str(session.every), "-J"]
        given += ["-P", str(session.flows), "--repeating-payload"]
        given += {"up": [], "down": ["-R"], "both": ["--bidir"]}[session.way]
        given += ["-b", session.paced] * bool(session.paced) + ["--get-server-output"] * session.server
        loading = self._start(self.home, "iperf3", *given, output=load)
        if session.capture and session.late:
            time.sleep(session.duration / 4)
            watching.append(self._capture(captured))
        if loading.wait():
            raise SimulationError(f"iperf3: {load.read_text()[-300:]}")
        time.sleep(1)
        for program in watching:
            program.send_signal(2)
            program.wait()
        self._keep("log", ping)
        self._keep("json", load)
        if session.capture:
            self._keep("pcap", captured)

    def _capture(self, to: Path) -> subprocess.Popen[bytes]:
        program, *given = self.session.capture.split()
        if self.session.offload:
            given = ["br0" if word == "eth0" else word for word in given]
        also = ["-w", str(to), "-U", "-Z", "root"] if program == "tcpdump" else ["-w", str(to)]
        return self._start(self.home, program, *also, *given)

    def _flent(self) -> None:
        given = ["-H", self.server.address, "-l", str(self.session.duration), "-D", str(self.bed.folder)]
        given += ["--test-parameter", "download_streams=3"]  # of tcp_ndown
        status = self._start(self.home, "flent", self.session.flent, *given).wait()
        made = list(self.bed.folder.glob("*.flent.gz"))
        if status or not made:
            raise SimulationError(f"flent: {Path(self.log.name).read_text()[-300:]}")
        self._keep("flent", made[0])

    def _keep(self, ending: str, file: Path) -> None:
        target = RECORDED / f"{self.session.line}-{self.session.name}.{ending}.gz"
        with gzip.GzipFile(filename="", fileobj=target.open("wb"), mode="wb", mtime=0) as packed:
            packed.write((gzip.decompress if file.suffix == ".gz" else bytes)(file.read_bytes()))
        typer.echo(f"  {os.path.relpath(target)}: {target.stat().st_size} B")
