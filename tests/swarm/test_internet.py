"""Swarms whose peers have a path of their own to each other one: what is drawn is what the engine runs on."""

from __future__ import annotations

import json
import math
import pickle
import re
import shlex
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st
from internet_made import FIXED, RAO2010, SMALL, constant, file, swarm
from program import Run

import btflow
from btflow import InputError, ScenarioError, describe, load, memory, plots, simulate, sweep
from btflow.cli.list import everything, parameters_of
from btflow.paths import draw, load as read_paths
from btflow.swarm.program import MOST_APART, compile_scenario
from btflow.swarm.report import as_text
from btflow.swarm.run import run_swarm
from btflow.swarm.state import PATH_BYTES, replica_paths, state_bytes


def figures(result: xr.Dataset) -> xr.Dataset:
    """Return what two runs have alike if their swarms are: all but the paths' own variables and what they cost."""
    return result.drop_attrs(deep=False).drop_vars(["path_rtt", "path_loss"], errors="ignore")


@pytest.mark.parametrize(("rtt", "loss"), [("80 ms", 0.0), ("1 s", 0.0), ("80 ms", 0.02)])
def test_where_all_paths_are_alike_the_swarm_is_that_of_one_rtt_and_loss(rtt: str, loss: float) -> None:
    apart = simulate(swarm(internet=constant(rtt, loss)), seed=5)
    xr.testing.assert_identical(figures(apart), figures(simulate(load("rao2010", **SMALL, rtt=rtt, loss=loss), seed=5)))
    np.testing.assert_allclose(apart["path_loss"], loss)


@given(seed=st.integers(0, 10**6), limit=st.sampled_from(["10 kB/s", "100 kB/s"]))
def test_two_peers_on_a_drawn_path_are_two_peers_with_that_rtt_and_loss(seed: int, limit: str) -> None:
    made = compile_scenario(swarm(leechers=1, file_size="300 kB", upload_limit=limit))
    rtt, loss = replica_paths(made, seed, 0)
    alike = compile_scenario(load("rao2010", leechers=1, file_size="300 kB", upload_limit=limit, rtt="1 ms"))
    alike = replace(alike, rtt=rtt[:1, 1:], loss=float(loss[0, 1]))
    drawn, same = run_swarm(made, seed, 0), run_swarm(alike, seed, 0)
    assert drawn.clock[0].events == same.clock[0].events
    np.testing.assert_array_equal(drawn.peer.done, same.peer.done)
    np.testing.assert_array_equal(drawn.have_time, same.have_time)


@given(seed=st.integers(0, 10**6), leechers=st.integers(1, 30))
def test_both_ends_of_a_connection_have_the_path_of_their_pair(seed: int, leechers: int) -> None:
    made = compile_scenario(swarm(leechers=leechers, file_size="300 kB", upload_limit="100 kB/s"))
    rtt, loss = replica_paths(made, seed, 0)
    for of in (rtt, loss):
        np.testing.assert_array_equal(of, of.T)
        assert not of.diagonal().any()
    s = run_swarm(made, seed, 0)
    ends = np.flatnonzero(s.conn.generation)  # what an end was last connected to
    pairs = ends >> s.rules.slot_bits, s.mate[ends] >> s.rules.slot_bits
    assert ends.size >= 2 * leechers
    np.testing.assert_array_equal(s.wire.rtt[ends], rtt[pairs])
    np.testing.assert_array_equal(s.wire.loss[ends], loss[pairs])


def test_a_swarm_depends_on_scenario_seed_and_replica_alone() -> None:
    two = simulate(swarm(), seed=3, replicas=2)
    xr.testing.assert_identical(figures(two), figures(simulate(swarm(), seed=3, replicas=2)))
    one = simulate(swarm(), seed=3)
    for name in ("completion_time", "path_rtt", "path_loss"):
        np.testing.assert_array_equal(one[name][0], two[name][0])
        assert (two[name][0] != two[name][1]).any()
        assert (one[name] != simulate(swarm(), seed=4)[name]).any()


def test_the_same_peers_have_the_same_paths_whatever_else_is_set() -> None:
    one, other = (simulate(swarm(upload_limit=limit, piece_size="64 KiB"), seed=3) for limit in ("10 kB/s", "90 kB/s"))
    np.testing.assert_array_equal(one["path_rtt"], other["path_rtt"])
    np.testing.assert_array_equal(one["path_loss"], other["path_loss"])
    assert (one["completion_time"] != other["completion_time"]).any()


