"""Runs inside a kernel in user mode, here a script that says what such a kernel's first program would."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from btflow.errors import InputError, SimulationError
from validation.clients import cells, programs, tables, usermode
from validation.clients.network import Bed
from validation.clients.runs import StarvedError

CELL = cells.load()["mainline-50k-1000ms-loss-2009"]

KERNEL = """#!{python}
import json, shlex, sys, time
if sys.argv[1:] == ["--version"]:
    sys.exit(print("4.4.0-2.6.32.70"))
first = next(word for word in sys.argv if word.startswith("init="))[5:]
given = json.load(open(shlex.split(open(first).read())[-1]))
out = open(given["out"], "w")
def say(peer, event, **more):
    out.write(json.dumps(dict(more, peer=peer, event=event)) + "\\n")
say(0, "kernel", release="4.4.0-2.6.32.70")
{body}
out.flush()
"""
SWARM = """
say(0, "began", t=100.0)
for one in given["peers"]:
    i = one["index"]
    say(i, "ready", version="4.0.2", t=99.0)
    say(i, "start", t=100.0 + one["at"])
    say(i, "done", t=500.0 + one["at"] + i)
say(0, "over", t=540.0)
counts = dict(lates=[{late}, 100], idle_ends=1, unchokes=4, slots={{"3,0,0": 1, "3,2,1": 3}}, all_gaps=[1] * 29)
for one in given["peers"]:
    say(one["index"], "totals", up=2.0 * 2**20, down=0, t=541.0, counts=counts)
say(0, "end")
"""


@pytest.fixture(autouse=True)
def client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that nobody starts."""
    monkeypatch.setattr(programs, "python_for", lambda _: Path("python2.7"))


def kernel(body: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    """Make a script that passes for a kernel, and return a place to run it in."""
    program = folder / "linux"
    program.write_text(KERNEL.format(python=sys.executable, body=body), encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("BTFLOW_LINUX", str(program))
    monkeypatch.setattr(usermode, "BOOTED", ())
    monkeypatch.setattr(Bed, "remove", lambda _: None)
    bed = Bed()
    bed.folder = folder / "bed"
    return bed


def test_what_is_said_inside_becomes_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed = kernel(SWARM.format(late=0.1), tmp_path, monkeypatch)
    found = usermode.measure(CELL, 1, bed, lambda _: None)
    assert found.took == 440.0
    row = tables.row(CELL, 1, found)
    assert row.figures["mean"] == pytest.approx(400 + (2 + 31) / 2)  # the seed is peer 1
    assert row.figures["copies"] == pytest.approx(0.2)
    assert row.figures["idle"] == row.figures["dry"] == 0.25
    assert row.versions == {"kernel": "4.4.0-2.6.32.70", "mainline-4.0.2": "4.0.2"}
    assert row.counts == {"took": 440.0}  # what a link loses is not known


def test_timers_that_are_late_refuse_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed = kernel(SWARM.format(late=2.0), tmp_path, monkeypatch)
    with pytest.raises(StarvedError, match=r"timers of clients were 0\.020 s late in the mean, more than 0\.01"):
        usermode.measure(CELL, 1, bed, lambda _: None)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('say(0, "fault", words="OSError: tc is missing")', r"in 4\.4\.0-2\.6\.32\.70: OSError: tc is missing"),
        ('print("Kernel panic: no init found")', r"the kernel ended: Kernel panic: no init found"),
        ("out.close(); sys.exit(3)", r"the kernel ended: it said nothing"),
    ],
)
def test_a_kernel_that_fails_is_one_line(
    body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = kernel(body, tmp_path, monkeypatch)
    with pytest.raises(SimulationError, match=words) as told:
        usermode.measure(CELL, 1, bed, lambda _: None)
    assert "\n" not in str(told.value)


def test_a_kernel_that_is_none_or_another_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BTFLOW_LINUX", raising=False)
    with pytest.raises(SimulationError, match=r"BTFLOW_LINUX is '', not the program of a Linux 2\.6\.32"):
        programs.linux()
    monkeypatch.setenv("BTFLOW_LINUX", str(tmp_path))
    with pytest.raises(SimulationError, match="not the program of a Linux"):
        programs.linux()
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho 6.1.0\n", encoding="utf-8")
    other.chmod(0o700)
    monkeypatch.setenv("BTFLOW_LINUX", str(other))
    with pytest.raises(SimulationError, match=r"which is 6\.1\.0, not Linux 2\.6\.32"):
        programs.linux()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kernel": "2.4"}, r"cells\.odd\.kernel"),
        ({"stay": "leave"}, "a kernel in user mode has no links, and runs mainline"),
        ({"kernel": None, "one_host": True}, "one_host needs a kernel"),
    ],
)
def test_a_cell_that_no_kernel_can_run_is_refused(changed: dict[str, object], words: str) -> None:
    given = tomllib.loads(cells.FILE.read_text(encoding="utf-8"))["cells"][CELL.name] | changed
    given = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(InputError, match=words):
        cells.read({"cells": {"odd": given}})


def test_a_cell_of_a_kernel_is_measured_beside_the_others() -> None:
    assert tables.settings(CELL)["emulator"] == "netem"
    assert "sysctls" not in tables.settings(CELL)
    assert not CELL.old_tcp
