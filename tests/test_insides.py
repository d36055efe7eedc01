"""The names inside Numba and llvmlite that `btflow/kernels/compiler` lives on: each is there, and used nowhere else."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numba
import pytest

import btflow

ROOT = Path(btflow.__file__).parent
COMPILER = ROOT / "kernels" / "compiler"

LIBRARY = "_final_module _shared_module _finalized _linking_libraries _get_module_for_linking _optimize_final_module"
CACHE = "_cache_file _cache_path _impl _impl.filename_base _impl.locator.get_source_stamp cache_path"
INSIDES = {
    "numba.core.codegen.JITCodeLibrary": "_raise_if_finalized _get_module_for_linking _optimize_final_module finalize",
    "numba.core.compiler.DefaultPassBuilder": "define_nopython_pipeline",
    "numba.core.caching.FunctionCache": "load_overload save_overload",
    "numba.core.caching.IndexDataCacheFile": "_dump _load_data _data_path",
    "numba.core.dispatcher": "FunctionCache",
    "numba.np.arrayobj": "getitem_arraynd_intp getitem_array_tuple setitem_array make_array",
    "numba.core.cgutils": "ir alloca_once_value gep_inbounds unpack_tuple get_or_insert_function",
    "llvmlite.binding.ModuleRef": "clone link_in",
    "llvmlite.binding.Linkage": "external internal linkonce_odr",
}
"""Attributes of modules and classes."""


def found(path: str) -> Any:
    """Return a module or what is in it; the test fails with its name if it is gone."""
    try:
        return importlib.import_module(path)
    except ImportError:
        module, _, name = path.rpartition(".")
        return attribute(found(module), name, module)


def attribute(of: Any, path: str, called: str) -> Any:
    for name in path.split("."):
        if not hasattr(of, name):
            pytest.fail(
                f"Numba {numba.__version__} has no {called}.{path} any more, which btflow/kernels/compiler lives on: "
                "see what took its place, or bound the version in pyproject.toml"
            )
        of = getattr(of, name)
    return of


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> set[str]:
    """Return what is imported of Numba and llvmlite, with its full name."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in {"numba", "llvmlite"}}


@pytest.mark.parametrize(("of", "names"), INSIDES.items())
def test_what_the_compiler_lives_on_is_there(of: str, names: str) -> None:
    for name in names.split():
        attribute(found(of), name, of)


def test_what_it_imports_is_there() -> None:
    for path, tree in trees():
        if path.parent == COMPILER:
            for name in imported(tree):
                found(name)


@numba.njit(cache=True)
def one(x: int) -> int:
    return x + 1


def test_what_a_compiled_function_holds_is_there() -> None:
    one(1)
    dispatcher = cast(Any, one)
    (kept,) = dispatcher.overloads.values()
    for name in LIBRARY.split():
        attribute(kept.library, name, "JITCodeLibrary")
    for name in CACHE.split():
        attribute(dispatcher._cache, name, "FunctionCache")
    uncounted = numba.njit(lambda x: x, _nrt=False)  # type: ignore[call-overload]  # an option that is not documented
    assert uncounted(1) == 1


def test_every_private_name_that_the_compiler_uses_is_among_them() -> None:
    """What is private and not the module's own is in this file."""
    known = set(" ".join((LIBRARY, CACHE, *INSIDES.values())).replace(".", " ").split())
    for path, tree in trees():
        if path.parent != COMPILER:
            continue
        own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)} - known
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert {name for name in used if name.startswith("_") and not name.endswith("__")} - own <= known, path


def test_nothing_else_in_btflow_knows_numbas_insides() -> None:
    elsewhere = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees()
        if path.parent != COMPILER
        for name in imported(tree)
        if name != "numba"
    }
    assert elsewhere == set()
