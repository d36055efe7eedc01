"""``ds.btflow`` of the Datasets that btflow returns: parts by values with units, and a summary in a few lines."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

import btflow  # what is above this is reached through it alone, when it is asked for
from btflow.signatures import offering
from btflow.summaries import Summary
from btflow.units.formatting import counted

SIZES = ("peer", "flow", "queue", "replica")
"""Dimensions that tell how large a result is."""
_PARTS = (*SIZES, "time", "peer_class", "sender_class", "traffic", "message", "quantile")
"""Coordinates by which a part is chosen, besides what is varied; others come with these."""


@xr.register_dataset_accessor("btflow")  # type: ignore[no-untyped-call]  # xarray says nothing of what it takes
class Accessor:
    """What btflow adds to a Dataset of its own; printed, or shown by a notebook, it is a summary."""

    def __init__(self, ds: xr.Dataset) -> None:
        self._ds = ds

    @property
    def names(self) -> list[str]:
        """Names of the coordinates along which ``sel`` chooses; those that can be keywords."""
        return [str(name) for name, c in self._ds.coords.items() if c.ndim == 1 and str(name).isidentifier()]

    @offering
    def sel(self, values: Mapping[Any, object] | None = None, /, **named: object) -> xr.Dataset:
        """Return what there is at some values, with units: ``ds.btflow.sel(rtt="400 ms")``; ``Dataset.sel`` has none.

        Args:
            values: By coordinate, as in ``btflow.analysis.select``: ``{"classes.seed.upload_limit": "50 kB/s"}``.
            named: The same by keyword.

        Raises:
            InputError: There is no such coordinate, or it does not have the value; with those that it has.
        """
        return btflow.analysis.select(self._ds, values, **named)

    def summary(self) -> Summary:
        """Return in a few lines what it is: the model, its parameters, what is varied and chosen, how much is done."""
        attrs, sizes = self._ds.attrs, self._ds.sizes
        given = json.loads(attrs.get("parameters", "{}"))
        rows = {"parameters": ", ".join(f"{name} = {text}" for name, text in given.items())}
        rows |= _varied(self._ds) if "varied" in attrs else {}
        chosen = [name for name in (*_names(self._ds), *_PARTS) if name in self._ds.coords and self._ds[name].ndim == 0]
        rows["chosen"] = ", ".join(f"{name} = {_texts(self._ds, name)[0]}" for name in chosen)
        if "varied" in attrs:
            rows |= _runs(self._ds)
            if shared := btflow.analysis.design.shared_seeds(self._ds):
                rows["warning"] = f"{shared} points have the seed of another point: their replicas are not independent"
        else:
            rows["size"] = ", ".join(counted(sizes[dim], dim) for dim in SIZES if dim in sizes)
        origin = {"fidelity": "{} fidelity", "seed": "seed {}", "version": "btflow {}"}
        rows["from"] = ", ".join(text.format(attrs[key]) for key, text in origin.items() if key in attrs)
        kind = "sweep" if "varied" in attrs else "result"
        return Summary(f"{kind} of {attrs.get('model', 'no model')}", str(attrs.get("title", "")), rows)

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().html()


def _varied(ds: xr.Dataset) -> dict[str, str]:
    """Return the values of what is still varied, as they were given if all of them are there, and what is no more."""
    values = {}
    for key, given in json.loads(ds.attrs["varied"]).items():
        names = key.split("+")
        if any(name not in ds.coords or ds[name].ndim != 1 for name in names):
            continue
        there = list(dict.fromkeys(zip(*(_texts(ds, name) for name in names), strict=True)))
        whole = not isinstance(given, list) or len(there) == len(given)
        values[key] = _listed(given if whole else [list(text) if len(names) > 1 else text[0] for text in there])
    gone = ", ".join(_gone(ds))
    return {
        "varied": "; ".join(f"{name}: {text}" for name, text in values.items()),
        "without": f"{gone} (averaged over, or left out)" if gone else "",
    }


def _names(ds: xr.Dataset) -> list[str]:
    """Return the varied names, none for the result of one scenario."""
    return [name for key in json.loads(ds.attrs.get("varied", "{}")) for name in key.split("+")]


def _gone(ds: xr.Dataset) -> list[str]:
    """Return the varied names, and ``replica``, of which a sweep has no values any more, as of its mean over them."""
    return [name for name in (*_names(ds), "replica") if name not in ds.coords]


def _texts(ds: xr.Dataset, name: str) -> list[str]:
    """Return the values of a coordinate with their units."""
    along = btflow.analysis.design.labelled(ds, name)
    return [along.text(value) for value in along.values]


def _runs(ds: xr.Dataset) -> dict[str, str]:
    """Return how many points and replicas there are, and how many of their runs are done; nothing of averages."""
    if "status" not in ds or _gone(ds):
        return {}
    status, replicas = ds["status"].values, ds.sizes.get("replica", 1)
    points, left, masked = status.size // max(1, replicas), int((status == 0).sum()), int(np.isnan(status).sum())
    return {
        "size": f"{counted(points, 'point')} × {counted(replicas, 'replica')} = {counted(status.size, 'run')}",
        "done": f"{int((status == 1).sum()):,} done, {int((status == 2).sum()):,} failed"
        + f", {left:,} not run yet" * (left > 0)
        + f", {masked:,} left out" * (masked > 0),
    }


def _listed(values: object) -> str:
    """Return what a name is varied over: a text, or a list of values, or of groups of them."""
    if not isinstance(values, list):
        return str(values)
    return ", ".join(f"({_listed(value)})" if isinstance(value, list) else str(value) for value in values)
