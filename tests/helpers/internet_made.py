"""Small swarms on drawn paths, and path models of a user's own, for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from btflow import Scenario, load
from btflow.config.files import inline

SMALL: dict[str, object] = {"leechers": 9, "file_size": "1 MB"}
FIXED = [f"--set={name}={value}" for name, value in SMALL.items()]
RAO2010 = Path(__file__).parents[2] / "models" / "swarms" / "rao2010.toml"


def constant(rtt: str = "80 ms", loss: float = 0.0) -> dict[str, Any]:
    """Return a model in which all paths are alike."""
    tables = {"rtt": [{"share": 1.0, "value": rtt}], "loss": [{"share": 1.0, "value": loss}]}
    return {"base": "iplane", "tail": 1.0, **tables}


def swarm(**values: object) -> Scenario:
    return load("rao2010", **{**SMALL, "internet": "iplane", **values})


def file(path: Path, **changes: object) -> str:
    """Write a path model that changes some of the shipped one, and return its path."""
    path.write_text("\n".join(f"{name} = {inline(value)}" for name, value in {"base": "iplane", **changes}.items()))
    return str(path)
