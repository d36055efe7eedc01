"""Where the compiled kernels are kept, and what is done if they cannot be read or written there.

The kernels call each other across files, and Numba's on-disk cache only watches the file of the cached function, so an
edited callee would silently keep its old behaviour in a cached caller (numba/numba#8851). All kernels therefore share
one cache folder named by a hash of all their sources: an edit anywhere makes a fresh cache. Where the sources lie and
how old they are does not matter then: a second clone of the same sources has the same kernels.

Insides: `numba.core.dispatcher.FunctionCache`, of `numba.core.caching` `FunctionCache`, `CompileResultCacheImpl`,
`UserProvidedCacheLocator` and `IndexDataCacheFile` with `_impl_class`, `_locator_classes`, `_cache_file`,
`_cache_path`, `_impl`, `_dump`, `_load_data`, `_data_path`. They gain a second clone its minutes of compiling; without
them results might not be those of the sources, and a damaged or read-only cache would end a run. Beside
test_insides.py, test_cache.py fails.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numba.core.dispatcher
from llvmlite.binding import get_host_cpu_name
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher

_settings: Any = numba.config
_dispatcher: Any = numba.core.dispatcher
_IMPORTED = re.compile(r"^ *from btflow\.kernels(?:\.(\w+)[.\w]*)? import ([\w, ]+)", re.M)
_NAMES = {
    "link": "links",
    "fluid": "links at flow fidelity",
    "swarm": "swarms",
    "access": "swarms on access links",
    "flow": "swarms at flow fidelity",
}
"""What the kernels of a package are called."""
SELDOM = 5
"""Least time between two lines where it is not a terminal that reads [s]."""


@contextmanager
def kept_for(package: str) -> Iterator[None]:
    """Keep the kernels imported in this block in the folder of the package whose `__file__` is given."""
    before = _settings.CACHE_DIR, _dispatcher.FunctionCache  # one package of kernels may import another
    _settings.CACHE_DIR = str(usable(folder(Path(package).parent)))
    _dispatcher.FunctionCache = KernelCache
    try:
        yield
    finally:
        _settings.CACHE_DIR, _dispatcher.FunctionCache = before


def folder(sources: Path) -> Path:
    """Return the folder for kernels compiled from the `*.py` in a folder: `NUMBA_CACHE_DIR` or the user's cache."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for source in _sources(sources):
        digest.update(source.read_bytes())
    users = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    base = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(users, "btflow")
    return Path(base, f"kernels-{digest.hexdigest()[:16]}")


def whole(package: str) -> Path:
    """Return the file that is there once all kernels of a package, such as `link`, are kept for this CPU."""
    return folder(Path(__file__).parents[1] / package) / f"whole-{get_host_cpu_name()}"


def _sources(package: Path) -> list[Path]:
    """Return the files that a package's kernels are made of: its own, and all it imports of `btflow.kernels`."""
    kernels, found, left = package.parent, set[Path](), [package]
    while left:
        files = [file for file in _files(left.pop()) if file not in found]
        found.update(files)
        imports = [match for file in files for match in _IMPORTED.findall(file.read_text(encoding="utf-8"))]
        left += {kernels / name for room, names in imports for name in ([room] if room else names.split(", "))}
    return sorted(found)


def _files(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


class _SummedFile(IndexDataCacheFile):
    """Numba's files with a checksum after the content: machine code that is damaged crashes or, worse, runs."""

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + hashlib.sha256(content).digest()

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[:-32]).digest() != content[-32:]:
            raise ValueError(f"{name} is damaged")
        return super()._load_data(name)


class _Locator(UserProvidedCacheLocator):
    """Says where a kernel is kept: in a folder whose name has the digest of the sources."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        return Path(py_file).parent.name

    def get_source_stamp(self) -> str:
        return ""


class _Kept(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class KernelCache(FunctionCache):
    """Numba's cache of one kernel, which compiles anew what it cannot read and goes on without what it cannot write."""

    _impl_class = _Kept

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = _SummedFile(self._cache_path, self._impl.filename_base, "")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None if there is none; damaged ones go with all of the package."""
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # pickle and LLVM raise anything when they read what they did not write
            shutil.rmtree(Path(self.cache_path).parent, ignore_errors=True)
            found = None
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled kernel; if that fails it is there for this process alone."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _say(_not_kept(Path(self.cache_path).parents[1], error))


class Line:
    """A line on stderr that says how far something is: written anew on a terminal, now and then elsewhere."""

    def __init__(self, first: float = 0.0) -> None:
        self.next, self.shown = first, ""

    def __call__(self, text: str) -> None:
        """Say how far it is."""
        if sys.stderr.isatty():
            text = text[: shutil.get_terminal_size().columns - 1]
            print(f"\r{text:<{len(self.shown)}}", end="", file=sys.stderr, flush=True)
            self.shown = text
        elif time.monotonic() >= self.next:
            print(text, file=sys.stderr, flush=True)
            self.next = time.monotonic() + SELDOM

    def end(self) -> None:
        """End the line, if one is under way."""
        if self.shown:
            self.shown = ""
            print(file=sys.stderr, flush=True)


_line = Line()
told: Callable[[str, float], None] | None = None
"""Is told each second how far a compilation is, in words and as a share, in place of a line on stderr."""


@contextmanager
def saying(function: Any) -> Iterator[None]:
    """Say each second how far the compilation of an entry is that is done in this block."""
    kernels, begun, ended = _reached(function), time.monotonic(), threading.Event()
    package = function.__module__.split(".")[-2:][0]
    name = _NAMES.get(package, package)

    def say() -> None:
        while not ended.is_set():
            done = sum(bool(each.overloads) for each in kernels)
            how = f"{done} of {len(kernels)} functions" if done < len(kernels) else "optimising"
            text = f"btflow: compiling the kernels of {name}, once: {how}, {time.monotonic() - begun:.0f} s"
            told(text, done / (len(kernels) + 1)) if told else _line(text)
            ended.wait(1.0)

    teller = threading.Thread(target=say, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
        _line.end()


def _reached(function: Any) -> list[Any]:
    """Return the kernels that a function calls, directly or not, by the names in its code."""
    found, todo = dict[Any, None](), [function]
    while todo:
        caller = todo.pop()
        names, known = caller.__code__.co_names, caller.__globals__
        spaces = [known, *(vars(known[name]) for name in names if isinstance(known.get(name), ModuleType))]
        for each in (space.get(name) for space in spaces for name in names):
            if isinstance(each, Dispatcher) and each not in found:
                found[each] = None
                todo.append(each.py_func)
    return list(found)


def usable(path: Path) -> Path:
    """Return the folder if it can be written to, else a temporary one that goes with the process."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        _say(_not_kept(path.parent, error))
        return Path(_temporary().name)
    return path


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="btflow-kernels-", ignore_cleanup_errors=True)


def _not_kept(path: Path, error: OSError) -> str:
    return (
        f"btflow: warning: the compiled kernels cannot be kept in {path} ({error.strerror or error}): "
        "every start compiles them; NUMBA_CACHE_DIR names another folder"
    )


@cache
def _say(line: str) -> None:
    """Print a line to stderr, once."""
    print(line, file=sys.stderr, flush=True)
