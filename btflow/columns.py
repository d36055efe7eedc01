"""Texts for a terminal: tables and sentences of at most 100 columns, fewer where the terminal has fewer."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 100
"""Columns of a line: what fits a terminal beside another window, and a page of documentation."""
_LEAST = 24
"""Least width of the last column of a table."""
_NARROWEST = 40
"""Least columns of a terminal that lines are fitted to."""


def width() -> int:
    """Return how many columns lines have: those of the terminal, at most `WIDTH`; of what is no terminal `WIDTH`."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    return max(_NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))


def paragraph(text: str, indent: str = "") -> str:
    """Return a text in lines that fit, those after the first with an indent."""
    return textwrap.fill(text, width(), subsequent_indent=indent, break_on_hyphens=False)


def listed(items: Iterable[str]) -> str:
    """Return texts separated by commas in lines that fit, none of them broken if it fits a line."""
    text = textwrap.fill(", ".join(item.replace(" ", "\N{NO-BREAK SPACE}") for item in items), width())
    return text.replace("\N{NO-BREAK SPACE}", " ")


def table(rows: Sequence[Sequence[str]], right: Iterable[int] = (), indent: str = "") -> str:
    """Return rows as lines, columns aligned and two spaces apart; the last column goes on below itself if it is long.

    Columns that do not fit beside the others come below them, as a table with the same first column.

    Args:
        rows: Cells by row, as many in each.
        right: Numbers of the columns that are aligned on the right, as numbers are.
        indent: What each line begins with.
    """
    rights = set(right)
    parts = _side_by_side([max(len(cell) for cell in column) for column in zip(*rows, strict=True)], len(indent))
    return "\n\n".join(
        _block([[row[n] for n in part] for row in rows], {at for at, n in enumerate(part) if n in rights}, indent)
        for part in parts
    )


def _side_by_side(widths: Sequence[int], indent: int) -> Iterator[list[int]]:
    """Give the numbers of the columns that fit beside each other, the first one in each."""
    room, part = width() - indent - widths[0], [0]
    for n, own in enumerate(widths[1:], start=1):
        least = 2 + (min(own, _LEAST) if n == len(widths) - 1 else own)
        if len(part) > 1 and sum(2 + widths[k] for k in part[1:]) + least > room:
            yield part
            part = [0]
        part = [*part, n]
    yield part


def _block(rows: Sequence[Sequence[str]], rights: set[int], indent: str) -> str:
    """Return rows whose columns fit beside each other."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    before = len(indent) + sum(own + 2 for own in widths[:-1])
    room = max(_LEAST, width() - before)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(own) if n in rights else cell.ljust(own)
            for n, (cell, own) in enumerate(zip(row, widths, strict=True))
        ]
        first, *rest = textwrap.wrap(row[-1], room, break_on_hyphens=False) or [""]
        last = cells[-1] if len(row[-1]) <= room else first
        lines.append(f"{indent}{'  '.join([*cells[:-1], last])}".rstrip())
        lines += [f"{' ' * before}{text}" for text in rest if len(row[-1]) > room]
    return "\n".join(lines)
