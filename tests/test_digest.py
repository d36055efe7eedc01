"""What a result depends on is in the digest of the code: all that is imported, at the top of a file or within it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from imports import PACKAGE, file_of, imported

from btflow.digest import NO_RESULTS, TEXTS, code_digest, digest, sources

MAKES_RESULTS = (
    *("btflow.swarm.run", "btflow.swarm.flow", "btflow.link.run", "btflow.link.fluid"),
    *("btflow.sweeps.runs", "btflow.sweeps.plan"),
)
"""From what is said to figures: swarms, links, and the runs of a sweep."""


def closure() -> set[Path]:
    """Return all files of btflow that what makes results imports."""
    seen, left = set[Path](), [file for module in MAKES_RESULTS if (file := file_of(module))]
    while left:
        file = left.pop()
        seen.add(file)
        for module in imported(file):
            found = file_of(module)
            if found is not None and found not in seen:
                left.append(found)
    return seen


def test_all_that_makes_results_is_digested() -> None:
    found = {file.relative_to(PACKAGE).as_posix() for file in closure()}
    assert {
        "kernels/swarm/state.py",
        "link/voip.py",
        "kernels/fluid/hops.py",
        "paths/model.py",
        "units/parsing.py",
    } <= found
    assert found <= sources(PACKAGE).keys()


RUN = """
import sys, btflow
scenario = btflow.load("rao2010", leechers=2, file_size="256 KiB")
for fidelity in ("full", "flow"):
    out = f"{sys.argv[1]}/{fidelity}.zarr"
    btflow.sweep(scenario, {"rtt": ["0 ms"]}, keep="swarms", out=out, fidelity=fidelity, progress=False)
    btflow.open_swarms(out, scenario.set(rtt="0 ms"))
print(*(m.__file__ for n, m in list(sys.modules.items()) if n.split(".")[0] == "btflow" and m.__file__))
"""


@pytest.mark.slow
def test_all_that_a_run_has_loaded_is_digested(tmp_path: Path) -> None:
    """Swarms are run, kept and opened in a process of its own, and the files of ours that it has read are looked up."""
    done = subprocess.run([sys.executable, "-c", RUN, tmp_path], capture_output=True, text=True, check=True)
    used = {Path(name) for name in done.stdout.split() if Path(name).stat().st_size > 0}
    found = {file.relative_to(PACKAGE).as_posix() for file in used if file.is_relative_to(PACKAGE)}
    assert {"swarm/client.py", "swarm/program.py", "swarm/results.py", "kernels/swarm/tcp.py"} <= found
    assert found <= sources(PACKAGE).keys()


@pytest.mark.parametrize("name", ["cli/app.py", "cli/sweep.py", "link/report.py", "analysis/table.py"])
def test_what_only_looks_at_results_is_not(name: str) -> None:
    assert (PACKAGE / name).is_file()
    assert name not in sources(PACKAGE)


def test_the_digest_is_of_the_models_too_wherever_they_are(tmp_path: Path) -> None:
    """In a checkout their folder lies beside btflow/, in a wheel inside it; both have one digest."""
    copied = tmp_path / "btflow"
    models = copied / "models"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__", "data", "models"))
    shutil.copytree(Path(str(files("btflow.models"))), models)
    same = digest(copied, models)
    assert same == code_digest()
    edited = ("models/clients/mainline-4.0.toml", "models/transports/linux-2.6.32.toml", "kernels/swarm/state.py")
    for name in (*edited, "units/parsing.py", "sweeps/swarm_figures.py"):
        file = copied / name
        whole = file.read_text()
        file.write_text(whole + "\n# edited")
        assert digest(copied, models) != same
        file.write_text(whole)
    for name in (f"{NO_RESULTS[0]}/table.py", TEXTS[1]):
        (copied / name).write_text("# edited")
        assert digest(copied, models) == same
    (models / "clients" / "mainline-4.0.toml").rename(models / "clients" / "mainline-5.0.toml")
    assert digest(copied, models) != same
