"""How much memory is left: what ulimit and the control groups of jobs, services and containers leave."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import proclimits
import pytest
from sweep_made import command, read

from btflow import memory

MB = 10**6

LEFT = "from btflow import memory; print(memory.available())"


@pytest.mark.parametrize("limit", ["AS", "DATA"])
def test_what_ulimit_leaves(limit: str) -> None:
    assert 2**20 < memory.available() < 2**50
    script = f"import numpy, resource; resource.setrlimit(resource.RLIMIT_{limit}, (2**30, 2**30)); {LEFT}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert 2**28 < int(done.stdout) < 2**30


V1 = {"limit": "memory.limit_in_bytes", "used": "memory.usage_in_bytes", "cache": "total_inactive_file"}
V2 = {"limit": "memory.max", "used": "memory.current", "cache": "inactive_file"}
HIDDEN = "hierarchical_memory_limit"

# Where the process is, what is mounted where, the groups' limits and usage [MB], and what is left [MB].
GROUPS: dict[str, tuple[str, dict[str, str], dict[str, tuple[int, int, int]], int]] = {
    "job of SLURM": ("0::/job/step", {"": "/ cgroup2"}, {"job": (900, 300, 100), "job/step": (0, 200, 50)}, 700),
    "neighbours in a slice": ("0::/s/a", {"": "/ cgroup2"}, {"s": (900, 800, 0), "s/a": (500, 100, 0)}, 100),
    "version 1": ("4:memory:/a/b", {"m": "/ memory"}, {"m/a": (600, 500, 0), "m/a/b": (900, 100, 0)}, 100),
    "hybrid": ("4:memory:/a\n0::/x", {"m": "/ memory", "u": "/ cgroup2"}, {"m/a": (600, 500, 0)}, 100),
    "namespace": ("0::/", {"": "/ cgroup2"}, {".": (900, 300, 0)}, 600),
    "container of version 1": ("4:memory:/d/1", {"m": "/d/1 memory"}, {"m": (600, 500, 30)}, 130),
    "nothing over it but a hidden limit": ("4:memory:/d/1", {"m": "/d/1 memory"}, {"m": (-400, 100, 0)}, 300),
}


@pytest.mark.parametrize("name", GROUPS)
def test_what_control_groups_leave(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, mounts, groups, left = GROUPS[name]
    lines = []
    for number, (place, mounted) in enumerate(mounts.items()):
        root, kind = mounted.split()
        (tmp_path / place).mkdir(exist_ok=True)
        system = "cgroup2 cgroup2 rw" if kind == "cgroup2" else f"cgroup cgroup rw,{kind}"
        lines.append(f"{30 + number} 23 0:{number} {root} {tmp_path / place} rw - {system}\n")
    for place, (limit, used, cache) in groups.items():
        names, group = V1 if "m" in place.split("/") else V2, tmp_path / place
        group.mkdir(parents=True, exist_ok=True)
        hidden = f"{HIDDEN} {abs(limit) * MB}\n" * (names is V1)
        none = "max" if names is V2 else str(2**63 - 4096)
        (group / names["limit"]).write_text(str(limit * MB) if limit > 0 else none)
        (group / names["used"]).write_text(str(used * MB))
        (group / "memory.stat").write_text(f"{hidden}{names['cache']} {cache * MB}\n")
    (tmp_path / "mountinfo").write_text("".join(lines))
    (tmp_path / "cgroup").write_text(where + "\n")
    monkeypatch.setattr("proclimits._cgroup._PROC_SELF_MOUNTINFO", tmp_path / "mountinfo")
    monkeypatch.setattr("proclimits._cgroup._PROC_SELF_CGROUP", tmp_path / "cgroup")
    proclimits.clear_cache()
    try:
        assert memory.available() == left * MB
    finally:
        proclimits.clear_cache()


@pytest.fixture
def group() -> Iterator[Path]:
    """Give a group of the kernel's within one that is limited to 900 MB."""
    source = proclimits.describe().memory_source
    with ExitStack() as made:
        try:
            outer = Path(source.levels[0] if source else "/nowhere", "btflow-test")
            for folder in (outer, outer / "inner"):
                folder.mkdir()
                made.callback(folder.rmdir)
            (limit,) = (outer / names["limit"] for names in (V1, V2) if (outer / names["limit"]).exists())
            limit.write_text(str(900 * MB))
        except (OSError, ValueError):
            pytest.skip("no control group can be made here")
        yield outer / "inner"


def inside(group: Path, *args: str) -> subprocess.CompletedProcess[str]:
    run = ["sh", "-c", 'echo $$ > "$0"/cgroup.procs; exec "$@"', str(group), *args]
    return subprocess.run(run, capture_output=True, text=True, timeout=300, check=True)


def test_what_a_group_of_the_kernel_leaves(group: Path) -> None:
    script = f"{LEFT}; import numpy; taken = numpy.ones(200 * 10**6, numpy.uint8); print(memory.available())"
    before, after = map(int, inside(group, sys.executable, "-c", script).stdout.split())
    assert 700 * MB < before < 900 * MB
    assert abs(before - after - 200 * MB) < 50 * MB


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_a_sweep_in_a_limited_group_goes_on_without_the_swarms_that_do_not_fit(
    backend: str, group: Path, tmp_path: Path
) -> None:
    args = ["--vary", "buffer=20 packets,1000000 packets", "--vary", "leechers=4,250", "--set", "file_size=1 MB"]
    path = tmp_path / "a.zarr"
    done = inside(group, *command("sweep", "flashcrowd", *args, "--backend", backend, "--out", str(path)))
    found = read(path)
    assert "1 at once instead of" in done.stderr
    assert (found.status.sel(leechers=4) == 1).all()
    assert "GB of memory" in str(found.failure.sel(leechers=250).values.ravel()[1])
