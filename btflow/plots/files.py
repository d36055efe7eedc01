"""Writes figures: HTML always, pictures where Kaleido finds a Chromium to draw them with."""

import html
from importlib.resources import files
from pathlib import Path

import plotly.graph_objects as go

from btflow.errors import InputError
from btflow.files import PICTURES, check_drawable, replacing
from btflow.options import output_file
from btflow.plots.style import CONFIG

DOTS = 2.0
"""Pixels of a PNG for each of the figure's: sharp on paper at the width of a column."""

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


_EXPLAIN = """{
  const plot = document.getElementById('{plot_id}');
  explainLegend(plot);
  plot.on('plotly_afterplot', () => explainLegend(plot));
}"""


def save_html(drawn: go.Figure, path: str | Path) -> None:
    """Write a figure as one HTML page that needs no network and is as wide as the window, up to the figure's width.

    Raises:
        InputError: There is no figure, or no file ending in .html can be written there.
        OSError: The file cannot be written; what was there before is kept.
    """
    _check(drawn)
    file = output_file("path", path, ".html")
    page = go.Figure(drawn)
    layout, common = page.layout, page.layout.template.layout
    width, height = int(layout.width or common.width or 900), int(layout.height or common.height or 560)
    layout.width = common.width = None
    text = page.to_html(
        full_html=False,
        include_plotlyjs=True,
        config=CONFIG | {"responsive": True},
        default_height=f"{height}px",
        auto_play=False,
        post_script=legend_script() + _EXPLAIN,
    )
    title = html.escape(str(layout.title.text or "btflow"))
    content = _PAGE.format(title=title, least=85 * width // 100, width=width, figure=text)
    with replacing(file) as partial:
        partial.write_text(content, encoding="utf-8")


def save_image(drawn: go.Figure, path: str | Path) -> None:
    """Write a figure as a picture: PNG, SVG or PDF by the ending.

    Raises:
        InputError: There is no figure, nothing to draw it with, or no such file can be written there.
        OSError: It cannot be drawn or written; what was there before is kept.
    """
    _check(drawn)
    file = output_file("path", path, *PICTURES)
    check_drawable("path", file)
    try:
        content = drawn.to_image(format=file.suffix[1:], scale=DOTS)
    except Exception as error:  # whatever a browser may fail with
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise OSError(None, f"could not be drawn: {reason.strip()}", str(file)) from error
    with replacing(file) as partial:
        partial.write_bytes(content)


def save(drawn: go.Figure, path: str | Path) -> None:
    """Write a figure as HTML or as a picture, by the ending; errors as of `save_html` and `save_image`."""
    _check(drawn)
    file = output_file("path", path, ".html", *PICTURES)
    write = save_image if file.suffix in PICTURES else save_html
    write(drawn, file)


def _check(drawn: object) -> None:
    if not isinstance(drawn, go.Figure):
        raise InputError("drawn", drawn, "is not a figure", "what a function of btflow.plots returns")
