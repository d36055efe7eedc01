"""Importing this loads all that a visitor's process needs: Python's fork server does so before it forks any."""

import gc
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server: without it the fork server ends, too

from btflow.explore import app, swarm_panel, visitor, warm, whatif_panel  # noqa: E402, F401 - to have them
from btflow.link import results as _of_links  # noqa: E402, F401
from btflow.swarm import results as _of_swarms  # noqa: E402, F401

warm.load(warm.LINKS if set(warm.SWARMS) & set(warm.missing()) else warm.LINKS + warm.SWARMS)

# A process that is forked says nothing of a server that has ended before it gave it anything to do.
sys.excepthook = lambda kind, *more: None if kind is EOFError else sys.__excepthook__(kind, *more)

gc.collect()
gc.freeze()  # what is loaded stays: no visitor's process looks through it again, which would copy its memory, too
