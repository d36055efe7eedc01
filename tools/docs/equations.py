"""MkDocs hook: equations become MathML while the site is built, so that a page needs no script to show them."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)

_BAR = '<mo stretchy="false">&#x0007C;</mo>'
_CLOSE_BAR = '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>'  # else spaced like a plus sign

_LOGARITHM = re.compile(r"(<mi>ln</mi>)(?=<m(?!o|row))")  # of what has no bracket: TeX sets a thin space


def on_page_content(content: str, **_kwargs: Any) -> str:
    """Return a page in which every equation that Arithmatex marked is MathML."""
    content = _BLOCK.sub(lambda found: f'<div class="equation">{_parts(found[1])}</div>', content)
    return _INLINE.sub(lambda found: _mathml(found[1], "inline"), content)


def _parts(tex: str) -> str:
    r"""Return the parts that \qquad sets beside each other, which a narrow page sets below each other."""
    return "".join(f"<div>{_mathml(part, 'block')}</div>" for part in tex.split(r"\qquad"))


def _mathml(tex: str, display: str) -> str:
    mathml = str(convert(html.unescape(tex).strip(), display=display)).replace(_BAR, _CLOSE_BAR)
    return _LOGARITHM.sub(r'\1<mspace width="0.17em"/>', mathml)
