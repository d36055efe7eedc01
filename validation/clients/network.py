"""Namespaces, links and paths of the test bed, and how they go away again.

Each peer has a namespace, joined to the core's by a veth pair. In the core what a peer sends goes through a TUN device,
whose HTB has a class for each uplink with a FIFO of bytes; the forwarder takes it from there, delays or loses it, and
puts it back, and the kernel sends it on through the TBF of the receiver's downlink. The sender's own queue holds
nothing: a packet has passed a router before it waits, so TCP does not see the queue as its host's own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from btflow.errors import SimulationError

PREFIX = "btclients-"
"""Begins the name of all that a run makes: namespaces and folders."""

CORE = f"{PREFIX}core"
TUN = "paths"
TRACKER = "10.83.255.1"
TRACKER_PORT = 6969
PORT = 6881
MEMORY = Path("/dev/shm")
LOCK = Path("/run/lock") / f"{PREFIX}lock"
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")

BURST = 1600
"""What a shaper lets go at once [B]: one packet."""
QUANTUM = 1514
ETHERNET = 14
"""Header that a veth's shaper would count and the simulator's links do not have [B]."""

SYSCTLS = {
    "net/ipv4/tcp_congestion_control": "cubic",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_slow_start_after_idle": "1",
    "net/ipv4/tcp_rmem": "4096 131072 6291456",
    "net/ipv4/tcp_wmem": "4096 16384 4194304",
    "net/ipv6/conf/all/disable_ipv6": "1",
}
"""Settings of every peer's namespace: Linux's defaults, but for what the machine may have changed."""
_ROUTER = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/conf/all/send_redirects": "0",
    "net/ipv4/conf/default/send_redirects": "0",
    "net/ipv6/conf/all/disable_ipv6": "1",
}


@dataclass(frozen=True)
class Link:
    """A peer's access link, both ways."""

    index: int
    """Number of the peer, 1 to 250."""
    uplink: float
    """Rate [B/s]."""
    uplink_room: int
    """Room in its queue [B]."""
    downlink: float
    downlink_room: int

    @property
    def namespace(self) -> str:
        """Name of the peer's namespace."""
        return f"{PREFIX}{self.index}"

    @property
    def address(self) -> str:
        """Address of the peer."""
        return f"10.83.{self.index}.2"


def run(*command: str, given: str = "") -> str:
    """Run a command and return what it prints.

    Raises:
        SimulationError: It failed; the message has its words.
    """
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()[0]
        raise SimulationError(f"{' '.join(command[:6])}: {said}")
    return done.stdout


def inside(namespace: str, *command: str) -> tuple[str, ...]:
    """Return a command that runs in a namespace."""
    return ("ip", "netns", "exec", namespace, *command)


def set_sysctls(namespace: str, values: dict[str, str]) -> None:
    """Set kernel settings of a namespace."""
    script = "\n".join(f"echo '{value}' > /proc/sys/{name}" for name, value in values.items())
    run(*inside(namespace, "sh", "-ec", script))


def build(links: Sequence[Link]) -> None:
    """Make the core and the peers' namespaces with the links between them; the TUN device is the forwarder's."""
    run("ip", "netns", "add", CORE)
    set_sysctls(CORE, _ROUTER)
    run("ip", "-n", CORE, "-batch", "-", given=f"link set lo up\naddress add {TRACKER}/32 dev lo\n")
    for link in links:
        run("ip", "netns", "add", link.namespace)
        set_sysctls(link.namespace, SYSCTLS)
    run("ip", "-n", CORE, "-batch", "-", given="".join(_core_end(link) for link in links))
    for link in links:
        run("ip", "-n", link.namespace, "-batch", "-", given=_peer_end(link))


def _core_end(link: Link) -> str:
    i = link.index
    return (
        f"link add v{i} type veth peer name eth0 netns {link.namespace}\n"
        f"link set v{i} gso_max_segs 1\n"
        f"address add 10.83.{i}.1/30 dev v{i}\n"
        f"link set v{i} up\n"
    )


