"""The program as a process: its version, signals while it is being imported, outputs that take nothing, limits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sweep_made import command, read, sweep_args
from sweep_stopped import CODES

RUN = ("run", "rao2010")
SWEEP = ("sweep", "rao2010", "--vary", "rtt=0ms", "--out", "never.zarr")


def test_the_program_says_its_version() -> None:
    done = subprocess.run([sys.executable, "-m", "btflow", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == "btflow 0.1.0\n"


SIGNALLED = """
class Signalled:
    def find_spec(self, name, *_):
        if name == {!r}: signal.raise_signal({:d})
sys.meta_path.insert(0, Signalled())
"""
DROPPED = """
def work():
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal({1:d}))()
    end = time.monotonic() + 20
    while time.monotonic() < end: pass
sys.modules['btflow.cli.app'] = types.SimpleNamespace(main=work)
import btflow.cli; btflow.cli.app = sys.modules['btflow.cli.app']
"""


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize(
    ("script", "package", "args"),
    [
        (SIGNALLED, "typer", RUN),
        (SIGNALLED, "numba", RUN),
        (SIGNALLED, "numba", SWEEP),
        (SIGNALLED, "btflow.termination", RUN),
        (DROPPED, "", ()),
    ],
)
def test_a_signal_while_a_package_is_imported_or_whose_exception_is_dropped_ends_the_program_in_one_line(
    number: signal.Signals, script: str, package: str, args: tuple[str, ...]
) -> None:
    """Ctrl-C is heard also where a shell had it ignored; before it can be told of, it ends without a word.

    Callbacks that C calls drop exceptions: of LLVM while kernels are loaded, of weak references.
    """
    head = "import ctypes, signal, sys, time, types\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program = f"{head}{script.format(package, int(number))}from btflow.__main__ import main\nmain()\n"
    code, word = CODES[number]
    ended = (-number, "", "") if package == "btflow.termination" else (code, "", f"btflow: {word}\n")
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == ended


SMALL = ("--set", "leechers=3", "--set", "file_size=512 KiB")
PRINTING = [
    ("list",),
    ("schema",),
    *(
        pytest.param(args, marks=pytest.mark.slow)
        for args in (("run", "rao2010", *SMALL), ("link", "--flow", "cubic", "--duration", "1 s"), ("sweep",))
    ),
]
FULL = "btflow: error: output: No space left on device"


@pytest.mark.parametrize("args", PRINTING)
def test_an_output_that_takes_nothing_is_one_line_and_a_closed_pipe_none(args: tuple[str, ...], tmp_path: Path) -> None:
    end, pipe = os.pipe()
    os.close(end)
    for out, said in ((os.open("/dev/full", os.O_WRONLY), [FULL]), (pipe, [])):
        path = tmp_path / f"{out}.zarr"
        run = command(*(args if args != ("sweep",) else sweep_args(path)))
        done = subprocess.run(run, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        os.close(out)
        assert [line for line in done.stderr.splitlines() if "compiling" not in line] == said
        assert done.returncode == 1
        assert args != ("sweep",) or (read(path).status == 1).all()


@pytest.mark.parametrize(
    ("shell", "code", "out"),
    [
        ('"$@" list nothing 2>&-', 2, ""),
        ('"$@" list nothing 2>/dev/full', 2, ""),
        ('"$@" list >/dev/full 2>/dev/full', 1, ""),
        ('"$@" list >&- <&- 2>&-', 0, ""),
        (
            'ulimit -v 500000; "$@" run rao2010 2>&1',
            1,
            "btflow: error: ulimit -v or -d = 500000 is too small",
        ),
    ],
)
def test_streams_that_are_closed_or_full_and_limits_that_are_too_low(shell: str, code: int, out: str) -> None:
    done = subprocess.run(["sh", "-c", shell, "sh", *command()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[: len(out)], done.stderr) == (code, out, "")


def test_other_exceptions_that_are_dropped_are_still_shown() -> None:
    script = "import sys\nfrom btflow.termination import hear_again\nsys.unraisablehook = hear_again\n"
    script += "class C:\n    def __del__(self): raise ValueError('seen')\nC()\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "ValueError: seen" in done.stderr
