"""Pages that are better looked at than read have figures, and these are what is drawn now."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from docs_pages import ROOT

from btflow.errors import InputError
from validation import call_figure, docs_figures

_IMAGE = re.compile(r"!\[([^\]]+)\]\((figures/[^)]+)\)")
LARGEST = 110_000
"""Bytes of a figure."""


@pytest.mark.parametrize("name", ["index", "tutorial", "ledbat", "queues", "explorer", "sweeps", "accuracy"])
def test_a_page_has_a_figure_that_is_described(name: str) -> None:
    found = _IMAGE.findall((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))
    assert found
    assert all(len(said.split()) >= 5 for said, _ in found)
    assert all((ROOT / "docs" / path).is_file() for _, path in found)


@pytest.mark.parametrize("name", docs_figures.FIGURES)
def test_a_figure_is_small_and_is_on_a_page(name: str) -> None:
    path = docs_figures.FOLDER / f"{name}.svg"
    assert path.stat().st_size < LARGEST
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"](figures/{name}.svg)" in text for text in pages)


def test_the_readmes_picture_is_what_comes_out_now() -> None:
    assert call_figure.FIGURE.read_text(encoding="utf-8") == call_figure.svg()
    assert "docs/figures/call.svg" in (ROOT / "README.md").read_text(encoding="utf-8").partition("```")[0]


def test_only_the_long_queue_ruins_the_call() -> None:
    long, short, fair = (call_figure.found(queue) for queue in call_figure.QUEUES)
    assert long.score < 2 < 4 < short.score < fair.score
    assert long.rate == pytest.approx(short.rate, rel=0.01) == pytest.approx(fair.rate, rel=0.01)


def test_a_score_has_the_words_of_the_standard() -> None:
    assert [call_figure.words(score) for score in (4.4, 4.1, 3.7, 3.2, 2.6, 1.0)] == [
        *("very satisfied", "satisfied", "some dissatisfied", "many dissatisfied", "nearly all dissatisfied"),
        "unusable",
    ]


def test_figures_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="NAME = 'ledbats'"):
        docs_figures.render(["ledbats"], tmp_path)
    assert not list(tmp_path.iterdir())
