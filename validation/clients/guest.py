"""The first program of a Linux in user mode: runs a swarm behind netem, and writes down what its drivers say.

    python -m validation.clients.guest SETTINGS

It refuses to run anywhere else, as it changes the machine's network. It runs inside the kernel of 2009 and imports
nothing of btflow. Each peer has a namespace, joined to the kernel's own by a veth pair; what comes to a peer is delayed
by half the round-trip time, and lost, by netem on that end (this kernel has no emulator inside a namespace).
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

HELD = 100_000
"""Packets that netem may hold: 2010's section II-C, more than there ever are."""
POWER_OFF = 0x4321FEDC
"""reboot(2): LINUX_REBOOT_CMD_POWER_OFF."""
START = 120.0
"""Time that all clients may take to be ready [s]: twice that of the test bed, as programs start ten times slower."""
FAREWELL = 60.0
"""Time that all clients may take to say what they sent [s], chosen; they take seconds."""


@dataclass
class Peer:
    """A driver in its namespace."""

    index: int
    at: float
    """When it starts, after the swarm's start [s]."""
    seed: bool
    """Whether it has the file from the start."""
    process: subprocess.Popen[bytes]
    said: set[str] = field(default_factory=set)
    """Events that it has said."""

    def tell(self, line: str) -> None:
        """Send it a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())


def run(*command: str) -> None:
    """Run a command; its words are those of the error where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def switch(name: str, value: int) -> None:
    """Set one of the kernel's settings of IP."""
    Path("/proc/sys/net/ipv4", name).write_text(str(value))


class Swarm:
    """The processes of a run."""

    def __init__(self, given: dict[str, Any], out: IO[str], log: IO[str]) -> None:
        self.given, self.out, self.log = given, out, log
        self.selector = selectors.DefaultSelector()

    def note(self, peer: int, **what: Any) -> None:
        """Write a line for the test bed."""
        self.out.write(json.dumps({"peer": peer, **what}) + "\n")
        self.out.flush()

    def start(self) -> list[Peer]:
        """Set up the network and start the tracker and the drivers."""
        run("mount", "-t", "tmpfs", "tmpfs", self.given["folder"])
        run("ip", "link", "set", "lo", "up")
        run("ip", "address", "add", f"{self.given['tracker_address']}/32", "dev", "lo")
        switch("ip_forward", 1)
        switch("conf/all/rp_filter", 0)
        switch("conf/default/rp_filter", 0)
        if self.given["one_host"]:  # segments as on a wire: what the paper set
            run("ip", "link", "set", "lo", "mtu", "1500")
            run("ethtool", "-K", "lo", "tso", "off", "gso", "off")
            self.emulate("lo")
        tracker = subprocess.Popen(self.given["tracker"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        assert tracker.stdout is not None
        if not tracker.stdout.readline():
            raise OSError(f"the tracker ended before its time: {self.last_words()}")
        return [self.peer(**one) for one in self.given["peers"]]

    def last_words(self) -> str:
        """Return what a program said last on standard error."""
        lines = Path(self.given["log"]).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def emulate(self, device: str) -> None:
        """Delay and lose what leaves by a device."""
        run("tc", "qdisc", "add", "dev", device, "root", "netem", "limit", str(HELD), *self.given["netem"])

    def peer(self, index: int, at: float, seed: bool, command: list[str], content: str | None) -> Peer:
        """Start a driver, in a namespace of its own unless all share the host."""
        folder = Path(self.given["folder"], str(index))
        folder.mkdir()
        if content is not None:
            shutil.copy(content, folder)
        pipe = subprocess.PIPE
        if self.given["one_host"]:
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.log, bufsize=0)
            assert process.stdout is not None
            self.selector.register(process.stdout, selectors.EVENT_READ, peer := Peer(index, at, seed, process))
            return peer
        inside = (
            f"echo here; read go; ip link set lo up; ip address add 198.18.{index}.2/30 dev e{index}; "
            f"ip link set e{index} up; ip route add default via 198.18.{index}.1; "
            'exec "$@"'
        )
        process = subprocess.Popen(
            ["unshare", "--net", "sh", "-ec", inside, "sh", *command],
            stdin=pipe, stdout=pipe, stderr=self.log, bufsize=0,
        )  # fmt: skip
        peer = Peer(index, at, seed, process)
        assert process.stdout is not None
        process.stdout.readline()
        run("ip", "link", "add", f"v{index}", "type", "veth", "peer", "name", f"e{index}")
        run("ip", "link", "set", f"e{index}", "netns", str(process.pid))
        run("ip", "address", "add", f"198.18.{index}.1/30", "dev", f"v{index}")
        run("ip", "link", "set", f"v{index}", "up")
        self.emulate(f"v{index}")
        peer.tell("go")
        self.selector.register(process.stdout, selectors.EVENT_READ, peer)
        return peer

    def hear(self, wait: float) -> None:
        """Take what the drivers say."""
        for key, _ in self.selector.select(wait):
            peer = key.data
            line = peer.process.stdout.readline()
            if not line:
                raise OSError(f"peer {peer.index} ended before its time: {self.last_words()}")
            said = json.loads(line)
            peer.said.add(said["event"])
            self.note(peer.index, **said)
            if said["event"] == "totals":
                self.selector.unregister(key.fileobj)

    def run(self) -> None:
        """Run the swarm until all have the file, or its time is over."""
        peers = self.start()
        until = time.monotonic() + START
        while any("ready" not in peer.said for peer in peers):
            if time.monotonic() > until:
                raise OSError(f"not all peers were ready within {START:.0f} s")
            self.hear(1.0)
        time.sleep(self.given["settle"])
        began = time.monotonic()
        self.note(0, event="began", t=began)
        waiting = sorted(peers, key=lambda peer: peer.at)
        leechers = [peer for peer in peers if not peer.seed]
        while any("done" not in peer.said for peer in leechers):
            now = time.monotonic()
            if now > began + self.given["horizon"]:
                raise OSError("not all peers completed within the horizon")
            while waiting and began + waiting[0].at <= now:
                waiting.pop(0).tell("go")
            self.hear(min([1.0, *(max(began + peer.at - time.monotonic(), 0.0) for peer in waiting[:1])]))
        self.note(0, event="over", t=time.monotonic())
        for peer in peers:
            peer.tell("quit")
        until = time.monotonic() + FAREWELL
        while any("totals" not in peer.said for peer in peers):
            if time.monotonic() > until:
                raise OSError(f"not all peers said what they sent within {FAREWELL:.0f} s")
            self.hear(1.0)


def main() -> None:
    """Run the swarm of a file of settings, and switch the machine off."""
    if os.getpid() != 1:
        sys.exit("validation.clients.guest: runs as the first program of a kernel in user mode only")
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with open(given["out"], "w", encoding="utf-8") as out, open(given["log"], "w", encoding="utf-8") as log:
        swarm = Swarm(given, out, log)
        try:
            swarm.note(0, event="kernel", release=os.uname().release)
            swarm.run()
            swarm.note(0, event="end")
        except Exception as error:  # whatever it is, the test bed is to hear of it: nobody else reads this
            swarm.note(0, event="fault", words=f"{type(error).__name__}: {error}")
    ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    main()
