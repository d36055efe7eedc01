"""Results are opened as they were written, and what is none is refused in one sentence."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5netcdf  # type: ignore[import-untyped]  # it has no types
import pytest
import xarray as xr

import btflow
from btflow.errors import InputError


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, Path]:
    path = tmp_path_factory.mktemp("results") / "run.nc"
    result = btflow.simulate_link(flows=["cubic"], duration="2 s")
    btflow.files.write_netcdf(result, path)
    return result, path


def test_a_result_is_opened_as_it_was_and_its_file_is_free_again(written: tuple[xr.Dataset, Path]) -> None:
    result, path = written
    for given in (path, str(path)):
        opened = btflow.open_result(given)
        xr.testing.assert_identical(opened, result)
        assert repr(opened.btflow) == repr(result.btflow)
    path.rename(path.with_name("moved.nc")).rename(path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("half.nc", "is damaged, or not a NetCDF 4 file"),
        ("text.nc", "is damaged, or not a NetCDF 4 file"),
        ("empty.nc", "is damaged, or not a NetCDF 4 file"),
        ("foreign.nc", "is not a result of btflow"),
        ("none.nc", "does not exist"),
        (300 * "x", "cannot be read: File name too long"),
        ("pipe.nc", "cannot be read: it is a pipe, not a file"),
        ("huge.nc", "is damaged: HDF5 takes more time or memory than it can need"),
        pytest.param("loops.nc", "is damaged: HDF5 takes more time or memory than it can need", marks=pytest.mark.slow),
        ("", "is a folder; allowed: .*btflow.open_sweep opens"),
    ],
)
def test_wrong_files_are_refused_in_a_sentence(
    written: tuple[xr.Dataset, Path], tmp_path: Path, name: str, said: str
) -> None:
    content = written[1].read_bytes()
    (tmp_path / "half.nc").write_bytes(content[: len(content) // 2])
    (tmp_path / "text.nc").write_text("time,value\n1,2\n")
    (tmp_path / "empty.nc").touch()
    os.mkfifo(tmp_path / "pipe.nc")
    with h5netcdf.File(tmp_path / "huge.nc", "w") as huge:
        huge.dimensions["x"] = 2**40
        huge.create_variable("x", ("x",), float, chunks=(1000,))
    (tmp_path / "loops.nc").write_bytes(
        gzip.decompress((Path(__file__).parent / "helpers" / "loops.nc.gz").read_bytes())
    )
    xr.Dataset({"x": ("t", [1.0])}).to_netcdf(tmp_path / "foreign.nc", engine="h5netcdf")
    with pytest.raises(InputError, match=rf"^path = .*: {said}") as error:
        btflow.open_result(tmp_path / name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("given", [None, 3, b"run.nc"])
def test_what_is_no_path_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"^path.*is not a path"):
        btflow.open_result(given)


def test_datasets_have_their_accessor_where_xarray_was_there_first() -> None:
    code = "import sys, xarray, btflow; print(hasattr(xarray.Dataset, 'btflow'), 'btflow.analysis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
    code = "import btflow, sys; print('xarray' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"], "import btflow alone stays quick"
