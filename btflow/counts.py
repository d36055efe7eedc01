"""Numbers of things in words: 1 packet, 2 packets."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless there is one of it."""
    return f"{number} {noun}" + "s" * (number != 1)
