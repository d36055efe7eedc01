"""Finds out what a measured file is by what is in it, and reads it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import IO, Literal

from btflow.errors import InputError
from btflow.files import open_file
from btflow.lines import capture, flent, frames, iperf3, ping
from btflow.lines.traces import FIELD, Trace, unusable
from btflow.paths.lines import path_name

Format = Literal["flent", "ping", "iperf3", "capture"]
FORMATS: tuple[Format, ...] = ("flent", "ping", "iperf3", "capture")

LARGEST = 2**24
"""Bytes of a file that is read whole, unpacked; captures are read packet by packet."""
_MOST = 500_000
"""Commas of one of JSON: each value or object behind one takes hundreds of bytes [own measurement]."""

READABLE = "a flent file, a ping log, the output of iperf3 --json, or a pcap of an upload"

_HEAD = 2**16
"""Bytes that show what a file is."""


def format_of(path: str | PathLike[str]) -> Format | None:
    """Return what a file is by its first bytes; None if it is none of these, or cannot be read."""
    try:
        with open_file(Path(path_name(FIELD, path))) as stream:
            head = stream.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return None
    return _format(head)


def read(path: str | PathLike[str], form: str | None = None) -> Trace:
    """Return what a file says of a line.

    Args:
        path: The file, plain or packed by gzip.
        form: ``flent``, ``ping``, ``iperf3`` or ``capture``; None to look into it.

    Raises:
        InputError: There is no such file, it is none of these, not whole, or of no use for a line.
    """
    file = Path(path_name(FIELD, path))
    if form is not None and form not in FORMATS:
        raise InputError("format", form, "is unknown", ", ".join(FORMATS))
    try:
        with open_file(file) as stream:
            head = stream.read(_HEAD)
            stream.seek(0)
            return _read(file.name, form or _format(head), head, stream)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise unusable(file.name, f"is no whole gzip file: {error}", READABLE) from None
    except OSError as error:
        raise InputError(FIELD, str(path), f"cannot be read: {error.strerror or error}", READABLE) from None


def _format(head: bytes) -> Format | None:
    if head.startswith(frames.MAGIC):
        return "capture"
    text = head.decode("utf-8-sig", "replace").lstrip()
    if text.startswith("{"):
        return "flent" if '"x_values"' in text or '"raw_values"' in text or '"metadata"' in text[:200] else "iperf3"
    return "ping" if ping.LIKE.search(text) else None


def _read(name: str, form: str | None, head: bytes, stream: IO[bytes]) -> Trace:
    if not head.strip():
        raise unusable(name, "is empty", READABLE)
    if form is None:
        raise unusable(name, "is of no kind that a line can be fitted to", READABLE)
    if form == "capture":
        return capture.read(name, stream)
    content = stream.read(LARGEST + 1)
    if len(content) > LARGEST or (form != "ping" and content.count(b",") > _MOST):
        allowed = f"at most {LARGEST // 2**20} MiB, unpacked, and {_MOST:,} values: measure for some minutes"
        raise unusable(name, "is too large", allowed)
    if form == "ping":
        try:
            return ping.read(name, content.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise unusable(name, f"is not text: byte {error.start} is not UTF-8", READABLE) from None
    readers: dict[str, Callable[[str, bytes], Trace]] = {"flent": flent.read, "iperf3": iperf3.read}
    return readers[form](name, content.removeprefix(b"\xef\xbb\xbf"))
