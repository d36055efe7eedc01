"""MkDocs hook: a page for each notebook, with its outputs, and what it is as a file to hand out.

``python -m tools.docs.notebooks`` runs the notebooks whose outputs are not kept in ``build/notebooks`` yet, or are of
other code; the pages of those that have not run are without outputs, and say so.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import time
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbclient import NotebookClient
from nbformat import NotebookNode
from plotly.offline import get_plotlyjs

from btflow.explore.export import NotebookExporter, title, with_stills, without_hints
from btflow.explore.still import HTML, PATIENCE, WAITS, script
from btflow.files import replacing

ROOT = Path(__file__).parents[2]
RUN = ROOT / "build" / "notebooks"
NOTEBOOKS = tuple(sorted((ROOT / "notebooks").glob("*.ipynb")))
FONT = tuple((ROOT / "btflow" / "explore" / "page" / "notebook").glob("stix*"))
"""The font of equations, with its licence."""

INDEX = """# Notebooks

Each asks a question, answers it with pictures, and ends with an exercise whose solution is folded. Read them here, or
run and change them: after the [two commands](tutorial.md#install) that install btflow, `btflow lab` opens JupyterLab
on them."""
_RAN = """*Read it here, run it with `btflow lab`, or take it along: [one HTML file](files/{stem}.html) that needs no
network, [the notebook](files/{stem}.ipynb).*"""
_WIDE = "---\nhide: [toc]\n---\n\n"
"""Without a table of contents beside it lines of code have room for 120 columns."""
_NOT_RUN = "*Without outputs: `make docs` runs the notebooks before it builds the site.*"
SCRIPTS = """<script src="../assets/plotly.min.js"></script>
<script src="../assets/stills.js"></script>
<script>btflowStills(Plotly);</script>"""
_SOLUTION = '<details class="solution" markdown="1"><summary>Show the solution</summary>\n\n{}\n\n</details>'

_SOURCES = re.compile(r"`(docs|validation)/([\w/-]+)\.md`(?:\s+in\s+the\s+sources)?")
_NOTEBOOK = re.compile(r"\bnotebook (\d\d?)\b")
_PLACE = re.compile(r"<p>@output (\d+)@</p>")


class Shown(NamedTuple):
    """A notebook's page: its Markdown, and the HTML that takes the place of each output."""

    markdown: str
    outputs: list[str]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, the list of them, and what draws their figures."""
    files.append(File.generated(config, "notebooks.md", content=index()))
    files.append(File.generated(config, "assets/plotly.min.js", content=get_plotlyjs()))
    files.append(File.generated(config, "assets/stills.js", content=script()))
    for path in FONT:
        files.append(File.generated(config, f"assets/{path.name}", abs_src_path=str(path)))
    for path in NOTEBOOKS:
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=_WIDE + shown(path).markdown))
        if kept(path).is_file():
            files.append(
                File.generated(config, f"notebooks/files/{path.name}", content=path.read_text(encoding="utf-8"))
            )
            files.append(File.generated(config, f"notebooks/files/{path.stem}.html", content=exported(kept(path))))
    return files


def on_page_content(content: str, page: Page, **_kwargs: Any) -> str:
    """Return a page with its outputs in their places."""
    path = ROOT / Path(page.file.src_uri).with_suffix(".ipynb")
    if path not in NOTEBOOKS:
        return content
    outputs = shown(path).outputs
    return _PLACE.sub(lambda found: outputs[int(found[1])], content) + (SCRIPTS if outputs else "")


def index() -> str:
    """Return the page that lists the notebooks, each with its question, which is its title."""
    rows = [f"| {path.stem[:2]} | [{_question(path)}](notebooks/{path.stem}.md) |" for path in NOTEBOOKS]
    return "\n".join([INDEX, "", "| | question |", "| --- | --- |", *rows, ""])


def _question(path: Path) -> str:
    return re.sub(r"^\d+\. ", "", title(_read(path)))


@cache
def shown(path: Path) -> Shown:
    """Return a notebook's page, with outputs if it has run."""
    has_run = kept(path).is_file()
    notebook = _read(kept(path) if has_run else path)
    without_hints(notebook)
    with_stills(notebook)
    outputs: list[str] = []
    heading, _, rest = "\n\n".join(_parts(notebook.cells, outputs)).partition("\n")
    note = _RAN.format(stem=path.stem) if has_run else _NOT_RUN
    return Shown("\n\n".join([heading, note, rest]), outputs)


def _parts(cells: Iterable[NotebookNode], outputs: list[str]) -> Iterator[str]:
    """Give cells as Markdown, those of a solution folded as one; their outputs are added to others."""
    for folded, group in groupby(cells, lambda cell: "solution" in cell.metadata.get("tags", ())):
        text = "\n\n".join(_cell(cell, outputs) for cell in group)
        yield _SOLUTION.format(text) if folded else text


def _cell(cell: NotebookNode, outputs: list[str]) -> str:
    """Return a cell as Markdown; its outputs are added to others, and their places are marked."""
    if cell.cell_type != "code":
        return _linked(cell.source)
    code = f"```python\n{cell.source}\n```"
    found = [text for output in cell.outputs for text in _output(output)]
    places = (f"@output {number}@" for number in range(len(outputs), len(outputs) + len(found)))
    outputs += found
    return "\n\n".join([code, *places])


def _output(output: NotebookNode) -> Iterator[str]:
    """Give an output as HTML; what a notebook shows is text, or HTML."""
    if output.output_type == "stream":
        yield f'<div class="printed"><pre>{html.escape(output.text)}</pre></div>'
    elif HTML in output.data:
        yield f'<div class="shown">{output.data[HTML]}</div>'
    else:
        yield f'<div class="printed"><pre>{html.escape(output.data["text/plain"])}</pre></div>'


def _linked(text: str) -> str:
    """Return a text in which pages of the sources, and other notebooks, are links."""
    text = _SOURCES.sub(lambda f: f"[{f[2]}](../{'' if f[1] == 'docs' else f[1] + '/'}{f[2]}.md)", text)
    stems = {int(path.stem[:2]): path.stem for path in NOTEBOOKS}
    return _NOTEBOOK.sub(lambda found: f"[{found[0]}]({stems[int(found[1])]}.md)", text)


def _read(path: Path) -> NotebookNode:
    found: NotebookNode = nbformat.read(path, as_version=4)
    return found


def kept(path: Path) -> Path:
    """Return where the outputs of a notebook are kept, those of the code as it is now."""
    return RUN / f"{path.stem}-{_digest(path)}.ipynb"


@cache
def _digest(path: Path) -> str:
    """Return a digest of a notebook and of all code and models."""
    found = hashlib.sha256(path.read_bytes())
    for folder, pattern in (("btflow", "*.py"), ("models", "*.toml")):
        for file in sorted((ROOT / folder).rglob(pattern)):
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def exported(path: Path) -> str:
    """Return a notebook that has run as one file."""
    return str(NotebookExporter().from_filename(str(path))[0])


def run(path: Path) -> None:
    """Run a notebook in an empty folder and keep it with its outputs."""
    notebook = _read(path)
    os.environ.setdefault(WAITS, "1")
    with TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=PATIENCE, resources={"metadata": {"path": folder}}).execute()
    RUN.mkdir(parents=True, exist_ok=True)
    notebook.metadata.pop("widgets", None)  # 5 MB of Plotly
    for cell in notebook.cells:
        if cell.cell_type == "code":  # that kernels are compiled is of no interest
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    with replacing(kept(path)) as partial:
        nbformat.write(notebook, partial)


def main() -> None:
    """Run what has not run yet, and drop what was kept of other code."""
    for path in NOTEBOOKS:
        if not kept(path).is_file():
            begun = time.monotonic()
            run(path)
            print(f"{path.name}: {time.monotonic() - begun:.0f} s", flush=True)
    for old in set(RUN.glob("*.ipynb")) - set(map(kept, NOTEBOOKS)):
        old.unlink()


if __name__ == "__main__":
    main()
