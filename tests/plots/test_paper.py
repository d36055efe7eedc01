"""Every figure in the form of a paper: of its width, without a title, readable in grey, and nothing overlaps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import made
import numpy as np
import plotly.graph_objects as go
import plotly.offline
import pypdfium2 as pdfium
import pytest
from browser import needs_browser
from figures_made import FIGURES
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from playwright.sync_api import Browser

from btflow import plots
from btflow.errors import InputError
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


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., pdfium.PdfPage]]:
    """Give what saves a figure as a PDF and opens its one page."""
    found: list[pdfium.PdfDocument] = []

    def save_and_open(drawn: go.Figure, **how: Any) -> pdfium.PdfPage:
        plots.save(drawn, tmp_path / "f.pdf", **how)
        found.append(pdfium.PdfDocument((tmp_path / "f.pdf").read_bytes()))
        assert len(found[-1]) == 1
        return found[-1][0]

    yield save_and_open
    for document in found:
        document.close()


Opened = Callable[..., pdfium.PdfPage]


def _extent(dark: NDArray[np.bool_]) -> tuple[int, int]:
    """Return how far dark dots are from the first and from the last dot of their row or column."""
    found = np.flatnonzero(dark)
    return int(found[0]), int(dark.size - 1 - found[-1])


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("size", [{"width": "84 mm", "height": "50.3 mm"}, {"width": "178 mm"}, {}])
def test_what_is_drawn_fills_the_page_of_a_pdf(opened: Opened, size: dict[str, str]) -> None:
    frame = {"type": "rect", "xref": "paper", "yref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "line": {"width": 4}}
    margin = {"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False}
    page = opened(go.Figure(layout={"shapes": [frame], "margin": margin, "width": 900, "height": 560}), **size)
    dots = page.render(scale=4).to_numpy().min(axis=2) < 128
    for way in (0, 1):
        assert max(_extent(dots.any(axis=way))) <= 3  # a pixel has 3 dots
    expected = 84 if "height" in size else 178 if size else 900 / 96 * 25.4
    assert page.get_width() / 72 * 25.4 == pytest.approx(expected, abs=0.27)  # a pixel


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("across", [84, 178])
def test_texts_of_a_pdf_are_where_a_browser_draws_them_and_whole(opened: Opened, browser: Browser, across: int) -> None:
    drawn = FIGURES["rates"]()
    page = opened(drawn, width=f"{across} mm", style="paper")
    texts = page.get_textpage()
    shown = browser.new_page()
    shown.set_content("<body style='margin:0'></body>")
    shown.add_script_tag(content=plotly.offline.get_plotlyjs())
    found, (right, bottom) = shown.evaluate(OVERLAP, [on_paper(drawn, round(across / 25.4 * 96)).to_json()])
    assert (page.get_width(), page.get_height()) == pytest.approx((right * 0.75, bottom * 0.75), abs=0.75)
    boxes = [box for what, *box in found if what == "axis title"]
    for text, box in zip(("time [s]", "rate [kbit/s]"), sorted(boxes, key=lambda box: box[3] - box[1]), strict=True):
        at = texts.search(text).get_next()
        assert at
        letters = [texts.get_charbox(at[0] + n) for n in range(at[1]) if text[n] != " "]
        left, low, end, high = (take(one[side] for one in letters) for side, take in enumerate((min, min, max, max)))
        inside = [left / 0.75, (page.get_height() - high) / 0.75, end / 0.75, (page.get_height() - low) / 0.75]
        along = (0, 2) if text == "time [s]" else (1, 3)
        assert [inside[side] for side in along] == pytest.approx([box[side] for side in along], abs=2.0)
        ends_of_box = zip(inside, box[:2] * 2, box[2:] * 2, strict=True)
        assert all(least - 1 <= place <= most + 1 for place, least, most in ends_of_box)


@pytest.mark.slow
@needs_browser
def test_a_png_has_300_dots_to_the_inch_and_an_ending_may_be_in_capitals(tmp_path: Path) -> None:
    plots.save(FIGURES["rates"](), tmp_path / "f.PNG", width="84 mm", style="paper")
    content = (tmp_path / "f.PNG").read_bytes()
    assert int.from_bytes(content[16:20]) == pytest.approx(84 / 25.4 * 300, abs=4)


def test_a_width_that_makes_a_figure_higher_than_a_page_is_refused_unless_its_height_is_given(tmp_path: Path) -> None:
    drawn = FIGURES["overview"]()
    with pytest.raises(InputError, match=r"^width = '84 mm': makes it \d+ mm high, more than a page.*178 mm"):
        plots.save(drawn, tmp_path / "f.html", style="paper")
    plots.save(drawn, tmp_path / "wide.html", style="paper", width="178 mm")
    plots.save(drawn, tmp_path / "high.html", style="paper", height="400 mm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["high.html", "wide.html"]


def test_a_legend_keeps_its_title_and_has_room_for_it() -> None:
    drawn = FIGURES["completion_cdf"]()
    heights = []
    for title in ("", "upload limit of every leecher"):
        shown = on_paper(drawn.update_layout(legend_title_text=title), COLUMN)
        assert (shown.layout.legend.title.text or "") == title
        heights.append(shown.layout.margin.t)
    assert heights[1] > heights[0] + SMALL


def test_a_scale_of_colours_has_a_title_in_lines_that_fit_beside_it() -> None:
    drawn = FIGURES["heat_map"]()
    drawn.data[0].colorbar.title.text = "mean completion time of the downloads that count [s]"
    shown = on_paper(drawn, COLUMN)
    inside = shown.layout.height - shown.layout.margin.t  # and a little less
    lines = shown.data[0].colorbar.title.text.split("<br>")
    assert " ".join(lines) == drawn.data[0].colorbar.title.text
    assert max(map(len, lines)) * 0.56 * SMALL <= inside


def test_ticks_that_are_words_are_not_broken_inside() -> None:
    texts = ["10", "20", "50", "100", "200", "unlimited"]
    drawn = go.Figure(go.Scatter(x=list(range(6)), y=[1] * 6))
    drawn.update_xaxes(tickvals=list(range(6)), ticktext=texts, range=[-0.5, 5.5])
    assert on_paper(drawn, COLUMN).layout.xaxis.ticktext == tuple(texts)


def test_areas_of_like_greys_differ_in_their_hatch_and_drops_are_above_the_queue() -> None:
    results = {name: made.dataset(upload_limit=name) for name in ("10 kB/s", "20 kB/s", "50 kB/s")}
    shown = on_paper(plots.pieces_over_time(results), COLUMN)
    assert len({trace.fillpattern.shape for trace in shown.data if trace.fill == "tonexty"}) == 3
    drawn = FIGURES["queue"]()
    queue = on_paper(drawn, COLUMN)
    (waiting, given), (_, drops) = ([t for t in f.data if t.name in ("home.uplink", "drop")] for f in (drawn, queue))
    assert len(drops.y) == len(given.x)
    assert max(waiting.y) < min(drops.y) < queue.layout.yaxis.range[1]
    one, other = (f.layout.yaxis2.range[1] / f.layout.yaxis.range[1] for f in (drawn, queue))
    assert one == pytest.approx(other)


def test_a_page_for_print_is_of_its_size_and_one_for_the_screen_as_wide_as_the_window(tmp_path: Path) -> None:
    drawn = FIGURES["rates"]()
    plots.save(drawn, tmp_path / "paper.html", width="84 mm", style="paper")
    plots.save(drawn, tmp_path / "screen.html")
    paper, screen = ((tmp_path / f"{name}.html").read_text() for name in ("paper", "screen"))
    assert '"responsive": false' in paper
    assert "max-width: 317px" in paper
    assert '"responsive": true' in screen
