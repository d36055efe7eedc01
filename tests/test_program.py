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
