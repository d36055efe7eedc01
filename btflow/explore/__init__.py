"""The explorer: a web page over the simulator, and live figures for notebooks."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from btflow.errors import InputError
from btflow.files import extra

if TYPE_CHECKING:
    from btflow.explore.comparison import Model, WhatIf
    from btflow.explore.notebook import Explorer

__all__ = ["explore", "whatif"]


def __dir__() -> list[str]:
    return sorted(__all__)


def explore(scenario: Model, *, seed: int = 0) -> Explorer:
    """Return a model's figures beside inputs for its parameters, for a notebook; the figures follow the inputs.

    Args:
        scenario: What ``btflow.load`` or ``btflow.load_link`` returns.
        seed: Seed of the random numbers.

    Raises:
        InputError: The extra ``notebook`` is not installed, or an argument is wrong.
    """
    _needs("explore")
    from btflow.explore.notebook import Explorer, checked

    return Explorer(*checked(scenario, seed))


def whatif(a: Model, b: Model, *, pairs: int = 10, seed: int = 0) -> WhatIf:
    """Compare two settings of a model in a notebook, pair by pair, while you watch.

    Both of a pair have the same random numbers: pair r is replica r of ``btflow.simulate`` with this seed, or
    ``btflow.simulate_link`` with the seed plus r. Compared are mean completion times, or the mean queueing delay of a
    link experiment's bottleneck; the interval is that of ``btflow.analysis.paired_difference``.

    Args:
        a: The setting compared with.
        b: The setting compared.
        pairs: How many pairs at first.
        seed: Seed of the random numbers.

    Returns:
        A widget: the difference in words, both distributions, each pair's difference, and a button for more pairs.

    Raises:
        InputError: The extra ``notebook`` is not installed, the two are not of one kind, or a number is out of range.
    """
    _needs("whatif")
    from btflow.explore.comparison import WhatIf, checked

    return WhatIf(checked(a, b, pairs, seed))


def _needs(what: str) -> None:
    """Raise an InputError if a package that widgets need is missing."""
    missing = [name for name in ("ipywidgets", "anywidget") if find_spec(name) is None]
    if missing:
        raise InputError(what, None, f"needs the package {missing[0]}", extra("notebook"))
