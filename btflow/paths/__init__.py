"""Round-trip times and losses between the peers of a swarm, as on the Internet.

A swarm's scenario imports ``btflow.paths.model``: what is public here is imported when it is asked for (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from btflow.paths.fitting import fit
    from btflow.paths.generate import draw
    from btflow.paths.iplane import fit_iplane, pop_rtts, read_iplane
    from btflow.paths.measured import Measured, read_csv
    from btflow.paths.model import PathModel, load
    from btflow.paths.triangles import triangle_share, triangle_violations

__all__ = [
    "Measured",
    "PathModel",
    "draw",
    "fit",
    "fit_iplane",
    "load",
    "pop_rtts",
    "read_csv",
    "read_iplane",
    "triangle_share",
    "triangle_violations",
]

_FROM = {
    "Measured": "btflow.paths.measured",
    "PathModel": "btflow.paths.model",
    "draw": "btflow.paths.generate",
    "fit": "btflow.paths.fitting",
    "fit_iplane": "btflow.paths.iplane",
    "load": "btflow.paths.model",
    "pop_rtts": "btflow.paths.iplane",
    "read_csv": "btflow.paths.measured",
    "read_iplane": "btflow.paths.iplane",
    "triangle_share": "btflow.paths.triangles",
    "triangle_violations": "btflow.paths.triangles",
}


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module 'btflow.paths' has no attribute {name!r}")
    value = getattr(import_module(_FROM[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
