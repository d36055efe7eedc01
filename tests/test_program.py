"""The program as a process, before it does what it is asked to: its version, and signals while it is being imported."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from sweep_stopped import CODES

RUN = ("run", "rao2010")
SWEEP = ("sweep", "rao2010", "--vary", "rtt=0ms", "--out", "never.zarr")


def test_the_program_says_its_version() -> None:
    done = subprocess.run([sys.executable, "-m", "btflow", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == "btflow 0.1.0\n"


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize(("package", "args"), [("typer", RUN), ("numba", RUN), ("numba", SWEEP)])
def test_a_signal_while_a_package_is_imported_ends_the_program_in_one_line(
    number: signal.Signals, package: str, args: tuple[str, ...]
) -> None:
    """Ctrl-C is heard also where a shell had it ignored."""
    script = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Signalled:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {package!r}: signal.raise_signal({int(number)})\n"
        "sys.meta_path.insert(0, Signalled())\n"
        "from btflow.__main__ import main\n"
        "main()\n"
    )
    code, word = CODES[number]
    done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"btflow: {word}\n")


@pytest.mark.parametrize("number", CODES)
def test_a_signal_whose_exception_is_dropped_comes_again(number: signal.Signals) -> None:
    """Callbacks that C calls drop exceptions: of LLVM while kernels are loaded, of weak references."""
    script = (
        "import ctypes, signal, sys, time, types\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def work():\n"
        f"    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal({int(number)}))()\n"
        "    end = time.monotonic() + 20\n"
        "    while time.monotonic() < end: pass\n"
        "sys.modules['btflow.cli.app'] = types.SimpleNamespace(main=work)\n"
        "import btflow.cli; btflow.cli.app = sys.modules['btflow.cli.app']\n"
        "from btflow.__main__ import main\n"
        "main()\n"
    )
    code, word = CODES[number]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"btflow: {word}\n")


def test_other_exceptions_that_are_dropped_are_still_shown() -> None:
    script = "import sys\nfrom btflow.termination import hear_again\nsys.unraisablehook = hear_again\n"
    script += "class C:\n    def __del__(self): raise ValueError('seen')\nC()\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "ValueError: seen" in done.stderr
