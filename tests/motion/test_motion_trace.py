"""A trace as bytes, as a page and in a notebook; the options of the command line that write one."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import Run

import btflow
from btflow import InputError, motion
from btflow.explore.motion import Motion
from btflow.link.options import scenario_from
from btflow.motion import trace as traces
from btflow.plots.style import COLOURS


@pytest.fixture(scope="module")
def link() -> motion.Trace:
    made = scenario_from(rate="1 Mbit/s", rtt="20 ms", buffer="10 packets", flows=["cubic:1"], duration="3 s")
    return motion.record(made, seed=1)


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what is packed, read as the docstring of ``packed`` says."""
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    found = {}
    for name, column in header["columns"].items():
        count = int(np.prod(column["shape"]))
        values = np.frombuffer(body, np.dtype(column["dtype"]).newbyteorder("<"), count, column["offset"])
        assert column["offset"] % values.itemsize == 0
        found[name] = values.reshape(column["shape"])
    return header["about"], found


def test_a_packed_trace_describes_itself(link: motion.Trace) -> None:
    about, columns = unpacked(link.packed())
    assert about == link.about
    assert about["colours"] == list(COLOURS)  # those of the figures
    assert columns.keys() == link.columns.keys()
    assert all(np.array_equal(columns[n], link.columns[n], equal_nan=n != "flow") for n in columns)
    assert len(link.packed()) < link.nbytes + 5000


def test_a_page_has_all_it_needs(link: motion.Trace, tmp_path: Path) -> None:
    motion.save(link, file := tmp_path / "queue.html")
    page = file.read_text()
    text = re.search(r'playText\(.*?, "([A-Za-z0-9+/=]+)", true\)', page)
    assert text
    assert zlib.decompress(base64.b64decode(text[1])) == link.packed()
    assert not re.search(r"""https?:|src=|href=|@import|fetch\(|XMLHttp|WebSocket""", page.replace(text[1], ""))
    assert "default-src 'none'" in page
    assert len(page) < 200_000


def test_a_page_that_would_be_too_large_is_refused_before_it_is_written(link: motion.Trace, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).random(400_000)
    large = replace(link, columns={**link.columns, "more": noise})
    (file := tmp_path / "large.html").write_text("before")
    said = r"makes a page of [34]\.\d MB; allowed: 3 MB: a shorter length of a link, fewer leechers or larger pieces"
    with pytest.raises(InputError, match=said):
        motion.save(large, file)
    assert file.read_text() == "before"


def test_the_largest_trace_fits_into_a_page(link: motion.Trace) -> None:
    noise = np.random.default_rng(1).bytes(traces.MOST_BYTES)  # what no compression makes shorter
    largest = replace(link, columns={**link.columns, "more": np.frombuffer(noise[link.nbytes :], np.uint8)})
    assert len(traces.page(largest)) <= traces.MOST_PAGE_BYTES


@pytest.mark.parametrize(("given", "field"), [(("no", "a.html"), "trace"), ((None, "a.png"), "path")])
def test_what_cannot_be_saved_is_said(link: motion.Trace, given: tuple[Any, str], field: str) -> None:
    with pytest.raises(InputError) as caught:
        motion.save(given[0] or link, given[1])
    assert caught.value.field == field
    with pytest.raises(InputError, match="is not a trace"):
        motion.show("queue.html")  # type: ignore[arg-type]


class _Frames(HTMLParser):
    """Collects what frames hold."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [dict(attrs)] if tag == "iframe" else []


def test_in_a_notebook_a_trace_is_a_player(link: motion.Trace) -> None:
    reader = _Frames()
    reader.feed(link._repr_html_())
    assert len(reader.found) == 1
    assert reader.found[0]["srcdoc"] == traces.page(link, framed=True).decode()
    assert reader.found[0]["title"] == f"Playback of {link.about['title']}"
    assert repr(link) == f"<Trace of a link: cubic:1, 0 to 3 s, {link.nbytes / 1000:,.0f} kB>"


def test_a_widget_takes_traces(link: motion.Trace) -> None:
    widget = motion.show(link)
    assert isinstance(widget, Motion)
    assert (widget.packed, widget.time, widget.playing) == (link.packed(), 0.0, False)
    later = replace(link, about={**link.about, "start": 2.0})
    widget.trace = later
    assert (widget.trace, widget.time) == (later, 2.0)  # its start, as 0 s is not in it
    widget.time = 3.5
    widget.trace = link
    assert widget.time == 0.0
    widget.trace = None
    assert widget.packed == b""
    assert Motion().trace is None


@pytest.mark.parametrize("length", [1e-4, 0.036, 1.0, 29.0, 36.0, 100.0, 3571.0, 86400.0])
def test_the_whole_of_it_takes_about_half_a_minute(length: float) -> None:
    pace = traces.pace(length)
    assert length / pace * (1 + 1e-9) >= 30.0
    assert length / pace <= 75.0 * (1 + 1e-9)
    assert re.fullmatch(r"[125]e[+-]\d\d", f"{pace:.0e}")


def test_the_command_line_writes_pages(tmp_path: Path, run: Run) -> None:
    link, swarm = tmp_path / "link.html", tmp_path / "swarm.html"
    part = ("--motion-start", "2 s", "--motion-length", "1 s")
    code, said, errors = run("link", "--flow", "cubic:1", "--duration", "5 s", "--motion", str(link), *part)
    assert (code, errors) == (0, "")
    assert "cubic" in said
    small = ("--set", "leechers=4", "--set", "file_size=1 MB")
    code, _, errors = run("run", "rao2010", *small, "--motion", str(swarm), "--fidelity", "flow")
    assert (code, errors) == (0, "")
    assert all("<title>" in file.read_text() for file in (link, swarm))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["link", "--flow", "cubic", "--motion", "{}.png"], "has the wrong ending"),
        (
            ["link", "--flow", "cubic", "--motion", "{}.html", "--motion-start", "99 s"],
            "--motion-start = '99 s': is not",
        ),
        (["link", "--flow", "cubic", "--motion", "{}.html", "--fidelity", "flow"], "fidelity has no packets to watch"),
        (
            ["link", "--flow", "cubic", "--motion-length", "9 s"],
            "--motion-length = '9 s': is of no use",
        ),
        (["run", "rao2010", "--set", "leechers=5000", "--motion", "{}.html"], "leechers makes 5,001 peers"),
    ],
)
def test_bad_options_are_said_before_any_work(words: list[str], said: str, tmp_path: Path, run: Run) -> None:
    code, printed, errors = run(*(word.format(tmp_path / "x") for word in words))
    assert (code, printed) == (2, "")
    assert said in errors
    assert errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_it_is_there_by_its_name() -> None:
    assert btflow.motion.record is motion.record
