"""Compiles every kernel that a visitor's page uses, or loads it from the cache.

An empty cache is filled by two processes at once: the kernels of access links take as long to compile as the others do,
those of a link in flow among them. One goes on with those of swarms in flow while the first pages open, which do
without them until they are there: figures come from full alone.
"""

import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event

flow_compiled: Callable[[], bool] = lambda: True  # noqa: E731 - a visitor's process is told what to ask
"""Returns whether no other process compiles flow's kernels."""


def flow_is_there() -> bool:
    """Return whether flow's kernels may be used: two processes must not compile them at once."""
    return flow_compiled()


def load() -> None:
    """Run one small experiment of each kind, of flow only if no other process compiles it."""
    access_links()
    others()
    if flow_is_there():
        flow()


@contextmanager
def compiled() -> Iterator[Event]:
    """Fill an empty cache, but for flow; give an event that is set once flow's kernels are compiled, too."""
    there = multiprocessing.get_context("spawn").Event()  # one that processes of any kind but forked ones can be given
    rest = _fill() if _is_all_new() else None
    if rest is None:
        there.set()
        yield there
        return
    threading.Thread(target=_tell, args=(rest, there), daemon=True).start()
    try:
        yield there
    finally:
        rest.kill()


def _tell(rest: subprocess.Popen[bytes], there: Event) -> None:
    """Set the event once the process has ended as it should."""
    if rest.wait() == 0:
        there.set()


def _fill() -> subprocess.Popen[bytes]:
    """Compile all but flow by two processes; return the one that goes on with flow."""
    links, rest = _start("access_links()"), _start("others(); print(flush=True); flow()")
    try:
        links.wait()  # what a process leaves undone, if it fails, is done by the one that loads it
        assert rest.stdout is not None
        rest.stdout.readline()
    except BaseException:
        rest.kill()
        raise
    finally:
        links.kill()
    return rest


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


def _start(calls: str) -> subprocess.Popen[bytes]:
    """Start a process that calls functions of this module; what it would say is said where they are called again."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from btflow.explore.warm import *; {calls}"
    # in a session of its own: Ctrl-C is for the server, which ends it; -P: no module of the working directory's
    run = [sys.executable, "-P", "-c", code]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(run, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere, start_new_session=True)
