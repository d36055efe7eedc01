"""Tables hold every swarm of a sweep with every figure to the last bit, are written whole or not at all."""

from __future__ import annotations

import csv
import json
import sys
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
import sweeps_made as made
import xarray as xr
from hypothesis import given, settings, strategies as st

from btflow import analysis
from btflow.analysis import table
from btflow.cli.app import main
from btflow.errors import InputError
from btflow.sweeps.store import open_store

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata")  # of zarr, about what xarray writes

AXES: dict[str, list[Any]] = {"rtt": [0.0, 0.1, 1.0], "cc": ["reno", "cubic"]}


def make_sweep() -> xr.Dataset:
    """Return a sweep of 18 swarms of which one failed and one was not run."""
    values = made.grid(AXES, lambda rtt, cc: 1 / 3 + rtt + (cc == "cubic"), noise=0.1)["completion_mean"].values
    values[1, 0, 2] = np.nan
    ds = made.grid(AXES, values=values)
    ds["status"][2, 1, 0] = 0
    by_class = ds["completion_mean"].expand_dims(peer_class=["seed", "leechers"], axis=-1) * [1.0, 2.0]
    return ds.assign(class_completion_mean=by_class.assign_attrs(units="s", long_name="by class"))


@pytest.fixture
def sweep() -> xr.Dataset:
    return make_sweep()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """Return the sweep as it is read from a store with chunks of several swarms."""
    path = tmp_path_factory.mktemp("store") / "s.zarr"
    made.store(make_sweep(), path, encoding={name: {"chunks": (2, 1, 3)} for name in ("status", "completion_mean")})
    return open_store(path, "store")


def with_peers(ds: xr.Dataset) -> xr.Dataset:
    """Return a sweep that kept four places for peers, the last one never used."""
    times = ds["completion_mean"].values[..., None] + np.array([np.nan, 1.0, 2.0, np.nan])
    sent = np.where(np.isfinite(ds["completion_mean"].values)[..., None], [5.0, 1.0, 2.0, np.nan], np.nan)
    number = np.where(np.isfinite(sent), [0.0, 1.0, 1.0, np.nan], np.nan)
    dims = ("rtt", "cc", "replica", "peer")
    return ds.assign(
        peer_completion_time=(dims, times, {"units": "s"}),
        peer_bytes_sent=(dims, sent, {"units": "B"}),
        class_number=(dims, number),
    ).assign_coords(peer=np.arange(4))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def rows_of(path: Path) -> list[str]:
    rows: list[Any] = read(path) if path.suffix == ".csv" else parquet.read_table(path).to_pylist()
    return [json.dumps(row) for row in rows]


