"""One's own line: an access link fitted to what was measured on it, and measured beside simulated.

What is public here is imported when it is asked for (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from btflow.lazy import lazily

if TYPE_CHECKING:
    from btflow.lines.compared import Comparison as Comparison, compare as compare
    from btflow.lines.files import read as read
    from btflow.lines.fitting import fit as fit
    from btflow.lines.line import Estimate as Estimate, Line as Line, Queued as Queued

__getattr__, __dir__, __all__ = lazily(
    "btflow.lines",
    {
        "compared": ("Comparison", "compare"),
        "files": ("read",),
        "fitting": ("fit",),
        "line": ("Estimate", "Line", "Queued"),
    },
)
