"""Why swarms of a sweep failed: texts that differ in nothing but numbers and their units tell of one cause."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from btflow.sweeps import api
from btflow.sweeps.cells import division
from btflow.sweeps.plan import Plan
from btflow.sweeps.status import FAILED
from btflow.units import UNITS

MOST = 3
"""Most causes that are shown."""

_UNITS = "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))
_NUMBER = re.compile(rf"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?(?: ?(?:{_UNITS})(?![\w/]))?")


def cause(text: str) -> str:
    """Return what texts of one cause have in common."""
    return _NUMBER.sub("#", text)


def causes(path: Path, declared: Plan) -> dict[str, int]:
    """Return how many swarms of a store failed of each of the most frequent causes, by the first text of each."""
    dataset, found, examples = api.open_dataset(path), Counter[str](), dict[str, str]()
    cells = division(declared.blocks, declared.job.shape.bytes)
    for cell in range(cells.count):  # the texts of a whole sweep take much memory
        region, prefix = cells.region(cell), cells.prefix(cell)
        failed = dataset[f"{prefix}status"][region].values == FAILED
        texts = Counter(map(str, dataset[f"{prefix}failure"][region].values[failed])) if failed.any() else {}
        for text, number in texts.items():
            found[cause(text)] += number
            examples.setdefault(cause(text), text)
    return {examples[kind]: number for kind, number in found.most_common(MOST)}
