"""Compiles every kernel that a visitor's page uses, each once, or loads it from the cache.

An empty cache is filled by two processes at once. Links come first, and the page opens with them; the kernels of swarms
follow while it is read, and a page on which a swarm is asked for says how far they are.
"""

import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from btflow.explore.options import say
from btflow.explore.work import Look
from btflow.kernels.compiler import cache

LINKS, SWARMS = ("link", "fluid"), ("access", "swarm", "flow")
"""Packages of kernels."""
_TURNS = (("link", "access", "swarm"), ("fluid", "flow"))
"""Which packages each of two processes compiles, in this order: both take about as long."""

swarms_compiled: Callable[[], float] = lambda: 1.0  # noqa: E731 - a visitor's process is told what to ask
"""Returns the share of swarms' kernels that is compiled."""


def load(packages: Sequence[str] = LINKS + SWARMS) -> None:
    """Compile the kernels of packages, or load them."""
    from btflow.config import catalog
    from btflow.link import run as links
    from btflow.link.options import scenario_from
    from btflow.link.program import compile_link
    from btflow.swarm import run as swarms
    from btflow.swarm.program import compile_scenario

    link = scenario_from(flows=["cubic", "ledbat"], voip="g729", duration="1 s")
    small = {"leechers": 4, "file_size": "1 MB"}
    calls: dict[str, Callable[[], None]] = {
        "link": lambda: links.load_kernels(compile_link(link)),
        "fluid": lambda: links.load_kernels(compile_link(link, "flow")),
        "access": lambda: swarms.load_kernels(compile_scenario(catalog.load("flashcrowd", **small))),
        "swarm": lambda: swarms.load_kernels(compile_scenario(catalog.load("rao2010", **small))),
        "flow": lambda: swarms.load_kernels(compile_scenario(catalog.load("flashcrowd", **small), "flow")),
    }
    for package in packages:
        calls[package]()


def missing() -> list[str]:
    """Return the packages that are not known to be compiled."""
    return [name for name in LINKS + SWARMS if not cache.whole(name).exists()]


def wait_for_swarms(look: Look) -> None:
    """Wait until the kernels of swarms are compiled, and say on the page how far they are."""
    while (share := swarms_compiled()) < 1.0:
        look.wait(f"The kernels of swarms are being compiled, once: {share:.0%}. The figures follow by themselves.")


@contextmanager
def compiled() -> Iterator[Any]:
    """Fill an empty cache; give, once links' kernels are there, a shared number: the share of swarms' compiled."""
    # Any kind of process can be given it. A lock would be gone for one that begins while Ctrl-C ends this program.
    share = multiprocessing.get_context("spawn").Value("d", 1.0, lock=False)
    with ExitStack() as stack:
        where = cache.whole("link").parent
        if cache.usable(where) != where:  # all processes keep them in one folder, which ends with this program
            os.environ["NUMBA_CACHE_DIR"] = stack.enter_context(tempfile.TemporaryDirectory(prefix="btflow-kernels-"))
        if left := missing():
            filling = _Filling(left, share)
            stack.callback(filling.end)
            filling.wait()
        yield share


class _Filling:
    """Processes that fill the cache, what they say, and which packages are left."""

    def __init__(self, left: Sequence[str], share: Any) -> None:
        from btflow.sweeps.executor import cores

        self._share, self._line, self._ended = share, cache.Line(), False
        self._far = dict.fromkeys(left, 0.0)
        self._news = threading.Condition()
        with self._news:
            self._tell()
        turns = _TURNS if cores() > 1 else (LINKS + SWARMS,)
        self._processes = [_start(turn) for each in turns if (turn := [name for name in each if name in left])]
        for process in self._processes:
            threading.Thread(target=self._follow, args=(process,), daemon=True).start()

    def wait(self) -> None:
        """Wait until links' kernels are there."""
        with self._news:
            while any(self._far.get(name, 1.0) < 1.0 for name in LINKS):
                self._news.wait(0.2)  # Ctrl-C is heard in between
            self._line.end()

    def end(self) -> None:
        """End the processes."""
        self._ended = True
        for process in self._processes:
            process.kill()
            process.wait()

    def _follow(self, process: "subprocess.Popen[str]") -> None:
        """Take what a process says until it ends; what it leaves undone is compiled by who needs it."""
        assert process.stdout is not None
        for said in process.stdout:
            name, share, words = [*said.rstrip("\n").split(" ", 2), "", ""][:3]
            if name not in self._far or not share.replace(".", "", 1).isdigit():
                continue  # a library's word
            with self._news:
                self._far[name] = float(share)
                waited = [each for each in LINKS if self._far.get(each, 1.0) < 1.0]
                if words and (not waited or waited[0] == name):
                    self._line(words)
                self._tell()
        if process.wait() and not self._ended:
            say("btflow: warning: a process that compiles kernels has failed; they are compiled when they are needed.")
        with self._news:
            names = process.args[-1].split() if isinstance(process.args, list) else ()
            self._far.update(dict.fromkeys(names, 1.0))
            self._tell()
            if process.returncode == 0 and min(self._far.values()) == 1.0 and not self._ended:
                self._ended = True
                self._line.end()
                say("btflow: all kernels are compiled.")

    def _tell(self) -> None:
        swarms = [self._far.get(name, 1.0) for name in SWARMS]
        self._share.value = sum(swarms) / len(swarms)
        self._news.notify_all()


def _start(packages: Sequence[str]) -> "subprocess.Popen[str]":
    """Start a process that compiles packages."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from btflow.explore.warm import fill; fill(sys.argv[1].split())"
    # in a session of its own: Ctrl-C is for the server, which ends it; -P: no module of the working directory's
    run = [sys.executable, "-P", "-c", code, " ".join(packages)]
    return subprocess.Popen(
        run, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True
    )


def fill(packages: Sequence[str]) -> None:
    """Compile packages of kernels in a process of their own, and print for who waits how far each is."""
    gc.disable()  # Numba makes millions of objects, nearly all of which stay
    for name in packages:
        cache.told = lambda words, share, name=name: _print(name, share, words)
        load([name])
        with suppress(OSError):
            cache.whole(name).touch()
        _print(name, 1.0)


def _print(name: str, share: float, words: str = "") -> None:
    try:
        print(name, share, words, flush=True)
    except OSError:  # who waits is gone
        os._exit(1)
