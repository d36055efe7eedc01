"""The private names of others: Numba's, that `btflow/kernels/compiler` lives on, are there, and used nowhere else.

Of Plotly, ipywidgets, anywidget, traitlets, Jupyter, tornado, Dask and all others none is used at all.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import ipywidgets as widgets
import numba
import pytest
from insides import defined, taken, uses
from numba.core.compiler_machinery import PassManager

import btflow

ROOT = Path(btflow.__file__).parent
COMPILER = ROOT / "kernels" / "compiler"

LIBRARY = "_final_module _shared_module _finalized _linking_libraries _get_module_for_linking _optimize_final_module"
LIBRARY += " _optimize_functions _codegen._data_layout"
CACHE = "_cache_file _cache_path _impl _impl.filename_base _impl_class cache_path"
PASSES = "_analysis"
INSIDES = {
    "numba.core.codegen.JITCodeLibrary": "_raise_if_finalized _get_module_for_linking _optimize_final_module finalize",
    "numba.core.compiler.DefaultPassBuilder": "define_nopython_pipeline",
    "numba.core.compiler.CompilerBase": "compile_extra define_pipelines",
    "numba.core.compiler_machinery.PassManager": "_runPass finalize",
    "numba.core.compiler_machinery": "_pass_registry",
    "numba.core.caching.FunctionCache": "load_overload save_overload",
    "numba.core.caching.CompileResultCacheImpl": "_locator_classes",
    "numba.core.caching.UserProvidedCacheLocator": "get_suitable_cache_subpath get_source_stamp",
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
    attribute(cast(Any, PassManager)("any"), PASSES, "PassManager")
    uncounted = numba.njit(lambda x: x, _nrt=False)  # type: ignore[call-overload]  # an option that is not documented
    assert uncounted(1) == 1


def test_every_private_name_that_the_compiler_uses_is_among_them() -> None:
    """What is private and not the module's own is in this file."""
    known = set(" ".join((LIBRARY, CACHE, PASSES, *INSIDES.values())).replace(".", " ").split())
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


AT_HOME = ("btflow/kernels/compiler", "tests/kernels/compiler", "tests/test_insides.py", "tools/compiler_costs.py")
"""Where insides of others are used: what lives on Numba's, its tests, and what measures it."""
KNOWN = {
    "btflow/__main__.py: _signal",  # Ctrl-C before `signal` is imported, which takes milliseconds, would be a traceback
    "tests/test_memory.py: proclimits._cgroup._PROC_SELF_CGROUP",  # trees of files in the place of the kernel's
    "tests/test_memory.py: proclimits._cgroup._PROC_SELF_MOUNTINFO",
    "tests/sweeps/test_sweep_deadly.py: _forkserver",  # its number, to kill it
    "tests/sweeps/test_sweep_deadly.py: getattr(forkserver, '_forkserver')._forkserver_pid",
}
"""The others, each with its reason; if a name goes, what uses it fails."""
TREES = {
    path.relative_to(ROOT.parent).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for folder in ("btflow", "tests", "tools", "validation")
    for path in sorted((ROOT.parent / folder).rglob("*.py"))
    if ".libtorrent" not in path.parts  # which is fetched
}


def test_no_private_name_of_others_is_used_elsewhere() -> None:
    own = defined(tree for path, tree in TREES.items() if not path.startswith(AT_HOME))
    found = {
        f"{path}: {use}" for path, tree in TREES.items() if not path.startswith(AT_HOME) for use in uses(tree, own)
    }
    assert found == KNOWN, "take a public way, or a file of its own with what it gains, and a test of its names here"


def test_no_class_takes_a_private_name_of_its_bases() -> None:
    """A method of one's own by such a name is called by the base, or calls it off: ipywidgets has a ``_send``."""
    found = set()
    for module in pkgutil.walk_packages([str(ROOT)], "btflow."):
        for of in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(of) and of.__module__ == module.name and not module.name.startswith(AT_COMPILER):
                found |= {f"{module.name}.{of.__qualname__}: {name}" for name in taken(of)}
    assert found == set()


AT_COMPILER = "btflow.kernels.compiler"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numba._helperlib", {"numba._helperlib"}),
        ("from plotly import _plotly_utils", {"plotly._plotly_utils"}),
        ("from btflow.analytic import _bounds\nimport os\nos._exit(0)\nimport _thread", set()),
        ("figure._data", {"figure._data"}),
        ("class A:\n def __init__(self):\n  self._data = 1\nfigure._data", set()),
        ("numba.njit(f, _nrt=False)", {"_nrt="}),
        ("monkeypatch.setattr('tornado.web._x', 1)\ngetattr(figure, '_props')", {"tornado.web._x", "_props"}),
        ("row._replace(a=1)", set()),
    ],
)
def test_what_is_found_by_hand(source: str, expected: set[str]) -> None:
    tree = ast.parse(source)
    assert set(uses(tree, defined([tree]))) == expected


class Lent(widgets.HTML):  # type: ignore[misc]  # ipywidgets has no types
    """Takes what it must not."""

    def _send(self, message: object) -> None:
        """Say it."""
        self._own = self._model_name, message


def test_what_a_class_takes_is_found() -> None:
    assert taken(Lent) == {"_send", "_model_name"}
