"""The rooms of btflow: no two files import each other, whatever the way; a scenario knows nothing of its users."""

from __future__ import annotations

from graphlib import TopologicalSorter

from imports import PACKAGE, file_of, imported

ABOVE = ("analysis", "cli", "explore", "kernels", "plots", "sweeps")
"""Rooms that use scenarios."""


def graph() -> dict[str, set[str]]:
    """Return which files each file imports; a package that is named on the way to a module in it is not counted."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        modules = list(imported(file))
        named = [m for m in modules if not any(other.startswith(f"{m}.") and file_of(other) for other in modules)]
        files = {path for module in named if (path := file_of(module)) is not None and path != file}
        found[file.relative_to(PACKAGE).as_posix()] = {path.relative_to(PACKAGE).as_posix() for path in files}
    return found


def test_no_files_import_each_other_however_far_the_way_around() -> None:
    files = graph()
    assert len(list(TopologicalSorter(files).static_order())) == len(files) > 200


def test_a_scenario_imports_nothing_that_uses_it() -> None:
    files, left, seen = graph(), ["swarm/scenario.py", "link/scenario.py"], set[str]()
    while left:
        file = left.pop()
        seen.add(file)
        left += files[file] - seen
    assert not [file for file in seen if file.startswith(ABOVE)]
    assert "units/parsing.py" in seen
