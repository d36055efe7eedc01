"""Runs inside a kernel in user mode, here a script that says what such a kernel's first program would."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from btflow.errors import InputError, SimulationError
from validation.clients import cells, guest, programs, tables, usermode
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
    monkeypatch.setattr(usermode, "network", lambda *_: "")
    monkeypatch.setattr(usermode, "inside", lambda _, *command: command)
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
    assert (row.versions["kernel"], row.versions["mainline-4.0.2"]) == ("4.4.0-2.6.32.70", "4.0.2")
    assert len(row.versions["kernel's SHA-256"]) == 64
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
    other.write_text("#!/bin/sh\necho 6.1.0; echo more\n", encoding="utf-8")
    other.chmod(0o700)
    monkeypatch.setenv("BTFLOW_LINUX", str(other))
    with pytest.raises(SimulationError, match=r"which is 6\.1\.0, not Linux 2\.6\.32"):
        programs.linux()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kernel": "2.4"}, r"cells\.odd\.kernel"),
        ({"stay": "leave"}, "a kernel in user mode needs the transport linux-2.6.32, and runs mainline"),
        ({"transport": "linux-6"}, "a kernel in user mode needs the transport linux-2.6.32"),
        ({"seed": {"client": "mainline-4.0.2", "bulk": True}}, "a kernel in user mode needs the transport"),
        ({"kernel": None, "one_host": True}, "one_host needs a kernel"),
    ],
)
def test_a_cell_that_no_kernel_can_run_is_refused(changed: dict[str, object], words: str) -> None:
    given = tomllib.loads(cells.FILE.read_text(encoding="utf-8"))["cells"][CELL.name] | changed
    given = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(InputError, match=words):
        cells.read({"cells": {"odd": given}})


def test_a_cell_of_a_kernel_has_the_settings_of_that_kernel() -> None:
    assert tables.settings(CELL)["emulator"] == "netem"
    assert "sysctls" not in tables.settings(CELL)
    assert not CELL.old_tcp


def test_a_run_that_is_interrupted_leaves_no_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = tmp_path / "pid"
    bed = kernel(f"out.flush(); import os; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)", tmp_path,
                 monkeypatch)  # fmt: skip

    def interrupt(_: str) -> None:
        if pid.exists() and pid.read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        usermode.measure(CELL, 1, bed, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_guest_runs_as_a_kernels_first_program_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["guest", "/nowhere"])
    with pytest.raises(SystemExit, match="runs as the first program of a kernel in user mode only"):
        guest.main()


DRIVER = """
import json, sys, time
def say(event, **more):
    print(json.dumps(dict(more, event=event, t=time.monotonic())), flush=True)
say("ready", version="4.0.2")
for line in iter(sys.stdin.readline, ""):
    if line == "go\\n":
        say("start")
        say("done")
    else:
        break
say("totals", up=1.0, down=0)
"""


def in_guest(folder: Path, tracker: str, driver: str) -> tuple[guest.Swarm, Path]:
    """Return a swarm of two peers on one host, as the guest has it, with programs of our own."""
    files, log, out = folder / "files", folder / "log", folder / "said"
    files.mkdir()
    content = folder / "payload"
    content.write_bytes(b"x" * 10)
    peers = [
        {"index": i, "at": 0.1 * i, "seed": i == 1, "content": str(content) if i == 1 else None,
         "command": [sys.executable, "-c", driver]}
        for i in (1, 2)
    ]  # fmt: skip
    given = {
        "one_host": True, "folder": str(files), "log": str(log), "settle": 0.0, "horizon": 30.0,
        "netem": ["delay", "500ms", "loss", "5%"], "tracker_address": "198.18.255.1",
        "tracker": [sys.executable, "-c", tracker], "peers": peers,
    }  # fmt: skip
    return guest.Swarm(given, out.open("w", encoding="utf-8"), log.open("w", encoding="utf-8")), out


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that the guest would give its machine; none of them is run."""
    given: list[str] = []
    monkeypatch.setattr(guest, "run", lambda *command: given.append(" ".join(command)))
    monkeypatch.setattr(guest, "switch", lambda name, value: given.append(f"{name}={value}"))
    return given


def test_the_guest_writes_down_what_its_drivers_say(tmp_path: Path, commands: list[str]) -> None:
    swarm, out = in_guest(tmp_path, "print('ready')", DRIVER)
    swarm.run()
    said = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [one["event"] for one in said if one["peer"] == 0] == ["began", "over"]
    for i in (1, 2):
        assert [one["event"] for one in said if one["peer"] == i] == ["ready", "start", "done", "totals"]
    began = next(one["t"] for one in said if one["event"] == "began")
    starts = {one["peer"]: one["t"] - began for one in said if one["event"] == "start"}
    assert all(0.1 * i <= starts[i] < 0.1 * i + 0.5 for i in (1, 2))
    assert (tmp_path / "files" / "1" / "payload").read_bytes() == b"x" * 10
    assert f"tc qdisc add dev lo root netem limit {guest.HELD} delay 500ms loss 5%" in commands
    assert "ip link set lo mtu 1500" in commands


@pytest.mark.parametrize(
    ("tracker", "driver", "words"),
    [
        ("raise SystemExit('no address')", DRIVER, "the tracker ended before its time: no address"),
        ("print('ready')", "raise SystemExit('no client')", r"peer \d ended before its time: no client"),
    ],
)
def test_a_program_that_ends_in_the_guest_is_named(
    tracker: str, driver: str, words: str, tmp_path: Path, commands: list[str]
) -> None:
    swarm, out = in_guest(tmp_path, tracker, driver)
    with pytest.raises(OSError, match=words):
        swarm.run()
    assert "began" not in out.read_text(encoding="utf-8")
    assert commands[0].startswith("mount -t tmpfs")
