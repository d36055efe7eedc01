"""Divides the swarms of a sweep into cells by one or two varied names, the others to be averaged over."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.analysis import design
from btflow.analysis.bootstrap import Scheme, canonical
from btflow.analysis.design import REPLICA, SAMPLE, Floats, Varied
from btflow.errors import InputError
from btflow.options import whole_number

MOST_CELLS = 100_000


@dataclass(frozen=True)
class Axis:
    """The cells along one varied name: its values, or bins of them."""

    name: str
    values: NDArray[Any]
    """Value of each cell, the mean of those in a bin (cells,)."""
    members: tuple[NDArray[np.bool_], ...]
    """Which positions along the dimension are in each cell."""
    parameter: Varied
    edges: Floats | None = None
    """Least and greatest value in each bin (cells, 2); None if cells are values."""

    def text(self, number: int) -> str:
        """Return a cell's value, or the ends of its bin, with a handy unit."""
        if self.edges is None:
            return self.parameter.text(self.values[number].item())
        return self.parameter.range_text(*self.edges[number].tolist())

    def coordinates(self) -> dict[str, Any]:
        """Return the coordinates of this axis, with its units, and of bins their ends."""
        attrs = self.parameter.attrs | {"spacing": "log" if design.log_spaced(self.parameter.values) else "linear"}
        found: dict[str, Any] = {self.name: xr.Variable((self.name,), self.values, attrs)}
        if self.edges is not None:
            for side, which in enumerate(("least", "greatest")):
                values = self.edges[:, side]
                found[f"{self.name}_{which}"] = xr.Variable(
                    (self.name,), values, attrs | {"long_name": f"{which} value in the bin"}
                )
        return found


@dataclass(frozen=True)
class Cells:
    """The swarms of a sweep by cell, all cells of the first axis's first value before the next."""

    axes: tuple[Axis, ...]
    points: tuple[Floats, ...]
    """Values in each cell (points, replicas), NaN where missing; points without any are left out."""
    lost: NDArray[np.int64]
    """Swarms without a value in each cell (cells,)."""
    scheme: Scheme
    left_out: int = 0
    """Points that count in no cell because they have no value in some other."""
    balanced: bool = True
    """Whether every cell is the mean over the same values of the other names."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(axis.name for axis in self.axes)

    def coordinates(self) -> dict[str, Any]:
        """Return the coordinates of all axes."""
        return {name: value for axis in self.axes for name, value in axis.coordinates().items()}


def scheme_of(ds: xr.Dataset) -> Scheme:
    """Return what was random in a sweep, to be drawn again."""
    if design.is_sample(ds):
        return "points of shared chance" if design.common_numbers(ds) else "points"
    return "replicas" if design.common_numbers(ds) else "within"


def cells(ds: xr.Dataset, variable: str, names: Sequence[str], fields: Sequence[str], bins: Sequence[int]) -> Cells:
    """Return the values of a statistic by cell.

    In a grid a cell is a value of each name. If some points have no result, only those combinations of the other names
    count that have one in every cell which has any, so that cells can be compared; if there is none, all count.
    In a sample numbers are put into bins with equally many points; of a Saltelli design A and B alone count.

    Args:
        ds: A sweep.
        variable: A statistic in it.
        names: Varied names, each along its own dimension.
        fields: How the caller calls each of them, for errors.
        bins: Most cells along each name of a sample.

    Raises:
        InputError: Something is unknown, or two names vary together.
    """
    for most in bins:
        whole_number("bins", most, 2, 1000)
    if design.is_sample(ds):
        ds = ds.isel({SAMPLE: design.independent(ds)})
    values = design.statistic(ds, variable)
    parameters = [design.find(ds, name, field) for name, field in zip(names, fields, strict=True)]
    factor = {name: key for key, names in design.factors(ds).items() for name in names}
    for (one, first), (other, field) in itertools.combinations(zip(parameters, fields, strict=True), 2):
        if one.name == other.name:
            raise InputError(field, other.name, f"is {first} already", "another name")
        if factor[one.name] == factor[other.name] or (one.dim == other.dim and not design.is_sample(ds)):
            raise InputError(field, other.name, f"varies together with {one.name}", "a name that varies apart from it")
    most_of: Sequence[int | None] = bins if design.is_sample(ds) else [None] * len(names)
    axes = tuple(_axis(parameter, most) for parameter, most in zip(parameters, most_of, strict=True))
    if np.prod([len(axis.values) for axis in axes]) > MOST_CELLS:
        raise InputError(fields[-1], names[-1], "makes too many cells", f"at most {MOST_CELLS}")
    if design.is_sample(ds):
        return _of_sample(values, axes, scheme_of(ds))
    return _of_grid(values, axes, scheme_of(ds))


def _axis(parameter: Varied, bins: int | None) -> Axis:
    """Return the cells along one name: one for each value, or bins if there are more values than `bins`."""
    values = parameter.values
    order = np.unique(values) if parameter.numeric else np.array(list(dict.fromkeys(values.tolist())), values.dtype)
    if bins is None or len(order) <= bins or not parameter.numeric:
        left_out = order != order  # NaN: where a number is left out
        cells = (values != values if out else values == value for value, out in zip(order, left_out, strict=True))
        return Axis(parameter.name, order, tuple(cells), parameter)
    ranks = np.searchsorted(np.sort(values), values, side="left")
    which = ranks * bins // len(values)
    members = tuple(which == number for number in np.unique(which))
    edges = np.array([(values[m].min(), values[m].max()) for m in members], float)
    return Axis(parameter.name, np.array([values[m].mean() for m in members]), members, parameter, edges)


def _of_sample(values: xr.DataArray, axes: tuple[Axis, ...], scheme: Scheme) -> Cells:
    content = canonical(values.values, "points")
    chosen = itertools.product(*(axis.members for axis in axes))
    found = [content[np.logical_and.reduce(members)] for members in chosen]
    return Cells(axes, tuple(_known(c) for c in found), _lost(found), scheme)


def _of_grid(values: xr.DataArray, axes: tuple[Axis, ...], scheme: Scheme) -> Cells:
    dims = [axis.parameter.dim for axis in axes]
    rest = [dim for dim in values.dims if dim not in (*dims, REPLICA)]
    content = values.transpose(*dims, *rest, REPLICA).values
    content = canonical(content.reshape(*content.shape[: len(dims)], -1, content.shape[-1]), scheme)
    places = itertools.product(*([np.flatnonzero(m) for m in axis.members] for axis in axes))
    found = [content[np.ix_(*place)] for place in places]  # each (positions..., others, replicas)
    lost = _lost(found)
    if any(block.shape[: len(dims)] != (1,) * len(dims) for block in found):  # a zipped name that has a value twice
        return Cells(axes, tuple(_known(b.reshape(-1, b.shape[-1])) for b in found), lost, scheme, 0, not lost.any())
    blocks = [block.reshape(-1, block.shape[-1]) for block in found]
    known = np.array([np.isfinite(block).any(axis=1) for block in blocks])
    usable = known[known.any(axis=1)].all(axis=0)  # which of the others have a value in every cell that has any
    if not usable.any():
        return Cells(axes, tuple(_known(block) for block in blocks), lost, scheme, 0, balanced=False)
    return Cells(axes, tuple(_known(block[usable]) for block in blocks), lost, scheme, int((~usable).sum()))


def _known(points: Floats) -> Floats:
    return points[np.isfinite(points).any(axis=1)]


def _lost(blocks: Sequence[Floats]) -> NDArray[np.int64]:
    return np.array([int((~np.isfinite(block)).sum()) for block in blocks])
