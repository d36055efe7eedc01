"""A report as one HTML page that needs no network: its Markdown, figures with captions, and what is behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import plotly.graph_objects as go

from btflow.files import replacing
from validation.markdown import Report

STYLE = """
body { font: 16px/1.5 Arial, Helvetica, sans-serif; color: #222; max-width: 1080px; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0; font-size: 15px }
th, td { border: 1px solid #ccc; padding: .35em .6em; text-align: left; vertical-align: top }
th { background: #f2f2f2 }
figure { margin: 2em 0 } figcaption { color: #555 }
"""

_INLINE = {
    r"!\[[^\]]*\]\([^)]*\)": "",  # pictures: the page has them as figures
    r"\[([^\]]*)\]\([^)]*\)": r"\1",  # links, which lead elsewhere from here
    r"`([^`]+)`": r"<code>\1</code>",
    r"\*\*(.+?)\*\*": r"<b>\1</b>",
}


def write(report: Report, figures: Mapping[str, tuple[go.Figure, str]], path: Path, more: Iterable[str] = ()) -> None:
    """Write a report's page: figures come with their captions, `more` is Markdown that only the page has."""
    verdicts = [f"- {line}" for line in report.verdicts]
    begin = [f"# {report.title}", "", report.question, "", *verdicts, "", *report.lines]
    body = [*html(begin), *drawings(figures), *html([*report.details, "", *more])]
    frame(report.title.replace("`", ""), body, path)


def frame(title: str, body: Iterable[str], path: Path) -> None:
    """Write an HTML page with the reports' style, whole or not at all."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    parts = "\n".join(body)
    text = f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head><body>{parts}</body></html>\n'
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def drawings(figures: Mapping[str, tuple[go.Figure, str]]) -> Iterator[str]:
    """Give figures with their captions as HTML, by the name of their element; the first one brings plotly.js."""
    library: bool = True
    for name, (figure, caption) in figures.items():
        drawn = figure.to_html(full_html=False, include_plotlyjs=library, div_id=name)
        yield f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"
        library = False


def html(lines: Sequence[str]) -> Iterator[str]:
    """Give the HTML of Markdown as reports have it: headings, tables, lists and paragraphs, empty lines between."""
    for block in filter(None, re.split(r"\n\s*\n", "\n".join(lines).strip())):
        rows = block.splitlines()
        if heading := re.fullmatch(r"(#+) (.+)", block):
            level = len(heading[1])
            name = escape(heading[2].partition(":")[0])
            yield f'<h{level} id="{name}">{_inline(heading[2])}</h{level}>'
        elif rows[0].startswith("|"):
            body = "".join(_row(row, "td") for row in rows[2:])
            yield f"<table>{_row(rows[0], 'th')}{body}</table>"
        elif rows[0].startswith("- "):
            items = (_inline(row.strip().removeprefix("- ")) for row in rows)
            yield f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
        else:
            yield f"<p>{_inline(block)}</p>"


def _row(line: str, tag: str) -> str:
    """Return a row of a table, with each cell in a tag."""
    cells = (cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])
    return f"<tr>{''.join(f'<{tag}>{_inline(cell)}</{tag}>' for cell in cells)}</tr>"


def _inline(text: str) -> str:
    """Return a line with its code and bold letters as HTML."""
    found = escape(text, quote=False)
    for pattern, shown in _INLINE.items():
        found = re.sub(pattern, shown, found)
    return found
