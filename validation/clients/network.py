"""Namespaces, links and paths of the test bed, and how they go away again.

Each peer has a namespace, joined to the core's by a veth pair. In the core what a peer sends goes through a TUN device,
whose HTB has a class for each uplink with a FIFO of bytes; the forwarder takes it from there, delays or loses it, and
puts it back, and the kernel sends it on through the TBF of the receiver's downlink. The sender's own queue holds
nothing: a packet has passed a router before it waits, so TCP does not see the queue as its host's own.

Addresses are those for benchmarks (RFC 2544), not private ones: libtorrent takes private ones for a local network,
where it neither chokes nor limits rates.
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

PREFIX = "btclients"
"""Begins the name of all that a run makes: namespaces and folders."""

BEDS = 32
"""Test beds that may run beside each other."""

TUN = "paths"
TRACKER = "198.18.255.1"
TRACKER_PORT = 6969
PORT = 6881
MEMORY = Path(os.environ.get("BTFLOW_BEDS", "/dev/shm"))
"""Where the peers keep their files: in memory, unless there is not enough of it."""
LOCKS = Path("/run/lock") / PREFIX
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
NEIGHBOURS = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
MOST_NEIGHBOURS = 32768
"""Neighbours that the kernel keeps for all namespaces together: two for each peer. Its default, 1024, is too few for
swarms beside each other, which then find no way to the tracker."""
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
    def address(self) -> str:
        """Address of the peer."""
        return f"198.18.{self.index}.2"


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


class Bed:
    """A place for one run at a time; several may be beside each other, each with a core of its own."""

    def __init__(self, number: int = 0) -> None:
        self.prefix = f"{PREFIX}{number}-"
        self.core = f"{self.prefix}core"
        self.folder = MEMORY / f"{self.prefix}run"
        self.lock = LOCKS / f"bed-{number}"

    def namespace(self, link: Link) -> str:
        """Return the name of a peer's namespace."""
        return f"{self.prefix}{link.index}"

    def build(self, links: Sequence[Link]) -> None:
        """Make the core and the peers' namespaces with the links between them; the TUN device is the forwarder's."""
        self.folder.mkdir()
        if int(NEIGHBOURS.read_text()) < MOST_NEIGHBOURS:
            NEIGHBOURS.write_text(str(MOST_NEIGHBOURS))
        run("ip", "netns", "add", self.core)
        set_sysctls(self.core, _ROUTER)
        run("ip", "-n", self.core, "-batch", "-", given=f"link set lo up\naddress add {TRACKER}/32 dev lo\n")
        with _cubic_allowed():
            for link in links:
                run("ip", "netns", "add", self.namespace(link))
                set_sysctls(self.namespace(link), SYSCTLS)
        run("ip", "-n", self.core, "-batch", "-", given="".join(self._core_end(link) for link in links))
        for link in links:
            run("ip", "-n", self.namespace(link), "-batch", "-", given=_peer_end(link))

    def _core_end(self, link: Link) -> str:
        i = link.index
        return (
            f"link add v{i} type veth peer name eth0 netns {self.namespace(link)}\n"
            f"link set v{i} gso_max_segs 1\n"
            f"address add 198.18.{i}.1/30 dev v{i}\n"
            f"link set v{i} up\n"
        )

    def shape(self, links: Sequence[Link]) -> None:
        """Lead packets between peers over the TUN device, which is there now, and set the rates of all links."""
        routes = (
            f"link set {TUN} up txqueuelen 10000\n"
            f"rule add priority 10 iif {TUN} lookup main\n"
            "rule add priority 11 iif lo lookup main\n"
            "rule add priority 12 lookup 100\n"
            f"route add default dev {TUN} table 100\n"
        )
        run("ip", "-n", self.core, "-batch", "-", given=routes)
        shapers = f"qdisc add dev {TUN} root handle 1: htb\n" + "".join(_shapers(link) for link in links)
        run("tc", "-n", self.core, "-batch", "-", given=shapers)

    def backlogs(self) -> dict[int, tuple[int, int]]:
        """Return bytes that wait on each uplink, and packets that its queue has dropped, by the peer's number."""
        found = json.loads(run("tc", "-n", self.core, "-s", "-j", "qdisc", "show", "dev", TUN))
        return {int(q["handle"][:-1], 16) - 1: (q["backlog"], q["drops"]) for q in found if q["kind"] == "bfifo"}

    def downlink_drops(self) -> int:
        """Return how many packets the downlinks' queues have dropped, all together."""
        found = json.loads(run("tc", "-n", self.core, "-s", "-j", "qdisc", "show"))
        return sum(q["drops"] for q in found if q["kind"] == "tbf")

    def check_kernel(self) -> None:
        """Refuse a kernel without the shapers, tried in the core.

        Raises:
            SimulationError: The kernel lacks one.
        """
        for what, more in (("tbf", f"rate 1mbit burst {BURST} limit 10000"), ("htb", ""), ("bfifo", "limit 10000")):
            try:
                run("tc", "-n", self.core, "qdisc", "replace", "dev", "lo", "root", what, *more.split())
            except SimulationError as error:
                raise SimulationError(f"this kernel lacks {what}: {error}") from None
        run("tc", "-n", self.core, "qdisc", "del", "dev", "lo", "root")

    def namespaces(self) -> list[str]:
        """Return the namespaces of this bed that there are."""
        found = subprocess.run(("ip", "netns", "list"), capture_output=True, text=True, check=False).stdout
        return [line.split()[0] for line in found.splitlines() if line.startswith(self.prefix)]

    def remove(self) -> None:
        """End every process in the bed's namespaces, and take away namespaces, with the links in them, and the folder.

        A signal that comes meanwhile waits.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        try:
            self._end_processes()
            for name in self.namespaces():
                subprocess.run(("ip", "netns", "del", name), capture_output=True, check=False)
            shutil.rmtree(self.folder, ignore_errors=True)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _end_processes(self) -> None:
        for _ in range(100):
            pids = [pid for name in self.namespaces() for pid in _pids(name) if pid != os.getpid()]
            if not pids:
                return
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one in this bed; what earlier ones have left, here or in beds that nobody holds, is removed.

        Raises:
            SimulationError: Somebody runs in it.
        """
        with _lock(self.lock) as free:
            if not free:
                raise SimulationError(f"another run holds {self.lock}: give another --bed, or wait")
            for other in map(Bed, range(BEDS)):
                if other.lock != self.lock and (other.namespaces() or other.folder.exists()):
                    with _lock(other.lock) as abandoned:
                        if abandoned:
                            other.remove()
            self.remove()
            try:
                yield
            finally:
                self.remove()


