"""One word for one thing: what docs/glossary.md says is not used for a term stands nowhere that people read."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from figures_made import FIGURES
from typer.testing import CliRunner

from btflow.cli.app import app
from btflow.config.catalog import any_document, names

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]*)\(not: ([^)]+)\)", GLOSSARY, re.MULTILINE)
STRAYS = {word.strip(): term for term, _, words in ROWS for word in words.split(",")}
"""By a word that is not used: the term in its place."""

LEFT = {"docs/glossary.md"}
"""The glossary itself."""

CODE = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|^\s*>>>.*$|\w+\.py\b", re.DOTALL | re.MULTILINE)
"""What is no prose: code, formulas, addresses and files."""


def strays(text: str) -> list[str]:
    """Return the words of a text that the glossary has another term for."""
    prose = CODE.sub(" ", text)
    found = re.compile(rf"\b({'|'.join(map(re.escape, STRAYS))})\b", re.IGNORECASE).finditer(prose)
    return [f"{m[0]} ({STRAYS[m[0].lower()]}): ...{prose[max(0, m.start() - 40) : m.end() + 20]}..." for m in found]


def pages() -> list[Path]:
    return [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").glob("*.md")) if f"docs/{p.name}" not in LEFT)]


def test_the_glossary_says_what_is_not_used() -> None:
    assert {"cap", "latency", "utilization", "downloader"} <= STRAYS.keys()
    found = [stray.partition(":")[0] for stray in strays("An upload cap of a low-latency line, uncapped")]
    assert found == ["upload cap (upload limit)", "latency (RTT, SRTT, RTTVAR)", "uncapped (upload limit)"]
    assert strays("`cap` $latency$ [here](cap.md) capacity") == []


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_pages(path: Path) -> None:
    assert strays(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert [s for c in cells if c["cell_type"] == "markdown" for s in strays("".join(c["source"]))] == []


def said(node: Any) -> Iterator[str]:
    """Give what a model file says to people: its title, and the meanings of its parameters."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("title", "meaning") and isinstance(value, str):
                yield value
            else:
                yield from said(value)


def test_model_files() -> None:
    files = sorted((ROOT / "models").glob("*/*.toml"))
    texts = {p.name: text for p in files for text in said(tomllib.loads(p.read_text(encoding="utf-8")))}
    assert {name: found for name, text in texts.items() if (found := strays(text))} == {}


@pytest.mark.parametrize("command", ["", "list", "run", "sweep", "link", "export", "calibrate", "schema", "explore"])
def test_help(command: str) -> None:
    assert strays(CliRunner().invoke(app, [*command.split(), "--help"]).output) == []


def texts(node: Any) -> Iterator[str]:
    """Give the titles, texts and names of a figure's JSON."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("text", "name") and isinstance(value, str):
                yield value
            else:
                yield from texts(value)
    for part in node if isinstance(node, list | tuple) else ():
        yield from texts(part)


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str) -> None:
    shown = FIGURES[name]()
    assert [s for text in texts(shown.to_plotly_json()) for s in strays(text)] == []


def test_rates_of_links_are_in_bits() -> None:
    for name in names("links"):
        assert not [t for t in any_document(name).build({}).parameters.values() if re.search(r"\dB/s|[kM]B/s", t)]
    for name in ("link_overview", "queue", "rates", "windows"):
        assert not [text for text in texts(FIGURES[name]().to_plotly_json()) if "B/s" in text]
    said_of = CliRunner().invoke(app, ["link", "--flow", "cubic", "--duration", "2 s"]).output
    assert "Mbit/s" in said_of
    assert "B/s" not in said_of
