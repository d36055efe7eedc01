"""A trace: what moves in a run, recorded, as a few arrays with a description, and as bytes that a browser reads."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNED = 8
"""Each array begins at a multiple of this, so that a browser can use it where it lies [B]."""

MOST_BYTES = 2_000_000
"""Most bytes that the arrays of a trace take: in a page of text, which takes four for three, with all else under 3 MB.

The recorders keep to it by what they count: ``link.MOST_PARCELS`` and ``link.MOST_STATES``, ``swarm.MOST_CELLS``,
``swarm.MOST_LOOKS`` and ``swarm.MOST_PAIRS``."""


@dataclass(frozen=True)
class Trace:
    """A recorded run.

    Attributes:
        about: What it is of, as JSON can hold it: ``kind`` is "link" or "swarm"; titles, names, limits, units.
        columns: Arrays by name; `btflow.motion.link` and `btflow.motion.swarm` say which there are. Times are in
            seconds from ``about["start"]`` on.
    """

    about: Mapping[str, Any]
    columns: Mapping[str, NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(column.nbytes for column in self.columns.values())

    def __repr__(self) -> str:
        """Return one line that says what is recorded."""
        about = self.about
        span = f"{about['start']:g} to {about['start'] + about['length']:g} s"
        return f"<Trace of a {about['kind']}: {about['title']}, {span}, {self.nbytes / 1000:,.0f} kB>"

    def packed(self) -> bytes:
        """Return all of it as bytes: the length of the header in 8 bytes, the header as JSON, and the arrays.

        The header has ``about``, and of each column its type, its shape and where it begins behind the header. All
        numbers are little-endian.
        """
        columns, parts, offset = {}, [], 0
        for name, column in self.columns.items():
            values = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
            columns[name] = {"dtype": column.dtype.name, "shape": column.shape, "offset": offset}
            parts.append(_padded(values.tobytes()))
            offset += len(parts[-1])
        header = {"about": dict(self.about), "columns": columns}
        text = _padded(json.dumps(header, allow_nan=False).encode(), b" ")
        return b"".join([len(text).to_bytes(_ALIGNED, "little"), text, *parts])


def _padded(content: bytes, filler: bytes = b"\0") -> bytes:
    return content + filler * (-len(content) % _ALIGNED)


def pace(length: float, play: float = 30.0) -> float:
    """Return how many simulated seconds a second of playing shows at speed 1: 1, 2 or 5 times a power of ten.

    Args:
        length: Simulated time that is played [s].
        play: Time that this shall take, or up to two and a half times as long [s].
    """
    wanted = length / play
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(max(step for step in (1.0, 2.0, 5.0) if step * power <= wanted * (1 + 1e-9)) * power)
