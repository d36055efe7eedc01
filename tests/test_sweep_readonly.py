"""Stores that cannot be written: a complete one is read, all else is an error before any work."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from btflow.cli import app
from btflow.sweeps import readonly
from btflow.sweeps.lock import FILE

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


@pytest.mark.parametrize("file", ["status/c/0/0/0", "completion_mean/c/0/0/0", "rtt/c/0"])
def test_a_store_with_something_to_run_is_an_error(
    file: str, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (path / file).unlink()
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


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_lock_that_cannot_be_made_is_an_error(
    number: int, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Storage over a network may say that it can be written until it is."""
    do = os.open

    def refuse(file: Any, *args: Any, **more: Any) -> int:
        if Path(file).name == FILE:
            raise OSError(number, os.strerror(number))
        return do(file, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(readonly, "writable", lambda _: True)
    code, out, err = resumed(path, monkeypatch, capsys)
    assert (code, out) == (2, "")
    assert err == (
        f"btflow: error: --out = 'a.zarr': cannot be written: {os.strerror(number)}; allowed: another path\n"
    )