def test_the_result_says_what_the_paths_were_drawn_from_and_what_each_peer_got(tmp_path: Path) -> None:
    result = simulate(swarm(), seed=2, replicas=2)
    rtt, loss = replica_paths(compile_scenario(swarm()), 2, 1)
    np.testing.assert_allclose(result["path_rtt"][1], [row[row > 0].mean() for row in rtt])
    np.testing.assert_allclose(result["path_loss"][1], loss.sum(axis=0) / 9)
    assert (result["path_rtt"].attrs["units"], result["path_loss"].attrs["units"]) == ("s", "1")
    assert result.attrs["internet"] == "iplane"
    renamed = simulate(swarm(internet=file(tmp_path / "a.toml", name="mine", title="other")), seed=2)
    assert (renamed.attrs["internet"], renamed.attrs["internet_hash"]) == ("mine", result.attrs["internet_hash"])
    other = simulate(swarm(internet=constant()), seed=2)
    assert other.attrs["internet_hash"] != result.attrs["internet_hash"]
    assert not {"internet", "internet_hash"} & simulate(load("rao2010", **SMALL)).attrs.keys()


def test_the_digest_is_of_what_the_paths_are_drawn_from(tmp_path: Path) -> None:
    plain = load("rao2010", **SMALL)
    assert swarm().set(internet=None) == plain
    assert swarm().set(internet="none").digest() == plain.digest()
    assert swarm(internet=file(tmp_path / "a.toml", name="mine", source="nowhere")).digest() == swarm().digest()
    assert len({s.digest() for s in (plain, swarm(), swarm(internet=constant()), swarm(internet=constant("1 s")))}) == 4


def test_a_model_is_named_by_the_parameter_or_by_the_field(tmp_path: Path) -> None:
    by_field = load("rao2010", **SMALL, **{"paths.internet": "iplane"})
    assert by_field == swarm()
    assert "internet" not in by_field.parameters
    for made in (by_field, swarm(), swarm(internet=constant()), load("rao2010", **SMALL)):
        assert made.set(**made.parameters) == load("rao2010").set(**made.parameters) == made
    own = swarm(internet=file(tmp_path / "my.toml", name="mine"))
    assert swarm(internet=tmp_path / "my.toml").parameters == own.parameters
    assert own.parameters["internet"] == str(tmp_path / "my.toml")
    with pytest.raises(InputError, match="as parameter internet does"):
        swarm(**{"paths.internet": "iplane"})
    assert describe(swarm(), "internet").words == ("iplane",)
    assert "iplane" in everything()
    assert "iplane, a .toml file, none" in " ".join(parameters_of("rao2010").split())


def test_a_path_model_itself_is_as_good_as_its_name_or_its_file(tmp_path: Path) -> None:
    own = swarm(internet=constant("30 ms") | {"name": "mine"}).paths.internet
    assert own is not None
    own.save(tmp_path / "my.toml")
    assert swarm(internet=read_paths("iplane")).digest() == swarm().digest()
    made = swarm(internet=own)
    assert made.paths.internet == own
    assert made.digest() == swarm(internet=str(tmp_path / "my.toml")).digest()
    assert load("rao2010").set(**made.parameters) == made  # as texts, as a store has them
    assert pickle.loads(pickle.dumps(made)).set(upload_limit="20 kB/s") == made.set(upload_limit="20 kB/s")
    assert load("rao2010", **SMALL, **{"paths.internet": own}).digest() == made.digest()
    assert json.loads(simulate(made).attrs["parameters"])["internet"].startswith("{ name = ")
    with pytest.raises(InputError, match="transport"):
        load("rao2010", **SMALL, transport=own)


def test_path_models_are_values_of_a_sweep_and_of_a_comparison() -> None:
    fast, slow = (read_paths("iplane").model_copy(update={"name": name}) for name in ("fast", "slow"))
    fast = fast.model_copy(update={"rtt": fast.rtt[:1], "loss": fast.loss[:1], "tail": 1.0})
    vary: dict[Any, object] = {"internet": [fast, "none", slow]}
    points = sweep(load("rao2010", **SMALL), vary, jobs=1, progress=False)
    assert (points["status"] == 1).all()
    for at, model in ((0, fast), (2, slow)):
        text = str(points["internet"].values[at])
        assert load("rao2010", **SMALL, internet=text) == load("rao2010", **SMALL, internet=model)
    two = sweep(load("rao2010", **SMALL), vary, jobs=2, progress=False)
    np.testing.assert_array_equal(two["completion_max"], points["completion_max"])
    alone = sweep(load("rao2010", **SMALL), {"internet": slow}, jobs=1, progress=False)
    listed = sweep(load("rao2010", **SMALL), {"internet": [slow]}, jobs=1, progress=False)
    assert alone.equals(listed.assign_attrs(alone.attrs).assign(cpu_s=alone["cpu_s"]))


