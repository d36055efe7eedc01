"""What the validation runs by `btflow.sweep`: each swarm once for each state of the sources, on any number of cores."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from validation_made import TINY

from btflow import InputError, SimulationError, load, simulate
from btflow.sweeps.database import FILE
from validation import pipeline
from validation.cases import MODEL, Case
from validation.experiments import Plan
from validation.sweeps import Run, Sweeps, base


def run(seed: int = 3, **settings: object) -> Run:
    return Run(MODEL, {"leechers": 4, "file_size": "256 KiB", **settings}, seed, 2)


def test_what_was_run_is_not_run_again(tmp_path: Path) -> None:
    """The CPU time is measured anew where a swarm is run."""
    runs = [run(), run(rtt="400 ms"), run(4)]
    found = list(Sweeps(tmp_path, "some").results(runs))
    again = list(Sweeps(tmp_path, "some", jobs=2).results(runs))
    anew = list(Sweeps(tmp_path, "some", fresh=True).results(runs))
    for one, other, third in zip(found, again, anew, strict=True):
        assert isinstance(one, xr.Dataset)
        assert isinstance(other, xr.Dataset)
        assert isinstance(third, xr.Dataset)
        xr.testing.assert_identical(one, other)
        xr.testing.assert_equal(one, third)
        assert one.attrs["cpu_s"] != third.attrs["cpu_s"]


def test_results_are_those_of_simulate_in_the_order_asked_for(tmp_path: Path) -> None:
    """Settings of several names and models make several sweeps; one that is asked for twice is there twice."""
    runs = [run(), run(rtt="400 ms"), run(), run(4), run(rtt="0 ms"), replace(run(), fidelity="flow")]
    linked = Run("flashcrowd", {"leechers": 4, "file_size": "256 KiB"}, 5)
    found = list(Sweeps(tmp_path, "some").results([*runs, linked]))
    expected = [
        simulate(load(r.model).set(**r.settings), seed=r.seed, replicas=r.replicas, fidelity=r.fidelity)
        for r in [*runs, linked]
    ]
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, xr.Dataset)
        xr.testing.assert_equal(one, other)


def test_what_does_not_finish_and_what_flow_refuses_has_its_error(tmp_path: Path) -> None:
    late, fine = run(horizon="12 s"), run(horizon="1 d")
    linked = {"leechers": 4, "file_size": "1 MB", "uplink": "unlimited"}
    refused = Run("flashcrowd", linked, 0, fidelity="flow")
    sweeps = Sweeps(tmp_path, "some")
    failed, whole, no = sweeps.results([late, fine, refused])
    assert isinstance(failed, SimulationError)
    assert "12 s" in str(failed)
    assert isinstance(whole, xr.Dataset)
    assert isinstance(no, InputError)
    assert "allowed: a rate" in str(no)
    for bad in (late, refused):
        with pytest.raises((InputError, SimulationError)):
            sweeps.result(bad)


def test_some_of_what_was_run_more_or_in_another_order_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [run(), run(rtt="400 ms"), run(4)]
    whole = list(Sweeps(tmp_path, "some").results(first))
    once = replace(run(4), replicas=1)
    sweeps = Sweeps(tmp_path, "some")
    with monkeypatch.context() as patch:
        patch.setattr("btflow.sweep", lambda *_, **__: pytest.fail("it was run again"))
        (again,) = sweeps.results([first[1]])
        one, other = sweeps.results([once, run()])
    for found, expected in ((again, whole[1]), (one, sweeps.result(once)), (other, whole[0])):
        assert isinstance(found, xr.Dataset)
        assert isinstance(expected, xr.Dataset)
        xr.testing.assert_identical(found, expected)
    assert isinstance(one, xr.Dataset)
    xr.testing.assert_equal(one, simulate(once.scenario(), seed=4))
    (more,) = sweeps.results([replace(run(), replicas=3)])
    assert isinstance(more, xr.Dataset)
    assert more.sizes["replica"] == 3


def test_a_model_that_was_edited_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    source = Path(str(files("btflow.models") / "swarms" / "rao2010.toml")).read_text(encoding="utf-8")
    path.write_text(source, encoding="utf-8")
    edited = replace(run(), model=str(path))
    before = Sweeps(tmp_path, "some").result(edited)
    path.write_text(source.replace('title = "', 'title = "Edited. ', 1).replace("256 KiB", "128 KiB"), encoding="utf-8")
    base.cache_clear()
    after = Sweeps(tmp_path, "some").result(edited)
    assert after.attrs["title"] != before.attrs["title"]


def test_results_of_another_version_go_and_what_is_not_ours_stays(tmp_path: Path) -> None:
    ours = Sweeps(tmp_path, "some")
    list(ours.results([run()]))
    former, other, mine = (
        tmp_path / name for name in ("some-0123456789ab", "some-else-0123456789ab", "some-cafecafecafe")
    )
    ours.path.rename(former)
    for folder in (other, mine):
        folder.mkdir()
    (mine / "notes.txt").touch()
    (tmp_path / "some-aaaaaaaaaaaa").touch()
    assert Sweeps(tmp_path, "some").path == ours.path
    assert not former.exists()
    assert other.exists()
    assert mine.exists()


def test_a_store_that_is_damaged_runs_again_and_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    sweeps = Sweeps(tmp_path / "new" / "folder", "some")
    first = sweeps.result(run())
    (store,) = sweeps.path.iterdir()
    (store / FILE).write_bytes(b"nothing")
    xr.testing.assert_equal(sweeps.result(run()), first)
    (store / FILE).unlink()
    xr.testing.assert_equal(sweeps.result(run()), first)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"--out = .*cannot be written: .*; allowed: a folder that can be written"):
        Sweeps(tmp_path / "file", "some")


def test_a_claims_cases_are_kept_too(tmp_path: Path) -> None:
    found = pipeline.make(Plan(1, TINY), ["R07"], tmp_path)
    again = pipeline.make(Plan(1, TINY), ["R07"], tmp_path, jobs=2)
    assert again.results.measured == found.results.measured
    assert np.isfinite(found.results.times(Case(20))).all()
