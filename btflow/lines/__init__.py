"""One's own line: an access link fitted to what was measured on it, and measured beside simulated.

What is public here is imported when it is asked for (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from btflow.lazy import lazily

if TYPE_CHECKING:
    from btflow.lines.compared import Comparison, compare
    from btflow.lines.files import read
    from btflow.lines.fitting import fit
    from btflow.lines.line import Estimate, Line, Queued

__all__ = ["Comparison", "Estimate", "Line", "Queued", "compare", "fit", "read"]

__getattr__, __dir__ = lazily(
    "btflow.lines",
    {
        "compared": ("Comparison", "compare"),
        "files": ("read",),
        "fitting": ("fit",),
        "line": ("Estimate", "Line", "Queued"),
    },
)
