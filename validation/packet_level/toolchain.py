"""Finds the ns-3 that is asked for, or installs its wheel, and compiles the programs against it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = HERE / ".ns3"
WHEEL = "ns3==3.44.post0"
OLDEST = 47
"""The oldest ns-3 that may be named is 3.47; the wheel's is older, and there for the tables of that version."""
PREFIX = "BTFLOW_NS3"
"""Environment variable: the folder that ns-3 was installed to (its CMAKE_INSTALL_PREFIX)."""
HEADER = Path("ns3", "core-module.h")
LIBRARIES = ("core", "network", "internet", "point-to-point", "traffic-control", "stats")
PROGRAMS = ("single", "bottleneck", "swarm")
FLAGS = ("-O2", "-std=c++20")
RULES_OF = ("3.44",)
"""Versions whose tables were made with other rules than those after them: the programs see ``NS3_3_44``."""


class ToolchainError(Exception):
    """What is missing, in one line."""


@dataclass(frozen=True)
class Ns3:
    """An ns-3 that is installed."""

    release: str
    """Its version, as in ``3.48``; between two versions it is ``3-dev``."""
    include: Path
    """Folder of its headers."""
    libraries: Path
    """Folder of its libraries."""
    profile: str = ""
    """What their names end in, as in ``-optimized``."""

    def library(self, module: str) -> str:
        """Return the name of a module's library, as the linker has it."""
        return f"ns{self.release}-{module}{self.profile}"

    @classmethod
    def at(cls, prefix: Path) -> Ns3:
        """Return the ns-3 under a prefix; an error if it is none or lacks a part that the programs need."""
        if not prefix.is_dir():
            raise ToolchainError(f"{prefix}: no such folder; give the one that ns-3 was installed to")
        if not (prefix / "include" / HEADER).is_file():
            raise ToolchainError(f"{prefix}: no headers of ns-3 (include/{HEADER}); was it installed there?")
        for core in sorted((*prefix.glob("lib*/libns3*-core*.so"), *prefix.glob("lib/*/libns3*-core*.so"))):
            named = re.fullmatch(r"libns([\d.]+|3-dev)-core(-\w+)?\.so", core.name)
            if named:
                found = cls(named[1], prefix / "include", core.parent, named[2] or "")
                break
        else:
            raise ToolchainError(f"{prefix}: no libraries of ns-3 (lib/libns3.*-core.so)")
        for module in LIBRARIES:
            if not (found.libraries / f"lib{found.library(module)}.so").exists():
                raise ToolchainError(f"{prefix}: ns-3 was built there without its module {module}")
        return found


def run(command: list[str], failure: str, folder: Path | None = None) -> str:
    """Run a command, in a folder if one is given, and return what it wrote; `failure` says what could not be done."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        told = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        wrong = [line for line in told if "error" in line] or told[-1:] or ["no message"]
        raise ToolchainError(f"{failure}: {wrong[0]}") from error


def compiler() -> str:
    """Return the C++ compiler's own line about its version."""
    if shutil.which("g++") is None:
        raise ToolchainError("g++ is not installed: the packet-level programs need a C++20 compiler")
    return run(["g++", "--version"], "g++ does not run").splitlines()[0]


def compiled(name: str, arguments: list[str], program: Path) -> None:
    """Compile and link a program with the arguments of its sources and libraries; it is there whole or not at all."""
    unfinished = program.with_suffix(".partial")
    run(["g++", *FLAGS, *arguments, "-o", str(unfinished)], f"{name} could not be compiled")
    unfinished.replace(program)


def _wheel() -> Ns3:
    """Install the wheel where it is not yet."""
    environment = TOOLS / "venv"
    library = sysconfig.get_path("purelib", "venv", vars={"base": str(environment), "platbase": str(environment)})
    stamp = environment / WHEEL
    if not stamp.exists():
        print(f"installing {WHEEL}", file=sys.stderr)
        run([sys.executable, "-m", "venv", "--clear", str(environment)], "no virtual environment could be made")
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--no-deps", WHEEL], f"pip could not install {WHEEL}, a wheel for CPython on Linux")
        Ns3.at(Path(library) / "ns3")
        stamp.touch()
    return Ns3.at(Path(library) / "ns3")


def find(prefix: str) -> Ns3:
    """Return the ns-3 under a prefix, which must not be older than `OLDEST`; that of the wheel if there is none."""
    if not prefix:
        return _wheel()
    found = Ns3.at(Path(prefix))
    number = re.fullmatch(r"3\.(\d+)[\d.]*", found.release)
    if number and int(number[1]) < OLDEST:
        raise ToolchainError(f"{prefix}: ns-3 {found.release} is older than 3.{OLDEST}")
    return found


def build(ns3: Ns3) -> dict[str, Path]:
    """Compile what is not there yet or older than its sources; return the programs by their names."""
    compiler()
    sources = [*HERE.glob("*.cc"), *HERE.glob("*.h"), ns3.libraries / f"lib{ns3.library('core')}.so"]
    newest = max(path.stat().st_mtime for path in sources)
    folder = TOOLS / ns3.release
    folder.mkdir(parents=True, exist_ok=True)
    programs = {name: folder / name for name in PROGRAMS}
    for name, program in programs.items():
        if not program.exists() or program.stat().st_mtime < newest:
            print(f"compiling {name}", file=sys.stderr)
            _compile(ns3, name, program)
    return programs


def _compile(ns3: Ns3, name: str, program: Path) -> None:
    sources = [str(path) for path in (HERE / f"{name}.cc", *sorted(HERE.glob(f"{name}_*.cc")), HERE / "ledbat.cc")]
    where = ["-isystem", str(ns3.include), f"-L{ns3.libraries}", f"-Wl,-rpath,{ns3.libraries}"]
    libraries = [f"-l{ns3.library(module)}" for module in LIBRARIES]
    rules = [f"-DNS3_{ns3.release.replace('.', '_')}"] if ns3.release in RULES_OF else []
    compiled(name, [*rules, *sources, *where, *libraries], program)
