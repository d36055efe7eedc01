"""Every figure in the form of a paper: of its width, without a title, readable in grey, and nothing overlaps."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.offline
import pytest
from browser import needs_browser
from figures_made import FIGURES
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser

from btflow import plots
from btflow.plots.panels import FONT, SMALL
from btflow.plots.paper import APART, luminance, on_paper, tell_apart
from btflow.plots.style import COLOURS, DASHES

COLUMN, PAGE = (width / 25.4 * 96 for width in (84, 174))
ALL = pytest.mark.parametrize("name", FIGURES)


def test_each_function_that_draws_is_there() -> None:
    draws = {name for name in plots.__all__ if inspect.isfunction(getattr(plots, name))}
    assert draws - {"save", "sweep_curves", "verdict"} == FIGURES.keys()


def sizes(node: Any, inside: str = "") -> Iterator[float]:
    """Give the size of every font of a figure's JSON."""
    if isinstance(node, dict):
        if inside.endswith("font") and "size" in node:
            yield node["size"]
        for key, part in node.items():
            yield from sizes(part, key)
    for part in node if isinstance(node, list | tuple) else ():
        yield from sizes(part, inside)


@ALL
def test_the_figure_is_of_the_width_in_fonts_of_print_and_what_was_given_is_not_changed(name: str) -> None:
    drawn = FIGURES[name]()
    before = drawn.to_json()
    for width in (COLUMN, PAGE):
        shown = on_paper(drawn, width)
        assert shown.layout.width == width
        assert shown.layout.title.text is None
        assert not shown.layout.updatemenus
        assert not shown.layout.sliders
        assert set(sizes(shown.to_plotly_json())) <= {FONT, SMALL}
    assert on_paper(drawn, COLUMN, 200.0).layout.height == 200.0
    assert drawn.to_json() == before


def looks(shown: go.Figure) -> Iterator[tuple[str, str, str]]:
    """Give name, colour and dash of every line that stands for something."""
    for trace in shown.data:
        if trace.type == "scatter" and "lines" in (trace.mode or "") and trace.line.width and trace.line.color:
            yield str(trace.legendgroup or trace.name), trace.line.color, trace.line.dash or "solid"


@ALL
def test_lines_differ_in_grey_by_their_dash_or_by_how_light_they_are(name: str) -> None:
    shown = on_paper(FIGURES[name](), COLUMN)
    solid = {look for look in looks(shown) if "rgba" not in look[1]}
    for one, other in combinations(sorted(solid), 2):
        alike = one[2] == other[2] and abs(luminance(one[1]) - luminance(other[1])) < APART
        assert not alike or one[1:] == other[1:], (one, other)


@given(st.lists(st.tuples(st.sampled_from(COLOURS), st.sampled_from(DASHES)), max_size=6, unique=True))
def test_six_lines_of_any_look_are_told_apart(given_looks: list[tuple[str, str]]) -> None:
    data: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "line": {"color": c, "dash": d}} for c, d in given_looks
    ]
    tell_apart(data)
    lines: list[dict[str, str]] = [dict(trace["line"]) for trace in data]
    for one, other in combinations(lines, 2):
        assert one["dash"] != other["dash"] or abs(luminance(one["color"]) - luminance(other["color"])) >= APART


OVERLAP = """async ([text]) => {
    const box = document.createElement('div'), given = JSON.parse(text);
    box.style.width = given.layout.width + 'px'; box.style.height = given.layout.height + 'px';
    document.body.replaceChildren(box);
    await Plotly.newPlot(box, given.data, given.layout, {staticPlot: true});
    const parts = (name, all) => [...box.querySelectorAll(all)].map(e => [name, e.getBoundingClientRect()])
        .filter(([_, r]) => r.width > 0 && r.height > 0);
    const found = [...parts('legend', '.legend .bg'), ...parts('axes', '.bglayer .bg, .plot .bg'),
        ...parts('panel title', '.annotation-text'), ...parts('axis title', '.infolayer g[class*=title] > text')];
    return [found.map(([n, r]) => [n, r.left, r.top, r.right, r.bottom]), [given.layout.width, given.layout.height]];
}"""


@pytest.mark.slow
@needs_browser
def test_nothing_overlaps_and_nothing_is_cut_off(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<body style='margin:0'></body>")
    page.add_script_tag(content=plotly.offline.get_plotlyjs())
    wrong: list[tuple[object, ...]] = []
    for name, make in FIGURES.items():
        for width in (COLUMN, PAGE):
            found, (right, bottom) = page.evaluate(OVERLAP, [on_paper(make(), width).to_json()])
            assert found
            for what, *box in found:
                if min(box) < -1 or box[2] > right + 1 or box[3] > bottom + 1:
                    wrong.append((name, width, what, "is cut off", box))
            for (one, *a), (other, *b) in combinations(found, 2):
                both = min(min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1]))
                if both > 2.0:
                    wrong.append((name, width, one, other, "overlap", both))
    assert not wrong


@pytest.mark.slow
@needs_browser
def test_a_pdf_is_of_the_width_and_a_png_of_300_dots_to_the_inch(tmp_path: Path) -> None:
    drawn = FIGURES["rates"]()
    plots.save(drawn, tmp_path / "f.pdf", width="84 mm", height="50 mm", style="paper")
    found = re.search(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", (tmp_path / "f.pdf").read_bytes())
    assert found
    points = [float(side) for side in found.groups()]
    assert points == pytest.approx([84 / 25.4 * 72, 50 / 25.4 * 72], abs=0.8)  # a pixel
    plots.save(drawn, tmp_path / "f.png", width="84 mm", style="paper")
    content = (tmp_path / "f.png").read_bytes()
    assert int.from_bytes(content[16:20]) == pytest.approx(84 / 25.4 * 300, abs=4)


def test_a_page_for_print_is_of_its_size_and_one_for_the_screen_as_wide_as_the_window(tmp_path: Path) -> None:
    drawn = FIGURES["rates"]()
    plots.save(drawn, tmp_path / "paper.html", width="84 mm", style="paper")
    plots.save(drawn, tmp_path / "screen.html")
    paper, screen = ((tmp_path / f"{name}.html").read_text() for name in ("paper", "screen"))
    assert '"responsive": false' in paper
    assert "max-width: 317px" in paper
    assert '"responsive": true' in screen
