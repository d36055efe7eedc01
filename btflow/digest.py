"""A digest of all code that a result can depend on: what was found by one version is not gone on with by another."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import btflow

NO_RESULTS = ("analysis", "benchmarks", "cli", "explore", "plots")
"""Folders of btflow/ from which no result can come: they look at results, or call what makes them."""

TEXTS = ("swarm/report.py", "link/report.py")
"""Files of which the same is true."""

BESIDE = ("data", "models", "notebooks")
"""Folders that lie in btflow/ in a wheel alone; of these the models are digested wherever they are."""


@cache
def code_digest() -> str:
    """Return a digest of all code and models that a result can depend on."""
    return digest(Path(btflow.__file__).parent, files("btflow.models"))


def digest(package: Path, models: Traversable) -> str:
    """Return the digest of a package.

    Args:
        package: The folder of btflow's code.
        models: The folder of its models, which in a checkout lies elsewhere.
    """
    found = hashlib.sha256()
    for name, file in sorted([*sources(package).items(), *_models(models, "models")]):
        found.update(name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:16]


def sources(package: Path) -> dict[str, Path]:
    """Return the files of code that are digested, by their names from the package's folder."""
    names = {file.relative_to(package): file for file in package.rglob("*.py")}
    left_out = {Path(name) for name in (*NO_RESULTS, *TEXTS, *BESIDE)}
    return {name.as_posix(): file for name, file in names.items() if left_out.isdisjoint([name, *name.parents])}


def _models(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    """Give the files of models in a folder and below, by their names from there."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _models(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".toml"):
            yield f"{name}/{entry.name}", entry
