"""What commands print fits a terminal of 100 columns, and files that exist are replaced only if that is meant."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from program import Run, runner

from btflow.columns import WIDTH, listed, paragraph, table
from btflow.config.catalog import names

TINY = ("--set", "leechers=5", "--set", "file_size=1 MB")
LINK = ("link", "--flow", "cubic:2", "--flow", "ledbat@1s,name=a-flow-of-mine", "--voip", "g729", "--probe", "100 B@1s")
TABLES = [
    ("list",),
    *(("list", name, *more) for name in (*names(), *names("links")) for more in ((), ("--fields",))),
    ("run", "rao2010", *TINY),
    ("run", "testa2012", *TINY),
    ("run", "rao2010", *TINY, "--set", "internet=iplane", "--fidelity", "flow"),
    (*LINK, "--flow", "cubic,size=100 kB", "--duration", "5 s"),
    ("link", "opnet2009"),
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    return runner(monkeypatch, capsys)


def too_long(text: str) -> list[str]:
    """Return the lines that do not fit."""
    return [line for line in text.splitlines() if len(line) > WIDTH]


@pytest.mark.parametrize("command", TABLES, ids=" ".join)
def test_tables_fit_the_terminal(run: Run, command: tuple[str, ...]) -> None:
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert not too_long(out)


def test_so_does_what_a_sweep_and_a_calibration_say(run: Run, tmp_path: Path) -> None:
    vary = ("--vary", "rtt=0 ms,400 ms", "--fidelity", "flow", "--check", "2")
    code, out, _ = run("sweep", "rao2010", *TINY, *vary, "--replicas", "2", "--out", str(tmp_path / "s.zarr"))
    assert code == 0
    assert not too_long(out.replace(str(tmp_path), ""))
    (tmp_path / "mine.csv").write_text("rtt_ms,loss\n" + "".join(f"{20 + n},0.0{n % 10}\n" for n in range(60)))
    code, out, _ = run("calibrate", str(tmp_path / "mine.csv"), "--out", str(tmp_path / "mine.toml"))
    assert code == 0
    assert not [line for line in too_long(out.replace(str(tmp_path), "")) if not line.startswith("Note")]


@pytest.mark.parametrize("command", ["", "list", "run", "sweep", "link", "export", "calibrate", "bench", "explore"])
def test_so_does_help(run: Run, command: str) -> None:
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert not too_long(out)
    assert "..." not in out.partition("\nCommands:")[2], "a sentence is cut"


@pytest.mark.parametrize("command", [("run", "rao2010", *TINY), ("link", "--flow", "cubic", "--duration", "2 s")])
@pytest.mark.parametrize(("option", "name"), [("--out", "x.nc"), ("--plot", "x.html")])
def test_a_file_that_exists_is_replaced_only_if_that_is_meant(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], option: str, name: str
) -> None:
    file = tmp_path / name
    file.write_text("mine")
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*command, option, name)
    assert (code, out) == (2, "")
    assert err == f"btflow: error: {option} = '{name}': exists; allowed: --overwrite to replace it, or another path\n"
    assert file.read_text() == "mine"
    assert run(*command, option, name, "--overwrite")[0] == 0
    assert file.read_bytes()[:4] != b"mine"


def on_a_terminal(columns: int, *arguments: str) -> str:
    """Return what the program prints on a terminal of so many columns."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "btflow", *arguments]
    with subprocess.Popen(command, stdout=its, stderr=subprocess.DEVNULL, env=environment):
        os.close(its)
        parts = []
        with suppress(OSError):  # the end, on Linux
            while part := os.read(ours, 65536):
                parts.append(part)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_lines_fit_a_narrower_terminal() -> None:
    text = on_a_terminal(64, "list", "flashcrowd")
    assert max(map(len, text.splitlines())) <= 64
    assert next(line for line in text.splitlines() if line.startswith("utp_gain ")).split()[-2:] == ["3", "kB"]
    assert text.count("\nparameter ") == 2, "the meanings are below the other columns"


@given(
    st.lists(st.lists(st.text("abc", min_size=1, max_size=9), min_size=5, max_size=5), min_size=2, max_size=4),
    st.integers(24, 60),
)
def test_columns_that_do_not_fit_come_below(rows: list[list[str]], columns: int) -> None:
    whole = table(rows, right=(1, 3))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("btflow.columns.width", lambda: columns)
        text = table(rows, right=(1, 3))
    assert max(map(len, text.splitlines())) <= columns
    blocks = [block.splitlines() for block in text.split("\n\n")]
    for n, row in enumerate(rows):
        assert [cell for block in blocks for cell in block[n].split()[1:]] == row[1:]
        assert {block[n].split()[0] for block in blocks} == {row[0]}
    if max(map(len, whole.splitlines())) <= columns:
        assert text == whole


WORDS = st.lists(st.text("ab cd", max_size=40).map(str.strip), min_size=2, max_size=2)


@given(st.lists(WORDS, min_size=1, max_size=5), st.sampled_from([(), (0,)]))
def test_a_table_keeps_all_words_in_its_lines(rows: list[list[str]], right: tuple[int, ...]) -> None:
    text = table(rows, right)
    assert not too_long(text)
    assert sorted(text.split()) == sorted(" ".join(cell for row in rows for cell in row).split())


@given(st.lists(st.text("abc =", min_size=1, max_size=60).map(lambda text: f"x{text}x"), min_size=1, max_size=8))
def test_no_item_of_a_list_is_broken(items: list[str]) -> None:
    text = listed(items)
    assert not too_long(text)
    assert all(item in text for item in items)
    assert paragraph("a " * 300).count("\n") > 1
