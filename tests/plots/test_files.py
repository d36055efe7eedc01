"""Figures are written as pictures where Kaleido finds a Chromium, and otherwise the error comes before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import link_dataset
import made
import plotly.graph_objects as go
import pytest
from browser import chromium, needs_browser, page
from program import Run

from btflow import plots
from btflow.errors import InputError
from btflow.plots.words import TERMS


def drawn() -> go.Figure:
    return plots.completion_cdf(made.dataset())


@pytest.mark.slow
@needs_browser
def test_a_figure_becomes_a_picture_of_its_size(tmp_path: Path) -> None:
    plots.save(drawn(), tmp_path / "figure.png")
    content = (tmp_path / "figure.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(content[16:20]), int.from_bytes(content[20:24])) == (1800, 1120)  # 900 by 560, twice
    plots.save(drawn(), tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    assert text.startswith("<svg")
    assert "completion time [s]" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.png", "figure.svg"]


@pytest.mark.slow
@needs_browser
def test_the_command_line_writes_pictures(tmp_path: Path, run: Run) -> None:
    code, _, error = run("link", "--flow", "cubic", "--duration", "5 s", "--plot", str(tmp_path / "link.pdf"))
    assert (code, error) == (0, "")
    assert (tmp_path / "link.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ("btflow.files.find_spec", r"needs Kaleido, which is not installed.*image.*\.html"),
        (
            "choreographer.browsers.chromium.Chromium.find_browser",
            r"needs a Chromium to be drawn with.*BROWSER_PATH.*\.html",
        ),
        ("BROWSER_PATH", r"path = .*BROWSER_PATH, .*chromium, is no program; allowed: "),
    ],
)
def test_without_what_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str, said: str) -> None:
    if lacks == "BROWSER_PATH":
        monkeypatch.setenv(lacks, str(tmp_path / "chromium"))
    else:
        monkeypatch.setattr(lacks, lambda *_, **__: None)
    with pytest.raises(InputError, match=said):
        plots.save(drawn(), tmp_path / "figure.png")
    assert not list(tmp_path.iterdir())


def test_a_browser_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> bytes:
        raise RuntimeError("the browser is gone")

    (tmp_path / "figure.png").write_text("before")
    monkeypatch.setattr("btflow.plots.files.check_drawable", lambda *_: None)
    monkeypatch.setattr("kaleido.calc_fig", fail)
    with pytest.raises(OSError, match="could not be drawn: the browser is gone"):
        plots.save(drawn(), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_text() == "before"


@pytest.mark.parametrize("path", ["figure.gif", "figure", 3])
def test_what_is_saved_by_its_ending_has_one_that_is_known(path: object) -> None:
    with pytest.raises(InputError, match=r"path = .*\.html or \.png or \.svg or \.pdf"):
        plots.save(drawn(), path)  # type: ignore[arg-type]  # wrong on purpose


def test_what_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a figure"):
        plots.save(made.dataset(), tmp_path / "figure.png")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": "84"}, "width = '84': has no unit; allowed: a length from 3 cm to 1 m, such as \"84 mm\""),
        ({"width": "84 furlongs"}, r"width = '84 furlongs': has the unknown unit .* \(known: mm, cm, in, pt, px, m\)"),
        ({"width": 84}, "width = 84: has no unit"),
        ({"height": "1 mm"}, "height = '1 mm': is out of range"),
        ({"style": "print"}, "style = 'print': is unknown; allowed: paper or screen"),
    ],
)
def test_a_size_or_a_style_that_is_wrong(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}"):
        plots.save(drawn(), tmp_path / "figure.html", **options)
    with pytest.raises(InputError, match="in a folder that exists and is writable"):
        plots.save(drawn(), tmp_path / "no" / "figure.html")
    assert not list(tmp_path.iterdir())


_ENTRIES = """() => Object.fromEntries([...document.querySelectorAll('.legend .traces')].map(
  entry => [entry.querySelector('.legendtext').textContent, entry.querySelector('title')?.textContent ?? '']))"""


@pytest.mark.slow
@needs_browser
def test_a_page_explains_the_terms_of_its_legend(tmp_path: Path) -> None:
    result = link_dataset.dataset(3)
    plots.save(plots.rates(result), tmp_path / "figure.html")
    with chromium() as browser, page(browser) as shown:
        shown.goto((tmp_path / "figure.html").as_uri())
        shown.wait_for_selector(".legend .traces title", state="attached")
        said = shown.evaluate(_ENTRIES)
        assert said["capacity"] == f"capacity: {TERMS['capacity']}"
        assert said["LEDBAT 2"] == f"LEDBAT: {TERMS['LEDBAT']}"
        entry = shown.get_by_role("button", name="capacity: what the link can send")
        entry.focus()
        shown.keyboard.press("Enter")
        shown.wait_for_function("document.querySelector('.js-plotly-plot').data.at(-1).visible === 'legendonly'")
        assert shown.evaluate(_ENTRIES)["capacity"]  # drawn anew, and explained again
