"""A bar on a terminal that shows how much of some work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = "{percentage:3.0f}% |{bar}| {elapsed}, {remaining} left"
"""How a bar looks, in tqdm's form."""


@contextmanager
def bar(form: str, total: int, *, shown: bool) -> Iterator[Callable[[float], None] | None]:
    """Give a function to call with how much of the total is done, if shown."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=total, bar_format=form, leave=False, delay=0.5) as drawn:
        yield lambda done: drawn.update(done - drawn.n) and None
