"""``ds.btflow``: values with units choose what a sweep has, and a summary says in a few lines what it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import btflow
from btflow.columns import WIDTH
from btflow.errors import InputError

SMALL = {"leechers": 4, "file_size": "1 MB"}


@pytest.fixture(scope="module")
def sweep() -> xr.Dataset:
    vary: Any = {"rtt": ["0 ms", "400 ms"], "seed_upload_limit": ["10 kB/s", "20 kB/s"]}
    vary |= {("loss", "piece_size"): [("0%", "256 kB"), ("1%", "128 kB"), ("1%", "256 kB")]}
    return btflow.sweep(btflow.load("rao2010", **SMALL), vary, replicas=2, progress=False)


def test_values_with_units_and_numbers_choose_the_same(sweep: xr.Dataset) -> None:
    chosen = sweep.btflow.sel(seed_upload_limit="20 kB/s", rtt="0.4 s")
    xr.testing.assert_identical(chosen, sweep.sel(seed_upload_limit=20 * 1024.0, rtt=0.4))
    xr.testing.assert_identical(chosen, sweep.btflow.sel(seed_upload_limit=20480, rtt=0.1 + 0.3))
    both = sweep.btflow.sel(rtt=["400 ms", "0 ms"], peer_class="seed", replica=1)
    assert both.sizes["rtt"] == 2
    np.testing.assert_array_equal(both["rtt"], [0.4, 0.0])
    assert both["peer_class"].item() == "seed"


def test_of_names_that_vary_together_all_that_have_the_value(sweep: xr.Dataset) -> None:
    dim = sweep["loss"].dims[0]
    assert sweep.btflow.sel(loss="1%").sizes[dim] == 2
    assert dim not in sweep.btflow.sel(loss="1%", piece_size="128 kB").dims
    with pytest.raises(InputError, match=r"^piece_size = '128 kB': does not go with the other values"):
        sweep.btflow.sel(loss="0%", piece_size="128 kB")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rtt": "300 ms"}, "rtt = '300 ms': is not among its values; allowed: 0 s, 400 ms"),
        ({"rtt": "3"}, "rtt = '3': has no unit; allowed: 0 s, 400 ms"),
        ({"seed_upload_limit": "20 ms"}, "seed_upload_limit = '20 ms': has the unknown unit"),
        ({"rt": "0 ms"}, r"rt: is not a coordinate \(did you mean rtt\?\); allowed: rtt, "),
        ({"rtt": None}, "rtt = 'None': is not one of its values; allowed: 0 s, 400 ms"),
        ({"loss": "1"}, "loss = '1': is not among its values"),
        ({"loss": "2"}, r"loss = '2': is out of range \(did you mean 2%\?\); allowed: 0%, 1%"),
        ({"rtt": slice("3 s", "4 s")}, r"rtt = slice\('3 s', '4 s', None\): has none of its values; allowed: 0 s, "),
        ({"rtt": slice(0, 1, 2)}, "rtt = .*: is a slice with a step; allowed: one or a list of 0 s, 400 ms"),
        ({"peer_class": slice("a", "z")}, "peer_class = .*: is a slice of what is no number; allowed: one or a list"),
        ({"peer_class": "x"}, "peer_class = 'x': is not among its values; allowed: seed, leechers"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(sweep: xr.Dataset, given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}"):
        sweep.btflow.sel(**given)


def test_a_mapping_and_keywords_are_the_same_for_method_and_function(sweep: xr.Dataset) -> None:
    wanted = sweep.btflow.sel(rtt="400 ms", seed_upload_limit="20 kB/s")
    for select in (sweep.btflow.sel, lambda *values, **named: btflow.analysis.select(sweep, *values, **named)):
        xr.testing.assert_identical(select({"rtt": "400 ms"}, seed_upload_limit="20 kB/s"), wanted)
        xr.testing.assert_identical(select(rtt="400 ms", seed_upload_limit="20 kB/s"), wanted)
        with pytest.raises(InputError, match=r"^rtt: is given twice; allowed: in the mapping or by keyword"):
            select({"rtt": "400 ms"}, rtt="400 ms")
        with pytest.raises(InputError, match=r"^values = 'rtt': is not a mapping"):
            select("rtt")
    dotted = sweep.rename(seed_upload_limit="classes.seed.upload_limit")
    assert dotted.btflow.sel({"classes.seed.upload_limit": "20 kB/s"})["classes.seed.upload_limit"].item() == 20480


def test_a_slice_has_both_its_ends(sweep: xr.Dataset) -> None:
    for limits, wanted in (
        (slice("10 kB/s", "20 kB/s"), [10240, 20480]),
        (slice("11 kB/s", None), [20480]),
        (slice(None, "10 kB/s"), [10240]),
        (slice(None), [10240, 20480]),
    ):
        np.testing.assert_array_equal(sweep.btflow.sel(seed_upload_limit=limits)["seed_upload_limit"], wanted)


def said(ds: xr.Dataset) -> str:
    return " ".join(repr(ds.btflow).split())


def test_a_part_says_what_is_chosen_and_an_average_counts_no_runs(sweep: xr.Dataset) -> None:
    part = said(sweep.btflow.sel(rtt="400 ms", replica=1))
    assert "chosen rtt = 400 ms, replica = 1" in part
    assert "varied seed_upload_limit: 10 kB/s, 20 kB/s; loss+piece_size:" in part
    assert "6 points × 1 replica = 6 runs done 6 done, 0 failed" in part
    assert "loss+piece_size: (1%, 128 KiB), (1%, 256 KiB)" in said(sweep.btflow.sel(loss="1%")).replace(" kB)", " KiB)")
    mean = said(sweep.mean("replica"))
    assert "without replica (averaged over, or left out)" in mean
    assert "varied rtt: 0 ms, 400 ms" in mean
    assert "without rtt, replica (averaged" in said(sweep.mean(["rtt", "replica"]))
    for reduced in (mean, said(sweep.mean()), said(sweep.isel(rtt=0, drop=True))):
        assert "run" not in reduced.split("without")[1]
        assert " done" not in reduced
    assert "12 done, 0 failed, 12 left out" in said(sweep.where(sweep["rtt"] > 0.1))


def test_it_works_on_what_was_written_and_read_again(sweep: xr.Dataset, tmp_path: Path) -> None:
    sweep.load().drop_vars("failure").to_netcdf(tmp_path / "s.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "s.nc", engine="h5netcdf") as read:
        there = read.btflow.sel(rtt="400 ms", loss="0%", seed_upload_limit="10 kB/s")
        here = sweep.btflow.sel(rtt="400 ms", loss="0%", seed_upload_limit="10 kB/s")
        np.testing.assert_array_equal(there["completion_mean"], here["completion_mean"])
        assert repr(read.btflow) == repr(sweep.btflow)


def test_a_result_of_one_scenario_too() -> None:
    result = btflow.simulate_link(flows=["cubic"], duration="5 s")
    assert result.btflow.sel(queue="home.uplink", time="1 s")["time"].item() == 1.0
    assert "1 flow, 2 queues" in repr(result.btflow)


def test_summaries_say_what_was_set_and_how_much_is_done_in_lines_that_fit(sweep: xr.Dataset) -> None:
    failed = sweep.load().copy(deep=True)
    failed["status"].values.flat[:3] = [0, 2, 2]
    for thing in (failed.btflow, btflow.load("rao2010", rtt="400 ms"), btflow.load_link("geni", buffer="10 packets")):
        lines = repr(thing).splitlines()
        assert max(map(len, lines)) <= WIDTH
        assert len(lines) <= 10
        shown = thing._repr_html_()  # what notebooks ask for
        assert set(re.findall(r"color:(\w+)", shown)) == {"inherit"}
        for word in re.findall(r"\w+ = [\w%. ]+", repr(thing)):
            assert " ".join(word.split()) in shown
    text = said(failed)
    assert "<sweep of rao2010>" in text
    assert "rtt: 0 ms, 400 ms; seed_upload_limit: 10 kB/s, 20 kB/s; loss+piece_size: (0%, 256 kB), (1%" in text
    assert "12 points × 2 replicas = 24 runs" in text
    assert "21 done, 2 failed, 1 not run yet" in text
    assert "changed  rtt = 400 ms" in str(btflow.load("rao2010", rtt="400 ms"))
    assert "1 seed and 300 leechers, 50 MB in 200 pieces" in repr(btflow.load("rao2010"))
    assert "3 flows over 3 queues, 195 s" in repr(btflow.load_link("geni"))


def test_html_is_escaped() -> None:
    result = btflow.simulate_link(flows=["cubic"], duration="1 s").assign_attrs(title="<script>")
    assert "<script>" not in result.btflow._repr_html_()
