"""`btflow sweep`: what it prints, what it exits with, and every bad input as one message before any work."""

from __future__ import annotations

import json
import shlex
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import zarr
from no_clock import calls
from program import Run
from sweep_made import REFUSED, bits, read, sweep_args, tiny

from btflow import memory
from btflow.cli.sweep import cause
from btflow.swarm.program import compile_scenario
from btflow.swarm.state import state_bytes


def test_a_sweep_is_run_and_resumed(run: Run) -> None:
    code, out, _ = run(*sweep_args(Path("a.zarr"), "--jobs", "1", "--replicas", "2"))
    assert (code, out) == (0, "a.zarr: 8 of 8 swarms done, 0 failed\n")
    before = read(Path("a.zarr"))
    code, out, _ = run(*sweep_args(Path("a.zarr"), "--resume", "--replicas", "2", "--json"))
    assert code == 0
    assert json.loads(out) == {"format": 1, "out": "a.zarr", "swarms": 8, "done": 8, "failed": 0, "reasons": {}}
    assert read(Path("a.zarr")).identical(before)


def test_failures_are_counted_with_their_reasons(run: Run) -> None:
    """Those that differ only in numbers are one."""
    varied = ("horizon=11s,12s,12.5s,30d", "seed_as=none,AS1")
    code, out, _ = run(*sweep_args(Path("a.zarr"), "--jobs", "1", vary=varied))
    assert code == 0
    first, *lines = out.splitlines()
    assert first == "a.zarr: 1 of 8 swarms done, 7 failed"
    assert [line[: line.index(": ")] for line in lines] == ["  4 failed, such as", "  3 failed, such as"]
    assert "leecher_as = 'none'" in lines[0]
    assert "3 of 3 downloads had not finished at 1" in lines[1]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3 of 300 peers at 11 s", "12 of 3,000 peers at 1.5e+06 s", True),
        ("warmup = '3.77 min': nothing is left", "warmup = '249.5 s': nothing is left", True),
        ("a rate of 20 kB/s", "a rate of 1 Mbit/s", True),
        ("3 seeds of 8", "3 sheep of 8", False),
        ("cubic at 11 s", "vegas at 11 s", False),
        ("its process was ended by SIGKILL", "its process ended with code 3", False),
    ],
)
def test_texts_that_differ_only_in_numbers_are_of_one_cause(one: str, other: str, same: bool) -> None:
    assert (cause(one) == cause(other)) == same


def test_a_sweep_of_which_every_swarm_fails_exits_with_1(run: Run) -> None:
    code, out, _ = run(*sweep_args(Path("a.zarr"), "--jobs", "1", vary=("horizon=11s,12s",)))
    assert code == 1
    assert "0 of 2 swarms done, 2 failed" in out
    assert (read(Path("a.zarr")).status == 2).all()


OUT = ("--out", "a.zarr")


@pytest.mark.parametrize(("options", "text"), REFUSED["swept_commands"])
def test_bad_input_is_one_message_before_any_work(
    run: Run, options: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("btflow.sweeps.api.execute", lambda *_, **__: pytest.fail("something was run"))
    (tmp_path / "file.zarr").write_text("mine")
    zarr.create_group(tmp_path / "foreign.zarr")
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run("sweep", *shlex.split(options))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("btflow: error: ")
    assert text in err
    assert sorted(tmp_path.rglob("*")) == before


SWEEP = """
[sweep]
sample = "lhs:3"
seed = 7
replicas = 2
common = true
set = { leechers = 2, file_size = "512 KiB" }
[sweep.vary]
rtt = ["0 ms", "20 ms"]
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model file that declares a sweep."""
    source = (Path(__file__).parents[2] / "models" / "swarms" / "rao2010.toml").read_text()
    (tmp_path / "my.toml").write_text(f"{source}\n{SWEEP}")
    return tmp_path / "my.toml"


def test_options_undo_what_the_file_says(run: Run, model: Path) -> None:
    assert run("sweep", str(model), "--jobs", "1", "--out", "a.zarr")[0] == 0
    found = read(Path("a.zarr"))
    assert (dict(found.status.sizes), found.attrs["design"]) == ({"sample": 3, "replica": 2}, "lhs:3")
    assert (found.seed == 7).all()
    other = ("--sample", "grid", "--no-common", "--seed", "0", "--replicas", "1", "--set", "leechers=3")
    assert run("sweep", str(model), "--jobs", "1", "--out", "b.zarr", *other)[0] == 0
    found = read(Path("b.zarr"))
    assert (dict(found.status.sizes), found.attrs["design"]) == ({"rtt": 2, "replica": 1}, "grid")
    assert len(set(found.seed.values.tolist())) == 2
    assert found.attrs["common_random_numbers"] == 0


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("seed = -1", "sweep.seed = -1: is out of range"),
        ("replicas = 0", "sweep.replicas = 0: is out of range"),
        ('sample = "lhs:0"', "sweep.sample = 'lhs:0': has 0 points"),
        ("common = 1", "sweep.common = 1"),
    ],
)
def test_what_the_file_says_is_refused_by_its_name(run: Run, model: Path, said: str, text: str) -> None:
    name = said.split(" ")[0]
    lines = [said if line.startswith(f"{name} = ") else line for line in SWEEP.splitlines()]
    model.write_text(model.read_text().replace(SWEEP, "\n".join(lines)))
    code, _, err = run("sweep", str(model), "--out", "a.zarr")
    assert (code, err.count("\n")) == (2, 1)
    assert text in err


