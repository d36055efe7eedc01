"""Terms, names and sentences of figures: the glossary has the same, and nothing that is drawn goes without."""

from __future__ import annotations

import re
from pathlib import Path

import plotly.graph_objects as go
import pytest
import xarray as xr

import btflow
from btflow import plots
from btflow.plots import words

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    flows = ["cubic:1,name=first", "newreno:2", "ledbat:1@10s"]
    return btflow.simulate_link(rate="1 Mbit/s", buffer="50 packets", flows=flows, voip=["g711"], duration="30 s")


def test_the_glossary_has_the_terms_of_figures() -> None:
    _, _, section = GLOSSARY.read_text(encoding="utf-8").partition("\n## Legends of figures\n")
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", section.partition("\n## ")[0], re.MULTILINE)
    assert dict(rows[2:]) == words.TERMS


def test_every_congestion_control_is_spelled_and_explained() -> None:
    folder = Path(btflow.__file__).parents[1] / "models" / "congestion"
    names = [path.stem for path in folder.glob("*.toml") if path.stem != "tcp-linux"]
    assert len(names) > 20
    for name in names:
        assert words.spelled(name) != name
        if "tcp" not in name.split("-"):  # OPNET's is explained by nobody
            assert words.of_control(name)
    assert [words.spelled(name) for name in ("cubic-2.6", "utp-2013", "ns3-linuxreno", "ledbatpp", "mine")] == [
        "CUBIC 2.6", "uTP 2013", "ns-3 Linux Reno", "LEDBAT++", "mine",
    ]  # fmt: skip
    assert words.of_control("mine") == ""


@pytest.mark.parametrize(
    ("flow", "cc", "kind", "name"),
    [
        ("first", "cubic", "long", "first, CUBIC"),
        ("cubic", "cubic", "long", "CUBIC"),
        ("reno-linux-2", "reno-linux", "long", "Reno Linux 2"),
        ("upload-2", "newreno", "long", "upload-2, NewReno"),
        ("voip", "udp", "voip", "VoIP"),
        ("first-call", "udp", "voip", "first-call"),
    ],
)
def test_a_flow_is_named_once(flow: str, cc: str, kind: str, name: str) -> None:
    assert words.flow_name(flow, cc, kind) == name


def of_links(result: xr.Dataset) -> list[go.Figure]:
    """Return the figures of a link experiment."""
    views = (plots.windows, plots.rates, plots.queue, plots.call_over_time, plots.queue_ccdf, plots.link_overview)
    return [view(result) for view in views]


def of_swarms() -> list[go.Figure]:
    """Return the figures of a swarm on access links and one without."""
    linked = btflow.simulate(btflow.load("flashcrowd", leechers=3, file_size="512 KiB"))
    bare = btflow.simulate(btflow.load("rao2010", leechers=3, file_size="512 KiB"))
    views = (plots.completion_cdf, plots.pieces_over_time, plots.why_slow)
    return [
        *(view(linked) for view in (*views, plots.uplink_queue_ccdf, plots.completion_by_rank)),
        plots.overview(bare),
    ]


def test_what_a_pointer_is_on_is_said_in_a_sentence_with_units(result: xr.Dataset) -> None:
    for drawn in [*of_links(result), *of_swarms()]:
        for trace in drawn.data:
            if trace.hoverinfo == "skip" or trace.type == "box":
                continue
            assert trace.hovertemplate, (drawn.layout.title.text, trace.name)
            assert trace.hovertemplate.endswith("<extra></extra>")
            assert re.search(
                r"\} ?(%|s|ms|B|kbit/s|Mbit/s|segments|pieces|packets|complete|dropped|to complete)",
                trace.hovertemplate,
            ) or ("opinion score" in trace.hovertemplate)


def test_marks_and_lines_explain_their_terms(result: xr.Dataset) -> None:
    found = {trace.name: trace.meta for drawn in of_links(result)[:3] for trace in drawn.data if trace.meta}
    assert found["first, CUBIC"].startswith("CUBIC: ")
    assert {"slow start", "recovery", "drop", "capacity", "NewReno 1", "home.uplink"} <= found.keys()
    assert set(found.values()) <= {f"{term}: {meaning}" for term, meaning in words.TERMS.items()}


def test_shares_are_said_as_people_do() -> None:
    assert words.shares([0, 25, 37.2, 50, 100]) == ["none", "a quarter", "37%", "half", "all"]


@pytest.mark.parametrize(
    ("title", "parts"),
    [("file size [MB]", ("file size", " MB")), ("loss [%] (log scale)", ("loss", "%")), ("slots", ("slots", ""))],
)
def test_titles_are_parted_from_their_units(title: str, parts: tuple[str, str]) -> None:
    assert words.parted(title) == parts
