"""``jupyter nbconvert --execute --to btflow FILE.ipynb``: a notebook as one HTML file that needs no network.

It shows every figure, the live ones as they were when their cell was done, and equations; solutions are folded.
"""

import base64
import os
import re
from importlib.resources import files
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from traitlets import List, Unicode, default
from traitlets.config import Config

from btflow.explore import mathml
from btflow.explore.still import HTML, PLOTLY, WAITS, packed, script, still

_PAGE = files("btflow.explore") / "page"
_WIDGET = "application/vnd.jupyter.widget-view+json"
_LIVE = (
    '<p class="btflow-live">As it was when this notebook ran; in JupyterLab (<code>btflow lab</code>) it is live.</p>'
)
_UNFOLD = re.compile(r"\n*\*Click [^*]* to unfold [^*]*\*\n*")
_HEADING = re.compile(r"^# (.*)$", re.MULTILINE)


def with_stills(notebook: NotebookNode) -> bool:
    """Put a still in the place of each figure of Plotly's, and say below each widget what it is, in place.

    Returns:
        Whether the notebook has figures.
    """
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    shown = [output.data for output in outputs if "data" in output]
    for data in shown:
        if PLOTLY in data:
            data[HTML] = still(data.pop(PLOTLY))
        if _WIDGET in data and HTML in data:
            data[HTML] += _LIVE
    return any('class="btflow-still"' in data.get(HTML, "") for data in shown)


def without_hints(notebook: NotebookNode) -> None:
    """Take out, in place, how JupyterLab unfolds a solution."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _UNFOLD.sub("", cell.source)


def title(notebook: NotebookNode) -> str:
    """Return the first heading of a notebook, empty if it has none."""
    texts = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return next((found[1] for text in texts if (found := _HEADING.search(text))), "")


class _Renderer(IPythonRenderer):
    """Markdown with equations as MathML."""

    def block_math(self, body: str) -> str:
        return mathml.block(body)

    def inline_math(self, body: str) -> str:
        return mathml.inline(body)


class NotebookExporter(HTMLExporter):
    """Notebooks as btflow's exports: what ``jupyter nbconvert --to btflow`` and JupyterLab's menu use."""

    export_from_notebook = "HTML, one file, with figures"
    exclude_anchor_links = True
    extra_template_basedirs = List(Unicode(), [str(_PAGE)])
    template_name = Unicode("notebook")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        os.environ.setdefault(WAITS, "1")  # kernels that are started from here have it
        self.register_preprocessor(_prepared, enabled=True)  # type: ignore[no-untyped-call]

    @default("file_extension")
    def _html(self) -> str:
        return ".html"

    @property
    def default_config(self) -> Config:
        """HTML before a widget, which would need a kernel, or a script from elsewhere; colours for light and dark."""
        found: Config = super().default_config.copy()
        found.NbConvertBase.display_data_priority = [HTML, "image/svg+xml", "image/png", "image/jpeg", "text/plain"]
        found.CSSHTMLHeaderPreprocessor.style = "default"
        return found

    @pass_context
    def markdown2html(self, context: Context, source: str) -> str:
        """Return a cell's Markdown as HTML."""
        attachments = context.get("cell", {}).get("attachments", {})
        renderer = _Renderer(escape=False, attachments=attachments, exclude_anchor_links=True)
        return str(MarkdownWithMath(renderer=renderer).render(source))


def _prepared(notebook: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
    """Make a notebook that has run ready for the template, with what the template is told."""
    without_hints(notebook)
    found = {"title": title(notebook), "drawn": with_stills(notebook)}
    if any("$" in cell.source for cell in notebook.cells if cell.cell_type == "markdown"):
        font = _PAGE / "notebook" / "stix-two-math.woff2"  # few systems have one with brackets and roots that grow
        found["font"] = base64.b64encode(font.read_bytes()).decode()
    if found["drawn"]:
        found |= {"plotly": packed(), "script": script()}
    return notebook, resources | found
