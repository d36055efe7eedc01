"""Figures where no kernel is: each is HTML that holds its data, and one script draws all that a page has.

A widget gives a notebook such figures beside the live ones; exports of notebooks show nothing else.
"""

import base64
import json
import os
import zlib
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import plotly.io as pio
from plotly.offline import get_plotlyjs

from btflow.explore.figure import HEIGHT, fitted
from btflow.explore.views import Canvas
from btflow.plots.style import CONFIG

HTML = "text/html"
PLOTLY = "application/vnd.plotly.v1+json"
"""Types of what a cell shows."""

WAITS = "BTFLOW_STILL"
"""The variable of the environment in which a notebook's widgets are shown when they are done, not while they run."""
PATIENCE = 300.0
"""How long they may take [s]."""

_LIVE = "A figure. Run this notebook to see it, or export it: jupyter nbconvert --to btflow FILE.ipynb"
_WIDTH, _HEIGHT = 900, 560  # of a figure that says nothing of its size [px]


def beside(bundle: Mapping[str, Any], canvas: Canvas[Any]) -> dict[str, Any]:
    """Return what a widget gives a notebook, and beside it, as HTML, the figures that it shows now.

    Args:
        bundle: By type, what shows the widget itself.
        canvas: Where its figures are.
    """
    if os.environ.get(WAITS):
        canvas.wait(PATIENCE)
    if canvas.seen is None:
        return dict(bundle)
    wide = ({"data": one.data, "layout": fitted(one, HEIGHT)} for one in canvas.seen.figures.values())
    drawn = "".join(still(json.loads(pio.to_json(one, validate=False))) for one in wide)
    return {**bundle, HTML: f'{canvas.seen.words}<div class="btflow-stills">{drawn}</div>'}


def still(figure: Mapping[str, Any]) -> str:
    """Return a figure as HTML in one line, which `script` draws.

    Args:
        figure: Its `data`, `layout` and, if it moves, `frames`, as JSON holds them.
    """
    layout = figure["layout"]
    common = layout.get("template", {}).get("layout", {})
    height = layout.get("height", common.get("height", _HEIGHT))
    width = "100%" if layout.get("autosize") else f"{layout.get('width', common.get('width', _WIDTH))}px"
    data = json.dumps(figure, separators=(",", ":")).replace("</", "<\\/")
    size = f"max-width:{width};min-height:{height}px"
    inside = f'<script type="application/json">{data}</script><p>{escape(_LIVE)}</p>'
    return f'<div class="btflow-still" style="{size}">{inside}</div>'


@cache
def script() -> str:
    """Return the JavaScript that draws all figures of a page: a function `btflowStills`, which is given Plotly."""
    page = files("btflow.explore") / "page"
    module = (page / "figure.js").read_text(encoding="utf-8").replace("export default { render };", "")
    drawing = (page / "still.js").read_text(encoding="utf-8").replace("CONFIG", json.dumps(CONFIG))
    return f"(() => {{\n{module}\n{drawing}}})();\n"


@cache
def packed() -> str:
    """Return Plotly's JavaScript as text that a page can hold: compressed (zlib), in base 64."""
    return base64.b64encode(zlib.compress(get_plotlyjs().encode(), 9)).decode()
