"""The compiled kernels: a damaged cache is made anew, one that cannot be written is done without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.core.dispatcher
import pytest

from btflow.kernels.compiler import cache

KERNELS = """
import btflow.kernels.compiler.jit as jit
@jit.entry
def inner(x):
    return x + 1
@jit.entry
def outer(x):
    return inner(x) * 2
"""
MAIN = """
import sys
from btflow.kernels.compiler import cache
sys.path.insert(0, {sources!r})
with cache.kept_for({sources!r} + "/small.py"):
    import small
print(small.outer(1), sum(small.outer.stats.cache_hits.values()))
"""
COMPILING = "btflow: compiling the kernels of small, once: 0 of 1 functions, 0 s\n"
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs two kernels in another process and gives what it prints."""
    return running(tmp_path)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """Return such a function whose kernels are compiled, and its folder; who damages its cache has it made anew."""
    folder = tmp_path_factory.mktemp("compiled")
    invoke = running(folder)
    assert invoke() == ("4 0", COMPILING)
    return invoke, folder


def running(tmp_path: Path) -> Run:
    """Return a function that runs two kernels of a folder in another process and gives what it prints."""
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "small.py").write_text(KERNELS)
    script = MAIN.format(sources=str(tmp_path / "sources"))

    def invoke(before: str = "", **environment: str) -> tuple[str, str]:
        found = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} | environment
        done = subprocess.run(
            [sys.executable, "-c", before + script], env=found, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    return invoke


def files(tmp_path: Path, ending: str) -> list[Path]:
    return sorted((tmp_path / "cache").rglob(f"*{ending}"))


@pytest.mark.slow
def test_a_second_process_compiles_nothing(run: Run, tmp_path: Path) -> None:
    assert run() == ("4 0", COMPILING)
    assert run() == ("4 1", "")
    assert len(files(tmp_path, ".nbi")) == 2
    assert {path.parents[1] for path in files(tmp_path, ".nbc")} == {next((tmp_path / "cache").iterdir())}
    assert [path.name for path in (tmp_path / "sources").iterdir() if path.is_file()] == ["small.py"]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "garbage": lambda _: 40 * b"garbage",
    "truncated": lambda content: content[: len(content) // 2],
    "a byte of machine code": lambda content: content[: len(content) // 4] + b"Z" + content[len(content) // 4 + 1 :],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "damage"),
    [(".nbc", damage) for damage in DAMAGE] + [(".nbi", damage) for damage in ("empty", "garbage", "truncated")],
)
def test_a_damaged_cache_is_made_anew(compiled: tuple[Run, Path], ending: str, damage: str) -> None:
    run, folder = compiled
    kept = files(folder, ending)
    assert len(kept) == 2
    for path in kept:
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert run() == ("4 0", COMPILING)
    assert run() == ("4 1", "")


NO_SPACE = """
from numba.core.caching import IndexDataCacheFile
def full(self, name, data):
    raise OSError(28, "No space left on device")
IndexDataCacheFile._save_data = full
"""


@pytest.mark.slow
def test_a_full_disk_is_one_warning(run: Run, tmp_path: Path) -> None:
    out, err = run(before=NO_SPACE)
    assert out == "4 0"
    first, second = err.splitlines(keepends=True)
    assert first == COMPILING
    assert second.startswith(f"btflow: warning: the compiled kernels cannot be kept in {tmp_path / 'cache'}")
    assert "(No space left on device)" in second
    assert run() == ("4 0", COMPILING)  # the index that was left names a file that is not there


def test_without_a_writable_folder_nothing_is_left_anywhere(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "temporary").mkdir()
    out, err = run(NUMBA_CACHE_DIR=str(tmp_path / "file"), TMPDIR=str(tmp_path / "temporary"))
    assert out == "4 0"
    warning, second = err.splitlines(keepends=True)
    assert "warning: the compiled kernels cannot be kept in" in warning
    assert "NUMBA_CACHE_DIR names another folder" in warning
    assert second == COMPILING
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not list((tmp_path / "sources").rglob("*.nb?"))


def test_another_copy_of_the_sources_compiles_nothing(run: Run, tmp_path: Path) -> None:
    assert run() == ("4 0", COMPILING)
    (tmp_path / "elsewhere").mkdir()
    other = running(tmp_path / "elsewhere")
    assert other(NUMBA_CACHE_DIR=str(tmp_path / "cache")) == ("4 1", "")


def test_the_users_folder_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/one")
    monkeypatch.setenv("XDG_CACHE_HOME", "/two")
    assert cache.folder(tmp_path).parent == Path("/one")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert cache.folder(tmp_path).parent == Path("/two/btflow")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder(tmp_path).parent == Path.home() / ".cache" / "btflow"


def test_numbas_own_settings_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    settings: Any = numba.config
    dispatcher: Any = numba.core.dispatcher
    before = settings.CACHE_DIR, dispatcher.FunctionCache
    with cache.kept_for(str(tmp_path / "x.py")):
        assert str(cache.folder(tmp_path)) == settings.CACHE_DIR
        assert dispatcher.FunctionCache is cache.KernelCache
    assert (settings.CACHE_DIR, dispatcher.FunctionCache) == before
