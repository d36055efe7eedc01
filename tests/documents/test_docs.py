"""What the documentation says is so: examples print what is shown, constants are the code's, tests exist."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import docs_pages
import pytest
from docs_pages import PAGES, ROOT
from program import Run, runner

CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if docs_pages.blocks(page, language)]


def test_there_is_something_to_check() -> None:
    assert {"tutorial.md", "howto.md"} <= {page.name for page in pages_with("console")}
    assert {"tcp.md", "ledbat.md", "queues.md", "client.md", "bounds.md"} <= {p.name for p in pages_with("pycon")}


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("pycon"), ids=lambda page: page.stem)
def test_python_prints_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(docs_pages.blocks(page, "pycon"))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    printed: list[str] = []
    result = doctest.DocTestRunner(CHECKER, optionflags=FLAGS).run(examples, out=printed.append)
    assert result.attempted > 0
    assert not result.failed, "".join(printed)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("console"), ids=lambda page: page.stem)
def test_commands_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = runner(monkeypatch, capsys)
    for block in docs_pages.blocks(page, "console"):
        for command, shown in docs_pages.commands(block):
            code, printed = ran(command, run)
            assert code == (2 if "error:" in shown else 0), printed
            assert CHECKER.check_output(stripped(shown), stripped(printed), FLAGS), f"$ {command}\n{printed}"


def ran(command: str, run: Run) -> tuple[int, str]:
    """Return the exit code and all that a command printed; the program runs in this process."""
    words = docs_pages.arguments(command)
    if words[0] == "btflow":
        code, out, err = run(*words[1:])
        return code, out + err
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(command, shell=True, env={"PATH": path}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def stripped(text: str) -> str:
    """Return lines without what is at their ends."""
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


SMALL = ("--set", "leechers=4", "--set", "file_size=1 MB")


@pytest.mark.slow
def test_the_commands_of_the_readme_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Swarms are smaller, so that this takes seconds."""
    monkeypatch.chdir(tmp_path)
    run = runner(monkeypatch, capsys)
    lines = [line for block in docs_pages.blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    asked = [words[1:] for line in lines if (words := docs_pages.arguments(line))[:1] == ["btflow"]]
    assert {words[0] for words in asked} == {"list", "run", "link", "sweep"}
    for words in asked:
        code, out, err = run(
            *words, *(SMALL if words[1:2] in (["rao2010"], ["flashcrowd"]) and words[0] != "list" else ())
        )
        assert code == 0, err
        assert out


@pytest.mark.slow
def test_the_example_of_the_readme_runs_in_the_folder_of_the_sources() -> None:
    (example,) = docs_pages.blocks(ROOT / "README.md", "python")
    quiet = "import plotly.graph_objects\nplotly.graph_objects.Figure.show = lambda self: print(len(self.data))\n"
    done = subprocess.run(
        [sys.executable, "-c", quiet + example], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, len(done.stdout.split())) == (0, 2), done.stderr


RECORDED = "tests/lines/recorded/packets-"
SWEEP = "sweep rao2010 --set leechers=4 --set file_size=1MB --vary rtt=0s,1s"
JSON = {
    "`btflow run --json`": "run flashcrowd --set leechers=4 --set file_size=100kB",
    "`btflow link --json`": "link --flow cubic --flow cubic,size=9kB --voip g711 --probe 9B@1s --duration 3s --rtt 9ms",
    "`btflow sweep --json`, `btflow merge --json`": f"{SWEEP} --fidelity flow --check 2 --out {{0}}/s.zarr; "
    f"{SWEEP} --part 1/2 --out {{0}}/1.zarr; {SWEEP} --part 2/2 --out {{0}}/2.zarr; "
    "merge {0}/m.zarr {0}/1.zarr {0}/2.zarr",
    "`btflow calibrate --json` of a line": f"calibrate {RECORDED}up.json.gz {RECORDED}down.json.gz",
    "`btflow calibrate --json` of paths": "calibrate {0}/paths.csv --out {0}/paths.toml",
}


@pytest.mark.slow
@pytest.mark.parametrize("title", JSON)
def test_keys_of_json_are_those_of_the_page(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    rows = "".join(f"{a},{b},{20 + a + b},0.01\n" for a in range(9) for b in range(a))
    (tmp_path / "paths.csv").write_text(f"src,dst,rtt_ms,loss\n{rows}")
    keys = {("format",)} | docs_pages.keys(ROOT / "docs" / "output.md", title)
    known = dict[tuple[str, ...], set[tuple[str, ...]]]()
    for command in JSON[title].format(tmp_path).split(";"):
        code, out, _ = runner(monkeypatch, capsys)(*command.split(), "--json")
        found = json.loads(out)
        assert (code, found["format"]) == (0, 1)
        known |= {path: {key for key in keys if same(path, key)} for path in leaves(found)}
    assert [path for path, of in known.items() if not of] == []
    assert keys - set().union(*known.values()) <= {("experiments",)}  # of links, in place of swarms


def leaves(node: object) -> Iterator[tuple[str, ...]]:
    """Give the path of each value of a JSON object; an entry of a list is `[]`."""
    entries = node if isinstance(node, list) else ()
    inner = list(node.items()) if isinstance(node, dict) else [("[]", v) for v in entries if isinstance(v, dict)]
    for name, value in inner:
        yield from ((name, *path) for path in leaves(value))
    if not inner:
        yield ()


def same(path: tuple[str, ...], key: tuple[str, ...]) -> bool:
    """Return whether a value is at a key of the page; one that is null or empty may be the table around the key."""
    return len(path) <= len(key) and all(b in (a, "*") for a, b in zip(path, key, strict=False))


CONSTANTS = [(page.name, *found) for page in PAGES for found in docs_pages.constants(page)]


def test_constants_are_quoted() -> None:
    assert len(CONSTANTS) > 80
    assert {"tcp.md", "ledbat.md", "queues.md", "client.md"} <= {page for page, *_ in CONSTANTS}


@pytest.mark.parametrize(("page", "value", "where"), CONSTANTS, ids=lambda text: str(text))
def test_a_constant_is_that_of_the_code(page: str, value: str, where: str) -> None:
    if (tests := docs_pages.named_tests(ROOT / "docs" / page)) and "::" in where:
        assert tuple(where.replace(".py", "").split("::")) in tests  # what is in no constant is pinned by a test
        return
    assert docs_pages.number(value) == pytest.approx(docs_pages.number(docs_pages.value_at(where)))


REFERENCE = ("tcp", "ledbat", "laws", "queues", "speech", "client", "messages", "paths", "swarms-on-links", "fidelity")


@pytest.mark.parametrize("name", REFERENCE)
def test_a_page_of_the_model_reference_has_calculations_constants_and_tests(name: str) -> None:
    page = ROOT / "docs" / f"{name}.md"
    assert "**By hand" in page.read_text(encoding="utf-8")
    assert list(docs_pages.constants(page))
    assert docs_pages.named_tests(page)


@pytest.mark.parametrize("law", ["BBR", "Vegas", "TCP-LP", "Nice", "LEDBAT++"])
def test_a_law_without_a_page_of_its_own_is_calculated_by_hand(law: str) -> None:
    text = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    section = next(part for part in text.split("\n## ") if part.startswith(f"{law} ("))
    assert "**By hand" in section
    assert "```pycon" in section
    assert re.search(rf"^\| {re.escape(law)} \|.*`test_\w+\.py::", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_that_is_named_exists(page: Path) -> None:
    missing = {name for name in docs_pages.named_tests(page) if name[1] not in docs_pages.tests_of(name[0])}
    assert not missing


@pytest.mark.parametrize("page", [*PAGES, *(ROOT / "docs" / "api").glob("*.md")], ids=lambda page: page.stem)
def test_links_lead_to_files_of_the_sources(page: Path) -> None:
    """What the site has in their place is looked at when it is built."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target for target in re.findall(r"\]\(([^)#]+)", text) if not urlsplit(target).scheme]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_table_has_its_head(page: Path) -> None:
    """A blank line would end it, and the rows behind would be text."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert [table for table in tables if not re.match(r".*\n\|[ :|-]+\|\n", table)] == []
