"""Parts of a result by values with units: ``20 kB/s``, ``400 ms``, ``100 packets``."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from btflow.analysis.design import Varied, labelled, matches, shown, si_number
from btflow.errors import InputError, unknown


def select(ds: xr.Dataset, values: Mapping[Any, object] | None = None, /, **named: object) -> xr.Dataset:
    """Return what a result or a sweep has at some values, as ``Dataset.sel`` does, which takes plain numbers alone.

    Args:
        ds: A sweep, or the result of one scenario, or a part of it; also one that was read from a file.
        values: By coordinate, for names with dots: a value, as text with its unit or as a number in SI units; a list of
            them, or a ``slice`` with both its ends, which keep the dimension. Numbers agree in nine digits.
        named: The same by keyword.

    Raises:
        InputError: There is no such coordinate, or it does not have the value; with those that it has.
    """
    if not isinstance(ds, xr.Dataset):
        raise InputError("ds", ds, "is not a Dataset", "what btflow.sweep or btflow.simulate returns")
    if values is not None and not isinstance(values, Mapping):
        raise InputError("values", values, "is not a mapping", 'values by coordinate, such as {"rtt": "400 ms"}')
    if twice := (values or {}).keys() & named:
        raise InputError(str(min(twice)), None, "is given twice", "in the mapping or by keyword")
    found: dict[str, Any] = {}
    for name, given in {**(values or {}), **named}.items():
        lines = {str(key): c for key, c in ds.coords.items() if c.ndim == 1}
        if name not in lines:
            raise unknown(str(name), lines, "coordinate")
        along = labelled(ds, name)
        places = _places(along, given)
        if along.dim in found:  # two names that vary together
            places = np.array([place for place in np.atleast_1d(found[along.dim]) if place in places])
            if not places.size:
                raise InputError(name, given, "does not go with the other values", shown(along.values, along))
        several = isinstance(given, list | tuple | np.ndarray | slice)
        found[along.dim] = places if several or places.size > 1 else int(places[0])
    return ds.isel(found)


def _places(along: Varied, given: Any) -> np.ndarray:
    """Return where along its dimension a coordinate has a value, one of several or one within a slice."""
    if isinstance(given, slice):
        return _within(along, given)
    if isinstance(given, list | tuple | np.ndarray):
        return np.concatenate([np.empty(0, int), *(_places(along, value) for value in given)])
    values = shown(along.values, along)
    if given is None:
        raise InputError(along.name, "None", "is not one of its values", values)
    found = np.flatnonzero(matches(along, given, along.name))
    if not found.size:
        raise InputError(along.name, given, "is not among its values", values)
    return found


def _within(along: Varied, given: slice) -> np.ndarray:
    """Return where a coordinate lies within a slice, ends included."""
    values = shown(along.values, along)
    if not along.numeric or given.step is not None:
        reason = "is a slice of what is no number" if given.step is None else "is a slice with a step"
        raise InputError(along.name, given, reason, f"one or a list of {values}")
    low, high = (
        si_number(along, end, along.name) if end is not None else otherwise
        for end, otherwise in ((given.start, -np.inf), (given.stop, np.inf))
    )
    near = 1e-9 * max(abs(end) for end in (low, high, 0.0) if np.isfinite(end))
    found = np.flatnonzero((along.values >= low - near) & (along.values <= high + near))
    if not found.size:
        raise InputError(along.name, given, "has none of its values", values)
    return found
