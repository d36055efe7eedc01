"""Round-trip times and losses between the peers of a swarm, as on the Internet.

A swarm's scenario imports ``btflow.paths.model``: what is public here is imported when it is asked for (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from btflow.lazy import lazily

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

__getattr__, __dir__ = lazily(
    "btflow.paths",
    {
        "fitting": ("fit",),
        "generate": ("draw",),
        "iplane": ("fit_iplane", "pop_rtts", "read_iplane"),
        "measured": ("Measured", "read_csv"),
        "model": ("PathModel", "load"),
        "triangles": ("triangle_share", "triangle_violations"),
    },
)