def test_each_row_is_a_swarm_and_each_number_exact(sweep: xr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "sweep.csv"
    assert analysis.write_table(sweep, path) == 18
    rows = read(path)
    assert list(rows[0]) == [
        "rtt [s]", "cc", "replica", "seed", "status", "failure", "completion_mean [s]",
        "class_completion_mean[seed] [s]", "class_completion_mean[leechers] [s]",
    ]  # fmt: skip
    assert len(rows) == 18
    for row in rows:
        own = sweep.sel(rtt=float(row["rtt [s]"]), cc=row["cc"], replica=int(row["replica"]))
        assert int(row["seed"]) == int(own["seed"])
        assert row["status"] == ["pending", "done", "failed"][int(own["status"])]
        assert row["failure"] == str(own["failure"].item())
        mean = float(own["completion_mean"])
        assert row["completion_mean [s]"] == ("" if np.isnan(mean) else repr(mean))
        leechers = row["class_completion_mean[leechers] [s]"]
        assert leechers == ("" if np.isnan(mean) else repr(2 * mean))
    assert {row["status"] for row in rows} == {"pending", "done", "failed"}


def test_a_failures_text_with_commas_and_newlines_comes_back(sweep: xr.Dataset, tmp_path: Path) -> None:
    sweep["failure"][1, 0, 2] = 'peers left, "too slow"\nand more'
    analysis.write_table(sweep, tmp_path / "t.csv")
    assert {row["failure"] for row in read(tmp_path / "t.csv")} == {"", 'peers left, "too slow"\nand more'}


def test_parquet_has_the_same_content_and_units_in_its_schema(sweep: xr.Dataset, tmp_path: Path) -> None:
    analysis.write_table(sweep, tmp_path / "t.csv")
    assert analysis.write_table(sweep, tmp_path / "t.parquet") == 18
    found = parquet.read_table(tmp_path / "t.parquet")
    rows = read(tmp_path / "t.csv")
    assert found.column_names[:5] == ["rtt", "cc", "replica", "seed", "status"]
    for own, other in zip(found.to_pylist(), rows, strict=True):
        assert own["rtt"] == float(other["rtt [s]"])
        assert own["completion_mean"] == (float(other["completion_mean [s]"]) if other["completion_mean [s]"] else None)
        assert own["status"] == other["status"]
    assert found.schema.field("rtt").metadata[b"units"] == b"s"
    assert found.schema.field("completion_mean").metadata[b"long_name"] == b"mean completion time"
    assert json.loads(found.schema.metadata[b"btflow"])["design"] == "grid"


def test_a_row_for_each_peer_that_there_was(sweep: xr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "peers.csv"
    assert analysis.write_table(with_peers(sweep), path, per="peer") == 17 * 3  # one swarm failed, one place is empty
    rows = read(path)
    columns = ["peer", "seed", "status", "failure", "peer_class", "peer_bytes_sent [B]", "peer_completion_time [s]"]
    assert list(rows[0])[3:] == columns
    assert [row["peer_class"] for row in rows[:3]] == ["seed", "leechers", "leechers"]
    assert rows[0]["peer_completion_time [s]"] == ""
    first = float(sweep["completion_mean"][0, 0, 0])
    assert [float(row["peer_completion_time [s]"]) for row in rows[1:3]] == [first + 1, first + 2]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_chunks_of_a_store_are_read_one_after_the_other(
    sweep: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    analysis.write_table(sweep, tmp_path / f"whole.{ending}")
    chunks = {name: {"chunks": (2, 1, 3)} for name in ("status", "completion_mean")}
    made.store(sweep, tmp_path / "s.zarr", encoding=chunks)
    monkeypatch.setattr(table, "MOST_ROWS", 4)
    seen: list[float] = []
    rows = analysis.write_table(tmp_path / "s.zarr", tmp_path / f"parts.{ending}", progress=seen.append)
    assert rows == 18
    assert seen == [0.25, 0.5, 0.75, 1.0]
    whole, parts = (rows_of(tmp_path / f"{name}.{ending}") for name in ("whole", "parts"))
    assert sorted(whole) == sorted(parts)


def oracle(part: xr.Dataset, file: Path) -> list[dict[str, str]]:
    """Return the rows that pandas makes of a selection, with the names and texts of a table."""
    flat = part.rename(rtt="rtt [s]", completion_mean="completion_mean [s]")
    by_class = flat["class_completion_mean"]
    names: list[str] = flat["peer_class"].values.tolist() if "peer_class" in by_class.dims else []
    split = {f"class_completion_mean[{name}] [s]": by_class.sel(peer_class=name, drop=True) for name in names}
    flat = flat.drop_vars("class_completion_mean").drop_dims("peer_class", errors="ignore")
    flat = flat.assign(split or {"class_completion_mean [s]": by_class})
    texts = np.array(["pending", "done", "failed"], object)[flat["status"].values]
    flat = flat.assign(status=(flat["status"].dims, texts))
    flat.to_dataframe(dim_order=flat["status"].dims).reset_index().to_csv(file, index=False)
    return read(file)


def picks(size: int) -> st.SearchStrategy[Any]:
    """Return strategies for what `isel` takes of a dimension: one place, some in any order, or a slice."""
    steps = st.sampled_from([1, 2, -1])
    some = st.lists(st.integers(0, size - 1), min_size=1, unique=True)
    return st.one_of(st.integers(0, size - 1), some, st.builds(slice, st.just(None), st.just(None), steps))


@pytest.mark.slow
@given(picks(3), picks(2), picks(3), st.one_of(st.just([0, 1]), picks(2)), st.permutations(range(3)), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_any_selection_has_the_rows_that_pandas_makes(
    stored: xr.Dataset, rtt: Any, cc: Any, replica: Any, peer_class: Any, order: list[int], most: int
) -> None:
    part = stored.isel(rtt=rtt, cc=cc, replica=replica, peer_class=peer_class)
    dims = part["status"].dims
    if not dims:
        return
    part = part.transpose(*(dims[i] for i in order if i < len(dims)), ...)
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "MOST_ROWS", most)
        folder = Path(name)
        rows = analysis.write_table(part, folder / "own.csv")
        own, expected = read(folder / "own.csv"), oracle(part, folder / "pandas.csv")
        analysis.write_table(part, folder / "own.parquet")
        assert parquet.read_metadata(folder / "own.parquet").num_rows == rows
    assert rows == len(own) == part["status"].size
    assert set(own[0]) == set(expected[0])
    assert sorted(sorted(row.items()) for row in own) == sorted(sorted(row.items()) for row in expected)


def test_what_is_empty_or_one_swarm_has_its_columns(stored: xr.Dataset, tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        assert analysis.write_table(stored.isel(rtt=slice(0, 0)), tmp_path / f"none.{ending}") == 0
        assert analysis.write_table(stored.isel(rtt=1, cc=0, replica=1), tmp_path / f"one.{ending}") == 1
    header = (tmp_path / "none.csv").read_text().strip()
    assert header.startswith("rtt [s],cc,replica,seed,status")
    assert parquet.read_table(tmp_path / "none.parquet").column_names[:3] == ["rtt", "cc", "replica"]
    (row,) = read(tmp_path / "one.csv")
    assert (row["rtt [s]"], row["cc"], row["replica"]) == ("0.1", "reno", "1")


def test_a_dask_array_a_join_and_a_mask_are_exported(sweep: xr.Dataset, stored: xr.Dataset, tmp_path: Path) -> None:
    analysis.write_table(sweep, tmp_path / "whole.csv")
    analysis.write_table(stored.chunk(rtt=2, replica=1), tmp_path / "chunks.csv")
    assert sorted(rows_of(tmp_path / "whole.csv")) == sorted(rows_of(tmp_path / "chunks.csv"))
    parts = [sweep.isel(cc=[0], rtt=[0, 1]), sweep.isel(cc=[1])]
    joined = xr.concat(parts, dim="cc", join="outer", data_vars="all")  # what was in neither has the status NaN
    analysis.write_table(joined, tmp_path / "joined.csv")
    status = {(row["rtt [s]"], row["cc"], row["replica"]): row["status"] for row in read(tmp_path / "joined.csv")}
    assert status["1.0", "reno", "0"] == "pending"
    assert status["1.0", "cubic", "1"] == "done"


def test_peers_of_a_selection_have_their_class_or_are_refused(sweep: xr.Dataset, tmp_path: Path) -> None:
    ds = with_peers(sweep)
    path = tmp_path / "peers.csv"
    assert analysis.write_table(ds.sel(rtt=0.1, replica=2).transpose("peer", ...), path, per="peer") == 3
    assert [row["peer_class"] for row in read(path)] == ["seed", "leechers", "leechers"]
    with pytest.raises(InputError, match="per = 'peer': needs every class"):
        analysis.write_table(ds.isel(peer_class=[0]), path, per="peer")


def test_memory_does_not_grow_with_the_sweep(tmp_path: Path) -> None:
    def peak(samples: int) -> int:
        ds = made.sample({"rtt": np.linspace(0, 1, samples).tolist()}, np.ones((samples, 5)), design="lhs")
        more = {f"figure_{i}": ds["completion_mean"] * i for i in range(10)}
        store = tmp_path / f"{samples}.zarr"
        made.store(ds.assign(more), store, encoding={name: {"chunks": (1000, 5)} for name in ("status", *more)})
        tracemalloc.start()
        analysis.write_table(store, tmp_path / f"{samples}.parquet")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(24_000) < 1.3 * peak(8_000)


def test_designs_and_zipped_names_have_their_columns(tmp_path: Path) -> None:
    ds = made.sample({"rtt": [0.0, 1.0], "cc": ["reno", "bbr"]}, np.ones((2, 1)))
    analysis.write_table(ds, tmp_path / "t.csv")
    assert list(read(tmp_path / "t.csv")[1].items())[:4] == [
        ("sample", "1"),
        ("rtt [s]", "1.0"),
        ("cc", "bbr"),
        ("replica", "0"),
    ]
    zipped = made.grid({"rtt+loss": [0, 1]}, values=np.ones((2, 1))).drop_vars("rtt+loss")
    zipped = zipped.assign_coords(
        rtt=made.coordinate("rtt", "rtt+loss", [0.0, 1.0]), loss=made.coordinate("loss", "rtt+loss", [0.1, 0.2])
    )
    analysis.write_table(zipped, tmp_path / "t.csv")
    assert list(read(tmp_path / "t.csv")[1].items())[:3] == [("rtt [s]", "1.0"), ("loss", "0.2"), ("replica", "0")]


def test_a_table_that_cannot_be_finished_leaves_nothing(
    sweep: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("older")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table, "_table", full)
    with pytest.raises(OSError, match=r"No space left.*t\.csv"):
        analysis.write_table(sweep, tmp_path / "t.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    assert (tmp_path / "t.csv").read_text() == "older"


def export(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command in this process and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["btflow", "export", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_command_writes_tables(
    sweep: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made.store(with_peers(sweep), tmp_path / "s.zarr")
    store, file = str(tmp_path / "s.zarr"), str(tmp_path / "t.csv")
    assert export(store, file, monkeypatch=monkeypatch) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"18 rows in {file}\n", "")
    assert len(read(Path(file))) == 18
    assert export(store, file, "--peers", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.startswith("51 rows")


def test_the_command_refuses_what_it_cannot_do(
    sweep: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store, csv_file = str(tmp_path / "s.zarr"), str(tmp_path / "t.csv")
    made.store(sweep, Path(store))
    xr.Dataset({"x": 1}).to_zarr(tmp_path / "other.zarr")
    (tmp_path / "text.zarr").write_text("x")
    cases = {
        (store, str(tmp_path / "t.xlsx")): "has the wrong ending; allowed: a file ending in .csv or .parquet",
        (store, str(tmp_path / "no" / "t.csv")): "cannot be written",
        (str(tmp_path / "none.zarr"), csv_file): "does not exist",
        (str(tmp_path / "other.zarr"), csv_file): "is not the store of a sweep",
        (str(tmp_path / "text.zarr"), csv_file): "is not the store of a sweep",
        (store, csv_file, "--peers"): "--peers: was not kept by the sweep",
    }
    for arguments, text in cases.items():
        assert export(*arguments, monkeypatch=monkeypatch) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n"), err.startswith("btflow: error: ")) == ("", 1, True)
        assert text in err
    assert not Path(csv_file).exists()


def test_parquet_without_pyarrow_says_what_to_install(
    sweep: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"needs pyarrow.*pip install -e '\.\[parquet\]'"):
        analysis.write_table(sweep, tmp_path / "t.parquet")
    with pytest.raises(InputError, match="per = 'row'"):
        analysis.write_table(sweep, tmp_path / "t.csv", per="row")  # type: ignore[arg-type]  # wrong on purpose
