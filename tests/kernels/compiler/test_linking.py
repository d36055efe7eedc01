"""Kernels are optimised together in the entries that reach them (btflow/kernels/compiler/jit.py)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import pytest

from btflow.kernels.compiler import jit
from btflow.kernels.compiler.jit import EntryCompiler, KernelLibrary

LEAF_CALLS = 3

F = TypeVar("F", bound=Callable[..., Any])
kernel: Callable[[F], F] = jit.kernel


@kernel
def leaf(a: Any, i: int) -> None:
    a[i] = 2.0 * a[i] + max(a[i], 1.0)


@kernel
def left(a: Any, i: int) -> None:
    leaf(a, i)


@kernel
def right(a: Any, i: int) -> None:
    left(a, i)
    leaf(a, i)
    left(a, i)


def both(a: Any) -> None:
    for i in range(a.size):
        left(a, i)
        right(a, i)


def by_hand(a: Any) -> Any:
    a = a.copy()
    for _ in range(1 + LEAF_CALLS):
        a = 2.0 * a + np.maximum(a, 1.0)
    return a


START = np.array([0.0, 0.3, 1.0, 7.5, -3.0])


def defined(module: str) -> dict[str, str]:
    """Functions that a module defines: their names, shortened to what they are called in Python, and how they begin."""
    found = re.findall(r"^define (.*?)@(?:\"|)([^\"(]*)", module, re.MULTILINE)
    return {name: begins for begins, name in found}


@pytest.mark.parametrize("compiler", [EntryCompiler, numba.core.compiler.Compiler])
def test_an_entry_or_any_other_function_calls_kernels(compiler: Any) -> None:
    compiled = numba.njit(both, pipeline_class=compiler)
    a = START.copy()
    compiled(a)
    np.testing.assert_array_equal(a, by_hand(START))


def test_entries_that_share_kernels_are_compiled_one_after_the_other() -> None:
    for _ in range(2):
        compiled = numba.njit(lambda a: both_compiled(a), pipeline_class=EntryCompiler)
        a = START.copy()
        compiled(a)
        np.testing.assert_array_equal(a, by_hand(START))


both_compiled = kernel(both)


def test_a_kernel_keeps_its_own_code_and_an_entry_hides_that_of_its_kernels() -> None:
    compiled = numba.njit(both, pipeline_class=EntryCompiler)
    compiled(START.copy())
    (kept,) = cast(Any, right).overloads.values()
    assert isinstance(kept.library, KernelLibrary)
    own = defined(str(kept.library._final_module))
    assert len(own) == 1
    assert "right" in next(iter(own))
    (entry,) = compiled.overloads.values()
    visible = [name for name, begins in defined(entry.library.get_llvm_str()).items() if "internal" not in begins]
    assert [name for name in visible if "leaf" in name or "left" in name or "right" in name] == []
    assert any("both" in name for name in visible)


def test_python_cannot_call_a_kernel() -> None:
    numba.njit(both, pipeline_class=EntryCompiler)(START.copy())
    for _ in range(3):
        with pytest.raises(TypeError, match="not callable"):
            leaf(START.copy(), 0)
    with pytest.raises(TypeError, match="not callable"):
        left(START.astype(np.float32), 0)
