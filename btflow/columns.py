"""Texts for a terminal: tables and sentences of at most 100 columns."""

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 100
"""Columns of a line: what fits a terminal beside another window, and a page of documentation."""
_LEAST = 24
"""Least width of the last column of a table."""


def paragraph(text: str, indent: str = "") -> str:
    """Return a text in lines of at most `WIDTH` columns, those after the first with an indent."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def listed(items: Iterable[str]) -> str:
    """Return texts separated by commas in lines of at most `WIDTH` columns, none of them broken if it fits a line."""
    text = textwrap.fill(", ".join(item.replace(" ", "\N{NO-BREAK SPACE}") for item in items), WIDTH)
    return text.replace("\N{NO-BREAK SPACE}", " ")


def table(rows: Sequence[Sequence[str]], right: Iterable[int] = (), indent: str = "") -> str:
    """Return rows as lines, columns aligned and two spaces apart; the last column goes on below itself if it is long.

    Args:
        rows: Cells by row, as many in each.
        right: Numbers of the columns that are aligned on the right, as numbers are.
        indent: What each line begins with.
    """
    rights = set(right)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    before = len(indent) + sum(width + 2 for width in widths[:-1])
    room = max(_LEAST, WIDTH - before)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if n in rights else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        first, *rest = textwrap.wrap(row[-1], room, break_on_hyphens=False) or [""]
        last = cells[-1] if len(row[-1]) <= room else first
        lines.append(f"{indent}{'  '.join([*cells[:-1], last])}".rstrip())
        lines += [f"{' ' * before}{text}" for text in rest if len(row[-1]) > room]
    return "\n".join(lines)
