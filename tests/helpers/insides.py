"""Finds names of others that begin with an underscore: imports, attributes, strings that name one, what a class takes.

A name is ours where anything of ours of that name is defined; what Python or a library documents is nobody's secret.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator

OURS = {"btflow", "tests", "tools", "validation"}
DOCUMENTED = {
    *("_asdict", "_fields", "_make", "_replace"),  # named tuples
    *("_exit", "_thread"),  # Python's: os, and a module
    "_esm",  # anywidget's: the JavaScript of a widget
    "_repr_mimebundle_",  # IPython's: how an object is displayed
}
_BY_NAME = {"attrgetter", "delattr", "getattr", "hasattr", "methodcaller", "object", "patch", "setattr"}


def private(name: str) -> bool:
    """Return whether a name is for its owner alone, and not one of Python's or documented."""
    return name.startswith("_") and bool(name.strip("_")) and not name.endswith("__") and name not in DOCUMENTED


def defined(trees: Iterable[ast.Module]) -> set[str]:
    """Return the names that some modules define: functions, classes, variables, arguments, attributes of ``self``."""
    found: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            found.add(node.attr)
    return found


def uses(tree: ast.Module, own: set[str]) -> Iterator[str]:
    """Yield the private names of others that a module imports, reads, sets, passes or has in a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _foreign(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (name for alias in node.names if _foreign(name := f"{node.module}.{alias.name}"))
        elif isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in own:
            yield ast.unparse(node)
        elif isinstance(node, ast.keyword) and node.arg and private(node.arg) and node.arg not in own:
            yield f"{node.arg}="
        elif isinstance(node, ast.Call) and _called(node) in _BY_NAME:
            texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            yield from (t for t in texts if any(private(p) and p.isidentifier() and p not in own for p in t.split(".")))


def _foreign(path: str) -> bool:
    first, *others = path.split(".")
    return first not in OURS and any(map(private, (first, *others)))


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def taken(of: type) -> set[str]:
    """Return the private names of the classes of others that a class is based on and that it defines or uses, too."""
    bases = [base for base in of.__mro__[1:] if base.__module__.partition(".")[0] not in OURS]
    theirs = {name for base in bases if not _is_pythons(base) for name in (*vars(base), *_of_instances(base))}
    ours = {name for name in (*_of_class(of), *_of_instances(of)) if private(name)}
    return ours & theirs


def _is_pythons(base: type) -> bool:
    return base.__module__.partition(".")[0] in sys.stdlib_module_names


def _tree(of: type) -> ast.Module:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(of)))
    except (OSError, TypeError):  # it is made by the machine, or of C
        return ast.Module([], [])


def _of_class(of: type) -> set[str]:
    """Return the names in the body of a class."""
    body = [part for node in _tree(of).body if isinstance(node, ast.ClassDef) for part in node.body]
    found = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
    return found | {part.name for part in body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}


def _of_instances(of: type) -> set[str]:
    """Return the attributes of ``self`` that a class's source has."""
    return {n.attr for n in ast.walk(_tree(of)) if isinstance(n, ast.Attribute) and _is_self(n.value)}
