"""What an object is in a few lines: as text, and as HTML for notebooks."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field

from btflow.columns import WIDTH, paragraph

_ROW = '<tr><td style="text-align:left;opacity:.7;vertical-align:top">{}</td><td style="text-align:left">{}</td></tr>'


@dataclass(frozen=True)
class Summary:
    """A heading and rows of what is said; rows of which nothing is said are left out.

    Attributes:
        name: What it is, and its name.
        title: One line for people.
        rows: By a word, what is said of it.
    """

    name: str
    title: str
    rows: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        said = {word: text for word, text in self.rows.items() if text}
        width = max(map(len, said), default=0)
        lines = [paragraph(f"  {word.ljust(width)}  {text}", " " * (width + 4)) for word, text in said.items()]
        return "\n".join([paragraph(f"<{self.name}> {self.title}".rstrip(), "  "), *lines])

    def html(self) -> str:
        """Return it as HTML that takes the colours of the page it is on, light or dark."""
        rows = "".join(_ROW.format(*map(html.escape, row)) for row in self.rows.items() if row[1])
        head = f"<b>{html.escape(self.name)}</b> {html.escape(self.title)}"
        return f'<div style="max-width:{WIDTH}ch">{head}<table style="color:inherit">{rows}</table></div>'
