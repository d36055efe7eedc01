"""What a sweep is over: specs, axes, distributions, samples, tables; each against a simple oracle."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st
from no_clock import calls
from scipy import stats

from btflow import InputError, load
from btflow.config.catalog import document
from btflow.config.schema import describe
from btflow.paths.model import load as load_paths
from btflow.sweeps.declare import declaration, from_file, read, sample_of
from btflow.sweeps.design import Design, Listed, Names, Spec, axis, design
from btflow.sweeps.plan import plan, point_seed

RAO = document("rao2010")


Vary = dict[str | tuple[str, ...], object]


def made(vary: Vary, sample: str | None = None, seed: int = 0) -> Design:
    specs = {names: read(over, names) for names, over in declaration(vary, {}, "vary").vary.items()}
    return design(RAO, specs, sample_of(sample), seed, 1, yes=False)


def values(vary: Vary, sample: str | None = None, seed: int = 0) -> dict[str, list[object]]:
    return {c.name: c.values.tolist() for c in made(vary, sample, seed).coordinates()}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("rtt", "0ms,400ms , 1 s", [0.0, 0.4, 1.0]),
        ("rtt", "5 ms", [0.005]),
        ("upload_limit", "lin(10 kB/s, 100 kB/s, 10)", [10240.0 * k for k in range(1, 11)]),
        ("upload_limit", "5 kB/s, lin(10 kB/s, 20 kB/s, 2)", [5120.0, 10240.0, 20480.0]),
        ("loss", "log(0.1%,5%,3)", [0.001, math.sqrt(0.001 * 0.05), 0.05]),
        ("loss", "lin(0%,5%,6)", [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]),
        ("leechers", "lin(10,40,4)", [10, 20, 30, 40]),
        ("leechers", "3,5", [3, 5]),
        ("file_size", "1 MB,2 MiB", [1048576.0, 2097152.0]),
        ("tso", "true,off", [True, False]),
        ("leecher_as", "(AS1,AS2),AS3,none", ["AS1,AS2", "AS3", "none"]),
        ("paths.rtt", "0ms,400ms", [0.0, 0.4]),
        ("transport", "linux-2.6.32", ["linux-2.6.32"]),
    ],
)
def test_lists(name: str, text: str, expected: list[object]) -> None:
    (found,) = values({name: text}).values()
    assert [type(value) for value in found] == [type(value) for value in expected]
    assert found == pytest.approx(expected, rel=1e-15) if isinstance(expected[0], float) else found == expected


def test_the_texts_of_a_list_stay_as_they_were_given() -> None:
    grid = made({"rtt": "0ms,lin(0.1s, 300 ms, 3)"})
    assert grid.written() == {"rtt": ["0ms", "0.1s", "200 ms", "300 ms"]}


def test_python_values_are_the_same_as_texts() -> None:
    texts = values({"rtt": "0 ms,400 ms", "leechers": "3,9", "loss": "5%", "tso": "true,false"})
    objects: Vary = {"rtt": ["0 ms", "400 ms"], "leechers": np.array([3, 9]), "loss": 0.05, "tso": (True, False)}
    assert values(objects) == texts


@pytest.mark.parametrize("key", ["rtt,loss", ("rtt", "loss")])
def test_values_that_go_together(key: str | tuple[str, ...]) -> None:
    for given_ in ("(0ms,0%),(400ms,5%)", [("0 ms", 0), ("400 ms", 0.05)]):
        grid = made({key: given_, "leechers": [3]})
        assert grid.dims == ("rtt+loss", "leechers")
        assert grid.shape == (2, 1)
        found = {c.name: (c.dimension, c.values.tolist()) for c in grid.coordinates()}
        assert found["rtt"] == ("rtt+loss", [0.0, 0.4])
        assert found["loss"] == ("rtt+loss", [0.0, 0.05])


def test_the_points_of_a_grid_are_in_c_order() -> None:
    grid = made({"rtt": "0ms,1s", ("loss", "leechers"): [("0%", 3), ("5%", 4), ("1%", 5)]})
    at = [grid.settings(point) for point in range(6)]
    assert [row["rtt"] for row in at] == ["0ms"] * 3 + ["1s"] * 3
    assert [row["leechers"] for row in at] == ["3", "4", "5"] * 2


@pytest.mark.parametrize(
    ("name", "low", "high", "unit"),
    [("rtt", 0.0, 1.0, "s"), ("upload_limit", 1e4, 1e6, "B/s"), ("loss", 0.001, 0.05, ""), ("leechers", 1, 5000, "")],
)
@pytest.mark.parametrize("scale", ["lin", "log", "listed"])
def test_long_lists_have_the_texts_of_their_values(name: str, low: float, high: float, unit: str, scale: str) -> None:
    """Those are written in the SI unit, and read as exactly the value that the dataset has."""
    low = max(low, 1e-4) if scale == "log" else low
    text: object = f"{scale}({low} {unit}, {high} {unit}, 2000)"
    if scale == "listed":
        text = [f"{v} {unit}" if unit else v for v in np.linspace(low, high, 2000).tolist()]
        text = np.arange(1, 2001) if name == "leechers" else text
    elif (name, scale) == ("leechers", "log"):
        text = "log(1, 2, 2), lin(3, 5000, 4998)"
    found = made({name: text})
    along = found.coordinates()[0].values.tolist()
    variable = describe(RAO, name)
    assert [variable.value(found.settings(point)[name]) for point in range(len(along))] == along
    assert [type(value) for value in along] == [int if name == "leechers" else float] * len(along)
    assert len(along) >= 2000


def test_a_hundred_thousand_values_are_declared_by_a_few_calls_for_each() -> None:
    """A list of them, evenly spaced ones and one that is there twice; it took minutes."""
    listed = [*(f"{i} us" for i in range(5_000)), "0.004999 s"]
    with calls(10**7):
        assert made({"rtt": "lin(0 ms, 1 s, 100000)"}).shape == (100_000,)
    with calls(10**7), pytest.raises(InputError, match="'4999 us': is there twice"):
        made({"rtt": listed})


def test_a_billion_points_are_counted_without_being_made() -> None:
    huge: Vary = {"rtt": "lin(0 ms, 1 s, 100000)", "loss": "lin(0%, 5%, 100000)"}
    with pytest.raises(InputError, match="10,000,000,000 swarms"):
        made(huge)


def test_more_than_a_million_swarms_need_a_yes() -> None:
    specs: dict[Names, Spec] = {("rtt",): read("lin(0 ms, 1 s, 1001)", ("rtt",))}
    with pytest.raises(InputError, match="1,001,000 swarms"):
        design(RAO, specs, None, 0, 1000, yes=False)
    assert design(RAO, specs, None, 0, 1000, yes=True).shape == (1001,)
    assert design(RAO, specs, None, 0, 999, yes=False).shape == (1001,)


SHARES = np.linspace(0.001, 0.999, 997)


@pytest.mark.parametrize(
    ("name", "text", "oracle"),
    [
        ("rtt", "uniform(100 ms, 1 s)", stats.uniform(0.1, 0.9)),
        ("rtt", "lin(100 ms, 1 s)", stats.uniform(0.1, 0.9)),
        ("rtt", "loguniform(10 ms, 1 s)", stats.loguniform(0.01, 1.0)),
        ("rtt", "log(10 ms, 1 s)", stats.loguniform(0.01, 1.0)),
        ("rtt", "lognormal(80 ms, 0.5)", stats.lognorm(0.5, scale=0.08)),
    ],
)
def test_distributions_have_the_distribution_function_they_are_named_for(
    name: str, text: str, oracle: stats.rv_frozen
) -> None:
    drawn = np.sort(np.array(values({name: text}, "lhs:1000")[name], float))
    strata = (np.arange(1000) + 0.5) / 1000  # a Latin hypercube has one value in each
    assert np.abs(oracle.cdf(drawn) - strata).max() <= 0.5 / 1000 + 1e-9


def test_whole_numbers_are_drawn_equally_often_both_ends_included() -> None:
    found = values({"leechers": "uniform(3, 7)"}, "lhs:1000")["leechers"]
    assert dict(zip(*np.unique(np.array(found), return_counts=True), strict=True)) == dict.fromkeys(range(3, 8), 200)
    assert all(isinstance(value, int) for value in found)


def test_lists_and_choices_are_drawn_equally_often() -> None:
    found = values({"tso": "choice(true, false)", "rtt": ["0 ms", "1 s", "2 s", "3 s"]}, "sobol:64")
    assert sum(bool(value) for value in found["tso"]) == 32
    assert [found["rtt"].count(value) for value in (0.0, 1.0, 2.0, 3.0)] == [16] * 4


@given(st.integers(0, 2**63 - 1), st.sampled_from(["sobol:8", "lhs:7", "random:5", "saltelli:4"]))
def test_what_is_set_at_a_point_is_what_the_dataset_says(seed: int, sample: str) -> None:
    vary: dict[str | tuple[str, ...], object] = {
        "rtt": "lognormal(80 ms, 0.5)",
        "loss": "iplane",
        "leechers": "loguniform(1, 300)",
        "file_size": "uniform(1 MB, 50 MB)",
    }
    drawn = made(vary, sample, seed)
    along = {c.name: c.values for c in drawn.coordinates()}
    for point in range(drawn.shape[0]):
        for name, text in drawn.settings(point).items():
            assert describe(RAO, name).value(text) == along[name][point]


def test_names_that_vary_together_are_one_choice_of_a_sample() -> None:
    rows = [("0 ms", "0%"), ("100 ms", "1%"), ("100 ms", "5%")]
    both = made({("rtt", "loss"): rows, "upload_limit": "lin(10 kB/s, 20 kB/s)"}, "saltelli:64")
    assert both.shape == (64 * (2 + 2),)
    found = {c.name: c.values for c in both.coordinates()}
    groups = [(p["rtt"], p["loss"]) for p in map(both.settings, range(256))]
    assert list(zip(found["rtt"].tolist(), found["loss"].tolist(), strict=True)) == [
        {"0 ms": (0.0, 0.0), "100 ms": (0.1, 0.01 if loss == "1%" else 0.05)}[rtt] for rtt, loss in groups
    ]
    assert [abs(groups[:64].count(row) - 64 / 3) < 2 for row in rows] == [True] * 3
    alone = made({"rtt": "0 ms,100 ms,200 ms", "upload_limit": "lin(10 kB/s, 20 kB/s)"}, "saltelli:64")
    assert found["upload_limit"].tolist() == alone.coordinates()[1].values.tolist()
    assert list(both.written().items()) == [
        ("rtt+loss", "choice((0 ms, 0%), (100 ms, 1%), (100 ms, 5%))"),
        ("upload_limit", "uniform(10 kB/s, 20 kB/s)"),
    ]


def test_a_sample_depends_on_the_seed_alone() -> None:
    vary: dict[str | tuple[str, ...], object] = {"rtt": "uniform(0 s, 1 s)", "loss": "uniform(0%, 5%)"}
    for sample in ("sobol:8", "lhs:8", "random:8", "saltelli:8"):
        assert values(vary, sample, 3) == values(vary, sample, 3)
        assert values(vary, sample, 3) != values(vary, sample, 4)


def test_a_saltelli_design_is_what_scipys_sobol_indices_takes() -> None:
    n = 8
    vary: dict[str | tuple[str, ...], object] = {"rtt": "uniform(0 s, 1 s)", "loss": "uniform(0%, 5%)"}
    drawn = made(vary | {"arrival_spread": "uniform(0 s, 9 s)"}, f"saltelli:{n}")
    assert drawn.shape == (n * 5,)
    a, b, *mixed = np.split(np.array([c.values for c in drawn.coordinates()]), 5, axis=1)  # each (names, n)
    assert not np.any(a == b)
    for i, found in enumerate(mixed):
        expected = a.copy()
        expected[i] = b[i]
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("quantity", ["rtt", "loss"])
def test_iplane_goes_through_the_tables_points_and_never_down(quantity: Literal["rtt", "loss"]) -> None:
    table = load_paths("iplane").table(quantity)
    at, value, _ = table
    assert table.quantile(at) == pytest.approx(value, rel=1e-12)
    drawn = table.quantile(np.linspace(0, 1, 100_001))
    assert (np.diff(drawn) >= 0).all()
    assert (drawn[0], drawn[-1]) == pytest.approx((value[0], value[-1]))


def test_iplane_has_the_published_shares() -> None:
    times, losses = (load_paths("iplane").table(quantity).quantile for quantity in ("rtt", "loss"))
    rtt = times(np.linspace(0, 1, 1_000_001))
    assert np.mean(rtt <= 0.4) == pytest.approx(0.98, abs=1e-4)
    assert np.mean(rtt < 1.0) == pytest.approx(0.998, abs=1e-4)
    assert times(np.array([0.99])) == pytest.approx([0.527], rel=1e-3)  # the table's own power law
    assert np.mean(losses(np.linspace(0, 1, 100_001)) < 0.05) == pytest.approx(0.95, abs=1e-3)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**40))
def test_seeds_of_points_are_seeds(seed: int, point: int) -> None:
    found = point_seed(seed, point, common=False)
    assert 0 <= found < 2**63
    assert found == point_seed(seed, point, common=False)
    assert point_seed(seed, point, common=True) == seed


def test_seeds_of_points_differ() -> None:
    found = {point_seed(seed, point, common=False) for seed in range(30) for point in range(100)}
    assert len(found) == 3000


FILE = {"vary": {"rtt": "0 ms,1 s", "loss": "0%"}, "set": {"leechers": 5}, "replicas": 4, "sample": "lhs:8"}


def test_what_is_said_replaces_what_the_file_says_name_by_name() -> None:
    said = declaration({"rtt": "5 ms", "tso": "true"}, {"loss": "1%"}, "vary", seed=3).over(from_file(FILE))
    assert said.vary == {("rtt",): "5 ms", ("tso",): "true"}
    assert said.set == {"leechers": 5, "loss": "1%"}
    assert (said.replicas, said.sample, said.seed, said.common) == (4, "lhs:8", 3, None)


def test_what_is_varied_here_is_not_set_there() -> None:
    said = declaration({"leechers": "3,4"}, {}, "vary").over(from_file(FILE))
    assert said.set == {}


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([], "is not a table"),
        ({"replica": 3}, "did you mean replicas"),
        ({"replicas": "3"}, "whole number"),
        ({"seed": True}, "whole number"),
        ({"common": 1}, "true or false"),
        ({"vary": "rtt"}, "a table"),
        ({"vary": {"rtt": "0 s"}, "set": {"rtt": "0 s"}}, "both varied and set"),
    ],
)
def test_bad_tables(table: object, text: str) -> None:
    with pytest.raises(InputError) as caught:
        from_file(table)
    assert text in str(caught.value)


def test_the_axis_of_a_variable_without_a_scale_takes_every_word() -> None:
    stay = describe(document("flashcrowd"), "stay")
    (found,) = axis((stay,), Listed((("forever",), ("random",), ("leave",)))).columns
    assert found.values == ["forever", "random", "leave"]


def test_a_models_sweep_is_read_and_does_not_change_a_run(tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "models" / "swarms" / "rao2010.toml").read_text()
    file = tmp_path / "my.toml"
    file.write_text(source + '\n[sweep]\nreplicas = 2\nvary = { rtt = "0ms,1s" }\n')
    assert load(file) == load("rao2010")
    assert document(file).sweep == {"replicas": 2, "vary": {"rtt": "0ms,1s"}}


def test_the_table_is_in_the_schema() -> None:
    import tomllib

    import jsonschema

    from btflow import schema

    source = (Path(__file__).parents[2] / "models" / "swarms" / "rao2010.toml").read_text()
    jsonschema.validate(tomllib.loads(f"{source}\n[sweep]\nsample = 'lhs:8'\nvary = {{ rtt = '0ms,1s' }}"), schema())
    for wrong in ("replicas = 0", "sample = 'monte:8'", "vari = {}"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(tomllib.loads(f"{source}\n[sweep]\n{wrong}"), schema())


@pytest.mark.parametrize("points", [50, 64, 100, 150, 1000])
def test_a_sweep_of_which_half_makes_a_swarm_begins(points: int) -> None:
    vary: dict[str | tuple[str, ...], object] = {"rtt": f"lin(0 ms, 1 s, {points})", "leechers": [0, 300]}
    assert plan(RAO, {}, made(vary), seed=0, replicas=1, common=False, keep=()).units == 2 * points


def test_a_sweep_of_which_nothing_makes_a_swarm_does_not() -> None:
    with pytest.raises(InputError, match="leechers"):
        plan(RAO, {"leechers": 0}, made({"rtt": "lin(0 ms, 1 s, 300)"}), seed=0, replicas=1, common=False, keep=())