def _peer_end(link: Link) -> str:
    """Segments are made by TCP, not by the device: a shaper is to see packets."""
    return (
        "link set lo up\n"
        "link set eth0 gso_max_segs 1\n"
        f"address add {link.address}/30 dev eth0\n"
        "link set eth0 up\n"
        f"route add default via 198.18.{link.index}.1\n"
    )


def _shapers(link: Link) -> str:
    i, up, down = link.index, round(8 * link.uplink), round(8 * link.downlink)
    own = f"{i + 1:x}"
    return (
        f"class add dev {TUN} parent 1: classid 1:{own} htb rate {up}bit burst {BURST} cburst {BURST} "
        f"quantum {QUANTUM}\n"
        f"qdisc add dev {TUN} parent 1:{own} handle {own}: bfifo limit {link.uplink_room}\n"
        f"filter add dev {TUN} parent 1: protocol ip u32 match ip src {link.address}/32 flowid 1:{own}\n"
        f"qdisc add dev v{i} root stab overhead -{ETHERNET} linklayer ethernet "
        f"tbf rate {down}bit burst {BURST} limit {link.downlink_room}\n"
    )


def _pids(namespace: str) -> list[int]:
    found = subprocess.run(("ip", "netns", "pids", namespace), capture_output=True, text=True, check=False).stdout
    return [int(pid) for pid in found.split()]


@contextlib.contextmanager
def _lock(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a lock file; says whether it was free. It goes with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


def claimed(what: str, *, wait: bool = False) -> contextlib.AbstractContextManager[bool]:
    """Keep something for this process, as a run of a cell; says whether nobody else has it."""
    return _lock(LOCKS / what, wait=wait)


@contextlib.contextmanager
def _cubic_allowed() -> Iterator[None]:
    """Let namespaces choose CUBIC: where it is not the machine's own default, only those allowed here may be."""
    with _lock(LOCKS / "allowed", wait=True):
        before = ALLOWED.read_text().strip()
        if "cubic" in before.split():
            yield
            return
        try:
            ALLOWED.write_text(f"{before} cubic")
        except OSError as error:
            raise SimulationError(f"this kernel lacks TCP CUBIC: {error}") from None
        try:
            yield
        finally:
            ALLOWED.write_text(before)
