"""Each notebook is a lesson of one form, stored without outputs, and runs clean, without a network, leaving no file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import browser
import nbformat
import pytest
from exported import figures_shown
from nbconvert.exporters import get_exporter
from nbformat import NotebookNode
from nbmake.nb_run import NotebookRun

from btflow.explore.still import HTML, PLOTLY
from validation.served import PATIENCE

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
CAPTION = re.compile(r"\*{0,2}Figure (\d+)\.")
UNIT = re.compile(r"\[.+\]")
WIDGET = "application/vnd.jupyter.widget-view+json"

COUNTS = {
    "GAIN",
    "LEDBAT flows",
    "mean opinion score of the call, from 1 to 4.5",
    "number of leechers",
    "packets waiting",
    "paths with at most this",
    "pieces held, mean over the leechers",
    "share of the variance",
    "slowdown",
}
NAMES = {"at the cursor", "buffer of the downlink", "congestion control of the upload", "discipline of the uplink"}
NAMES |= {"message", "sender", "uploads, from the slowest to the fastest"}
"""Titles of the axes that have no unit: of numbers, and of what is called by a name."""

OFFLINE = """
import socket

def getaddrinfo(host, *args, asked=socket.getaddrinfo, **more):
    if host not in (None, "", "localhost", "127.0.0.1", "::1"):
        raise OSError(f"a notebook asked the network for {host}")
    return asked(host, *args, **more)

socket.getaddrinfo = getaddrinfo
"""
"""Run in each kernel before the notebook is."""

each = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@each
def test_has_a_question_captions_and_an_exercise_with_a_hidden_solution(path: Path) -> None:
    cells = read(path).cells
    assert cells[0].source.startswith("# ")
    assert "?" in cells[0].source
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    captions = [found.group(1) for text in texts if (found := CAPTION.match(text))]
    assert captions == [str(number) for number in range(1, len(captions) + 1)] != []
    headings = " ".join(line.lower() for text in texts for line in text.splitlines() if line.startswith("#"))
    assert all(part in headings for part in ("exercise", "try next", "leaves out"))
    solutions = [number for number, cell in enumerate(cells) if "solution" in cell.metadata.get("tags", ())]
    assert solutions
    assert solutions == list(range(solutions[0], solutions[-1] + 1))
    for number in solutions:
        if cells[number].cell_type == "code":
            assert cells[number].metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    below = cells[solutions[-1] + 1]
    assert not CAPTION.match(below.source)  # it would give the solution away
    heading = cells[solutions[0] - 1]
    assert heading.source.startswith("### Solution")
    assert "unfold" in heading.source
    # JupyterLab shows the output again when the cell runs, but nothing below a heading that is collapsed.
    assert heading.metadata == {"jp-MarkdownHeadingCollapsed": True}


@each
def test_is_stored_without_outputs_and_with_its_kernel(path: Path) -> None:
    notebook = read(path)
    assert notebook.metadata.kernelspec == {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    }
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)


@pytest.mark.slow
@each
def test_runs_clean(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, profile = tmp_path / "folder", tmp_path / "ipython"
    startup = profile / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-offline.py").write_text(OFFLINE)
    monkeypatch.setenv("IPYTHONDIR", str(profile))
    folder.mkdir()
    copy = Path(shutil.copy(path, folder))
    done = NotebookRun(copy, default_timeout=PATIENCE).execute()
    assert done.error is None, done.error.trace if done.error else ""
    assert list(folder.iterdir()) == [copy]
    check_outputs(done.nb.cells)
    if browser.INSTALLED:
        check_export(done.nb, tmp_path / "page.html", path.stem)


def read(path: Path) -> NotebookNode:
    """Return a notebook that is as its format wants it."""
    notebook: NotebookNode = nbformat.read(path, nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    return notebook


def check_outputs(cells: list[NotebookNode]) -> None:
    """Each figure, live or not, has units and a caption below it; each solution shows something; nothing warns."""
    for cell, below in zip(cells, [*cells[1:], None], strict=True):
        if cell.cell_type != "code":
            continue
        drawn = [output.data[PLOTLY] for output in cell.outputs if PLOTLY in output.get("data", {})]
        live = [output for output in cell.outputs if WIDGET in output.get("data", {})]
        played = [output for output in cell.outputs if "<iframe" in output.get("data", {}).get("text/html", "")]
        for figure in drawn:
            titles = axis_titles(figure["layout"])
            assert figure["data"]
            assert titles
            assert not [title for title in titles if not UNIT.search(title) and title not in COUNTS | NAMES]
        assert all(figure["layout"].get("height") for figure in drawn)  # else 360 px in JupyterLab
        printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
        assert not [output for output in cell.outputs if output.get("name") == "stderr"], printed
        if "solution" in cell.metadata.get("tags", ()):
            assert cell.outputs
        assert all(HTML in output.data for output in live)
        captioned = below is not None and below.cell_type == "markdown" and bool(CAPTION.match(below.source))
        assert captioned == bool(drawn or live or played), cell.source


def check_export(notebook: NotebookNode, page: Path, name: str) -> None:
    """A file for those who have no kernel and no network shows each figure; a solution's once it is unfolded."""
    text, _ = get_exporter("btflow")().from_notebook_node(notebook)
    page.write_text(text, encoding="utf-8")
    figures = text.partition('id="plotly"')[0].count('class="btflow-still"')
    with browser.chromium() as chromium:
        for size in (browser.LAPTOP, browser.PHONE):
            with browser.page(chromium, size) as shown:
                hidden = figures - figures_shown(shown, page)
                assert hidden == shown.locator("details .btflow-still").count()
                assert shown.evaluate("document.documentElement.scrollWidth") <= size[0]
                browser.screenshot(shown, f"notebook-{name}-{size[0]}")


def axis_titles(layout: NotebookNode) -> list[str]:
    """Return the titles of a figure's axes."""
    axes = [axis for name, axis in layout.items() if re.match(r"[xy]axis\d*$", name)]
    return [text for axis in axes if (text := axis.get("title", {}).get("text"))]
