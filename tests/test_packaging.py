"""The wheel holds the code and every model file; the pins and the metadata go together."""

from __future__ import annotations

import configparser
import gzip
import hashlib
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path

import docs_pages
import pytest
from packaging.specifiers import SpecifierSet

import btflow
from btflow.files import extra

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_everywhere() -> None:
    assert btflow.__version__ == PROJECT["version"] == version("btflow")


def test_every_folder_with_code_is_in_the_wheel() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    packages = config["options"]["packages"].split()
    mapping = dict(line.split(" = ") for line in config["options"]["package_dir"].strip().splitlines())
    folders = {path.parent for path in (ROOT / "btflow").rglob("*.py")}
    assert {".".join(folder.relative_to(ROOT).parts) for folder in folders} <= set(packages)
    for package in packages:
        folder = mapping.get(package, package.replace(".", "/"))
        assert (ROOT / folder / "__init__.py").is_file()
        importlib.import_module(package)


def test_every_model_file_matches_the_pattern_of_the_wheels_data() -> None:
    found = sorted(path.relative_to(ROOT / "models") for path in (ROOT / "models").rglob("*.toml"))
    assert found
    assert {len(path.parts) for path in found} == {2}  # models/KIND/NAME.toml, as in setup.cfg


def test_the_wheel_holds_all_that_the_program_needs(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    for name in ("btflow", "models", "data", "docs", "notebooks", "tools/benchmarks"):
        ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(ROOT / name, sources / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.cfg", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(tmp_path), str(sources)], check=True)
    with zipfile.ZipFile(next(tmp_path.glob("btflow-*.whl"))) as wheel:
        found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    code = {path.relative_to(sources).as_posix() for path in (sources / "btflow").rglob("*") if path.is_file()}
    beside = {
        f"btflow/{path.relative_to(sources).as_posix().removeprefix('tools/')}"
        for name in ("models", "data", "notebooks", "tools/benchmarks")
        for path in (sources / name).rglob("*")
        if path.is_file()
    }
    docs = [
        path
        for pattern in ("*.py", "*.md", "figures/*.svg", "figures/*.png")
        for path in (sources / "docs").glob(pattern)
    ]
    beside |= {f"btflow/{path.relative_to(sources).as_posix()}" for path in docs}
    assert found == code | beside
    assert {"btflow/notebooks/01_first_swarm.ipynb", "btflow/explore/page/page.js", "btflow/py.typed"} <= found


@pytest.mark.parametrize(
    "folder", [ROOT / "btflow/explore/page/lib", ROOT / "requirements"], ids=lambda path: path.name
)
def test_what_is_shipped_of_others_is_what_they_published(folder: Path) -> None:
    """As the README.md beside it says: the sums of the files in the npm package, and of pip's wheel."""
    said = dict(re.findall(r"^\| `([^`]+)` .*`([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.M))
    assert said.keys() == {path.name for path in folder.iterdir()} - {"README.md", "constraints.txt"}
    for name, digest in said.items():
        data = (folder / name).read_bytes()
        assert hashlib.sha256(gzip.decompress(data) if name.endswith(".gz") else data).hexdigest() == digest


PAGES = [ROOT / "README.md", *(ROOT / "docs" / name for name in ("teachers.md", "explorer.md", "tutorial.md"))]


def test_all_pages_begin_with_the_same_two_commands() -> None:
    found = {page.name: next(b for b in docs_pages.blocks(page, "sh") if "make " in b) for page in PAGES}
    assert len(set(found.values())) == 1
    assert found["README.md"].count("\n") == 2
    others = {page.name for page in docs_pages.PAGES if re.search(r"pip install (?!-e )|-m venv", page.read_text())}
    assert others == set()


EMPTY = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("true", ""),
        ("mkdir -p .venv/bin; ln -s /nowhere .venv/bin/python; touch .venv/.run", ""),  # the system's Python is gone
        ("python3 -m venv --without-pip .venv; rm .venv/bin/activate", ""),  # as Debian's leaves it without ensurepip
        ("echo exit 1 > python3; chmod +x python3", ""),  # too old: another one is found
        (
            "for n in '' .11 .12 .13 .14; do echo exit 1 > python3$n; chmod +x python3$n; done",
            "btflow needs Python 3.11 to",
        ),
    ],
)
def test_the_environment_is_made_whatever_lies_there(tmp_path: Path, before: str, says: str) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shell = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
    asked = (
        f"{before}\nPATH=$PWD:$PATH make .venv/bin/pip && test ! -e .venv/.run && . .venv/bin/activate && pip --version"
    )
    done = subprocess.run(["sh", "-c", asked], env=EMPTY | {"HOME": str(tmp_path)}, **shell)  # type: ignore[call-overload]
    assert done.returncode == (2 if says else 0), done.stderr
    assert (says or f"{tmp_path}/.venv/") in done.stdout + done.stderr


@pytest.mark.slow
def test_the_two_commands_work_in_an_empty_environment(tmp_path: Path) -> None:
    """What pip is told of where packages come from is kept: as `make` itself, this test needs them."""
    clone = tmp_path / "btflow"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(clone)], check=True)
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
    empty = EMPTY | kept | {"HOME": str(tmp_path)}
    first, second = docs_pages.blocks(ROOT / "README.md", "sh")[0].splitlines()
    with subprocess.Popen(
        ["sh", "-c", first], cwd=clone, env=empty, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as making:  # fmt: skip
        try:
            assert making.stdout is not None
            said = ""
            for line in making.stdout:
                said += line
                if "http://127.0.0.1" in line:
                    break
            else:
                pytest.fail(said)
        finally:
            os.killpg(making.pid, signal.SIGINT)
    after = "\nbtflow list\npython -c 'import btflow; print(btflow.load(\"rao2010\").name)'"
    for folder in (clone, tmp_path):  # in the second `btflow` is a folder without a package
        asked = ["sh", "-c", f"cd {clone}\n{second}\ncd {folder}{after}"]
        done = subprocess.run(asked, env=empty, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "rao2010"


def test_every_dependency_is_pinned() -> None:
    lines = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    wanted = sum(PROJECT["optional-dependencies"].values(), PROJECT["dependencies"])
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in wanted} - {PROJECT["name"]}
    assert names <= pinned


def test_every_pin_can_be_installed_on_the_oldest_python() -> None:
    """Releases that need a later 3.11 than a distribution has, such as 3.11.2, once stopped every install there."""
    assert PROJECT["requires-python"] == ">=3.11"
    lines = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    here = {name: found for name in pins for found in _installed(name) if found.version == pins[name]}
    assert {"numpy", "tornado"} <= here.keys()
    needs = {name: str(found.metadata.json.get("requires_python", "")) for name, found in here.items()}
    assert {name: need for name, need in needs.items() if not SpecifierSet(need).contains("3.11.0")} == {}


def _installed(name: str) -> list[Distribution]:
    try:
        return [distribution(name)]
    except PackageNotFoundError:  # another system's
        return []


def test_hints_name_extras_that_there_are() -> None:
    """btflow is installed from its sources: nowhere is it said to be found elsewhere."""
    texts = [file.read_text() for file in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("btflow/**/*.py"))]
    hinted = {name for text in texts for name in re.findall(r"""(?:\bextra\(["']|'\.\[)(\w+)""", text)}
    assert {"dask", "parquet", "image"} <= hinted <= PROJECT["optional-dependencies"].keys()
    assert not any("btflow[" in text for text in texts)
    assert extra("dask") == "the extra dask (pip install -e '.[dask]' in a clone of btflow's sources)"


@pytest.mark.parametrize("name", ["Scenario", "ScenarioError", "SimulationError", "UnitError", "load", "schema"])
def test_public_names_are_found_lazily(name: str) -> None:
    assert name in dir(btflow)
    assert getattr(btflow, name) is getattr(btflow, name)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="nosuch"):
        _ = btflow.nosuch


@pytest.mark.xdist_group("alone")
def test_groups_of_tests_stay_together(request: pytest.FixtureRequest) -> None:
    """Some releases of pytest and pytest-xdist ignore groups silently; tests of one page then run in two processes."""
    if hasattr(request.config, "workerinput"):
        assert request.node.nodeid.endswith("@alone")
