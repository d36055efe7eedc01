"""What is given to an analysis or a figure is checked first; errors name the field, the value and what is allowed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweeps_made as made
import xarray as xr

from btflow import analysis, plots
from btflow.errors import InputError

AXES: dict[str, list[Any]] = {"rtt": [0.0, 0.4, 1.0], "cc": ["reno", "cubic"], "encrypted": [False, True]}
FAST: Any = {"resamples": 100}
C = "completion_mean"


@pytest.fixture(scope="module")
def sweep() -> xr.Dataset:
    return made.grid(AXES, lambda rtt, cc, encrypted: 100 + 50 * rtt + 10 * (cc == "cubic") + encrypted, noise=2.0)


HELPERS: dict[str, Callable[..., Any]] = {
    "mean_effect": lambda ds, variable=C, **more: analysis.mean_effect(ds, variable, "rtt", **FAST | more),
    "response": lambda ds, variable=C, **more: analysis.response(ds, variable, "rtt", "cc", **FAST | more),
    "paired": lambda ds, variable=C, **more: analysis.paired_difference(
        ds, variable, "cc", "reno", "cubic", **FAST | more
    ),
    "sensitivity": lambda ds, variable=C, **more: analysis.sensitivity(ds, variable, **FAST | more),
    "response_curve": lambda ds, variable=C, **more: plots.response_curve(ds, variable, "rtt", "cc", **FAST | more),
    "tornado": lambda ds, variable=C, **more: plots.tornado(ds, variable, **FAST | more),
}
EVERY = HELPERS | {
    "sobol_indices": lambda ds, variable=C: analysis.sobol_indices(ds, variable),
    "sobol": lambda ds, variable=C: plots.sobol(ds, variable),
    "heat_map": lambda ds, variable=C: plots.heat_map(ds, variable, "rtt", "cc"),
}


def other_datasets() -> dict[str, object]:
    one = made.grid({"rtt": [0.0]}, lambda _: 1.0)
    return {
        "none": None,
        "path": "results.zarr",
        "array": one[C],
        "empty": xr.Dataset(),
        "single run": xr.Dataset({"completion_time": (("replica", "peer"), np.ones((1, 2)))}),
        "no replicas": xr.Dataset({"status": ("rtt", [1, 1])}),
        "no points": one.isel(rtt=slice(0, 0)),
        "no JSON": one.assign_attrs(varied="rtt"),
    }


@pytest.mark.parametrize("kind", other_datasets())
@pytest.mark.parametrize("name", EVERY)
def test_what_is_no_sweep_is_said_to_be_none(name: str, kind: str) -> None:
    with pytest.raises(InputError, match=r"^ds\b.*(is not|no swarm).*allowed: what btflow\.sweep returns"):
        EVERY[name](other_datasets()[kind])


@pytest.mark.parametrize("wrong", [None, 3, [C], {C}, "completion_maen", "status", "seed", "failure", "rtt", ""])
@pytest.mark.parametrize("name", [name for name in EVERY if not name.startswith("sobol")])
def test_wrong_statistics_are_named_with_the_known_ones(sweep: xr.Dataset, name: str, wrong: Any) -> None:
    with pytest.raises(InputError, match=r"^variable\b.*allowed: completion_mean$") as error:
        EVERY[name](sweep, wrong)
    assert error.value.value == wrong


@pytest.mark.parametrize("name", HELPERS)
@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("confidence", [0, 1, -0.5, 95, 1.0, float("nan"), "0.95", None, True, [0.9], 1e-20]),
        ("resamples", [0, -1, 10, 10**7, 10**30, 1e3, "100", None, True, float("nan")]),
        ("seed", [-1, 2**63, 1.5, "1", None]),
    ],
)
def test_settings_of_intervals_have_limits(sweep: xr.Dataset, name: str, field: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(InputError, match=rf"^{field}\b.*allowed: a (whole )?number") as error:
            HELPERS[name](sweep, **{field: value})
        assert error.value.value is value


@pytest.mark.parametrize("name", HELPERS)
def test_an_unknown_option_is_named_with_the_known_ones(sweep: xr.Dataset, name: str) -> None:
    with pytest.raises(InputError, match=r"^foo = 3: is not an option; allowed: confidence, resamples, seed"):
        HELPERS[name](sweep, foo=3)


def test_signatures_show_how_intervals_are_made() -> None:
    named: dict[Any, tuple[str, ...]] = {
        analysis: ("mean_effect", "response", "sensitivity", "paired_difference", "sobol_indices")
    }
    named |= {plots: ("response_curve", "tornado", "sobol")}
    for function in (getattr(package, name) for package, names in named.items() for name in names):
        shown = inspect.signature(function).parameters
        assert not [p for p in shown.values() if p.kind is p.VAR_KEYWORD]
        assert [shown[key].default for key in ("confidence", "resamples", "seed")] == [0.95, 1999, 0]


NAMES: dict[str, Callable[[xr.Dataset, Any], object]] = {
    "over": lambda ds, name: analysis.mean_effect(ds, C, name),
    "x": lambda ds, name: analysis.response(ds, C, name),
    "by": lambda ds, name: analysis.response(ds, C, "rtt", name),
    "dim": lambda ds, name: analysis.paired_difference(ds, C, name, 0.0, 1.0),
    "base": lambda ds, name: analysis.sensitivity(ds, C, {str(name): 0.0} | dict.fromkeys(AXES, 0.0)),
}
FIGURES: dict[str, Callable[[xr.Dataset, Any], object]] = {
    "x": lambda ds, name: plots.heat_map(ds, C, name, "rtt"),
    "y": lambda ds, name: plots.heat_map(ds, C, "rtt", name),
    "by": lambda ds, name: plots.response_curve(ds, C, "rtt", name),
}


@pytest.mark.parametrize("wrong", [["cc"], {"cc": 1}, 3, "tcp", "replica"])
@pytest.mark.parametrize(("field", "call"), [*NAMES.items(), *FIGURES.items()])
def test_wrong_names_are_named_with_the_varied_ones(
    sweep: xr.Dataset, field: str, call: Callable[[xr.Dataset, Any], object], wrong: Any
) -> None:
    with pytest.raises(InputError, match=rf"^{field}\b.*varied parameter of the sweep.*allowed: rtt, cc, encrypted$"):
        call(sweep, wrong)


def test_a_name_of_which_one_value_was_selected_is_not_varied(sweep: xr.Dataset) -> None:
    with pytest.raises(InputError, match=r"over = 'rtt': is not a varied parameter.*allowed: cc, encrypted"):
        analysis.mean_effect(sweep.sel(rtt=0.4), C, "rtt")
    with pytest.raises(InputError, match=r"over = 'rtt'.*allowed: none"):
        analysis.mean_effect(sweep.isel(rtt=0, cc=0, encrypted=0), C, "rtt")


@pytest.mark.parametrize("wrong", [["reno"], None, "bbr", 1.5])
def test_wrong_values_are_named_with_the_known_ones(sweep: xr.Dataset, wrong: Any) -> None:
    with pytest.raises(InputError, match=r"^b\b.*is not a value of cc; allowed: reno, cubic"):
        analysis.paired_difference(sweep, C, "cc", "reno", wrong)
    with pytest.raises(InputError, match=r"^base\['rtt'\].*allowed: 0 s, 400 ms, 1 s"):
        analysis.sensitivity(sweep, C, {"rtt": wrong, "cc": "reno", "encrypted": True})


@pytest.mark.parametrize("base", [3, "rtt", ["rtt"], [("rtt", 0.0)]])
def test_a_base_is_a_mapping(sweep: xr.Dataset, base: Any) -> None:
    with pytest.raises(InputError, match=r"^base\b.*is not a mapping; allowed: a value for each of rtt, cc, encrypted"):
        analysis.sensitivity(sweep, C, base)


@pytest.mark.parametrize("bins", [0, 1, 1001, 2.0, "3", None, True])
def test_bins_have_limits(sweep: xr.Dataset, bins: Any) -> None:
    calls: tuple[Callable[..., object], ...] = (
        lambda: analysis.response(sweep, C, "rtt", bins=bins),
        lambda: analysis.response(sweep, C, "rtt", "cc", by_bins=bins),
        lambda: plots.tornado(sweep, C, bins=bins),
        lambda: plots.heat_map(sweep, C, "rtt", "cc", bins=bins),
    )
    for call in calls:
        with pytest.raises(InputError, match=r"^(by_)?bins\b.*a whole number from 2 to 1000"):
            call()


def test_values_are_found_as_they_are_shown(sweep: xr.Dataset) -> None:
    for a, b in ((False, True), ("off", "on"), ("false", "True")):
        found = analysis.paired_difference(sweep, C, "encrypted", a, b, **FAST)
        assert (found.attrs["a"], found.attrs["b"]) == (False, True)
    limits = made.grid({"upload_limit": [2e4, np.inf], "leechers": [100, 300]}, lambda limit, n: n + 1e6 / limit)
    found = analysis.paired_difference(limits, C, "upload_limit", "20 kB/s", "unlimited", **FAST)
    np.testing.assert_allclose(found["difference"], -50)
    np.testing.assert_allclose(analysis.mean_effect(limits, C, "leechers", "300", **FAST)["difference"], [-200, 0])
    drawn = made.sample({"rtt": np.linspace(0, 1, 20).tolist()}, np.linspace(0, 1, 20)[:, None])
    assert analysis.mean_effect(drawn, C, "rtt", "470 ms", bins=4, **FAST)["difference"].values[1] == 0


@pytest.mark.parametrize("sweep_given", [None, 3, ["s.zarr"], b"s.zarr"])
def test_a_table_is_of_a_sweep_or_the_path_of_one(sweep_given: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^sweep\b.*is not a sweep; allowed: what btflow.sweep returns, or the path"):
        analysis.write_table(sweep_given, tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


PATHS = [None, 3, b"t.csv", ["t.csv"], "", "t", "t.CSV.gz", "no/such/folder/t{}", "folder{}", "\0{}"]


@pytest.mark.parametrize("path", PATHS)
def test_what_is_written_needs_a_path_with_its_ending(sweep: xr.Dataset, path: Any, tmp_path: Path) -> None:
    def at(ending: str) -> Any:
        return str(tmp_path / path.format(ending)) if isinstance(path, str) and path else path

    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InputError, match=r"^path\b.*allowed: a file ending in \.csv"):
        analysis.write_table(sweep, at(".csv"))
    with pytest.raises(InputError, match=r"^path\b.*allowed: a file ending in \.html"):
        plots.save(plots.heat_map(sweep, C, "rtt", "cc"), at(".html"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder.csv", "folder.html"]


@pytest.mark.parametrize("drawn", [None, "figure", 3, {"data": []}])
def test_only_figures_are_saved(drawn: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^drawn.*is not a figure"):
        plots.save(drawn, tmp_path / "f.html")


@pytest.mark.parametrize("per", [None, "peers", 3, ["peer"]])
def test_rows_are_of_swarms_or_peers(sweep: xr.Dataset, per: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^per.*is unknown; allowed: swarm, peer"):
        analysis.write_table(sweep, tmp_path / "t.csv", per=per)


def unfinished() -> xr.Dataset:
    """Return 12 points of 3 replicas: 4 swarms failed, 3 were not run, 2 are done without a value."""
    values = made.grid(AXES, lambda rtt, *_: 100 + 50 * rtt, noise=2.0)[C].values
    values.ravel()[[0, 5, 9, 13]] = np.nan
    ds = made.grid(AXES, values=values)
    ds["status"].values.ravel()[[3, 8, 20]] = 0
    ds[C].values.ravel()[[7, 8, 30]] = np.nan
    ds["status"].values.ravel()[[7, 30]] = 1
    return ds.assign_attrs(complete=0)


LOST = {"swarms": 36, "failed": 4, "not_run": 3, "no_value": 2}


@pytest.mark.parametrize("name", ["mean_effect", "response", "paired", "sensitivity"])
def test_results_say_how_many_swarms_have_no_value(name: str) -> None:
    attrs = HELPERS[name](unfinished()).attrs
    assert {key: attrs[key] for key in LOST} == LOST


def test_what_has_no_value_is_left_out_and_counted_in_its_cell() -> None:
    found = analysis.mean_effect(unfinished(), C, "rtt", **FAST)
    assert int(found["missing"].sum()) == 9
    known = unfinished()[C].where(unfinished()["status"] == 1)
    np.testing.assert_allclose(found["mean"], known.mean("replica").mean(("cc", "encrypted")))
    assert np.isfinite(known.mean("replica")).all()


@pytest.mark.parametrize("name", ["response_curve", "tornado", "heat_map"])
def test_figures_say_how_many_swarms_have_no_value(name: str) -> None:
    drawn: Any = EVERY[name](unfinished())
    text = "12 points × 3 replicas, 4 swarms failed, 3 swarms not run, 2 swarms without a value"
    assert text in drawn.layout.title.subtitle.text


@pytest.mark.parametrize("name", HELPERS)
def test_swarms_that_xarray_added_count_as_not_run(sweep: xr.Dataset, name: str) -> None:
    masked = sweep.where((sweep["rtt"] > 0) | (sweep["cc"] == "reno"))  # the status becomes NaN there
    assert masked["status"].dtype.kind == "f"
    found: Any = HELPERS[name](masked)
    if isinstance(found, xr.Dataset):
        assert {key: found.attrs[key] for key in LOST} == {"swarms": 36, "failed": 0, "not_run": 6, "no_value": 0}
    else:
        assert "6 swarms not run" in found.layout.title.subtitle.text


@pytest.mark.parametrize("name", HELPERS)
def test_one_replica_selected_is_a_sweep_of_one_replica(sweep: xr.Dataset, name: str) -> None:
    one: Any = HELPERS[name](sweep.sel(replica=1))
    other: Any = HELPERS[name](sweep.sel(replica=[1]))
    assert one.equals(other) if isinstance(one, xr.Dataset) else one == other


@pytest.mark.parametrize("name", HELPERS)
def test_the_order_of_dimensions_changes_nothing(sweep: xr.Dataset, name: str) -> None:
    one: Any = HELPERS[name](sweep.transpose("replica", "cc", "rtt", "encrypted"))
    other: Any = HELPERS[name](sweep)
    if isinstance(one, xr.Dataset):
        xr.testing.assert_allclose(one, other.transpose(*one.dims), rtol=1e-12)
    else:
        assert one.layout == other.layout


SAMPLED: dict[str, Callable[[xr.Dataset], xr.Dataset]] = {
    "sobol_indices": lambda ds: analysis.sobol_indices(ds, C, **FAST),
    "mean_effect": lambda ds: analysis.mean_effect(ds, C, "rtt", **FAST),
    "sensitivity": lambda ds: analysis.sensitivity(ds, C, **FAST),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_parts_of_a_sample_are_samples(name: str) -> None:
    design = made.saltelli(lambda x: x[0] + 3 * x[1], {"rtt": (0.0, 1.0), "loss": (0.0, 1.0)}, 32, replicas=3)
    design[C] += np.random.default_rng(0).normal(0, 0.1, design[C].shape)
    whole, turned = (SAMPLED[name](ds) for ds in (design, design.transpose("replica", "sample")))
    xr.testing.assert_identical(whole, turned)
    one, selected = (SAMPLED[name](ds) for ds in (design.isel(replica=[1]), design.isel(replica=1)))
    xr.testing.assert_identical(one, selected)


def test_a_base_of_names_that_vary_together_is_one_of_their_points() -> None:
    values = np.arange(6.0).reshape(3, 2, 1)
    ds = made.grid({"rtt+loss": [0, 1, 2], "cc": ["reno", "bbr"]}, values=values).drop_vars("rtt+loss")
    ds = ds.assign_coords(
        rtt=made.coordinate("rtt", "rtt+loss", [0.0, 0.0, 1.0]),
        loss=made.coordinate("loss", "rtt+loss", [0.1, 0.2, 0.3]),
    )
    found = analysis.sensitivity(ds, C, {"rtt": 0.0, "loss": 0.2, "cc": "bbr"}, **FAST)
    assert float(found["base"]) == 3.0
    assert found["swing"].sel(parameter="cc") == 1.0
    with pytest.raises(InputError, match=r"base\['loss'\] = 0.3: is the value of loss at 0 points.*go together"):
        analysis.sensitivity(ds, C, {"rtt": 0.0, "loss": 0.3, "cc": "bbr"})


def test_what_was_varied_is_read_from_the_attrs_or_the_coordinates(sweep: xr.Dataset) -> None:
    bare = sweep.copy()
    del bare.attrs["varied"]
    xr.testing.assert_equal(analysis.sensitivity(bare, C, **FAST), analysis.sensitivity(sweep, C, **FAST))
    assert list(json.loads(sweep.attrs["varied"])) == list(AXES)


@pytest.mark.parametrize("text", ["2 s", "2s", "2000 ms"])
def test_a_buffer_may_be_spelt_otherwise_than_when_it_was_varied(text: str) -> None:
    ds = made.grid({"buffer": ["50 ms", "2 s", "20 packets"]}, lambda buffer: 100.0 + len(buffer))
    found = analysis.mean_effect(ds, C, "buffer", reference=text, **FAST)
    expected = analysis.mean_effect(ds, C, "buffer", reference="2 s", **FAST)
    xr.testing.assert_equal(found, expected)
    with pytest.raises(InputError, match="is not a value of buffer"):
        analysis.mean_effect(ds, C, "buffer", reference="2 packets", **FAST)
