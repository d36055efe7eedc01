"""Builds SimGrid from its source package on PyPI, and our swarm against it, in a folder of their own."""

from __future__ import annotations

import shutil
import sys
import tarfile
from pathlib import Path

from validation.packet_level.toolchain import ToolchainError, compiled, compiler, run

HERE = Path(__file__).parent
TOOLS = HERE / ".simgrid"
VERSION = "4.1"
PACKAGE = f"simgrid=={VERSION}"
SOURCE = TOOLS / f"simgrid-{VERSION}"
LIBRARY = TOOLS / "build"
PROGRAM = TOOLS / "swarm"
FEATURES = ("-DCMAKE_BUILD_TYPE=Release", "-Denable_smpi=OFF", "-Denable_java=OFF", "-Denable_python=OFF")


def installed() -> bool:
    """Return whether the program has been built from the present sources."""
    return PROGRAM.exists() and PROGRAM.stat().st_mtime >= _newest_source()


def build(jobs: int) -> Path:
    """Download, build and compile what is not there yet; return the program.

    Args:
        jobs: Compilers at a time.

    Raises:
        ToolchainError: Something is missing or fails.
    """
    compiler()
    if shutil.which("cmake") is None:
        raise ToolchainError("cmake is not installed: SimGrid needs it, and the headers of Boost")
    TOOLS.mkdir(exist_ok=True)
    if not SOURCE.is_dir():
        _download()
    if not (LIBRARY / "lib" / "libsimgrid.so").exists():
        _build_library(jobs)
    if not installed():
        _compile()
    return PROGRAM


def _download() -> None:
    print(f"downloading {PACKAGE}", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--no-deps", "--no-binary", ":all:", "--dest", str(TOOLS), PACKAGE], f"{PACKAGE} was not downloaded")
    with tarfile.open(TOOLS / f"simgrid-{VERSION}.tar.gz") as archive:
        archive.extractall(TOOLS, filter="data")


def _build_library(jobs: int) -> None:
    print(f"building SimGrid {VERSION}: about 15 minutes of CPU time", file=sys.stderr)
    configure = ["cmake", "-S", str(SOURCE), "-B", str(LIBRARY), *FEATURES]
    run(configure, "cmake failed (are Boost's headers installed?)", TOOLS)  # cmake leaves trials
    target = ["--target", "simgrid", "--parallel", str(jobs)]
    run(["cmake", "--build", str(LIBRARY), *target], "SimGrid could not be built", TOOLS)


def _compile() -> None:
    print("compiling the swarm", file=sys.stderr)
    sources = [str(path) for path in sorted(HERE.glob("*.cc"))]
    headers = ["-isystem", str(SOURCE / "include"), "-isystem", str(LIBRARY / "include")]
    libraries = [f"-L{LIBRARY / 'lib'}", f"-Wl,-rpath,{LIBRARY / 'lib'}", "-lsimgrid"]
    compiled("the swarm", [*sources, *headers, *libraries], PROGRAM)


def _newest_source() -> float:
    shared = (HERE.parent / "packet_level" / f"swarm_{name}.h" for name in ("random", "rules"))
    return max(path.stat().st_mtime for path in [*HERE.glob("*.cc"), *HERE.glob("*.h"), *shared])
