"""The command line: what it prints, and that every bad input is one message and exit code 2."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import stub
import typer
import xarray as xr
from program import Run, refused, runner

from btflow import load, options
from btflow.cli import app
from btflow.errors import SimulationError
from btflow.swarm import report


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line in this process, without a real simulation."""
    module = types.ModuleType("btflow.swarm.run")
    module.simulate = stub.simulate  # type: ignore[attr-defined]  # a module made here
    monkeypatch.setitem(sys.modules, "btflow.swarm.run", module)

    return runner(monkeypatch, capsys)


BAD_INPUTS: list[tuple[tuple[str, ...], str]] = [
    (("run", "nosuchmodel"), "rao2010"),
    (("run", "flashcrowd", "--set", "client=transmission"), "(did you mean transmission-4 or transmission-3?)"),
    (("compare", "rao2010"), "No such command 'compare'. In Python it is scenario.compare"),
    (("run", "flashcrowd", "--set", "seed_upload_limit=1 MB/s"), "(did you mean classes.seed.upload_limit?)"),
    (("run", "flashcrowd", "--set", "rat=1"), "delay_max, rtt, "),
    (("run", "rao2011"), "did you mean rao2010"),
    (("run", "rao2010", "--set", "upload_limit=20"), "upload_limit = '20': has no unit"),
    (("run", "rao2010", "--set", "upload_limit=-3 kB/s"), "is negative"),
    (("run", "rao2010", "--set", "upload_limit=0 kB/s"), "from 1 B/s"),
    (("run", "rao2010", "--set", "upload_limit=20 apples"), "unknown unit 'apples'"),
    (("run", "rao2010", "--set", "upload_limit=unlimited"), "is not supported without an access link"),
    (("run", "rao2010", "--set", "upload_limit=none"), "is not supported without an access link"),
    (("run", "rao2010", "--set", "rtt=nan ms"), "finite"),
    (("run", "rao2010", "--set", "rtt="), "does not start with a number"),
    (("run", "rao2010", "--set", "loss=150%"), "0%"),
    (("run", "rao2010", "--set", "tso=2"), "neither true nor false"),
    (("run", "rao2010", "--set", "nosuch=1"), "upload_limit, seed_upload_limit"),
    (("run", "rao2010", "--set", "leechers=-5"), "is negative"),
    (("run", "rao2010", "--set", "leechers=1e99"), "out of range"),
    (("run", "rao2010", "--set", "leechers=0"), "1 to 100000"),
    (("run", "rao2010", "--set", "file_size=0 MB"), "from 1 B"),
    (("run", "rao2010", "--set", "leecher_as=AS1"), "seed_as"),
    (("run", "rao2010", "--set", "rtt"), "NAME=VALUE"),
    (("run", "rao2010", "--set", "classes.leechers.uplod_limit=1 kB/s"), "(did you mean upload_limit?); allowed: role"),
    (
        ("run", "rao2010", "--set", "paths.rtt=1 s", "--set", "rtt=1 s"),
        "paths.rtt = '1 s': sets paths.rtt, as parameter",
    ),
    (("run", "rao2010", "--set", "classes.*.client=mainline-9"), "is not a name in models/clients"),
    (("list", "--fields"), "btflow list MODEL --fields"),
    (("run", "rao2010", "--set", "=1 s"), "NAME=VALUE"),
    (("run", "rao2010", "--set", "rtt=1 s", "--set", "rtt=2 s"), "a second time"),
    (("run", "rao2010", "--replicas", "0"), "--replicas = 0"),
    (("run", "rao2010", "--replicas", "1000000000"), "1 to 100000"),
    (("run", "rao2010", "--replicas", "many"), "--replicas"),
    (("run", "rao2010", "--seed", "-1"), "--seed = -1"),
    (("run", "rao2010", "--seed", str(2**63)), "0 to 9223372036854775807"),
    (("run", "rao2010", "--out", "/proc/nope/x.nc"), "--out"),
    (("run", "rao2010", "--out", "folder.nc"), "directory"),
    (("run", "rao2010", "--out", "result.csv"), ".nc"),
    (("run", "rao2010", "--plot", "figure.gif"), ".html"),
    (("run", "rao2010", "--plot", "/nonexistent/figure.html"), "--plot"),
    (
        ("run", "rao2010", "--replicas", "abc"),
        "--replicas = 'abc': is not a whole number; allowed: a whole number from 1",
    ),
    (("run", "rao2010", "--seed", "1.5"), "--seed = '1.5': is not a whole number"),
    (("run", "rao2010", "--out", ""), "--out = '': is empty; allowed: a file ending in .nc"),
    (("run", "rao2010", "--out", "a.nc", "--out", "b.nc"), "--out = 'b.nc': is a second file; allowed: one --out"),
    (("run", "rao2010", "--plot", "a.html", "--plot", "b.html"), "--plot = 'b.html': is a second file"),
    (("run", "rao2010", "--out", 253 * "x" + ".nc"), "cannot be written: File name too long"),
    (
        ("run", "rao2010", "--plot", "a.html", "--motion", "./a.html"),
        "--motion = './a.html': is the file of --plot, too",
    ),
    (("run", "./a.nc", "--out", "a.nc"), "--out = 'a.nc': is read, too"),
    (("run", "rao2010", "--set", "title=\udcff"), r"control characters, or bytes that are no UTF-8: '\udcff'"),
    (("run", "\udcff\n.toml"), r"\udcff\n.toml: no such file"),
    (("link", "rao2010"), "is a swarm, which btflow run and load take"),
    (("run", "rao2010", "--nosuch"), "--nosuch"),
    (("run", "rao2010", "extra"), "extra"),
    (
        ("run", ""),
        "model = '': is not a name in models/swarms nor the path of a .toml file; allowed: flashcrowd",
    ),
    (("run",), "Missing argument 'model'. Such as: btflow run rao2010; btflow list has the models."),
    (("sweep",), "Such as: btflow sweep rao2010 --vary"),
    (("export", "r.zarr"), "Such as: btflow export r.zarr r.csv"),
    (("completion",), 'Such as: eval "$(btflow completion bash)"'),
    (("completion", "tcsh"), "SHELL = 'tcsh': is not a shell with completion; allowed: bash, zsh, fish"),
    (("list", "cubc"), "NAME = 'cubc': is not a name in btflow list (did you mean cubic"),
    (("nosuchcommand",), "nosuchcommand"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("args", "text"), BAD_INPUTS, ids=lambda v: " ".join(v) if isinstance(v, tuple) else "")
def test_bad_input_is_one_message_and_exit_code_2(
    run: Run, args: tuple[str, ...], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.nc").mkdir()
    err = refused(run, *args)
    assert err.count("\n") == 1
    assert text in err


FINE = {
    "run": ("rao2010", "--set", "leechers=3"),
    "sweep": ("rao2010", "--vary", "rtt=0ms,1s", "--set", "leechers=3", "--out", "x.zarr"),
    "link": ("--flow", "cubic", "--duration", "1 s"),
    "export": ("x.zarr", "x.csv"),
    "calibrate": (str(Path(__file__).parents[1] / "lines" / "recorded" / "packets-up.json.gz"),),
    "handout": ("folder",),
}
"""Arguments that make a command work."""
OPTIONS = [
    (command, parameter.opts[0])
    for command, found in typer.main.get_command(app.app).commands.items()  # type: ignore[attr-defined]  # it has some
    for parameter in found.params
    if not getattr(parameter, "is_flag", False) and parameter.opts[0] not in ("--help", "--site")
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_empty_text_is_refused_by_every_option(
    run: Run, command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fine = FINE.get(command, ())
    if option.startswith("--"):
        at = fine.index(option) if option in fine else len(fine)
        args = (*fine[:at], option, "", *fine[at + 2 :])
    else:
        args = ("", *fine[1:]) if option != "file" else (*fine[:1], "")
    code, out, err = run(command, *args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not list(tmp_path.iterdir())


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("syntax", b"x = [1]\ny = [\n1,,\n", "at line 3, column 3"),
    ("unclosed", b"x = [\n", "at end of document"),
    ("binary", bytes(range(256)) * 10, "not UTF-8"),
    ("control", b"\x00\x01\x02", "not valid TOML"),
    ("empty", b"", "is empty"),
    ("comment", b"# nothing\n", "is empty"),
    ("foreign", b"[tool.poetry]\nname = 'x'\n", "classes"),
    ("deep", b"x = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
    ("nested", b"x = " + b"[" * 50 + b"]" * 50, "nested too deeply"),
    ("chain", b"a." * 3000 + b"a = 1\n", "nested too deeply"),
    ("digits", b"x = " + b"9" * 5000, "a whole number has more than 64 bits"),
    ("hexadecimal", b"x = 0x" + b"f" * 5000, "a whole number has more than 64 bits"),
    ("escapes", b'title = "\\u001b[31m"\n', r"control characters, or bytes that are no UTF-8: '\x1b[31m'"),
    ("large", b"#" * (2**20 + 1), "is larger than 1 MiB"),
    ("link", b"[flows.a]\ncc = 'cubic'\n", "is a link experiment, which btflow link and load_link take"),
    ("cubic", b"base = 'cubic'\n", "is a congestion control, which btflow link --flow takes"),
]


@pytest.mark.parametrize(("name", "content", "text"), BAD_FILES, ids=[name for name, *_ in BAD_FILES])
def test_bad_model_files(run: Run, tmp_path: Path, name: str, content: bytes, text: str) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_bytes(content)
    err = refused(run, "run", str(path))
    assert text in err
    assert "Traceback" not in err


def test_missing_model_files_and_folders(run: Run, tmp_path: Path) -> None:
    assert "no such file" in refused(run, "run", str(tmp_path / "none.toml"))
    (tmp_path / "folder.toml").mkdir()
    assert "is a folder" in refused(run, "run", str(tmp_path / "folder.toml"))
    os.mkfifo(tmp_path / "pipe.toml")
    assert "it is a pipe, not a file" in refused(run, "run", str(tmp_path / "pipe.toml"))
    assert "it is a device, not a file" in refused(run, "run", "/dev/zero")


def test_any_field_is_set_by_its_path(run: Run) -> None:
    listed = run("list", "rao2010", "--fields")[1]
    assert "\nclasses.leechers.client " in listed
    assert "btflow list rao2010 --fields" in run("list", "rao2010")[1]
    settings = ("leechers=5", "classes.*.client=libtorrent-2", "classes.leechers.upload_limit=30 kB/s", "slots=6")
    found = json.loads(run("run", "rao2010", *(word for s in settings for word in ("--set", s)), "--json")[1])
    assert {name: found["parameters"][name] for name in ("classes.*.client", "slots")} == {
        "classes.*.client": "libtorrent-2",
        "slots": "6",
    }
    assert "upload_limit" not in found["parameters"]  # its field is set by another name


def test_the_fields_that_are_listed_can_be_set_to_what_is_listed(run: Run) -> None:
    lines = re.sub(r"\n {9,}", " ", run("list", "rao2010", "--fields")[1]).splitlines()  # what goes on below itself
    rows = [line.split(maxsplit=1)[0] for line in lines[5:] if not line.endswith(" -")]
    values = [line.split("  ")[-1].strip() for line in lines[5:] if not line.endswith(" -")]
    assert len(rows) > 100
    base = load("rao2010")
    for row, value in zip(rows, values, strict=True):
        assert base.set(**{row: value}) == base, row


def test_several_problems_are_several_lines(run: Run) -> None:
    err = refused(run, "run", "rao2010", "--set", "rtt=1", "--set", "loss=2")
    assert [line.split()[2] for line in err.splitlines()] == ["rtt", "loss"]


def test_json_is_one_object(run: Run) -> None:
    code, out, err = run(
        "run", "rao2010", "--set", "leechers=5", "--set", "rtt=1 s", "--replicas", "3", "--seed", "7", "--json"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["model"] == "rao2010"
    assert found["parameters"]["rtt"] == "1 s"
    assert (found["seed"], found["replicas"]) == (7, 3)
    times = [1000 + 10 * r + i for r in range(3) for i in range(1, 6)]
    completion = found["completion_s"]
    assert completion["mean"] == pytest.approx(np.mean(times))
    assert (completion["min"], completion["max"]) == (1001, 1025)
    assert [completion[p] for p in ("p10", "p50", "p90")] == pytest.approx(np.percentile(times, (10, 50, 90)))
    assert completion["replica_means"] == [1003, 1013, 1023]
    assert found["by_class"]["seed"] == {"count": 1, "completion_s": None}
    assert found["by_class"]["leechers"] == {"count": 5, "completion_s": completion, **completion}
    assert found["cpu_s"] == 0.125
    assert len(found["scenario_hash"]) == 64
    assert found["version"]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SimulationError("3 of 5 leechers had not finished"), 1, "error: 3 of 5 leechers had not finished\n"),
        (MemoryError(), 2, "error: out of memory: take fewer leechers"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_what_ends_a_swarm_is_one_message(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
) -> None:
    monkeypatch.setattr(sys.modules["btflow.swarm.run"], "simulate", Mock(side_effect=error))
    found, out, err = run("run", "rao2010")
    assert (found, out, err.count("\n")) == (code, "", 1)
    assert err.startswith(f"btflow: {said}")


def test_text_shows_times_and_what_they_are_made_of(run: Run) -> None:
    code, out, err = run("run", "rao2010", "--set", "leechers=5", "--replicas", "2")
    assert (code, err) == (0, "")
    assert "1008.0" in out  # the mean completion time
    assert "copies uploaded by the seed       1.25" in out
    assert "20 of 80" in out  # unchokes ended idle
    assert "limiter 20.0%, window 20.0%" in out
    assert max(map(len, out.splitlines())) <= 100


def test_what_is_not_known_is_a_dash() -> None:
    quiet = stub.simulate(load("rao2010").set(leechers=5))
    quiet["limited_share"] = np.nan * quiet["limited_share"]
    quiet["upload_utilisation"] = np.nan * quiet["upload_utilisation"]
    text = report.as_text(quiet)
    assert "limiter -, window -, loss -, pipeline -, idle -" in text
    assert "upload utilisation, seeds         -\n" in text
    assert "nan" not in text


def test_files_are_written_whole_or_not_at_all(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.nc"
    assert run("run", "rao2010", "--set", "leechers=5", "--out", str(path), "--json")[0] == 0
    with xr.open_dataset(path, engine="h5netcdf") as written:
        assert written.attrs["model"] == "rao2010"
        assert written.completion_time.shape == (1, 6)
    before = path.read_bytes()

    monkeypatch.setattr(Path, "write_bytes", half_written)
    code, out, err = run("run", "rao2010", "--set", "leechers=5", "--out", str(path), "--overwrite")
    assert code == 1
    assert err == f"btflow: error: {path}: No space left on device\n"
    assert "completion time" in out  # the run is not lost
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["result.nc"]


def half_written(path: Path, content: bytes) -> int:
    """Write half of a file as on a disk that fills up."""
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
    raise OSError(28, "No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize(("write", "name"), [("write_netcdf", "result.nc"), ("save", "figure.html")])
def test_a_disk_that_fills_up_is_an_error_that_names_the_file(tmp_path: Path, write: str, name: str) -> None:
    script = (
        "import errno, resource, sys\n"
        f"sys.path.insert(0, {str(Path(stub.__file__).parent)!r})\n"
        "import stub\n"
        "from pathlib import Path\n"
        "from btflow import files, load, plots\n"
        "def save(result, path):\n"
        "    with files.replacing(path) as partial:\n"
        "        plots.save(plots.completion_cdf(result, bound=False), partial)\n"
        "result = stub.simulate(load('rao2010').set(leechers=5))\n"
        f"write = save if {write!r} == 'save' else files.write_netcdf\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"try: write(result, Path({str(tmp_path / name)!r}))\n"
        "except OSError as error: print(errno.errorcode[error.errno], error.filename)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"EFBIG {tmp_path / name}\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_fails_takes_neither_the_summary_nor_the_result_with_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "figure.html"))

    monkeypatch.setattr("btflow.cli.common.write_plot", fail)
    asked = ("--out", str(tmp_path / "result.nc"), "--plot", str(tmp_path / "figure.html"))
    code, out, err = run("run", "rao2010", "--set", "leechers=5", *asked, "--json")
    assert (code, json.loads(out)["replicas"]) == (1, 1)
    assert err == f"btflow: error: {tmp_path}/figure.html: No space left on device\n"
    assert [p.name for p in tmp_path.iterdir()] == ["result.nc"]


def test_links_are_followed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.nc"
    link.symlink_to(tmp_path / "folder" / "result.nc")
    for _ in range(2):  # the file is new, then replaced
        assert run("run", "rao2010", "--set", "leechers=5", "--out", str(link), "--overwrite")[0] == 0
        assert link.is_symlink()
        assert [p.name for p in (tmp_path / "folder").iterdir()] == ["result.nc"]
    (tmp_path / "loop.nc").symlink_to(tmp_path / "loop.nc")
    err = refused(run, "run", "rao2010", "--out", str(tmp_path / "loop.nc"))
    assert "cannot be written: Too many levels of symbolic links" in err


def test_what_is_not_a_file_is_not_replaced(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.nc")
    err = refused(run, "run", "rao2010", "--out", str(tmp_path / "pipe.nc"))
    assert "is not a file that can be replaced" in err


def test_nothing_runs_when_a_file_cannot_be_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(sys.modules["btflow.swarm.run"], "simulate", lambda *a, **_: calls.append(a))
    assert run("run", "rao2010", "--out", str(tmp_path / "none" / "x.nc"))[0] == 2
    assert calls == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_list_describes_every_name_that_it_prints(run: Run) -> None:
    for more in ((), ("rao2010", "--fields"), ("testa2011", "--fields")):
        shown = run("list", *more)[1]
        pattern = r"name in \w+ +- +(\S+)$" if more else r"^  (\S+)  +\S"
        found = set(re.findall(pattern, shown, re.MULTILINE)) - {"-", "{"}
        assert len(found) >= (3 if more else 60)
        for name in found:
            code, out, err = run("list", name)
            assert (code, err) == (0, ""), name
            assert f"{name}: " in out, name


COMPLETED = [
    ("run ra", {"rao2010"}),
    ("link b", {"bufferbloat"}),
    ("sweep bufferb", {"bufferbloat"}),
    ("list adsl-", {"adsl-128k", "adsl-bloated"}),
    ("run rao2010 --repl", {"--replicas"}),
    ("run rao2010 --set file_s", {"file_size="}),
    ("sweep --seed 1 geni --vary transp", {"transport="}),
    ("link --flow led", {"ledbat", "ledbat-25", "ledbat-linux", "ledbatpp"}),
    ("run rao2010 --fidelity fl", {"flow"}),
    ("run rao2010 --set tso=", {"tso=true", "tso=false"}),
    ("run rao2010 --set internet=ip", {"internet=iplane"}),
    ("link coexistence --set high_cc=cubic-", {"high_cc=cubic-2.6", "high_cc=cubic-6"}),
    ("link --flow=bb", {"bbr"}),
    ("run nosuch.toml --set x", set()),
]


BROKEN = [
    f"COMP_WORDS=(btflow {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _btflow btflow; echo ${{COMPREPLY[@]}}"
    for words in ("run ra", "link --flow = bb", "link coexistence --set high_cc = cubic-")  # as bash breaks them
]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(run: Run, shell: str) -> None:
    script = run("completion", shell)[1]
    protocol = "bash" if shell == "bash" else "fish"  # zsh asks for the form of fish, with meanings
    assert f"_BTFLOW_COMPLETE=complete_{protocol}" in script
    for typed, wanted in COMPLETED:
        words = ["btflow", *typed.split()]
        asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
        if protocol == "fish":
            asked = {"_TYPER_COMPLETE_ARGS": " ".join(words), "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        environment = os.environ | asked | {"_BTFLOW_COMPLETE": f"complete_{protocol}"}
        program = [sys.executable, "-m", "btflow"]
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
        assert {line.partition("\t")[0] for line in done.stdout.splitlines()} - {""} == wanted, typed
    if at := shutil.which(shell):
        line, answer = {
            "bash": ("\n".join(BROKEN), "rao2010\nbbr\ncubic-2.6 cubic-6"),
            "zsh": ("print $_comps[btflow]", "_btflow"),  # outside its editor it completes nothing
            "fish": ('complete -C "btflow run ra"', "rao2010"),
        }[shell]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [at, "-c", f"{script}\n{line}"], env={"PATH": path}, capture_output=True, text=True, check=False
        )
        assert (done.stdout.strip(), done.stderr) == (answer, "")


def test_list(run: Run) -> None:
    assert "rao2010" in run("list")[1]
    code, out, _ = run("list", "rao2010")
    assert code == 0
    assert "1 kB = 1 KiB = 1024 B" in out
    rows = {line.split()[0]: line for line in re.sub(r"\n {9,}", " ", out).splitlines() if line}
    assert "20 kB/s" in rows["upload_limit"]
    assert "as upload_limit" in rows["seed_upload_limit"]
    assert "AS5" in rows["leecher_as"]


def test_schema_version_and_help(run: Run) -> None:
    assert json.loads(run("schema")[1])["title"] == "btflow model file"
    assert run("--version") == (0, "btflow 0.1.0\n", "")
    for args in ((), ("--help",), ("run", "--help")):
        code, out, _ = run(*args)
        assert code == 0
        assert "Usage: btflow" in out


def test_help_and_refusals_do_not_import_what_they_do_not_need() -> None:
    script = (
        "import sys\n"
        "from btflow.cli import app as cli\n"
        "sys.argv = ['btflow', 'run', 'rao2010', '--set', 'rtt=1']\n"
        "try: cli.main()\n"
        "except SystemExit as exit: assert exit.code == 2\n"
        "print([name for name in ('numba', 'numpy', 'xarray', 'plotly', 'scipy') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_settings_keep_everything_after_the_first_equals_sign() -> None:
    assert options.parse_settings(["a=b=c", " d = 1 s "]) == {"a": "b=c", "d": "1 s"}
