"""What is drawn, as CSV files; the names of the columns say the units."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping


def to_csv(columns: Mapping[str, Iterable[object]]) -> str:
    """Return columns of equal length as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()
