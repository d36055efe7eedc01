"""Files that btflow writes, whole or not at all: results, figures, JSON; and results opened again."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from btflow.errors import InputError
from btflow.options import output_path, partial_path

if TYPE_CHECKING:
    import xarray


def extra(name: str) -> str:
    """Return how to install an extra of btflow."""
    return f"the extra {name} (pip install -e '.[{name}]' in a clone of btflow's sources)"


_RESULT = "a file that btflow run --out or btflow link --out wrote"

PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures."""


def check_drawable(field: str, path: Path | None) -> None:
    """Raise an InputError if a file is a picture and there is nothing to draw it with."""
    if path is None or path.suffix.lower() not in PICTURES:
        return
    if find_spec("kaleido") is None:
        raise InputError(
            field, str(path), "needs Kaleido, which is not installed", f"{extra('image')}; or a .html file"
        )
    from choreographer.browsers.chromium import Chromium  # Kaleido's own search

    found = Chromium.find_browser(skip_local=False)
    if found is None or shutil.which(found) is None:  # what BROWSER_PATH says is not looked at
        there = "there is none" if found is None else f"BROWSER_PATH, {found}, is no program"
        allowed = "an installed Chromium or Chrome, or its path in BROWSER_PATH; or a .html file"
        raise InputError(field, str(path), f"needs a Chromium to be drawn with, and {there}", allowed)


def figure_path(option: str, given: Sequence[str] | None) -> Path | None:
    """Return where a figure goes, None if none is asked for; an InputError if it cannot be written there or drawn."""
    path = output_path(option, given, ".html", *PICTURES)
    check_drawable(option, path)
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to, which becomes ``path`` only if the block succeeds.

    Raises:
        OSError: It names ``path``, whatever file it was about.
    """
    partial = partial_path(path)
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def write_netcdf(result: xarray.Dataset, path: Path) -> None:
    """Write a result as a NetCDF 4 file, made in memory: HDF5 may crash if the disk is full."""
    content = io.BytesIO()
    result.to_netcdf(content, engine="h5netcdf")
    with replacing(path) as partial:
        partial.write_bytes(content.getbuffer())


def open_result(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Open a result that ``btflow run --out``, ``btflow link --out`` or ``Dataset.to_netcdf`` wrote.

    Args:
        path: The ``.nc`` file. It is read as a whole and closed again.

    Returns:
        The Dataset as ``simulate`` or ``simulate_link`` returned it. ``xarray.open_dataset`` opens the file too.

    Raises:
        InputError: There is no such file, or it is damaged or something else.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", path, "is not a path", _RESULT)
    file = Path(path)
    if file.is_dir():
        raise InputError("path", str(file), "is a folder", f"{_RESULT}; btflow.open_sweep opens the store of a sweep")
    if not file.is_file():
        raise InputError("path", str(file), "does not exist", _RESULT)
    import xarray

    import btflow.accessor  # noqa: F401  # for ds.btflow

    try:
        found = xarray.load_dataset(file, engine="h5netcdf")
    except PermissionError as error:
        raise InputError("path", str(file), f"cannot be read: {error.strerror}", _RESULT) from None
    except (OSError, ValueError, KeyError, RuntimeError, TypeError):  # what HDF5 and NetCDF say of what is none
        raise InputError("path", str(file), "is damaged, or not a NetCDF 4 file", _RESULT) from None
    if not {"model", "parameters", "version"} <= found.attrs.keys():
        raise InputError("path", str(file), "is not a result of btflow: its attributes name no model", _RESULT)
    return found


def to_json(content: object) -> str:
    """Return strict JSON: no NaN, no infinity."""
    return json.dumps(content, indent=2, allow_nan=False)
