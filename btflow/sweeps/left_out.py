"""Values that a group leaves out where another takes their place: ``rtt,internet=(400ms,none),(none,iplane)``."""

from __future__ import annotations

from typing import Any

from btflow.config.document import Document
from btflow.sweeps.spec import Names, Zipped
from btflow.sweeps.variables import LEFT_OUT


def left_out(document: Document[Any], names: Names, group: Zipped) -> Zipped:
    """Return values that vary together, with ``LEFT_OUT`` for each ``none`` that another value takes the place of."""
    return Zipped(tuple(_row(document, names, row) for row in group.rows))


def _row(document: Document[Any], names: Names, row: tuple[object, ...]) -> tuple[object, ...]:
    values = dict(zip(names, row, strict=True))
    none = {name: value for name, value in values.items() if value is None or str(value).strip() == "none"}
    others = {name: value for name, value in values.items() if name not in none}
    out = document.assigner.outdated(none, others)
    return tuple(LEFT_OUT if name in out else value for name, value in values.items())
