"""Numbers of things in texts."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number of things in words: ``1 link``, ``2,000 links``, ``2 pairs of peers``, ``2 losses``.

    Args:
        number: How many.
        one: The thing.
        many: Its plural.  [with an s after the first word]
    """
    first, *rest = one.split(" ")
    return f"{number:,} {one if number == 1 else many or ' '.join([f'{first}s', *rest])}"
