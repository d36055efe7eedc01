"""Packages that only some need: what to say where one is missing."""

from __future__ import annotations


def extra(name: str) -> str:
    """Return how to install an extra of btflow."""
    return f"the extra {name} (pip install '.[{name}]' in a copy of btflow's sources)"