def _peer_end(link: Link) -> str:
    """Segments are made by TCP, not by the device: a shaper is to see packets."""
    return (
        "link set lo up\n"
        "link set eth0 gso_max_segs 1\n"
        f"address add {link.address}/30 dev eth0\n"
        "link set eth0 up\n"
        f"route add default via 10.83.{link.index}.1\n"
    )


def shape(links: Sequence[Link]) -> None:
    """Lead packets between peers over the TUN device, which is there now, and set the rates of all links."""
    routes = (
        f"link set {TUN} up txqueuelen 10000\n"
        f"rule add priority 10 iif {TUN} lookup main\n"
        "rule add priority 11 iif lo lookup main\n"
        "rule add priority 12 lookup 100\n"
        f"route add default dev {TUN} table 100\n"
    )
    run("ip", "-n", CORE, "-batch", "-", given=routes)
    shapers = f"qdisc add dev {TUN} root handle 1: htb\n" + "".join(_shapers(link) for link in links)
    run("tc", "-n", CORE, "-batch", "-", given=shapers)


def _shapers(link: Link) -> str:
    i, up, down = link.index, round(8 * link.uplink), round(8 * link.downlink)
    own = f"{i + 1:x}"
    return (
        f"class add dev {TUN} parent 1: classid 1:{own} htb rate {up}bit burst {BURST} cburst {BURST} quantum {QUANTUM}\n"
        f"qdisc add dev {TUN} parent 1:{own} handle {own}: bfifo limit {link.uplink_room}\n"
        f"filter add dev {TUN} parent 1: protocol ip u32 match ip src {link.address}/32 flowid 1:{own}\n"
        f"qdisc add dev v{i} root stab overhead -{ETHERNET} linklayer ethernet "
        f"tbf rate {down}bit burst {BURST} limit {link.downlink_room}\n"
    )


def backlogs() -> dict[int, tuple[int, int]]:
    """Return bytes that wait on each peer's uplink, and packets that its queue has dropped, by the peer's number."""
    found = json.loads(run("tc", "-n", CORE, "-s", "-j", "qdisc", "show", "dev", TUN))
    return {int(q["handle"][:-1], 16) - 1: (q["backlog"], q["drops"]) for q in found if q["kind"] == "bfifo"}


def downlink_drops() -> int:
    """Return how many packets the downlinks' queues have dropped, all together."""
    found = json.loads(run("tc", "-n", CORE, "-s", "-j", "qdisc", "show"))
    return sum(q["drops"] for q in found if q["kind"] == "tbf")


def namespaces() -> list[str]:
    """Return the namespaces of the test bed that there are."""
    found = subprocess.run(("ip", "netns", "list"), capture_output=True, text=True, check=False).stdout
    return [line.split()[0] for line in found.splitlines() if line.startswith(PREFIX)]


def remove() -> None:
    """End every process in our namespaces, and take away namespaces, with the links in them, and folders."""
    names = namespaces()
    for _ in range(50):
        pids = [int(pid) for name in names for pid in _pids(name) if int(pid) != os.getpid()]
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for name in names:
        subprocess.run(("ip", "netns", "del", name), capture_output=True, check=False)
    for folder in MEMORY.glob(f"{PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _pids(namespace: str) -> list[str]:
    return subprocess.run(("ip", "netns", "pids", namespace), capture_output=True, text=True, check=False).stdout.split()


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Be the only test bed on this machine; what an earlier one left behind is removed, before and after.

    Raises:
        SimulationError: Another one runs.
    """
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SimulationError("another test bed runs on this machine") from None
        remove()
        try:
            with _cubic_allowed():
                yield
        finally:
            remove()


@contextlib.contextmanager
def _cubic_allowed() -> Iterator[None]:
    """Let namespaces choose CUBIC: where it is not the machine's own default, only those allowed here may be."""
    before = ALLOWED.read_text()
    if "cubic" in before.split():
        yield
        return
    try:
        ALLOWED.write_text(f"{before.strip()} cubic")
    except OSError as error:
        raise SimulationError(f"this kernel lacks TCP CUBIC: {error}") from None
    try:
        yield
    finally:
        ALLOWED.write_text(before.strip())
