"""The mainline client in the test bed, as its tables are kept, and the model beside it."""

from __future__ import annotations

from pathlib import Path

import btflow
from validation.clients import cells, mainline, predictions, report, scenario

CELL = cells.load()["mainline-20k-400ms"]


def test_a_cell_without_links_is_a_swarm_behind_upload_limits_alone(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(scenario.text(CELL), encoding="utf-8")
    model = btflow.load(path)
    assert model.transport is not None
    assert all(part.access is None for part in model.classes)
    assert {part.upload_limit for part in model.classes} == {20 * 1024}


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
