"""Ctrl-C and SIGTERM end the program alike, wherever it is; the word that is said and the exit code differ."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
"""Exit codes after Ctrl-C and SIGTERM."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came.

    A KeyboardInterrupt, as Python's compiler, which works while modules are imported, drops all other exceptions.

    Attributes:
        came: Whether it came to the program itself: of the exception itself, typer leaves no more than an exit code.
    """

    came = False


def terminate(*_: object) -> NoReturn:
    """Handle SIGTERM in the program."""
    Terminated.came = True
    raise Terminated


def stopped() -> int:
    """Say in one line what has stopped the program, and return its exit code."""
    word, code = ("terminated", TERMINATED) if Terminated.came else ("interrupted", INTERRUPTED)
    print(f"btflow: {word}", file=sys.stderr, flush=True)
    return code
