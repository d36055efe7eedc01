"""Writes figures, for the screen and for print: HTML always, pictures where Kaleido finds a Chromium to draw them."""

import asyncio
import html
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import plotly.graph_objects as go

from btflow.errors import InputError
from btflow.files import PICTURES, check_drawable, replacing
from btflow.options import output_file
from btflow.plots.paper import on_paper
from btflow.plots.style import CONFIG
from btflow.units import parse_quantity

DOTS = 2.0
"""Dots of a PNG for each pixel of a figure on the screen: sharp on paper at the width of a column."""

PRINTED = 300 / 96
"""Likewise of one for print: 300 to the inch, what journals ask for of pictures in colour."""

COLUMN = "84 mm"
"""Width of a column of many journals."""

TALLEST = 250
"""Most height of a figure for print [mm]: what a page of A4 leaves between margins of 2 cm."""

LEAST, MOST = 0.03, 1.0
"""Of the width and the height [m]."""

Style = Literal["paper", "screen"]

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<style>body {{ min-width: {least}px; max-width: {width}px; margin: 0 auto; background: white; }}</style></head>
<body>{figure}</body>
</html>
"""


def legend_script() -> str:
    """Return the JavaScript of ``explainLegend``, which gives each entry of a legend what its term means."""
    return (files("btflow.plots") / "legend.js").read_text(encoding="utf-8")


_NO_RIM = "<style>@page { margin: 0 } img { display: block }</style>"

_EXPLAIN = """{
  const plot = document.getElementById('{plot_id}');
  explainLegend(plot);
  plot.on('plotly_afterplot', () => explainLegend(plot));
}"""


def save(
    drawn: go.Figure, path: str | Path, *, width: str | None = None, height: str | None = None, style: Style = "screen"
) -> None:
    """Write a figure: as an HTML page that needs no network, or as a PDF, SVG or PNG, by the ending.

    A page is as wide as the window, up to the figure's width. Pictures need the extra image and a Chromium.

    Args:
        drawn: A figure, as the functions of `btflow.plots` return it.
        path: File ending in .html, .pdf, .svg or .png, in small letters or capitals.
        width: Width with its unit, ``"84 mm"``, ``"3.3 in"`` or ``"900 px"``: mm, cm, m, in, pt and px are known. A PDF
            is as wide on paper, to a pixel of 1/96 inch; an SVG and a page in CSS' lengths.
        height: Height likewise; by default what the figure has, or for a paper what its panels need.
        style: ``"paper"``: no title, print's sizes of fonts and lines, other dashes where two greys are alike, 84 mm
            wide by default, and a PNG of 300 dots per inch. ``"screen"``: as it is, two dots of a PNG for a pixel.

    Raises:
        InputError: There is no figure, nothing to draw a picture with, no such file can be written there, or a width,
            height or style is wrong; or panels of that width would take more than a page.
        OSError: It cannot be drawn or written; what was there before is kept.
    """
    if not isinstance(drawn, go.Figure):
        raise InputError("drawn", drawn, "is not a figure", "what a function of btflow.plots returns")
    file = output_file("path", path, ".html", *PICTURES)
    check_drawable("path", file)
    if style not in ("paper", "screen"):
        raise InputError("style", style, "is unknown", "paper or screen")
    paper = style == "paper"
    across = _pixels("width", COLUMN if paper and width is None else width)
    upright = _pixels("height", height)
    changes = {name: size for name, size in (("width", across), ("height", upright)) if size is not None}
    shown = on_paper(drawn, changes["width"], upright) if paper else go.Figure(drawn).update_layout(changes)
    if paper and upright is None and shown.layout.height > TALLEST / 25.4 * 96:
        reason = f"makes it {shown.layout.height / 96 * 25.4:.0f} mm high, more than a page: its panels are stacked"
        raise InputError("width", width or COLUMN, reason, 'more, such as "178 mm", or a height as well')
    drawable = file.suffix.lower() in PICTURES
    content = _picture(shown, file, PRINTED if paper else DOTS) if drawable else _page(shown, paper)
    with replacing(file) as partial:
        partial.write_bytes(content)


def _pixels(field: str, given: str | None) -> int | None:
    """Return a length in CSS' pixels, of which an inch has 96: whole ones, as Chromium's pages have them."""
    if given is None:
        return None
    metres = parse_quantity(given, "length", field=field, minimum=LEAST, maximum=MOST)
    assert isinstance(metres, float)
    return round(metres / 0.0254 * 96)


def _size(shown: go.Figure) -> tuple[int, int]:
    """Return the width and the height of a figure [px], those of Plotly's templates if it has none."""
    layout, common = shown.layout, shown.layout.template.layout
    return round(layout.width or common.width or 900), round(layout.height or common.height or 560)


def _page(shown: go.Figure, exact: bool) -> bytes:
    """Return a figure as a page, as wide as the window up to its width, or exactly of its size."""
    title = html.escape(str(shown.layout.title.text or "btflow"))
    width, height = _size(shown)
    if not exact:
        shown.layout.width = shown.layout.template.layout.width = None
    text = shown.to_html(
        full_html=False,
        include_plotlyjs=True,
        config=CONFIG | {"responsive": not exact},
        default_height=f"{height}px",
        auto_play=False,
        post_script=legend_script() + _EXPLAIN,
    )
    return _PAGE.format(title=title, least=85 * width // 100, width=width, figure=text).encode()


def _picture(shown: go.Figure, file: Path, dots: float) -> bytes:
    """Return a figure as a picture, with some dots of a PNG for each of its pixels."""
    width, height = _size(shown)
    kind = file.suffix[1:].lower()
    options = {"format": kind, "scale": dots if kind == "png" else 1.0, "width": width, "height": height}
    try:
        with ThreadPoolExecutor(1) as apart:  # in a notebook, this thread has a loop of events that runs
            return apart.submit(asyncio.run, _drawn(shown, options)).result()
    except Exception as error:  # whatever a browser may fail with
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise OSError(None, f"could not be drawn: {reason.strip()}", str(file)) from error


async def _drawn(shown: go.Figure, options: dict[str, Any]) -> bytes:
    """Return what Kaleido draws on a page without a rim: its own shrinks a PDF and cuts it off at the bottom."""
    import kaleido

    page = kaleido.PageGenerator(mathjax=False)  # without which it asks the network for MathJax
    page.header += _NO_RIM
    content: bytes = await kaleido.calc_fig(shown, options, kopts={"page_generator": page})
    return content
