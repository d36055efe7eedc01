"""The model of 2010 as a file of one's own, with something in it replaced."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

RAO2010 = (files("btflow.models") / "swarms" / "rao2010.toml").read_text()
Edit = Callable[[str, str], Path]


def of_clients(client: dict[str, Any]) -> dict[str, Any]:
    """Return the content of the 2010 model with another client of all its classes."""
    tree = tomllib.loads(RAO2010)
    for peer_class in tree["classes"].values():
        peer_class["client"] = client
    return tree


def editor(tmp_path: Path) -> Edit:
    """Return a function that writes the 2010 model with one text replaced, and gives its path."""

    def write(old: str, new: str) -> Path:
        assert RAO2010.count(old) == 1
        path = tmp_path / "edited.toml"
        path.write_text(RAO2010.replace(old, new))
        return path

    return write
