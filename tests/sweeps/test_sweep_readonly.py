"""Stores that cannot be written: a complete one is read, all else is an error before any work."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from sweep_made import read

from btflow.cli import app
from btflow.sweeps.database import FILE

Content = dict[Path, bytes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a complete store with swarms that fail."""
    path = tmp_path_factory.mktemp("whole") / "a.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", arguments(path)[:-1])
        with pytest.raises(SystemExit) as exit_:
            app.main()
    assert exit_.value.code == 0
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a store that the system says cannot be written; to the administrator it does so of file systems alone."""
    path = Path("a.zarr")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole, path)
    ask = os.access

    def access(asked: Any, mode: int) -> bool:
        return ask(asked, mode) and not (Path(asked) == path and mode & os.W_OK)

    monkeypatch.setattr(os, "access", access)
    return path


def arguments(path: Path, *more: str) -> list[str]:
    """Return a command line whose last word is --resume, or what is to follow it."""
    varied = ("--set", "file_size=512 KiB", "--vary", "leechers=0,3", "--vary", "rtt=0ms,50ms")
    return ["btflow", "sweep", "rao2010", *varied, "--jobs", "1", "--out", str(path), "--resume", *more]


def resumed(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, str, str]:
    """Return the exit code and what is said, of a store that is left as it was."""
    before = content(path)
    monkeypatch.setattr(sys, "argv", arguments(path, *more))
    with pytest.raises(SystemExit) as exit_:
        app.main()
    assert content(path) == before
    assert isinstance(exit_.value.code, int)
    return exit_.value.code, *capsys.readouterr()


def content(path: Path) -> Content:
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_complete_store_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = resumed(path, monkeypatch, capsys)
    assert (code, err) == (0, "")
    assert out.startswith(f"{path}: 2 of 4 swarms done, 2 failed\n  2 failed, such as: ")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM runs WHERE unit = 2",
        "UPDATE runs SET cpu = 0 WHERE unit = 2",
        "DELETE FROM files",
        "UPDATE files SET sha256 = x'00' WHERE name = 'status/c/0/0/0'",
    ],
)
def test_a_store_with_something_to_run_or_write_is_an_error(
    change: str, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(path / FILE) as connection:
        connection.execute(change)
    code, out, err = resumed(path, monkeypatch, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("btflow: error: --out = 'a.zarr': cannot be written: it is not complete")
    assert err.count("\n") == 1


def test_failures_are_not_run_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = resumed(path, monkeypatch, capsys, "--retry-failed")
    assert (code, out) == (2, "")
    assert "cannot be written: 2 swarms that failed are to be run again" in err


def test_what_is_finished_can_be_read(path: Path, whole: Path) -> None:
    """Complete or not; SQLite is told that it may not write then."""
    assert read(path).identical(read(whole))
    with sqlite3.connect(path / FILE) as connection:
        connection.execute("DELETE FROM runs WHERE unit = 3")
        connection.execute("DELETE FROM files")
    before = content(path)
    assert (read(path).status.values == 0).sum() == 1
    assert content(path) == before
