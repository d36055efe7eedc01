"""Gets the sources of a version of libtorrent, puts our lines into a copy of them, and compiles the oracle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from validation.packet_level.toolchain import ToolchainError, run

HERE = Path(__file__).parent
TOOLS = HERE / ".libtorrent"
"""What is fetched and built."""
PLACE = "BTFLOW_LIBTORRENT"
"""Environment variable: a folder with clones of the three repositories, for who has them already."""
REPOSITORIES = ("libtorrent", "libsimulator", "try_signal")
VERSIONS = {
    "2.0.11": {"libtorrent": "v2.0.11", "libsimulator": "aa6e074c1053", "try_signal": "105cce59972f"},
    "2.1.0": {"libtorrent": "v2.1.0", "libsimulator": "aa6e074c1053", "try_signal": "105cce59972f"},
}
"""By version the commits that are built. libsimulator is what 2.0.11 pins; the commit that 2.1.0 pins is not public."""
FOLDERS = {"libtorrent": ".", "libsimulator": "simulation/libsimulator", "try_signal": "deps/try_signal"}
HEADERS = {"boost/asio.hpp": "libboost-dev", "openssl/sha.h": "libssl-dev"}
OURS = ("network.cc", "tcp.cc", "sockets.cc", "oracle.cc")
DEFINED = (
    "TORRENT_BUILD_SIMULATOR TORRENT_USE_LIBCRYPTO TORRENT_DISABLE_DHT TORRENT_USE_RTC=0 TORRENT_EXPORT_EXTRA NDEBUG"
)
DEFINED += " BOOST_ASIO_ENABLE_CANCELIO BOOST_ASIO_NO_DEPRECATED BOOST_SYSTEM_NO_DEPRECATED"
DEFINED += " BOOST_MULTI_INDEX_DISABLE_SERIALIZATION _FILE_OFFSET_BITS=64"
FLAGS = ("-std=c++17", "-O2", "-w", *(f"-D{name}" for name in DEFINED.split()))


@dataclass(frozen=True)
class Hook:
    """Lines of ours in a file of the sources."""

    file: str
    within: str
    """Looked for first."""
    insert: str
    before: str = ""
    after: str = ""
    """Looked for behind it: the lines go before or after it."""
    versions: tuple[str, ...] = tuple(VERSIONS)

    def applied(self, text: str) -> str:
        """Return a file's text with the lines in it.

        Raises:
            ToolchainError: There is no such place.
        """
        start, mark = text.find(self.within), self.before or self.after
        at = text.find(mark, start + len(self.within)) if start >= 0 else -1
        if at < 0:
            raise ToolchainError(f"{self.file}: there is no {mark!r} behind {self.within!r}: is it another version?")
        if self.after:
            at += len(mark)
        return text[:at] + self.insert + text[at:]


def hooks(version: str) -> list[Hook]:
    """Return the hooks of a version."""
    found = [Hook(**one) for one in tomllib.loads((HERE / "hooks.toml").read_text(encoding="utf-8"))["hook"]]
    return [hook for hook in found if version in hook.versions]


def check() -> None:
    """Raise an error that names the program or the header that is missing."""
    for program in ("g++", "git", "ar"):
        if shutil.which(program) is None:
            raise ToolchainError(f"{program} is not installed: the oracle is compiled from its sources")
    for header, package in HEADERS.items():
        if subprocess.run(
            ["g++", "-E", "-x", "c++", "-include", header, os.devnull], capture_output=True, check=False
        ).returncode:
            raise ToolchainError(f"{header}: no such header; Debian has it in {package}")


def sources(version: str) -> Path:
    """Return the folder of a version's sources, with our lines in them; they are fetched where they are not yet."""
    folder = TOOLS / version / "source"
    commits = str(VERSIONS[version])
    stamp = folder / ".commits"
    if not stamp.is_file() or stamp.read_text() != commits:
        shutil.rmtree(folder, ignore_errors=True)
        for name, commit in VERSIONS[version].items():
            _unpack(name, commit, folder / FOLDERS[name])
        stamp.write_text(commits)
    texts: dict[Path, str] = {}
    for hook in hooks(version):
        path = folder / hook.file
        theirs = path.with_name(f"{path.name}.theirs")
        if not theirs.is_file():
            shutil.copy(path, theirs)
        texts[path] = hook.applied(texts.get(path) or theirs.read_text(encoding="utf-8"))
    for path, text in texts.items():
        if path.read_text(encoding="utf-8") != text:  # what is as it was is not compiled again
            path.write_text(text, encoding="utf-8")
    return folder


