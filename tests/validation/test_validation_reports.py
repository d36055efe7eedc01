"""The reports in the repository: a question, what came out, two screens; what is longer lies behind them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_pages import ROOT

from validation.markdown import CAME_OUT, DETAILS, LINES, Report, anchor, headings

FOLDER = ROOT / "validation"
REPORTS = sorted(FOLDER.glob("*.md"))
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")


def anchors(page: Path) -> set[str]:
    """Return where headings of a page are linked to."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return {anchor(line.lstrip("#").strip()) for line in lines if line.startswith("#")}


@pytest.mark.parametrize("page", REPORTS, ids=lambda page: page.stem)
def test_a_report_is_a_question_what_came_out_and_two_screens(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LINES
    assert lines[0].startswith("# ")
    assert lines[2].endswith("?")
    assert "." not in lines[2].rstrip("?").replace("0.", ""), "the question is one sentence"
    assert lines[4].startswith(CAME_OUT)
    verdicts = "\n".join(lines[4 : next(i for i, line in enumerate(lines[6:], 6) if not line.startswith("- "))])
    assert re.search(r"\d+%? of \d+", verdicts), "how many of how many"


@pytest.mark.parametrize(
    "page", [*REPORTS, *(FOLDER / DETAILS).glob("*.md")], ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_its_links_lead_somewhere(page: Path) -> None:
    for target, part in LINK.findall(page.read_text(encoding="utf-8")):
        file = (page.parent / target).resolve() if target else page
        assert file.is_file(), target
        assert not part or part in anchors(file), (target, part)


def test_what_is_behind_a_report_is_linked_from_it() -> None:
    for details in (FOLDER / DETAILS).glob("*.md"):
        assert f"({DETAILS}/{details.name})" in (FOLDER / details.name).read_text(encoding="utf-8")


def test_a_report_is_written_with_what_is_behind_it(tmp_path: Path) -> None:
    details = ["## Swarms' times, 5%", "", "[there](b.md#x), [code](../docs/c.md), [far](https://example.org)"]
    Report("A", "Is it?", ["1 of 2 is."], ["Why.", ""], details).write(tmp_path / "a.md")
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == (
        f"# A\n\nIs it?\n\n{CAME_OUT} 1 of 2 is.\n\nWhy.\n\n"
        "Behind it, in [details/a.md](details/a.md): [Swarms' times, 5%](details/a.md#swarms-times-5).\n"
    )
    behind = (tmp_path / "details" / "a.md").read_text(encoding="utf-8")
    assert behind.startswith("# A: details\n\nWhat is behind [the report](../a.md), written with it.\n\n## Swarms'")
    assert "[there](../b.md#x), [code](../../docs/c.md), [far](https://example.org)\n" in behind


def test_several_verdicts_are_a_list_and_a_short_report_has_nothing_behind_it(tmp_path: Path) -> None:
    Report("A", "Is it?", ["One.", "Two."], ["Why."]).write(tmp_path / "a.md")
    assert f"{CAME_OUT}\n\n- One.\n- Two.\n\nWhy.\n" in (tmp_path / "a.md").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]
    assert list(headings(["## A\n\n## B: c", "### D"])) == ["A", "B: c"]
