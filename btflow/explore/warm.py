"""Imports all that a visitor's page needs and compiles every kernel that it uses, or loads it from the cache.

An empty cache is filled by two processes at once: the kernels of access links take as long to compile as the others do.
The second is ``python -m btflow.explore.warm``.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

_PAGE = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel"),
    *("btflow.explore.app", "btflow.explore.swarm", "btflow.explore.whatif_panel"),
)


def warm() -> None:
    """Import the page's modules and run one small experiment of each kind."""
    other = _start_other() if _is_all_new() else None
    for name in _PAGE:
        import_module(name)
    access_links()
    if other is not None:
        other.wait()  # what it leaves undone, if it fails, is done below
    others()


def access_links() -> None:
    """Run a swarm on access links, as small as they come."""
    from btflow.catalog import load
    from btflow.simulation import simulate

    simulate(load("flashcrowd", leechers=4, file_size="1 MB"))


def others() -> None:
    """Run a link and a swarm behind unlimited links, each as small as they come."""
    from btflow.catalog import load
    from btflow.link.options import scenario_from
    from btflow.link.simulation import simulate_link
    from btflow.simulation import simulate

    simulate_link(scenario_from(flows=["cubic", "ledbat"], voip="g729", duration="1 s"))
    simulate(load("rao2010", leechers=2, file_size="1 MB"))


def _is_all_new() -> bool:
    """Return whether nothing is compiled yet, and two processes can run at once."""
    from btflow import cache
    from btflow.kernels import access, link
    from btflow.sweeps.pools import cores

    return cores() > 1 and not any(cache.has_kernels(str(package.__file__)) for package in (access, link))


def _start_other() -> subprocess.Popen[bytes]:
    """Start a process that compiles the others, silently: what it would say is said here, too."""
    nowhere = subprocess.DEVNULL  # on this one's output the server waits for a word
    return subprocess.Popen(
        [sys.executable, "-m", "btflow.explore.warm"], stdin=nowhere, stdout=nowhere, stderr=nowhere
    )


if __name__ == "__main__":
    others()