def test_what_failed_can_be_run_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is too little memory for one of two points; then there is more."""
    args = ("sweep", "rao2010", "--set", "file_size=512 KiB", "--vary", "leechers=2,40")
    assert run(*args, "--jobs", "1", "--out", "whole.zarr")[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(memory, "available", lambda: state_bytes(compile_scenario(tiny(leechers=20))))
        code, out, err = run(*args, "--jobs", "2", *OUT)
    assert "a.zarr: 1 of 2 swarms done, 1 failed" in out
    assert "btflow: 1 at once instead of 2: a swarm takes up to" in err
    failed = read(Path("a.zarr"))
    assert failed.attrs["complete"] == 1
    assert run(*args, "--resume", *OUT)[1] == out
    code, out, _ = run(*args, "--jobs", "1", "--resume", "--retry-failed", *OUT)
    assert (code, out) == (0, "a.zarr: 2 of 2 swarms done, 0 failed\n")
    assert bits(read(Path("a.zarr"))).identical(bits(read(Path("whole.zarr"))))


def test_a_grid_of_a_billion_points_is_refused_at_once(run: Run) -> None:
    axes = ("rtt=lin(0ms,1s,1000)", "loss=lin(0%,5%,1000)", "upload_limit=lin(10kB/s,100kB/s,1000)")
    run(*sweep_args(Path("a.zarr"), vary=("rtt=lin(0ms,1s,2000)", "loss=lin(0%,5%,1000)")))  # imports what it needs
    with calls(10**6):
        code, _, err = run(*sweep_args(Path("a.zarr"), vary=axes))
    assert code == 2
    assert "1,000,000,000 swarms': is more than 1,000,000; allowed: --yes" in err


def test_a_sweep_of_another_kind_is_refused(run: Run) -> None:
    first = sweep_args(Path("a.zarr"), "--jobs", "1", vary=("rtt=0ms",))
    assert run(*first)[0] == 0
    for more, text in (
        ((), "--out = 'a.zarr': exists; allowed: --resume"),
        (("--resume", "--seed", "7"), "was made by another sweep: seed 0 there, 7 here"),
    ):
        code, _, err = run(*first, *more)
        assert (code, text in err) == (2, True)


def test_a_scheduler_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btflow.sweeps.dask.CONNECT", 0.5)
    code, _, err = run(*sweep_args(Path("a.zarr"), "--dask", "tcp://127.0.0.1:1"))
    assert code == 2
    assert "--dask = 'tcp://127.0.0.1:1': cannot be reached" in err
    assert not Path("a.zarr").exists()
    code, _, err = run(*sweep_args(Path("a.zarr"), "--dask", "no address"))
    assert code == 2
    assert "--dask = 'no address': cannot be reached" in err


@contextmanager
def serving(answer: bytes) -> Iterator[str]:
    """Return the address of a server that is no scheduler: it answers with some bytes, or never."""
    left = threading.Event()

    def serve() -> None:
        other, _ = server.accept()
        with other, suppress(OSError):  # it may be left in the midst
            other.recv(1)
            other.sendall(answer)
            other.recv(10**6)
            left.wait()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield "tcp://{}:{}".format(*server.getsockname())
        finally:
            left.set()
            thread.join()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is the address of something else than a scheduler"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "is the address of something else than a scheduler"),
        (bytes(4), "does not answer as a scheduler does"),
        (b"", "does not answer as a scheduler does"),
    ],
)
def test_an_address_that_is_no_schedulers(run: Run, monkeypatch: pytest.MonkeyPatch, answer: bytes, text: str) -> None:
    monkeypatch.setattr("btflow.sweeps.dask.CONNECT", 0.5)
    with serving(answer) as address:
        code, _, err = run(*sweep_args(Path("a.zarr"), "--dask", address))
    assert code == 2
    assert err.startswith("btflow: error: --dask = 'tcp://127.0.0.1:")
    assert text in err
    assert err.count("\n") == 1
    assert not Path("a.zarr").exists()
