"""The mainline client in the test bed, as its tables are kept: the model beside it, and what could make them differ."""

from __future__ import annotations

from pathlib import Path

import pytest

import btflow
from btflow.errors import InputError
from validation.clients import cells, hypotheses, mainline, predictions, report, scenario

CELL = cells.load()["mainline-20k-400ms"]


def test_a_cell_without_links_is_a_swarm_behind_upload_limits_alone(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(scenario.text(CELL), encoding="utf-8")
    model = btflow.load(path)
    assert model.transport is not None
    assert all(part.access is None for part in model.classes)
    assert {part.upload_limit for part in model.classes} == {20 * 1024}


def test_a_hypothesis_that_is_none_is_one_line() -> None:
    with pytest.raises(InputError, match="--only = 'magic': is not a hypothesis; allowed: model, segments"):
        hypotheses.chosen("magic")
    assert list(hypotheses.chosen("no-nagle")) == ["model", "no-nagle"]


@pytest.mark.parametrize("name", hypotheses.HYPOTHESES)
def test_a_hypothesis_is_a_swarm_of_its_own(name: str, tmp_path: Path) -> None:
    one = hypotheses.HYPOTHESES[name]
    path = tmp_path / "swarm.toml"
    path.write_text(hypotheses.text(50, 1000, 5, one), encoding="utf-8")
    swarm = btflow.load(path).set(**one.values)
    assert (swarm.transport is None) == one.segments
    assert swarm.paths.loss == 0.05
    if name != "model":
        path.write_text(hypotheses.text(50, 1000, 5, hypotheses.HYPOTHESES["model"]), encoding="utf-8")
        assert swarm != btflow.load(path)


def test_the_report_says_what_the_tables_say() -> None:
    compared = report.compare(cells.load().values())
    found = mainline.Found(compared, predictions.read())
    assert mainline.page(compared, predictions.read()).text("mainline.md") == mainline.REPORT.read_text(
        encoding="utf-8"
    )
    said = mainline.claims(found)
    assert set(said) == {"R02", "R04", "R05", "R07", "R12"}
    for brief, sentence in said.values():
        assert len(brief) <= 60
        assert "nan" not in brief + sentence
    seen = found.seen("mainline-20k-400ms", "idle")
    assert seen > mainline.OFTEN > found.seen("mainline-20k-200ms", "idle")
