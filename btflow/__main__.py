"""The program `btflow`, also as `python -m btflow`; Ctrl-C and SIGTERM end it while it is still being imported, too."""
# ruff: noqa: E402  # Ctrl-C is seen to before anything else is imported

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what the module signal is of, which takes milliseconds to import

_HEARD = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
if _HEARD:  # while nobody catches its exception, the system ends the program, without a traceback
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import io
import os
import resource
import signal
import sys
import warnings
from contextlib import suppress
from typing import NoReturn

from btflow.termination import hear_again, leave, stopped, terminate


class _Forgiving(io.FileIO):
    """A stream that drops what cannot be written: a full disk or a closed pipe behind messages ends no sweep."""

    def write(self, data: bytes) -> int:  # type: ignore[override]  # of anything that has bytes
        with suppress(OSError):
            return super().write(data)
        return len(data)


def _take_little() -> None:
    """Where `ulimit -v` or `-d` bounds addresses, have the C library and BLAS reserve few of them for each thread.

    Below some bound nothing works: BLAS asks for memory for ever, deaf to signals, and LLVM aborts.
    """
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    least = min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)
    if least is None:
        return
    if least < _LEAST:
        sys.exit(f"btflow: error: ulimit -v or -d = {least // 1024} is too small; allowed: {_LEAST // 1024} at least")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import ctypes

    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_ARENAS, 2)


_LEAST = 1000 * 2**20
"""The least address space that commands are begun with [B]: a small sweep takes 800 MB of it, and fails with 700."""

_ARENAS = -8
"""M_ARENA_MAX in malloc.h of the GNU C library: the most arenas, which reserve 64 MiB each."""


def main() -> NoReturn:
    """Run the command line."""
    try:
        if _HEARD:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, terminate)
        sys.unraisablehook = hear_again
        # What a signal left of a half-made store warns of itself: from threads of zarr's, and at exit from no module.
        warnings.filterwarnings("ignore", module=r"zarr\.")
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        # put the null device in place of closed standard streams, and let no write to standard error fail
        for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
            if getattr(sys, name) is None:
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it has the least free number
                setattr(sys, name, os.fdopen(number, mode, closefd=False))
        raw = _Forgiving(sys.stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), errors="backslashreplace", line_buffering=True)
        _take_little()
        from btflow.cli import app

        app.main()
    except ModuleNotFoundError as error:
        sys.exit(f"btflow: error: this Python has no {error.name}; allowed: one with btflow, as that of .venv")
    except KeyboardInterrupt:
        leave(stopped())


if __name__ == "__main__":
    main()
