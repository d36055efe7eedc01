"""The site's pages of notebooks: outputs in their places, solutions folded, links to other pages; and of lessons."""

from __future__ import annotations

from pathlib import Path

import nbformat
import nbformat.v4 as made
import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File
from mkdocs.structure.pages import Page

from btflow.explore.lesson import texts
from btflow.explore.still import PLOTLY
from tools.docs import lessons, notebooks

SOURCE = """# 3. Why?

See `docs/tcp.md` in the
sources, `validation/summary.md` in the sources and notebook 12, too."""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a notebook of the site, for which another one that has run is kept."""
    drawn = {PLOTLY: {"data": [{"y": [1, 2]}], "layout": {}}, "text/plain": "Figure()"}
    outputs = [made.new_output("stream", text="1 < 2\n"), made.new_output("execute_result", drawn)]
    hidden = {"tags": ["solution"]}
    cells = [
        made.new_markdown_cell(SOURCE),
        made.new_code_cell("draw()", outputs=outputs),
        made.new_markdown_cell('### Solution\n\n*Click "1 cell hidden" to unfold it.*'),
        made.new_code_cell("42", outputs=[made.new_output("execute_result", {"text/plain": "42"})], metadata=hidden),
        made.new_markdown_cell("**Figure 1.** Forty-two.", metadata=hidden),
    ]
    monkeypatch.setattr(notebooks, "RUN", tmp_path)
    notebooks.shown.cache_clear()
    path = notebooks.NOTEBOOKS[2]
    nbformat.write(made.new_notebook(cells=cells), notebooks.kept(path))
    return path


def content_of(path: Path, content: str) -> str:
    config = MkDocsConfig()
    config.load_dict({"site_name": "x", "use_directory_urls": False})
    file = File(f"notebooks/{path.stem}.md", src_dir=None, dest_dir="", use_directory_urls=False)
    return notebooks.on_page_content(content, Page(None, file, config))


def test_outputs_are_where_they_were(path: Path) -> None:
    markdown, outputs = notebooks.shown(path)
    assert markdown.index("draw()") < markdown.index("@output 0@") < markdown.index("@output 1@")
    assert "1 &lt; 2" in outputs[0]
    assert 'class="btflow-still"' in outputs[1]
    content = content_of(path, "".join(f"<p>@output {number}@</p>" for number in range(3)))
    assert content.startswith("".join(outputs))
    assert content.endswith(notebooks.SCRIPTS)


def test_solutions_are_folded(path: Path) -> None:
    markdown = notebooks.shown(path).markdown
    begin, end = markdown.index("<details"), markdown.index("</details>")
    assert begin < markdown.index("42") < markdown.index("@output 2@") < markdown.index("Forty-two") < end
    assert markdown.count("<details") == 1
    assert "Click" not in markdown


def test_pages_and_notebooks_are_linked(path: Path) -> None:
    markdown = notebooks.shown(path).markdown
    assert "See [tcp](../tcp.md), [summary](../validation/summary.md) and [notebook 12](12_fluid.md)" in markdown
    assert markdown.startswith("# 3. Why?\n")
    assert f"files/{path.stem}.html" in markdown


def test_without_outputs_it_says_so(path: Path) -> None:
    notebooks.kept(path).unlink()
    notebooks.shown.cache_clear()
    markdown, outputs = notebooks.shown(path)
    assert "Without outputs" in markdown
    assert outputs == []
    notebooks.shown.cache_clear()


def test_lessons_are_listed_with_those_that_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "MOVING", tmp_path)
    assert "(lessons/" not in lessons.page()
    (tmp_path / "aqm.html").write_text("")
    page = lessons.page()
    assert "[Watch it](lessons/aqm.html)" in page
    assert "(lessons/ledbat.html)" not in page
    for name, said in texts().items():
        assert f"{{ #{name} }}" in page
        assert all(step["ask"] in page and step["why"] in page for step in said["steps"])
