"""Round-trip times and losses between the peers of a swarm, as on the Internet.

A swarm's scenario imports ``btflow.paths.model``: what is public here is imported when it is asked for (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from btflow.lazy import lazily

if TYPE_CHECKING:
    from btflow.paths.fitting import fit as fit
    from btflow.paths.generate import draw as draw
    from btflow.paths.iplane import fit_iplane as fit_iplane, pop_rtts as pop_rtts, read_iplane as read_iplane
    from btflow.paths.measured import Measured as Measured, read_csv as read_csv
    from btflow.paths.model import PathModel as PathModel, load as load
    from btflow.paths.triangles import triangle_share as triangle_share, triangle_violations as triangle_violations

__getattr__, __dir__, __all__ = lazily(
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
