"""The table of all published claims: made of what the parts found, and the same as README.md and the limits say."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ROOT

from btflow.errors import InputError
from validation import overview, part, reference
from validation.command import run_app
from validation.fidelity.links.verdicts import at_full
from validation.fidelity.verdicts import at_full as at_full_2010
from validation.part import Part, Row
from validation.verdict import Condition, Finding, Verdict

CLAIMS = [
    f"{letter}{n:02}"
    for letter, most in (("R", 15), ("T", 6), ("D", 5), ("G", 2), ("V", 2))
    for n in range(1, most + 1)
]
FULL = {"R": "summary", "T": "swarms", "D": "swarms", "G": "links", "V": "links", "P": "links"}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return a folder with what the parts have found."""
    shutil.copytree(overview.FOLDER / part.FOLDER, tmp_path / part.FOLDER)
    return tmp_path


@pytest.fixture(scope="module")
def found() -> overview.Found:
    """Return what the parts have found."""
    return overview.gathered()


def change(kept: Path, name: str, **changes: Any) -> None:
    """Change fields of a part's data."""
    file = kept / part.FOLDER / f"{name}.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def table(page: Path) -> dict[str, list[str]]:
    """Return the cells of a page's claims, by claim."""
    rows = re.findall(r"^\| (?:\[(\w\d\d)\]\(\w+\.md\) )?(.+) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [(name, re.split(r"(?<!\\) \| ", text)) for name, text in rows]
    return {name or row[0]: row for name, row in cells if name or re.fullmatch(r"\w\d\d", row[0])}


def test_the_page_is_what_the_parts_found(found: overview.Found) -> None:
    page = overview.page(found).text(overview.PAGE)
    assert (overview.FOLDER / overview.PAGE).read_text(encoding="utf-8") == page, f"`{overview.COMMAND}` makes it anew"


def test_it_has_every_published_claim_once() -> None:
    assert [name for name in table(overview.FOLDER / overview.PAGE) if not name.startswith("P")] == CLAIMS
    assert set(overview.words()) == {*CLAIMS, *overview.PACKETS}
    assert {name for file in ("claims", "swarms", "links") for name in reference.claims(f"{file}.toml")} > set(CLAIMS)


@pytest.mark.parametrize("name", [*CLAIMS, *overview.PACKETS])
def test_a_row_agrees_with_its_report(name: str, found: overview.Found) -> None:
    """The data say what the report says, and what is short is short: a row has a line or two."""
    (line,) = (line for line in (*found.lines, *found.packets) if line.id == name)
    row = table(overview.FOLDER / line.report)[line.id]
    assert (line.report, row[1], row[-1]) == (
        f"{FULL[line.id[0]]}.md",
        line.full.verdict,
        line.full.ours.replace("|", "\\|"),
    )
    assert line.full.holds == (overview.short(line.full) not in ("in part", "not reproduced"))
    assert len(line.words.name) <= 50
    assert max(len(text) for text in (line.words.paper, line.full.brief, line.flow.brief if line.flow else "")) <= 34
    assert re.fullmatch(r"[A-Z0-9u][^.]{,100}\.", line.words.why.replace("0.", "")), "one short sentence"


def test_flow_has_all_but_single_packets(found: overview.Found) -> None:
    assert [line.id for line in found.lines if line.flow is None] == ["V01", "V02"]
    assert [*at_full_2010(), *at_full(), "V01", "V02"] == CLAIMS


@pytest.mark.parametrize("name", ["README.md", "docs/limits.md"])
def test_others_say_the_same(name: str, found: overview.Found) -> None:
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    counts = overview.counts(found.lines).rstrip(".")
    assert counts in text
    assert text.count("published claims are reproduced") == 1


def test_the_limits_name_what_does_not_come_out(found: overview.Found) -> None:
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    section = text.partition("## Published claims that do not come out\n")[2].partition("\n## ")[0]
    failed, partly = section.split("\nIn part:\n")
    for word, lines in (("not reproduced", failed), ("in part", partly)):
        wanted = [line.id for line in found.lines if overview.short(line.full) == word]
        assert sorted(re.findall(r"^- \*\*(\w\d\d)\*\*", lines, re.MULTILINE)) == sorted(wanted), word


def test_counts_by_hand() -> None:
    verdicts = ["reproduced", "bound held", "holds by construction", "in part: a reproduced; b not", "not reproduced"]
    lines = [
        overview.Line(f"X{n:02}", "", overview.Words("", "", text, ""), Row("", "", text, n < 3), None, None)
        for n, text in enumerate(verdicts)
    ]
    assert overview.counts(lines) == (
        "2 of 5 published claims are reproduced, 1 hold by construction, 1 come out in part and 1 do not."
    )
    assert overview.failed(lines) == "In part: X03; not reproduced: X04."


def test_another_verdict_at_flow_and_a_real_client_are_shown(kept: Path) -> None:
    Part.now("make real-clients", {"R02": Row("5% | 6%")}, "2030-01-02").write(kept / overview.CLIENTS)
    found = overview.gathered(kept)
    rows = {line.id: overview.cells(line, found.measured) for line in found.lines}
    assert rows["R02"][4] == "5% | 6%"
    assert rows["R01"][4] == overview.NONE
    assert rows["R05"][3] == "not known"
    text = overview.page(found).text("a.md")
    assert "| flow | real client | verdict |" in text
    assert "5% \\| 6%" in text
    assert "2030-01-02. Made by" in text
    other = next(line for line in found.lines if line.flow and "in part" in line.flow.verdict and line.full.holds)
    assert rows[other.id][3].endswith(": **in part**")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": "0.0.9"}, "is of btflow 0.0.9, this is "),
        ({"form": 2}, "has another form: form: Input should be 1"),
        ({"rows": {"T01": {"ours": "x"}}}, "has another form: rows.T01.brief: Field required"),
        (
            {"rows": {}},
            "results = 'T01': was not judged; allowed: all claims, as `python -m validation.swarms` judges them",
        ),
    ],
)
def test_data_of_another_kind_get_one_line(
    changes: dict[str, Any],
    message: str,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(kept, "swarms", **changes)
    monkeypatch.setattr("sys.argv", ["validation.overview", "--out", str(kept)])
    assert run_app(overview.app, "validation.overview") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert "python -m validation.swarms" in line
    assert not (kept / overview.PAGE).exists()


@pytest.mark.parametrize("name", ["summary", "fidelity"])
def test_missing_and_damaged_data_name_the_command_that_makes_them(name: str, kept: Path) -> None:
    file = kept / part.FOLDER / f"{name}.json"
    command = {"summary": "python -m validation", "fidelity": "python -m validation.fidelity"}[name]
    found = json.loads(file.read_text(encoding="utf-8"))
    for field in ("version", "code", "form"):
        file.write_text(json.dumps({key: value for key, value in found.items() if key != field}), encoding="utf-8")
        with pytest.raises(InputError, match=rf"{name}\.json': has another form: {field}: Field required;"):
            overview.gathered(kept)
    file.write_text("{", encoding="utf-8")
    with pytest.raises(
        InputError, match=rf"{name}\.json': has another form: JSON: .*; allowed: what `{command}` writes$"
    ):
        overview.gathered(kept)
    file.unlink()
    with pytest.raises(InputError, match=rf"{name}\.json': cannot be read: No such file.*`{command}` writes$"):
        overview.gathered(kept)


def test_a_reason_for_another_verdict_is_not_shown(kept: Path) -> None:
    rows = json.loads((kept / part.FOLDER / "links.json").read_text(encoding="utf-8"))["rows"]
    for name in ("G01", "G02"):
        rows[name] |= {"verdict": "not reproduced", "holds": False}
    change(kept, "links", rows=rows)
    with pytest.raises(InputError) as raised:
        overview.gathered(kept)
    lines = str(raised.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["overview.toml = 'G01'", "overview.toml = 'G02'"]
    assert "came out as 'not reproduced', but its why is written for 'reproduced'" in lines[0]


def test_other_code_is_said(kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("summary", "swarms", "links", "fidelity", "fidelity_links", "mainline"):
        change(kept, name, code="0" if name == "swarms" else "1", date="2030-01-02")
    monkeypatch.setattr("sys.argv", ["validation.overview", "--out", str(kept)])
    assert run_app(overview.app, "validation.overview") == 0
    text = (kept / overview.PAGE).read_text(encoding="utf-8")
    assert "(some by other code than most: `python -m validation.swarms`, 2030-01-02)" in text
    assert "found by other code than this: python -m validation, " in capsys.readouterr().err


def test_a_row_is_the_verdict_with_the_figure_in_few_words() -> None:
    claim, held = reference.claims()["R01"], (Condition("", True),)
    assert part.row(Verdict(claim, Finding("p", "ours", held, brief="o"))) == Row("o", "ours", "reproduced", True)
    assert part.row(Verdict(claim, Finding("p", "ours", held)), "reached") == Row("ours", "ours", "reached", True)
