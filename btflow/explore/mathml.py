"""Equations in TeX to MathML, which a browser shows without a script."""

import re

from latex2mathml.converter import convert

_BAR = '<mo stretchy="false">&#x0007C;</mo>'
_CLOSE_BAR = '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>'  # else spaced like a plus sign

_LOGARITHM = re.compile(r"(<mi>ln</mi>)(?=<m(?!o|row))")  # of what has no bracket: TeX sets a thin space


def inline(tex: str) -> str:
    """Return a formula within a line."""
    return _mathml(tex, "inline")


def block(tex: str) -> str:
    r"""Return an equation of its own; a narrow page sets parts that \qquad separates below each other."""
    parts = "".join(f"<div>{_mathml(part, 'block')}</div>" for part in tex.split(r"\qquad"))
    return f'<div class="equation">{parts}</div>'


def _mathml(tex: str, display: str) -> str:
    mathml = str(convert(tex.strip(), display=display)).replace(_BAR, _CLOSE_BAR)
    mathml = mathml.replace(r"\_", "_")  # of words with an underscore
    return _LOGARITHM.sub(r'\1<mspace width="0.17em"/>', mathml)
