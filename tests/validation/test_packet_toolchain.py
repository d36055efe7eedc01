"""The ns-3 that packet-level programs are compiled against, and the version that frozen tables are of; none is run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from btflow.errors import InputError
from validation.packet_level import run, tables, toolchain
from validation.packet_level.toolchain import LIBRARIES, ToolchainError


def installed(prefix: Path, name: str = "ns3.48", profile: str = "", folder: str = "lib") -> Path:
    """Make what an installation of ns-3 has: a header, and a library for each module."""
    header = prefix / "include" / toolchain.HEADER
    header.parent.mkdir(parents=True, exist_ok=True)
    header.touch()
    (prefix / folder).mkdir(parents=True, exist_ok=True)
    for module in LIBRARIES:
        (prefix / folder / f"lib{name}-{module}{profile}.so").touch()
    return prefix


@pytest.mark.parametrize(
    ("name", "profile", "folder", "release"),
    [
        ("ns3.47", "", "lib", "3.47"),
        ("ns3.48", "-optimized", "lib64", "3.48"),
        ("ns3.46.1.1", "", "lib", None),
        ("ns3.100.1", "-debug", "lib/x86_64-linux-gnu", "3.100.1"),
        ("ns3-dev", "", "lib", "3-dev"),
    ],
)
def test_an_installation_is_found_by_its_libraries(
    tmp_path: Path, name: str, profile: str, folder: str, release: str | None
) -> None:
    prefix = installed(tmp_path, name, profile, folder)
    if release is None:
        with pytest.raises(ToolchainError, match=r"^\S+: ns-3 3\.46\.1\.1 is older than 3\.47$"):
            toolchain.find(str(prefix))
        return
    found = toolchain.find(str(prefix))
    assert (found.release, found.include, found.libraries) == (release, prefix / "include", prefix / folder)
    assert found.library("core") == f"{name}-core{profile}"


def test_what_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"nowhere: no such folder; give the one that ns-3 was installed to$"):
        toolchain.find(str(tmp_path / "nowhere"))
    with pytest.raises(ToolchainError, match=r": no headers of ns-3 \(include/ns3/core-module.h\)"):
        toolchain.find(str(tmp_path))
    prefix = installed(tmp_path)
    (prefix / "lib" / "libns3.48-stats.so").unlink()
    with pytest.raises(ToolchainError, match=r": ns-3 was built there without its module stats$"):
        toolchain.find(str(prefix))
    (prefix / "lib" / "libns3.48-core.so").unlink()
    with pytest.raises(ToolchainError, match=r": no libraries of ns-3 \(lib/libns3\.\*-core\.so\)$"):
        toolchain.find(str(prefix))


@pytest.mark.parametrize("way", ["option", "environment"])
def test_the_command_takes_the_folder_and_fails_before_any_run(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere, out = str(tmp_path / "nowhere"), tmp_path / "out"
    monkeypatch.setenv(toolchain.PREFIX, nowhere if way == "environment" else "")
    options = ["--ns3", nowhere] if way == "option" else []
    monkeypatch.setattr(sys, "argv", ["run", "aqm", "--out", str(out), *options])
    assert run.main() == 1
    told = "no such folder; give the one that ns-3 was installed to"
    assert capsys.readouterr().err == f"packet-level: {nowhere}: {told}\n"
    assert not out.exists()


# Tables


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of the tables of two versions that are not there yet."""
    monkeypatch.setattr(tables, "FROZEN", tmp_path / "frozen")
    monkeypatch.setattr(tables, "RELEASE", "3.48")
    monkeypatch.setattr(tables, "EARLIER", ("3.44",))
    tables.manifest.cache_clear()
    tables.rows.cache_clear()
    yield tmp_path / "frozen"
    tables.manifest.cache_clear()
    tables.rows.cache_clear()


def test_every_version_that_is_kept_is_what_its_manifest_says() -> None:
    for release in (tables.RELEASE, *tables.EARLIER):
        assert {table["ns3"] for table in tables.manifest(release).values()} == {release}
        assert tables.rows("ramp", release)


def test_a_table_of_another_version_is_refused(made_up: Path) -> None:
    made_up.mkdir()
    (made_up / "manifest.toml").write_text('[ramp]\nns3 = "3.40"\n')
    with pytest.raises(InputError) as refused:
        tables.rows("ramp", "3.48")
    assert str(refused.value) == "manifest.toml, [ramp] ns3 = '3.40': the table is of another version; allowed: 3.48"
    with pytest.raises(InputError, match=r"^ns-3 = '3\.40': there are no tables .*: 3\.48, 3\.44$"):
        tables.rows("ramp", "3.40")


def test_a_rerun_is_compared_with_the_tables_of_its_own_version(
    made_up: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = made_up.parent / "rerun"
    monkeypatch.setattr(run, "HERE", made_up.parent)
    for folder, goodput in ((made_up, 2), (made_up / "ns-3.44", 1), (out, 1)):
        run.write_table(folder / "aqm.csv", [{"seed": 1, "goodput_bps": goodput, "cpu_s": folder == out}])
    for release in ("3.44", "3.48", "3-dev"):
        run.compare(out, ["aqm"], release)
    assert capsys.readouterr().out.splitlines() == [
        "aqm.csv: 1 of 1 rows as frozen/ns-3.44",
        "aqm.csv: 0 of 1 rows as frozen",
        "aqm.csv: 0 of 1 rows as frozen",
    ]
    run.compare(made_up, ["aqm"], "3.48")  # the frozen ones themselves
    assert not capsys.readouterr().out


@pytest.mark.parametrize("given", ["", " "])
def test_a_folder_of_ns3_that_is_no_name_is_refused(
    given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(toolchain.PREFIX, raising=False)
    monkeypatch.setattr("sys.argv", ["run", "--ns3", given])
    with pytest.raises(SystemExit) as ended:
        run.arguments()
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("error: --ns3 needs the folder that ns-3 was installed to\n")
    monkeypatch.setattr("sys.argv", ["run"])
    assert run.arguments().ns3 == ""
