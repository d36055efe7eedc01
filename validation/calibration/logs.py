"""Reads the ping logs that the losses are of."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from btflow.errors import InputError
from validation.calibration.raw import DATA, rows

FOLDER = "IndirectionDC"
LOGS = "Source_code/**/screenlog.0"
"""Each in a folder SOURCE_DESTINATION of a folder of a run. About a quarter are of another program than ping."""
NAME = f"{FOLDER}/{LOGS}"
"""In ``raw.csv``, with the checksum of the list of checksums that ``sha256sum`` prints of the logs, sorted by path."""

FEWEST = 1000
"""Pings of a log that counts: with fewer, a loss of a thousandth is none."""

_SUMMARY = re.compile(rb"(\d+) packets transmitted, (\d+) received")
_ANSWER = re.compile(rb"icmp_seq=(\d+) .*time=([\d.]+) ms")


class Log(NamedTuple):
    """The pings of one source to one destination in one run."""

    run: str
    source: str
    destination: str
    sent: int
    received: int
    rtt: float
    """Median [ms]."""

    @property
    def loss(self) -> float:
        """Share of the pings without an answer."""
        return 1.0 - self.received / self.sent


def ping_logs(folder: Path, data: Path = DATA) -> list[Log] | None:
    """Return the logs with answers and enough pings; None if there is no such folder.

    Args:
        folder: Has, or is, what the repository has.
        data: Has ``raw.csv`` with the checksum.

    Raises:
        InputError: The logs are not those that they should be.
    """
    at = folder / FOLDER if (folder / FOLDER).is_dir() else folder
    files = sorted(at.glob(LOGS), key=Path.as_posix)
    if not files:
        return None
    listed, found = hashlib.sha256(), []
    for file in files:
        content = file.read_bytes()
        listed.update(f"{hashlib.sha256(content).hexdigest()}  {file.relative_to(at).as_posix()}\n".encode())
        found += list(_log(file, content))
    wanted = next(row["sha256"] for row in rows(data / "raw.csv") if row["file"] == NAME)
    if listed.hexdigest() != wanted:
        reason = f"are {len(files)} files, the list of whose checksums has the SHA-256 {listed.hexdigest()}"
        raise InputError("RAW", NAME, reason, wanted)
    return [log for log in found if log.sent >= FEWEST and log.received]


def _log(file: Path, content: bytes) -> Iterator[Log]:
    """Give a file's log, unless another program than ping wrote it.

    A log that was cut off has no summary: it has sent as many as its last answer's number.
    """
    if not content.startswith(b"PING "):
        return
    answers = _ANSWER.findall(content)
    source, _, destination = file.parent.name.partition("_")
    rtt = float(np.median([float(time) for _, time in answers])) if answers else np.nan
    if summary := _SUMMARY.search(content):
        sent, received = map(int, summary.groups())
    else:
        numbers = {int(number) for number, _ in answers}
        sent, received = max(numbers, default=0), len(numbers)
    yield Log(file.parent.parent.name, source, destination, sent, received, rtt)
