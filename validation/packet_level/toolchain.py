"""Installs ns-3 from its wheel into a virtual environment of its own and compiles the programs against it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = HERE / ".ns3"
WHEEL = "ns3==3.44.post0"
RELEASE = "3.44"
LIBRARIES = ("core", "network", "internet", "point-to-point", "traffic-control", "stats")
PROGRAMS = ("single", "bottleneck", "swarm")
FLAGS = ("-O2", "-std=c++20")


class ToolchainError(Exception):
    """What is missing, in one line."""


def _run(command: list[str], failure: str) -> str:
    """Run a command and return what it wrote; `failure` says what could not be done."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        told = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise ToolchainError(f"{failure}: {told[-1] if told else 'no message'}") from error


def compiler() -> str:
    """Return the C++ compiler's own line about its version."""
    if shutil.which("g++") is None:
        raise ToolchainError("g++ is not installed: the packet-level programs need a C++20 compiler")
    return _run(["g++", "--version"], "g++ does not run").splitlines()[0]


def _install() -> Path:
    """Return the folder of an installed ns-3, with headers and libraries."""
    environment = TOOLS / "venv"
    library = sysconfig.get_path("purelib", "venv", vars={"base": str(environment), "platbase": str(environment)})
    ns3 = Path(library) / "ns3"
    stamp = environment / WHEEL
    if not stamp.exists():
        print(f"installing {WHEEL}", file=sys.stderr)
        _run([sys.executable, "-m", "venv", "--clear", str(environment)], "no virtual environment could be made")
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--no-deps", WHEEL], f"pip could not install {WHEEL}, a wheel for CPython on Linux")
        if not (ns3 / "include").is_dir():
            raise ToolchainError(f"{WHEEL} has no headers where they were expected")
        stamp.touch()
    return ns3


def build() -> dict[str, Path]:
    """Install and compile what is not there yet or older than its sources; return the programs by their names."""
    compiler()
    ns3 = _install()
    newest = max(path.stat().st_mtime for path in [*HERE.glob("*.cc"), *HERE.glob("*.h")])
    programs = {name: TOOLS / name for name in PROGRAMS}
    for name, program in programs.items():
        if program.exists() and program.stat().st_mtime >= newest:
            continue
        print(f"compiling {name}", file=sys.stderr)
        sources = [str(path) for path in (HERE / f"{name}.cc", *sorted(HERE.glob(f"{name}_*.cc")), HERE / "ledbat.cc")]
        where = ["-isystem", str(ns3 / "include"), f"-L{ns3 / 'lib64'}", f"-Wl,-rpath,{ns3 / 'lib64'}"]
        libraries = [f"-lns{RELEASE}-{library}" for library in LIBRARIES]
        unfinished = program.with_suffix(".partial")
        _run(["g++", *FLAGS, *sources, *where, *libraries, "-o", str(unfinished)], f"{name} could not be compiled")
        unfinished.replace(program)
    return programs
