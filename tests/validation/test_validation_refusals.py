"""The commands of the validation that need a browser, files or time refuse what is wrong before any work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from validation import __main__ as capped, pictures, visitor_memory
from validation.calibration import __main__ as calibration
from validation.command import run_app
from validation.fidelity import __main__ as fidelity
from validation.fidelity.links import __main__ as links
from validation.internet import __main__ as internet


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> str:
    """Return what a command with arguments says on stderr when it exits with 2, as a test's parameter gives them."""
    app, arguments = request.param
    monkeypatch.setattr(sys, "argv", ["command", *arguments])
    assert run_app(app, "command") == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (
            (internet.app, ["--image", "x.gif"]),
            "--image = 'x.gif': has the wrong ending; allowed: a file ending in .png",
        ),
        (
            (visitor_memory.app, ["nonsense"]),
            "REQUEST = 'nonsense': is unknown; allowed: the page; link, most packets;",
        ),
        ((capped.app, ["--only", "R99"]), "--only = 'R99': is not a claim that is checked; allowed: R01, "),
        ((capped.app, ["--only", ","]), "--only = ','"),
        ((capped.app, ["--replicas", "0"]), "--replicas"),
        ((fidelity.app, ["--part", "cells,tables"]), "--part = 'tables': is not a part; allowed: cells, "),
        ((links.app, ["--part", "cells"]), "--part = 'cells': is not a part; allowed: flashcrowd, "),
        ((internet.app, ["--swarms", "1"]), "--swarms"),
        ((calibration.app, ["--data", "/no/such"]), "'--data': dir '/no/such' does not exist"),
        ((calibration.app, ["/no/such"]), "'RAW': dir '/no/such' does not exist"),
    ],
    indirect=["refused"],
)
def test_what_is_wrong_is_named(refused: str, said: str) -> None:
    assert refused.startswith("command: error: ")
    assert said in refused


def test_without_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["command"])
    assert run_app(pictures.app, "command") == 2
    assert capsys.readouterr().err == (
        "command: error: Chromium: is not installed; allowed: chromium or chromium-browser or google-chrome\n"
    )