def _unpack(name: str, commit: str, folder: Path) -> None:
    given = os.environ.get(PLACE)
    repository = Path(given) / name if given else TOOLS / "repositories" / name
    if given and not repository.is_dir():
        raise ToolchainError(f"{PLACE} = {given!r}: there is no clone called {name} in it")
    if not repository.is_dir():
        repository.parent.mkdir(parents=True, exist_ok=True)
        run(
            ["git", "clone", "--quiet", f"https://github.com/arvidn/{name}", str(repository)],
            f"{name} could not be cloned; {PLACE} names a folder with clones",
        )
    folder.mkdir(parents=True, exist_ok=True)
    packed = folder.parent / f".{name}.tar"
    run(
        ["git", "-C", str(repository), "archive", f"--output={packed.absolute()}", commit],
        f"{repository} has no {commit}",
    )
    run(["tar", "-x", "-f", str(packed.absolute()), "-C", str(folder)], f"{name} could not be unpacked")
    packed.unlink()


def build(version: str) -> Path:
    """Compile what is new and return the oracle of a version.

    Raises:
        ToolchainError: A program or a header is missing, or something does not compile.
    """
    check()
    root = sources(version)
    objects = TOOLS / version / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    include = [f"-I{root / part}" for part in ("include", "deps/try_signal", "simulation/libsimulator/include")]
    include.append(f"-I{HERE}")
    theirs = [*sorted((root / "src").rglob("*.cpp")), *sorted((root / "simulation/libsimulator/src").glob("*.cpp"))]
    theirs += [root / "deps/try_signal" / name for name in ("try_signal.cpp", "signal_error_code.cpp")]
    todo = list(_stale([*theirs, *(HERE / name for name in OURS)], root, objects, include))
    if todo:
        print(f"libtorrent {version}: {len(todo)} files to compile", file=sys.stderr)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(_compile, todo):
            pass
    program = TOOLS / version / "oracle"
    if todo or not program.is_file():
        unfinished = program.with_suffix(".partial")
        files = [str(path) for path in sorted(objects.glob("*.o"))]
        libraries = ["-lcrypto", "-lpthread", "-ldl"]
        run(["g++", *files, *libraries, "-o", str(unfinished)], "the oracle could not be linked")
        unfinished.replace(program)
    return program


def _stale(files: Sequence[Path], root: Path, objects: Path, include: list[str]) -> Iterator[tuple[list[str], Path]]:
    """Yield the commands of what is not compiled, or not from what its sources are now."""
    for path in files:
        name = str(path.relative_to(root if path.is_relative_to(root) else HERE)).replace("/", "_")
        target = objects / f"{name}.o"
        command = ["g++", *FLAGS, *include, "-MMD", "-MF", f"{target}.d", "-c", str(path), "-o", str(target)]
        try:
            needed = (objects / f"{name}.o.d").read_text().replace("\\\n", " ").split(": ", 1)[1].split()
            made = target.stat().st_mtime
            if all(Path(one).stat().st_mtime <= made for one in needed):
                continue
        except (OSError, IndexError):
            pass
        yield command, target


def _compile(job: tuple[list[str], Path]) -> None:
    command, target = job
    try:
        run(command, f"{target.stem} could not be compiled")
    except ToolchainError:
        target.unlink(missing_ok=True)
        raise
