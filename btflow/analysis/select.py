"""Parts of a result by values with units: ``20 kB/s``, ``400 ms``, ``100 packets``."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from btflow.analysis.design import Varied, labelled, matches, shown
from btflow.errors import InputError, unknown


def select(ds: xr.Dataset, values: Mapping[str, object]) -> xr.Dataset:
    """Return what a result or a sweep has at some values, as ``Dataset.sel`` does, which takes plain numbers alone.

    Args:
        ds: A sweep, or the result of one scenario, or a part of it; also one that was read from a file.
        values: By coordinate: a value, as text with its unit or as a number in SI units, or a list of them, which keeps
            the dimension. Numbers are those that agree in nine digits.

    Raises:
        InputError: There is no such coordinate, or it does not have the value; with those that it has.
    """
    if not isinstance(ds, xr.Dataset):
        raise InputError("ds", ds, "is not a Dataset", "what btflow.sweep or btflow.simulate returns")
    found: dict[str, Any] = {}
    for name, given in values.items():
        lines = {str(key): c for key, c in ds.coords.items() if c.ndim == 1}
        if name not in lines:
            raise unknown(name, lines, "coordinate")
        along = labelled(ds, name)
        several = isinstance(given, list | tuple | np.ndarray)
        here = [_places(along, value) for value in (given if isinstance(given, list | tuple | np.ndarray) else [given])]
        places = np.concatenate(here) if here else np.empty(0, int)
        if along.dim in found:  # two names that vary together
            places = np.array([place for place in np.atleast_1d(found[along.dim]) if place in places])
            if not places.size:
                raise InputError(name, given, "does not go with the other values", shown(along.values, along))
        found[along.dim] = places if several or places.size > 1 else int(places[0])
    return ds.isel(found)


def _places(along: Varied, value: object) -> np.ndarray:
    """Return where along its dimension a coordinate has a value."""
    found = np.flatnonzero(matches(along, value, along.name))
    if not found.size:
        raise InputError(along.name, value, "is not among its values", shown(along.values, along))
    return found
