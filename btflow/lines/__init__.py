"""One's own line: an access link fitted to what was measured on it, and measured beside simulated.

What is public here is imported when it is asked for (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from btflow.lines.compared import Comparison, compare
    from btflow.lines.files import read
    from btflow.lines.fitting import fit
    from btflow.lines.line import Estimate, Line, Queued

__all__ = ["Comparison", "Estimate", "Line", "Queued", "compare", "fit", "read"]

_FROM = {
    "Comparison": "btflow.lines.compared",
    "Estimate": "btflow.lines.line",
    "Line": "btflow.lines.line",
    "Queued": "btflow.lines.line",
    "compare": "btflow.lines.compared",
    "fit": "btflow.lines.fitting",
    "read": "btflow.lines.files",
}


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module 'btflow.lines' has no attribute {name!r}")
    value = getattr(import_module(_FROM[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
