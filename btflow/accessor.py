"""``ds.btflow`` of the Datasets that btflow returns: parts by values with units, and a summary in a few lines."""

import json
from typing import Any

import xarray as xr

import btflow  # what is above this is reached through it alone, when it is asked for
from btflow.summaries import Summary
from btflow.units.formatting import counted

SIZES = ("peer", "flow", "queue", "replica")
"""Dimensions that tell how large a result is."""


@xr.register_dataset_accessor("btflow")  # type: ignore[no-untyped-call]  # xarray says nothing of what it takes
class Accessor:
    """What btflow adds to a Dataset of its own; printed, or shown by a notebook, it is a summary."""

    def __init__(self, ds: xr.Dataset) -> None:
        self._ds = ds

    def sel(self, **values: object) -> xr.Dataset:
        """Return what there is at some values, with units: ``ds.btflow.sel(rtt="400 ms")``; ``Dataset.sel`` has none.

        Args:
            values: By coordinate, a value as text with a unit or as a number in SI units, or a list of them.

        Raises:
            InputError: There is no such coordinate, or it does not have the value; with those that it has.
        """
        return btflow.analysis.select(self._ds, values)

    def summary(self) -> Summary:
        """Return in a few lines what it is: the model, what was set and varied, and how much of it is done."""
        attrs = self._ds.attrs
        rows = {"set": _settings(attrs)}
        if "varied" in attrs:
            rows |= _of_sweep(self._ds)
        else:
            sizes = self._ds.sizes
            rows["size"] = ", ".join(counted(sizes[dim], dim) for dim in SIZES if dim in sizes)
        origin = {"fidelity": "{} fidelity", "seed": "seed {}", "version": "btflow {}"}
        rows["from"] = ", ".join(text.format(attrs[key]) for key, text in origin.items() if key in attrs)
        kind = "sweep" if "varied" in attrs else "result"
        return Summary(f"{kind} of {attrs.get('model', 'no model')}", str(attrs.get("title", "")), rows)

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().html()


def _settings(attrs: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {text}" for name, text in json.loads(attrs.get("parameters", "{}")).items())


def _of_sweep(ds: xr.Dataset) -> dict[str, str]:
    """Return what is varied, how many points and replicas there are, and how many of their runs are done."""
    varied = json.loads(ds.attrs["varied"])
    values = (f"{name}: {_listed(values)}" for name, values in varied.items())
    status = ds["status"].values if "status" in ds else None
    replicas = ds.sizes.get("replica", 1)
    rows = {"varied": "; ".join(values)}
    if status is not None:
        points = status.size // max(1, replicas)
        rows["size"] = f"{counted(points, 'point')} × {counted(replicas, 'replica')} = {counted(status.size, 'run')}"
        left = int((status == 0).sum())
        rows["done"] = f"{int((status == 1).sum()):,} done, {int((status == 2).sum()):,} failed" + (
            f", {left:,} not run yet" * (left > 0)
        )
    return rows


def _listed(values: object) -> str:
    """Return what a name is varied over: a text, or a list of values, or of groups of them."""
    if not isinstance(values, list):
        return str(values)
    return ", ".join(f"({_listed(value)})" if isinstance(value, list) else str(value) for value in values)
