"""Imports all that a visitor's page needs and compiles every kernel that it uses, or loads it from the cache.

An empty cache is filled by two processes at once: the kernels of access links take as long to compile as the others do,
those of a link in flow among them. The second is ``python -m btflow.explore.warm``. It goes on with those of swarms in
flow while the first pages open, which do without them until they are there: figures come from full alone.
"""

import select
import subprocess
import sys
from importlib import import_module
from typing import IO

_PAGE = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel"),
    *("btflow.explore.app", "btflow.explore.swarm_panel", "btflow.explore.whatif_panel"),
)


_second: subprocess.Popen[bytes] | None = None
"""The second process: it writes a line when flow's kernels alone are left."""


def warm() -> None:
    """Import the page's modules and run one small experiment of each kind, of flow only if no second process does."""
    global _second
    _second = _start_second() if _is_all_new() else None
    for name in _PAGE:
        import_module(name)
    access_links()
    for written in under_way():
        written.readline()  # what it leaves undone, if it fails, is done below
    others()
    if _second is None:
        flow()


def under_way() -> list[IO[bytes]]:
    """Return what the second process writes, to wait for its end; nothing if there is none."""
    return [_second.stdout] if _second is not None and _second.stdout is not None else []


def finish() -> None:
    """Load what the second process has compiled."""
    global _second
    flow()
    _second = None


def flow_is_there() -> bool:
    """Return whether flow's kernels are compiled: two processes must not do that at once."""
    written = under_way()
    return not written or bool(select.select(written, [], [], 0)[0])


def access_links() -> None:
    """Run a swarm on access links, as small as they come."""
    from btflow.config.catalog import load
    from btflow.swarm.run import simulate

    simulate(load("flashcrowd", leechers=4, file_size="1 MB"))


def others() -> None:
    """Run a link at both fidelities and a swarm behind unlimited links, each as small as they come."""
    from btflow.config.catalog import load
    from btflow.link.options import scenario_from
    from btflow.link.run import simulate_link
    from btflow.options import FIDELITIES
    from btflow.swarm.run import simulate

    link = scenario_from(flows=["cubic", "ledbat"], voip="g729", duration="1 s")
    for fidelity in FIDELITIES:
        simulate_link(link, fidelity=fidelity)
    simulate(load("rao2010", leechers=2, file_size="1 MB"))


def flow() -> None:
    """Run swarms at flow fidelity, on access links and behind unlimited ones, as small as they come."""
    from btflow.config.catalog import load
    from btflow.swarm.run import simulate

    for name, leechers in (("flashcrowd", 4), ("rao2010", 2)):
        simulate(load(name, leechers=leechers, file_size="1 MB"), fidelity="flow")


def _is_all_new() -> bool:
    """Return whether nothing is compiled yet, and two processes can run at once."""
    from btflow.kernels import access, link
    from btflow.kernels.compiler import cache
    from btflow.sweeps.executor import cores

    return cores() > 1 and not any(cache.has_kernels(str(package.__file__)) for package in (access, link))


def _start_second() -> subprocess.Popen[bytes]:
    """Start a process that compiles the others, and flow's; what it would say is said here, too."""
    nowhere = subprocess.DEVNULL
    run = [sys.executable, "-m", "btflow.explore.warm"]
    return subprocess.Popen(run, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere)


if __name__ == "__main__":
    others()
    print(flush=True)
    flow()
