"""What the validation runs: once for each state of the sources, in processes that end with the first."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from validation_made import TINY

from btflow.digest import sources
from validation import pipeline, store
from validation.cases import Case
from validation.experiments import Plan
from validation.runs import Task, run_all
from validation.store import Store


def test_what_was_run_is_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "report"
    found = pipeline.make(Plan(1, TINY), ["R07"], out)
    monkeypatch.setattr(pipeline, "run_all", lambda tasks, _: iter([pytest.fail("run again")] if tasks else []))
    again = pipeline.make(Plan(1, TINY), ["R07"], out)
    assert again.results.measured == found.results.measured
    task = Task(Case(20), 1, TINY)
    store = Store(out / pipeline.STORED)
    assert store.find(task) == found.results[Case(20)]
    assert store.find(replace(task, replicas=2)) is store.find(replace(task, swarm={})) is None
    assert Store(out / pipeline.STORED, fresh=True).find(task) is None
    (tmp_path / "bad.json").write_text("{")
    assert Store(tmp_path / "bad.json").find(task) is None


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes() -> None:
    tasks = [Task(Case(limit, 400), 2, TINY) for limit in (50, 100)]
    one, two = ({t.case: replace(m, cpu=0.0) for t, m in run_all(tasks, processes)} for processes in (1, 2))
    assert one == two


# What has been run is used again only if nothing it came from has changed.


def copied_digest(folder: Path) -> str:
    """Copy what a result may depend on, and return the digest of the copy."""
    root = Path(store.__file__).parents[1]
    for name in ("btflow", "models", "validation"):
        if not (folder / name).exists():
            shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "report"))
    return store.digest_of(folder / "btflow", folder / "models", folder / "validation")


@pytest.mark.parametrize(
    "name",
    [
        "btflow/swarm/client.py",
        "btflow/swarm/scenario.py",
        "btflow/units/parsing.py",
        "btflow/kernels/swarm/tcp.py",
        "btflow/a_new_module.py",
        "models/clients/mainline-4.0.toml",
        "models/paths/rao2010-as.toml",
        "validation/measured.py",
    ],
)
def test_an_edit_of_what_a_result_comes_from_makes_it_run_again(name: str, tmp_path: Path) -> None:
    before = copied_digest(tmp_path)
    assert copied_digest(tmp_path) == before
    with (tmp_path / name).open("a") as file:
        file.write("\n# edited\n")
    assert copied_digest(tmp_path) != before


@pytest.mark.slow
def test_everything_a_run_imports_is_in_the_digest() -> None:
    """A swarm is run and measured in a process of its own, and the files of ours that it has read are looked up."""
    script = (
        "import sys; from validation.cases import Case; from validation.runs import Task, run; "
        "run(Task(Case(100), 1, {'leechers': 2, 'file_size': '256 KiB'})); "
        "print(*(m.__file__ for n, m in list(sys.modules.items()) if n.split('.')[0] in ('btflow', 'validation')))"
    )
    root = Path(store.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    used = {Path(name) for name in done.stdout.split() if Path(name).stat().st_size > 0}
    counted = {*sources(root / "btflow").values(), *(root / "validation" / name for name in store.OURS)}
    packages = {root / name / "__init__.py" for name in ("models", "validation")}  # docstrings
    assert used - counted <= packages
    assert {
        root / "btflow" / name
        for name in ("swarm/client.py", "swarm/scenario.py", "swarm/program.py", "swarm/results.py")
    } <= used


# A validation that is stopped leaves nothing running.

WORKERS = """
import multiprocessing, os, sys, time
from pathlib import Path
from validation import runs
from validation.cases import Case

def run(task):
    if multiprocessing.parent_process() is not None:
        Path(sys.argv[1], str(os.getpid())).touch()
        time.sleep(600)
    return task, None

runs.run = run
if __name__ == "__main__":
    list(runs.run_all([runs.Task(Case(limit), 1, {}) for limit in (10, 20)], 2))
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_the_processes_end_with_the_one_that_started_them(number: int, code: int, tmp_path: Path) -> None:
    script, pids = tmp_path / "workers.py", tmp_path / "pids"
    script.write_text(WORKERS)
    pids.mkdir()
    root = str(Path(store.__file__).parents[1])
    parent = subprocess.Popen(
        [sys.executable, script, pids], env={**os.environ, "PYTHONPATH": root}, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: len(list(pids.iterdir())) == 2)
    parent.send_signal(number)
    assert parent.wait(60) == code
    wait_for(lambda: not any(running(int(path.name)) for path in pids.iterdir()))


def wait_for(condition: Callable[[], bool], most: float = 60.0) -> None:
    """Wait until something holds, at most `most` seconds."""
    end = time.monotonic() + most
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def running(pid: int) -> bool:
    """Return whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
