"""What the documentation says is so: examples print what is shown, constants are the code's, tests exist."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
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
