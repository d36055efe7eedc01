"""A trace: what moves in a run, recorded as a few arrays with a description; as bytes, and as a page that plays it."""

import base64
import html
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btflow.errors import InputError
from btflow.files import replacing
from btflow.options import output_file

MOST_BYTES = 2_000_000
"""Most bytes that the arrays of a trace take, by what the recorders count: `link.MOST_PARCELS` and `link.MOST_STATES`;
`swarm.MOST_CELLS`, `swarm.MOST_STATES` and `swarm.MOST_PAIRS`. As text, four for three, they fit into a page."""

MOST_PAGE_BYTES = 3_000_000
"""Most bytes of a page: it can be mailed, and put on any site."""

_ALIGNED = 8
"""Each array begins at a multiple of this, so that a browser can use it where it lies [B]."""


@dataclass(frozen=True)
class Trace:
    """A recorded run. In a notebook, and in what is exported from one, it is a player.

    Attributes:
        about: What it is of, as JSON can hold it: ``kind`` is "link" or "swarm"; titles, names, limits.
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

    def _repr_html_(self) -> str:
        """Return a frame that holds the page: it needs neither a kernel nor a network."""
        frame = (
            f'title="Playback of {html.escape(str(self.about["title"]))}" style="width: 100%; border: 0" height="640"'
        )
        return f'<iframe {frame} srcdoc="{html.escape(page(self, framed=True).decode())}"></iframe>'

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


def pace(length: float, play: float = 30.0) -> float:
    """Return how many simulated seconds a second of playing shows at speed 1: 1, 2 or 5 times a power of ten.

    Args:
        length: Simulated time that is played [s].
        play: Time that this shall take, or up to two and a half times as long [s].
    """
    wanted = length / play
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(max(step for step in (1.0, 2.0, 5.0) if step * power <= wanted * (1 + 1e-9)) * power)


_SCRIPTS = ("drawing.js", "link_times.js", "link.js", "swarm.js", "motion.js")
"""What makes up the module, in its order."""


def script() -> str:
    """Return the module that plays traces, as text; its default export is a widget's."""
    return "\n".join(_read(name) for name in _SCRIPTS)


def style() -> str:
    """Return the style sheet of the player."""
    return _read("motion.css")


def page(trace: Trace, *, framed: bool = False) -> bytes:
    """Return a page that plays a trace, as bytes.

    Args:
        trace: What to play.
        framed: Whether it is shown in a frame of another page: without a title, and it waits to be started.

    Raises:
        InputError: It is longer than MOST_PAGE_BYTES.
    """
    packed = base64.b64encode(zlib.compress(trace.packed(), 9)).decode()
    title = html.escape(str(trace.about["title"]))
    heading = "" if framed else f"<h1>{title}</h1>"
    begin = f'await playText(document.getElementById("motion"), "{packed}", {json.dumps(not framed)});'
    parts = {"title": title, "heading": heading, "style": style(), "script": f"{script()}\n{begin}"}
    content = _read("page.html").format(**parts).encode()
    if len(content) > MOST_PAGE_BYTES:
        reason = f"makes a page of {len(content) / 1e6:.1f} MB"
        lower = "a shorter length of a link, fewer leechers or larger pieces of a swarm"
        raise InputError("trace", repr(trace), reason, f"{MOST_PAGE_BYTES / 1e6:g} MB: {lower}")
    return content


def save(trace: Trace, path: str | Path) -> None:
    """Write a trace as one HTML page that plays it: no server, no network, at most MOST_PAGE_BYTES.

    Args:
        trace: What `record` returns.
        path: A file ending in .html.

    Raises:
        InputError: It is no trace, the page would be too large, or no such file can be written there.
        OSError: The file cannot be written; what was there before is kept.
    """
    if not isinstance(trace, Trace):
        raise InputError("trace", trace, "is not a trace", "what btflow.motion.record returns")
    file = output_file("path", path, ".html")
    content = page(trace)
    with replacing(file) as partial:
        partial.write_bytes(content)


def _padded(content: bytes, filler: bytes = b"\0") -> bytes:
    return content + filler * (-len(content) % _ALIGNED)


def _read(name: str) -> str:
    return (files("btflow.motion") / "page" / name).read_text(encoding="utf-8")
