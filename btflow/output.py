"""Writes result files whole or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from btflow.options import partial_path

if TYPE_CHECKING:
    import xarray


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


def write_plot(result: xarray.Dataset, path: Path) -> None:
    """Write the overview figure of a result: an HTML page that needs no network, or a picture, by the ending."""
    from btflow.plots import overview, save

    save(overview(result), path)


def write_link_plot(result: xarray.Dataset, path: Path) -> None:
    """Write the figure of a link experiment; as ``write_plot``."""
    from btflow.plots import link_overview, save

    save(link_overview(result), path)


def to_json(content: object) -> str:
    """Return strict JSON: no NaN, no infinity."""
    return json.dumps(content, indent=2, allow_nan=False)
