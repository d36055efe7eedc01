"""MkDocs hook: equations become MathML while the site is built, so that a page needs no script to show them."""

from __future__ import annotations

import html
import re
from typing import Any

from btflow.explore import mathml

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_page_content(content: str, **_kwargs: Any) -> str:
    """Return a page in which every equation that Arithmatex marked is MathML."""
    content = _BLOCK.sub(lambda found: mathml.block(html.unescape(found[1])), content)
    return _INLINE.sub(lambda found: mathml.inline(html.unescape(found[1])), content)
