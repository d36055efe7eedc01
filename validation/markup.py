"""HTML of the pages: their frame, tables, and colours of errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import plotly.graph_objects as go

from btflow.files import replacing
from validation.assumptions import Assumption

STYLE = """
body { font: 16px/1.5 Arial, Helvetica, sans-serif; color: #222; max-width: 1080px; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0; font-size: 15px }
th, td { border: 1px solid #ccc; padding: .35em .6em; text-align: left; vertical-align: top }
th { background: #f2f2f2 }
td.n { text-align: right; white-space: nowrap }
.yes { background: #d6ebf7 } .no { background: #fbdcc4 }
figure { margin: 2em 0 } figcaption, .quiet { color: #555 }
details { margin: .4em 0 }
"""


def page(title: str, body: Iterable[str]) -> str:
    """Return an HTML page with the report's style."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    parts = "\n".join(body)
    return f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head><body>{parts}</body></html>\n'


def write(path: Path, title: str, body: Iterable[str]) -> None:
    """Write an HTML page whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(page(title, body), encoding="utf-8")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; cells are HTML, one that starts with ``<td`` brings its own tag."""
    top = "".join(f"<th>{cell}</th>" for cell in header)
    body = ("".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row) for row in rows)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{row}</tr>' for row in body)}</table>"


def escaped(header: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table of cells that are plain text."""
    return table(header, (tuple(map(escape, row)) for row in rows))


def constants(assumed: Iterable[Assumption]) -> str:
    """Return the numbers that no source gives as an HTML table."""
    return escaped(("constant", "value", "what it is"), (vars(entry).values() for entry in assumed))


def drawings(figures: Mapping[str, tuple[go.Figure, str]]) -> Iterator[str]:
    """Yield figures with their captions as HTML, by the name of their element; the first one brings plotly.js."""
    library: bool = True
    for name, (figure, caption) in figures.items():
        drawn = figure.to_html(full_html=False, include_plotlyjs=library, div_id=name)
        yield f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"
        library = False


def coloured(text: str, error: float) -> str:
    """Return a cell of a table with the colour of its relative error."""
    return f'<td class="n" style="background:{colour(error)}">{text}</td>'


def colour(error: float) -> str:
    """Return the background for a relative error: white to blue (too fast) or orange (too slow) at 12% and more."""
    depth = min(max(abs(error) - 0.01, 0.0) / 0.11, 1.0)
    full = (86, 180, 233) if error < 0 else (230, 159, 0)
    return "rgb({},{},{})".format(*(round(255 - depth * (255 - part)) for part in full))
