"""Finds out what a measured file is by what is in it, and reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import IO

from btflow.errors import InputError
from btflow.files import DamagedError, as_utf8, open_file
from btflow.lines import capture, flent, frames, iperf3, ping
from btflow.lines.traces import FIELD, Trace, unusable
from btflow.paths.lines import path_name

FORMATS = ("flent", "ping", "iperf3", "capture")

LARGEST = 2**24
"""Bytes of a file that is read whole, unpacked; captures are read packet by packet."""
_MOST = 500_000
"""Commas of one of JSON: each value or object behind one takes hundreds of bytes [own measurement]."""

READABLE = "a flent file, a ping log, the output of iperf3 --json, or a pcap of an upload"

_HEAD = 2**16
"""Bytes that show what a file is."""

_JSON = {"flent": r'"(?:x|raw)_values"|^.{0,200}"metadata"', "iperf3": r'^\{\s*"(?:start|event|intervals|error)"'}
_OTHERS = {
    "the text of iperf": r"^Connecting to host |^\[ *ID\] Interval|^Client connecting to |^Server listening on ",
    "of mtr, hping or traceroute": r'^HOST: .*Loss%|^\s*"(?:mtr|hubs)":|^HPING |^traceroute to |^Tracing route',
    "of PowerShell's Test-Connection": r"^\s*(?:Ping )?Source  +(?:Destination|Address)  ",
}
"""Other programs' files, which are not read."""


def format_of(path: str | PathLike[str]) -> str | None:
    """Return the kind of a file of a line by its first bytes; None if it is of another kind or cannot be read."""
    try:
        with open_file(Path(path_name(FIELD, path))) as stream:
            head = stream.read(_HEAD)
    except DamagedError:
        return "damaged"
    except OSError:
        return None
    return _format(head) or _first(_OTHERS, _text(head))


def read(path: str | PathLike[str], form: str | None = None, progress: Callable[[float], None] | None = None) -> Trace:
    """Return the delays and loads in a file that was measured on a line.

    Args:
        path: The file, plain or packed by gzip, xz or bzip2; text in UTF-8 or UTF-16.
        form: ``flent``, ``ping``, ``iperf3`` or ``capture``; None to look into it.
        progress: Called now and then with the share of a capture that is read.

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
            size = max(file.stat().st_size, 1)

            def told() -> None:
                if progress is not None:
                    progress(os.lseek(stream.fileno(), 0, os.SEEK_CUR) / size)

            return _read(file.name, form or _format(head), head, stream, told)
    except DamagedError as error:
        raise unusable(file.name, str(error.strerror).removeprefix("it "), READABLE) from None
    except OSError as error:
        raise InputError(FIELD, file.name, f"cannot be read: {error.strerror or error}", READABLE) from None


def _format(head: bytes) -> str | None:
    if head.startswith(frames.MAGIC):
        return "capture"
    text = _text(head)
    return (_first(_JSON, text) if "{" in text else None) or ("ping" if ping.like(text) else None)


def _first(known: dict[str, str], text: str) -> str | None:
    """Return the first kind of file of which a pattern is in a text."""
    return next((kind for kind, pattern in known.items() if re.search(pattern, text, re.MULTILINE)), None)


def _text(content: bytes) -> str:
    """Return text of any code: numbers and names of fields are the same in each."""
    return as_utf8(content).decode(errors="replace")


def _read(name: str, form: str | None, head: bytes, stream: IO[bytes], told: Callable[[], None]) -> Trace:
    if not head.strip():
        raise unusable(name, "is empty", READABLE)
    if form is None:
        raise unusable(
            name, f"is {_first(_OTHERS, _text(head)) or 'of no kind that a line can be fitted to'}", READABLE
        )
    if form == "capture":
        return capture.read(name, stream, told)
    content = stream.read(LARGEST + 1)
    if len(content) > LARGEST or (form != "ping" and content.count(b",") > _MOST):
        allowed = f"at most {LARGEST // 2**20} MiB, unpacked, and {_MOST:,} values: measure for some minutes"
        raise unusable(name, "is too large", allowed)
    return {"ping": ping.read, "flent": flent.read, "iperf3": iperf3.read}[form](name, _text(content))
