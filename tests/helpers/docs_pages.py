"""The pages of the documentation, taken apart: examples with their output, tables of constants, names of tests."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache, reduce
from importlib import import_module
from itertools import product
from operator import getitem
from pathlib import Path

from btflow.config.files import names, present, read_table, split_sources
from btflow.units import Kind, parse_quantity

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
_TEST = re.compile(r"\b(test_\w+)\.py::(test_\w+)\b")
_UNITS: tuple[Kind, ...] = ("time", "size", "rate", "packets", "fraction")


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language on a page."""
    return [text for name, text in _FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Give each command of a console block, after its ``$``, with the output that the page shows below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        text = part.replace("\\\n", " ")
        command, _, output = text.partition("\n")
        yield command, output


def keys(page: Path, title: str) -> set[tuple[str, ...]]:
    """Return the keys in the first column of the table below a heading: `a[].{b,c}` is a, [], b and a, [], c."""
    table = page.read_text(encoding="utf-8").partition(f"### {title}\n")[2].partition("\n#")[0]
    cells = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)))
    parts = [[part.strip("{}").split(",") for part in cell.replace("[]", ".[]").split(".")] for cell in cells]
    return {key for words in parts for key in product(*words)}


def arguments(command: str) -> list[str]:
    """Return the words of a command."""
    return shlex.split(command, comments=True)


def named_tests(page: Path) -> set[tuple[str, str]]:
    """Return the tests that a page names, by file and function."""
    return set(_TEST.findall(page.read_text(encoding="utf-8")))


@cache
def tests_of(module: str) -> frozenset[str]:
    """Return the names of the tests in one of the files of ``tests/``, none if there is no such file."""
    tree = ast.parse("".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob(f"{module}.py")))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def constants(page: Path) -> Iterator[tuple[str, str]]:
    """Give the value and the place of each constant in the tables that have such columns."""
    for table in _TABLE.findall(page.read_text(encoding="utf-8")):
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines())
        head = [cell.strip("| ") for cell in head]
        if {"value", "where"} <= set(head):
            for row in rows:
                cells = [cell.strip("| ") for cell in row]
                yield cells[head.index("value")], cells[head.index("where")].strip("`")


def value_at(where: str) -> object:
    """Return what a constant is: of the code (``btflow.module.NAME``) or of a model's file (``folder/name: field``)."""
    file, _, path = where.partition(": ")
    if file.startswith("btflow."):
        module, _, name = file.rpartition(".")
        return reduce(getitem, path.split(".") if path else (), getattr(import_module(module), name))
    folder, _, name = file.partition("/")
    assert name in names(folder), f"there is no models/{file}.toml"
    tree = split_sources(read_table(name, folder, Path(), "model"))[0]
    found = present(tree, path.split("."))
    assert found is not None, f"models/{file}.toml has no {path}"
    return found


def number(text: object) -> object:
    """Return a value of a page or of a model's file as a number in SI units, or as it is if it is none."""
    if isinstance(text, int | float):
        return float(text)
    plain = str(text).strip("`").replace(",", "")
    try:
        return float(plain)
    except ValueError:
        pass
    for kind in _UNITS:
        try:
            return float(str(parse_quantity(plain, kind, maximum=1e30)))
        except ValueError:
            continue
    return plain
