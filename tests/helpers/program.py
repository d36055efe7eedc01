"""The command line, run in the process of the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from btflow.cli import app

Run = Callable[..., tuple[int, str, str]]
"""Takes arguments; returns the exit code and what was printed to stdout and to stderr."""


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line."""

    def invoke(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["btflow", *args])
        with pytest.raises(SystemExit) as exit_:
            app.main()
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return invoke


def refused(run: Run, *args: str) -> str:
    """Return what is said of arguments that are refused: nothing is printed, and the exit code is 2."""
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith("btflow: error: ")
    return err