def test_a_model_that_was_given_itself_does_not_fill_the_report() -> None:
    result = simulate(swarm(internet=read_paths("iplane").model_copy(update={"name": "mine"})))
    assert max(map(len, as_text(result).splitlines())) < 350
    assert len(str(plots.overview(result).layout.title.text)) < 500
    assert len(result.attrs["parameters"]) > 1000  # it is all there


def test_a_model_file_may_have_paths_of_its_own(tmp_path: Path) -> None:
    file(tmp_path / "mine.toml", name="mine")
    model = tmp_path / "swarm.toml"
    model.write_text(RAO2010.read_text().replace("[paths]", '[paths]\ninternet = "mine.toml"'))
    made = load(model, **SMALL)
    assert made.paths.internet is not None
    assert made.paths.internet.name == "mine"
    assert load(model).set(**made.parameters) == made  # from another folder too
    assert made.set(internet="iplane") == swarm()
    assert made.set(internet="none").paths.internet is None
    assert json.loads(simulate(made).attrs["parameters"])["internet"].startswith("{ ")


BAD_PARAMETERS = {
    "of no file": ('sets = ["paths.internet"]', 'sets = ["paths.rtt"]'),
    "of two": ('sets = ["paths.internet"]', 'sets = ["paths.internet", "transport"]'),
    "that follows": ('sets = ["paths.internet"]', 'sets = ["paths.internet"]\ndefault_from = "rtt"'),
}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_a_parameter_of_files_sets_one_field_that_names_a_file(case: str, tmp_path: Path) -> None:
    text = RAO2010.read_text()
    start = text.index("[parameters.internet]")
    model = tmp_path / "swarm.toml"
    model.write_text(text[:start] + text[start:].replace(*BAD_PARAMETERS[case], 1))
    with pytest.raises(ScenarioError, match=r"parameters.internet.sets.*is not one field that names a file"):
        load(model)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "unknown": (lambda: swarm(internet="iplan"), r"internet = 'iplan'.*did you mean iplane"),
    "no file": (lambda: swarm(internet="nowhere.toml"), r"internet = 'nowhere.toml'.*no such file"),
    "with a loss": (lambda: swarm(loss=0.05), r"^loss = 0.05: is never used: internet = iplane takes its place; .*one"),
    "with no RTT": (lambda: swarm(rtt="0 ms"), r"^rtt = '0 ms': is never used: internet = iplane takes its place"),
    "by fields": (
        lambda: load("rao2010", **{"paths.internet": "iplane", "paths.rtt": "1 s"}),
        r"^paths.rtt = '1 s': is never used: paths.internet = iplane takes its place",
    ),
    "in a table": (
        lambda: load("rao2010", paths={"internet": "iplane", "rtt": "1 s"}),
        r"^paths.rtt = '1 s': is never used: paths.internet = iplane takes its place",
    ),
    "with ASes": (lambda: swarm(leecher_as="AS1", seed_as="AS1"), r"is a location, while the paths of each peer are"),
    "on links": (
        lambda: load("flashcrowd", **{"paths.internet": "iplane"}),
        r"one delay to all other peers.*; allowed: rtt",
    ),
    "by name on links": (lambda: load("flashcrowd", internet="iplane"), r"internet = 'iplane': is refused by access l"),
    "too many": (lambda: compile_scenario(swarm(leechers=MOST_APART)), rf"leechers.*at most {MOST_APART} peers"),
    "in a list": (
        lambda: swarm(internet=constant() | {"rtt": [{"share": 1.0, "value": math.inf}]}),
        r"^paths.internet.rtt.0.value = inf: is not a finite number; allowed: a time [^\n]*$",
    ),
    "a number": (lambda: swarm(internet=3), r"^internet = 3: is neither a name nor a table; allowed: iplane, the path"),
    "paths": (
        lambda: swarm(internet=draw("iplane", 3)),
        r"^internet = <xarray.Dataset>.*: is neither a name nor a table",
    ),
    "a long name": (
        lambda: swarm(internet=300 * "x" + ".toml"),
        r"^internet = 'xxx.*cannot be read: File name too long",
    ),
    "a folder": (lambda: swarm(internet="./"), r"^internet = './': . cannot be read: it is a folder, not a file"),
    "nameless": (lambda: swarm(internet={"base": "iplane", "name": " "}), r"paths.internet.name.*is an empty name"),
    "falling": (
        lambda: swarm(internet=constant() | {"loss": [{"share": 0.5, "value": 0.1}, {"share": 1.0, "value": 0}]}),
        r"internet.loss = '0 after 0.1': falls at share 1",
    ),
    "too lossy": (lambda: swarm(internet=constant(loss=0.4)), r"internet.loss = 0.4.*less than 0.4"),
    "no time": (lambda: swarm(internet=constant("0 ms")), r"internet.rtt.0.value = '0 ms': is out of range"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_go_together_is_said_before_any_work(case: str) -> None:
    make, said = WRONG[case]
    with pytest.raises(InputError, match=said):
        make()


def test_paths_that_are_set_later_take_the_place_of_what_was_set_before() -> None:
    lossy = load("rao2010", rtt="100 ms", loss=0.01, **SMALL)
    assert lossy.set(internet="iplane") == load("rao2010", internet="iplane", **SMALL)
    assert lossy.set(internet="iplane").set(internet="none") == load("rao2010", **SMALL)
    assert lossy.set(internet="none") == lossy
    assert lossy.set(**{"paths.internet": "iplane"}).digest() == swarm().digest()
    assert lossy.set(paths={"internet": "iplane"}).digest() == swarm().digest()
    assert lossy.set(initial_window=4).paths == lossy.paths
    for name in ("rtt", "loss"):
        with pytest.raises(InputError, match=rf"^{name} = .*is never used"):
            swarm().set(**{name: lossy.parameters[name]})  # whoever draws paths says none first


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = file(tmp_path / "my.toml", tail=math.nan)
    for name in ("internet", "paths.internet"):
        with pytest.raises(
            InputError, match=rf"^paths.internet.tail = nan: is not a finite number, in {path}; allowed"
        ):
            load("rao2010", **{name: path})
    with pytest.raises(InputError, match=r"^paths.internet.tail = nan: is not a finite number; allowed"):
        swarm(internet={"base": "iplane", "tail": math.nan})


@pytest.mark.parametrize(
    ("name", "shown"),
    [("mine.csv", "mine.csv"), ("runs/of today.CSV", "'runs/of today.CSV'"), ("mine.csv.gz", "mine.csv.gz")],
)
def test_measured_paths_in_place_of_a_model_are_told_what_makes_one(name: str, shown: str) -> None:
    said = f"internet = {name!r}: is not a path model; allowed: what `btflow calibrate {shown} --out my.toml` makes"
    with pytest.raises(InputError, match=re.escape(said)):
        swarm(internet=name)


def test_a_field_of_the_model_that_a_parameter_names_can_be_set() -> None:
    made = swarm(**{"paths.internet.structure.detour": 0.5})
    assert made.paths.internet is not None
    assert made.paths.internet.structure.detour == 0.5
    assert load("rao2010").set(**made.parameters) == made
    with pytest.raises(InputError, match=r"is in a table that is not there: set paths.internet too"):
        made.set(internet="none")


def test_what_was_set_is_shown_without_the_rtt_and_loss_that_are_never_used(run: Run) -> None:
    assert {"rtt", "loss"} <= load("rao2010").parameters.keys()
    assert not {"rtt", "loss"} & swarm().parameters.keys()
    assert swarm().set(internet="none", rtt="1 s").parameters["rtt"] == "1 s"
    found = simulate(swarm(), seed=1)
    assert not {"rtt", "loss"} & json.loads(found.attrs["parameters"]).keys()
    subtitle = plots.overview(found).layout.title.subtitle.text
    printed = run("run", "rao2010", *FIXED, "--set=internet=iplane")[1]
    for text in (subtitle, printed):
        assert "internet = iplane" in text
        assert "rtt =" not in text
        assert "loss =" not in text


def test_a_swarm_has_the_parameter_though_its_model_file_declares_none(tmp_path: Path) -> None:
    text = RAO2010.read_text()
    start, end = text.index("[parameters.internet]"), text.index("[parameters.tso]")
    model = tmp_path / "swarm.toml"
    model.write_text(text[:start] + text[end:])
    made = load(model, **SMALL, internet="iplane")
    assert made == swarm()
    assert made.parameters["internet"] == "iplane"
    assert load(model).set(**made.parameters) == made
    with pytest.raises(InputError, match=r"sets paths.internet, as internet does"):
        made.set(**{"paths.internet": "iplane"})


def own_paths(tmp_path: Path, *lines: str) -> Path:
    """Write a model without parameters whose paths are said by these lines, and return its path."""
    text = RAO2010.read_text()
    start, end = text.index("[paths]"), text.index("[arrivals]")
    model = tmp_path / "swarm.toml"
    body = text[:start] + "\n".join(["[paths]", *lines, "", text[end : text.index("[parameters.")]])
    model.write_text(body.replace("[classes.seed]", '[classes.seed]\nupload_limit = "20 kB/s"'))
    return model


def test_a_file_has_drawn_paths_or_one_rtt_and_loss_for_all(tmp_path: Path) -> None:
    drawn, alike = 'internet = "iplane"', ("rtt = '0 ms'", "loss = 0")
    made = load(own_paths(tmp_path, drawn), **{"classes.leechers.count": 9, "swarm.file_size": "1 MB"})
    assert made.digest() == swarm().digest()
    with pytest.raises(InputError, match=r"^paths.rtt: is missing\npaths.loss: is missing$"):
        made.set(internet="none")
    assert made.set(**{"internet": "none", "paths.rtt": "1 s", "paths.loss": 0}).paths.rtt == 1.0
    assert load(own_paths(tmp_path, *alike), internet="iplane").paths.internet is not None  # the file has a default
    model = own_paths(tmp_path, drawn, *alike)
    with pytest.raises(InputError, match=r"^paths.rtt = '0 ms': is never used: paths.internet = iplane.*\npaths.loss"):
        load(model)
    assert load(model, internet="none").paths.internet is None
    with pytest.raises(InputError, match=r"^paths.rtt: is missing$"):
        load(own_paths(tmp_path, "loss = 0"))


def test_a_file_may_have_an_rtt_for_when_its_parameter_takes_the_drawn_paths_out(tmp_path: Path) -> None:
    model = tmp_path / "swarm.toml"
    model.write_text(RAO2010.read_text().replace("[paths]", '[paths]\ninternet = "iplane"'))
    assert "rtt" not in load(model).parameters
    assert load(model).set(internet="none", rtt="1 s").paths.rtt == 1.0
    assert re.search(r"^rtt +time +s +0 s ", parameters_of(str(model)), re.MULTILINE)
    with pytest.raises(InputError, match=r"^rtt = '1 s': is never used: paths.internet = iplane takes its place"):
        load(model, rtt="1 s")


def test_iplane_is_a_path_model_among_the_values_of_a_sweep(tmp_path: Path) -> None:
    """In a list of one parameter: alone in a text it is the distribution of round-trip times and losses."""
    path = file(tmp_path / "my.toml", **constant("20 ms"))
    points = sweep(load("rao2010", **SMALL), {"internet": f"none,iplane, {path}"}, jobs=1, progress=False)
    assert [str(text) for text in points["internet"].values] == ["none", "iplane", path]
    assert (points["status"] == 1).all()
    with pytest.raises(InputError, match="rtt = 'iplane'"):
        sweep(load("rao2010", **SMALL), {"rtt": "0 ms,iplane"}, jobs=1, progress=False)


def test_the_sweep_of_a_model_file_names_path_models_beside_it(tmp_path: Path, run: Run) -> None:
    file(tmp_path / "p.toml", name="mine")
    (tmp_path / "swarm.toml").write_text(f'{RAO2010.read_text()}\n[sweep.vary]\ninternet = ["none", "p.toml"]\n')
    code, printed, said = run("sweep", "swarm.toml", *FIXED, "--out=found.zarr")
    assert (code, said) == (0, "")
    assert "2 of 2 swarms done, 0 failed" in printed


def test_a_run_prints_what_its_paths_were(run: Run) -> None:
    code, printed, _ = run("run", "rao2010", *FIXED, "--set=internet=iplane")
    rtt, loss = replica_paths(compile_scenario(swarm()), 0, 0)
    row = next(line for line in printed.splitlines() if line.startswith("mean of the paths"))
    each = 1000 * rtt.sum(axis=0) / 9
    assert row.split("  ")[-1].strip() == (
        f"RTT {each.mean():.0f} ms (by peer {each.min():.0f} ms to {each.max():.0f} ms), "
        f"loss {100 * loss.sum() / 90:.2f}%, of iplane"
    )
    assert code == 0
    assert "mean of the paths" not in run("run", "rao2010", *FIXED)[1]


def test_the_program_says_what_is_wrong_in_a_line(run: Run) -> None:
    code, _, said = run("run", "rao2010", "--set", "internet=iplane", "--set", "loss=5%")
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith("btflow: error: loss = '5%': is never used: internet = iplane")


def test_a_run_is_given_up_as_late_as_on_the_worst_of_its_paths() -> None:
    tables: dict[str, object] = {
        "rtt": [{"share": 0.5, "value": "20 ms"}, {"share": 0.9, "value": "1 s"}],
        "loss": [{"share": 0.5, "value": 0}, {"share": 0.9, "value": "20%"}],
    }
    drawn = swarm(internet=constant() | tables)
    assert (drawn.longest_rtt, drawn.give_up_time) == (1.0, load("rao2010", **SMALL, rtt="1 s", loss=0.2).give_up_time)
    assert drawn.give_up_time > swarm(internet=constant("1 s")).give_up_time


def test_paths_count_as_memory_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    many, alike = (compile_scenario(load("rao2010", leechers=999, internet=name)) for name in ("iplane", "none"))
    assert state_bytes(many) - state_bytes(alike) >= PATH_BYTES * 1000**2
    monkeypatch.setattr(memory, "available", lambda: state_bytes(many) - 1)
    with pytest.raises(ScenarioError, match=r"leechers = 999: needs .* GB of memory"):
        simulate(load("rao2010", leechers=999, internet="iplane"))


def test_drawing_paths_takes_no_more_memory_than_is_said() -> None:
    made = compile_scenario(swarm(leechers=699))
    replica_paths(made, 0, 0)
    tracemalloc.start()
    try:
        replica_paths(made, 1, 0)
        assert tracemalloc.get_traced_memory()[1] <= PATH_BYTES * 700**2
    finally:
        tracemalloc.stop()


def test_a_sweep_takes_the_content_of_path_models(tmp_path: Path) -> None:
    made = {name: file(tmp_path / f"{name}.toml", **constant(rtt)) for name, rtt in (("a", "20 ms"), ("b", "1 s"))}
    vary: dict[Any, object] = {"internet": ["none", *made.values()]}
    found = sweep(load("rao2010", **SMALL), vary, jobs=1, progress=False, seed=4, common=True)
    for at, rtt in enumerate(("0 s", "20 ms", "1 s")):
        single = simulate(load("rao2010", **SMALL, rtt=rtt), seed=4)
        assert float(found["completion_max"][at, 0]) == float(single["completion_time"].max())
    file(Path(made["b"]), **constant("2 s"))
    changed = sweep(load("rao2010", **SMALL), vary, jobs=1, progress=False, seed=4, common=True)
    before, after = (json.loads(of.attrs["contents"]) for of in (found, changed))
    assert before.keys() == after.keys() == {f"internet = {path}" for path in made.values()}
    assert [name for name in before if before[name] != after[name]] == [f"internet = {made['b']}"]


@pytest.mark.parametrize("command", ["run", "link", "sweep", "list"])
def test_a_path_model_in_place_of_a_swarm_is_told_what_it_is_for(command: str, tmp_path: Path, run: Run) -> None:
    read_paths("iplane").save("whole.toml")
    file(tmp_path / "my paths.toml", **constant())
    for name in ("iplane", "whole.toml", "my paths.toml")[command == "list" :]:  # the list describes what it shows
        more = ["--vary=rtt=1s,2s", "--out=x.zarr"] if command == "sweep" else []
        code, printed, error = run(command, name, *more)
        assert (code, printed, error.count("\n")) == (2, "", 1)
        assert (
            f"model = '{name}': is a path model, from which a swarm's paths are drawn; allowed: in a swarm: " in error
        )
        shell, python = error.partition("in a swarm: ")[2].split(", or ")
        assert eval(python, {"btflow": btflow}).paths.internet == read_paths(name)
        assert run(*shlex.split(shell)[1:], "--set=leechers=4", "--set=file_size=1 MB", "--json")[0] == 0
