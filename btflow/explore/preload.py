"""Importing this loads all that a visitor's process needs: Python's fork server does so before it forks any."""

import gc
import signal
import sys
from types import TracebackType

signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server: without it the fork server ends, too

from btflow.explore import app, swarm_panel, visitor, warm, whatif_panel  # noqa: E402, F401 - to have them
from btflow.link import results as _of_links  # noqa: E402, F401
from btflow.swarm import results as _of_swarms  # noqa: E402, F401

warm.load(warm.LINKS if set(warm.SWARMS) & set(warm.missing()) else warm.LINKS + warm.SWARMS)


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Tell of an exception that ends a process, but not of one whose server has ended before it said what to do."""
    if kind is not EOFError:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _tell  # of the processes that are forked, too

gc.collect()
gc.freeze()  # what is loaded stays: no visitor's process looks through it again, which would copy its memory, too
