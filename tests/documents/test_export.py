"""A notebook that has run becomes one HTML file: figures, equations, folded solutions, and nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import browser
import nbformat.v4 as made
import pytest
from exported import figures_shown
from nbconvert.exporters import get_exporter
from nbformat import NotebookNode

import btflow
from btflow import plots
from btflow.explore import mathml
from btflow.explore.still import HTML, PLOTLY

LEGIBLE = """() => {
  const grey = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map(Number); return (r + g + b) / 3; };
  const clear = (colour) => /, 0\\)$/.test(colour);
  const behind = (el) => { const colour = getComputedStyle(el).backgroundColor;
    return clear(colour) && el.parentElement ? behind(el.parentElement) : colour; };
  const shown = ".xr-obj-type, .xr-section-summary, .xr-var-name span, .xr-var-dtype, .xr-var-preview";
  const differ = (el) => Math.abs(grey(getComputedStyle(el).color) - grey(behind(el)));
  return [...document.querySelectorAll(shown)].map((el) => differ(el) > 90);
}"""
"""Whether each part of a dataset is much lighter or darker than what is behind it."""


def notebook() -> NotebookNode:
    """Return a notebook as if it had run: a figure, a widget with stills, an equation and a solution."""
    run = btflow.simulate_link(flows="cubic", duration="5 s")
    widget = btflow.load_link("bufferbloat").set(duration="5 s").explore()
    assert widget.canvas.wait()
    bundle = widget._repr_mimebundle_()
    drawn = made.new_output("execute_result", {PLOTLY: plots.queue(run).to_plotly_json()})
    live = made.new_output("execute_result", bundle)
    hidden = {"tags": ["solution"]}
    cells = [
        made.new_markdown_cell("# 1. How long & why?\n\nWith $q < B$ and $$T = \\text{base\\_delay} + \\frac{q}{C}$$"),
        made.new_code_cell("plots.queue(run)", outputs=[drawn]),
        made.new_code_cell("model.explore()", outputs=[live]),
        made.new_markdown_cell('### Solution\n\n*Click "1 cell hidden" to unfold it, then the bar.*'),
        made.new_code_cell("print(42)", outputs=[made.new_output("stream", text="42 </script>\n")], metadata=hidden),
        made.new_markdown_cell("**Figure 3.** Forty-two.", metadata=hidden),
        made.new_code_cell("run", outputs=[made.new_output("execute_result", {HTML: run._repr_html_()})]),
    ]
    found: NotebookNode = made.new_notebook(cells=cells)
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text, _ = get_exporter("btflow")().from_notebook_node(notebook())
    path = tmp_path_factory.mktemp("exported") / "notebook.html"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_live_figure_has_stills_beside_it() -> None:
    live = notebook().cells[2].outputs[0].data
    assert {"application/vnd.jupyter.widget-view+json", HTML} <= set(live)
    assert live[HTML].count('class="btflow-still"') == 4
    assert "jupyter nbconvert --to btflow" in live[HTML]  # what is read where nothing draws them


def test_the_page_has_all_that_it_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    before = text.partition('id="plotly"')[0]
    assert before.count('class="btflow-still"') == 5
    assert "<title>1. How long &amp; why?</title>" in before
    assert "<math" in before
    assert "base_delay" in before
    assert not re.search(r"\$|\\frac", before.partition("</h1>")[2].partition("</p>")[0])
    assert before.count('<details class="solution"') == 1
    assert before.index("<details") < before.index("Forty-two") < before.index("</details>")
    assert before.count("in JupyterLab") == 1
    assert "Click" not in before
    assert "42 &lt;/script&gt;" in before
    assert len(text) < 3_000_000
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    assert not re.findall(r"@import|url\(\s*['\"]?https?:", before)


def test_a_page_without_figures_has_no_plotly() -> None:
    plain = made.new_notebook(cells=[made.new_markdown_cell("# Nothing is drawn")])
    text, _ = get_exporter("btflow")().from_notebook_node(plain)
    assert len(text) < 20_000


def test_parts_of_an_equation_go_below_each_other() -> None:
    assert mathml.block(r"a = b \qquad c = d").count("<div>") == 2


@pytest.mark.slow
@browser.needs_browser
def test_the_page_is_read_from_disk_without_a_network(page: Path) -> None:
    with browser.chromium() as chromium:
        for name, size in (("laptop", browser.LAPTOP), ("phone", browser.PHONE)):
            with browser.page(chromium, size) as shown:
                assert figures_shown(shown, page) == 5
                browser.screenshot(shown, f"export-{name}")
                assert shown.evaluate("document.documentElement.scrollWidth") <= size[0]
                for scheme in ("light", "dark"):
                    shown.emulate_media(color_scheme=scheme)
                    legible = shown.evaluate(LEGIBLE)
                    assert len(legible) > 10
                    assert all(legible), f"{name}, {scheme}"
                assert not shown.locator("details pre").first.is_visible()
                shown.locator("summary").click()
                assert shown.locator("details pre").first.is_visible()
