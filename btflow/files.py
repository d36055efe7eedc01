"""Files: those that a user named are read within bounds; results, figures and JSON are written whole or not at all."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import shutil
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

from btflow.errors import InputError
from btflow.options import output_path, partial_path

if TYPE_CHECKING:
    import xarray


def extra(name: str) -> str:
    """Return how to install an extra of btflow."""
    return f"the extra {name} (pip install -e '.[{name}]' in a clone of btflow's sources)"


_RESULT = "a file that btflow run --out or btflow link --out wrote"

_WAIT = 15.0
"""Time in which such a file is opened, and a second more for each MiB of it [s]."""

_TRIAL = """
import sys
import h5netcdf
name, *most = sys.argv[1:]
try:
    import resource
    for which, limit in zip(("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_CORE"), map(int, most)):
        hard = resource.getrlimit(getattr(resource, which))[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(getattr(resource, which), (limit, hard))
except (OSError, ValueError):
    pass  # macOS does not have all
try:
    with h5netcdf.File(name, "r") as file:
        for variable in (file, *file.variables.values()):
            dict(variable.attrs), variable is file or variable[...]
except MemoryError:
    sys.exit(2)
except Exception:
    sys.exit(3)
"""
"""Reads a file to its end within some seconds of CPU [s] and some memory [B]: HDF5 may loop, crash or take all of the
memory over a damaged one. It costs 0.3 s of CPU for each result that is opened."""

PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures."""


def check_drawable(field: str, path: Path | None) -> None:
    """Raise an InputError if a file is a picture and there is nothing to draw it with."""
    if path is None or path.suffix.lower() not in PICTURES:
        return
    if find_spec("kaleido") is None:
        raise InputError(
            field, str(path), "needs Kaleido, which is not installed", f"{extra('image')}; or a .html file"
        )
    from choreographer.browsers.chromium import Chromium  # Kaleido's own search

    found = Chromium.find_browser(skip_local=False)
    if found is None or shutil.which(found) is None:  # what BROWSER_PATH says is not looked at
        there = "there is none" if found is None else f"BROWSER_PATH, {found}, is no program"
        allowed = "an installed Chromium or Chrome, or its path in BROWSER_PATH; or a .html file"
        raise InputError(field, str(path), f"needs a Chromium to be drawn with, and {there}", allowed)


def figure_path(option: str, given: Sequence[str] | None) -> Path | None:
    """Return where a figure goes, None if none is asked for; an InputError if it cannot be written there or drawn."""
    path = output_path(option, given, ".html", *PICTURES)
    check_drawable(option, path)
    return path


_PACKERS = {b"\x1f\x8b": ("gzip", "gzip"), b"\xfd7zXZ\0": ("xz", "lzma"), b"BZh": ("bzip2", "bz2")}
_PACKERS |= {b"(\xb5/\xfd": ("zstd", ""), b"PK\3\4": ("zip", ""), b"7z\xbc\xaf": ("7z", "")}
"""By a packed file's first bytes the packer, and Python's module that reads it; none for what is not read here."""
_OTHERS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


class DamagedError(OSError):
    """A packed file that is cut off (`EOFError`) or not what its packer wrote; `strerror` says so."""


def _error(path: str | os.PathLike[str], reason: str) -> OSError:
    return OSError(errno.EINVAL, reason, os.fspath(path))


@contextmanager
def open_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give what is in a file that a user named, unpacked: no pipe or device, which may have no end.

    Raises:
        OSError: It cannot be opened, is of another kind, or is damaged (`DamagedError`); `strerror` says why.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except ValueError as error:
        raise _error(path, str(error)) from None
    if (kind := stat.S_IFMT(os.fstat(handle).st_mode)) != stat.S_IFREG:
        os.close(handle)
        raise _error(path, f"it is a {_OTHERS.get(kind, 'device')}, not a file")
    with os.fdopen(handle, "rb") as stream:
        if (head := stream.read(8)) is None:
            raise _error(path, "it has no end: it waits for more")
        stream.seek(0)
        packer, module = next((how for magic, how in _PACKERS.items() if head.startswith(magic)), ("", None))
        if module is None:
            yield stream
            return
        try:
            reader = import_module(module)
        except (ImportError, ValueError):  # the name is empty, or this Python has no such module
            raise _error(path, f"{packer} packed it, which is not read here: unpack it first") from None
        try:
            yield reader.open(stream)
        except (EOFError, zlib.error, OSError, getattr(reader, "LZMAError", EOFError)) as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the disk, or of what the block does
                raise
            raise DamagedError(errno.EINVAL, f"it is no whole {packer} file: {error}", os.fspath(path)) from error


def read_file(path: str | os.PathLike[str], most: int) -> bytes:
    """Return what is in a file that a user named, unpacked: at most so many bytes, packed or not.

    Raises:
        OSError: As of `open_file`; or it is too large.
    """
    content, size = bytearray(), 0
    try:
        with open_file(path) as stream:
            size = Path(path).stat().st_size
            while size <= most and (part := stream.read1(min(2**20, most + 1 - len(content)))):  # type: ignore[attr-defined]
                content += part
    except DamagedError as error:
        lines, cut = content.count(b"\n"), isinstance(error.__cause__, EOFError)
        raise _error(path, f"it is {'cut off' if cut else 'damaged'} after line {lines}: {error.strerror}") from None
    if max(size, len(content)) > most:
        raise _error(path, f"it is larger than {most // 2**20} MiB{', unpacked' * (size <= most)}")
    return bytes(content)


def as_utf8(content: bytes) -> bytes:
    """Return text without its byte order mark, as UTF-8 if PowerShell or Excel wrote UTF-16; else as it is."""
    code = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None
    code = code or {content[1:4:2]: "utf-16-le", content[:4:2]: "utf-16-be"}.get(b"\0\0")
    return content.decode(code, "replace").encode() if code else content.removeprefix(codecs.BOM_UTF8)


@contextmanager
def scratch(parent: Path, prefix: str) -> Iterator[Path]:
    """Give a new folder that is gone in the end: threads of libraries may write there for a moment after Ctrl-C."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        for _ in range(20):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.05)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to, which becomes ``path`` only if the block succeeds.

    Raises:
        OSError: It names ``path``, whatever file it was about.
    """
    partial = partial_path(path)
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def write_netcdf(result: xarray.Dataset, path: Path) -> None:
    """Write a result as a NetCDF 4 file, made in memory: HDF5 may crash if the disk is full."""
    content = io.BytesIO()
    result.to_netcdf(content, engine="h5netcdf")
    with replacing(path) as partial:
        partial.write_bytes(content.getbuffer())


def open_result(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Open a result that ``btflow run --out``, ``btflow link --out`` or ``Dataset.to_netcdf`` wrote.

    Args:
        path: The ``.nc`` file. It is read as a whole and closed again.

    Returns:
        The Dataset as ``simulate`` or ``simulate_link`` returned it. ``xarray.open_dataset`` opens the file too.

    Raises:
        InputError: There is no such file, or it is damaged or something else.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", path, "is not a path", _RESULT)
    file = Path(path)
    if os.path.isdir(file):
        raise InputError("path", str(file), "is a folder", f"{_RESULT}; btflow.open_sweep opens the store of a sweep")
    try:
        with open_file(file):
            size = file.stat().st_size
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise InputError("path", str(file), reason, _RESULT) from None
    import subprocess

    limits = [str(5 + size // 2**24), str(2**32 + 64 * size), "0"]
    trial = [sys.executable, "-P", "-c", _TRIAL, str(file.resolve()), *limits]
    try:  # the link's target may be a pipe
        ended = subprocess.run(trial, capture_output=True, timeout=_WAIT + size / 2**20).returncode
    except subprocess.TimeoutExpired:
        ended = None
    if ended not in (0, 3):  # 3: an exception, which comes here, too
        raise InputError("path", str(file), "is damaged: HDF5 takes more time or memory than it can need", _RESULT)
    import xarray

    import btflow.accessor  # noqa: F401  # for ds.btflow

    try:
        found = xarray.load_dataset(file, engine="h5netcdf")
    except (OSError, ValueError, KeyError, RuntimeError, TypeError):  # what HDF5 and NetCDF say of what is none
        raise InputError("path", str(file), "is damaged, or not a NetCDF 4 file", _RESULT) from None
    if not {"model", "parameters", "version"} <= found.attrs.keys():
        raise InputError("path", str(file), "is not a result of btflow: its attributes name no model", _RESULT)
    return found


def to_json(content: object) -> str:
    """Return strict JSON: no NaN, no infinity; and of ASCII that a terminal shows."""
    return json.dumps(content, indent=2, allow_nan=False).replace("\x7f", "\\u007f")
