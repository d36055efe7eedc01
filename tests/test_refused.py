"""What is refused, and in what words: each row of refused.toml, before anything runs."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from link_made import trial
from program import Run
from scenario_made import Edit, of_clients
from sweep_links_made import short
from sweep_made import tiny

import btflow
from btflow import InputError, load, load_link, motion, simulate_link, sweep
from btflow.config.catalog import names, parse
from btflow.explore.limits import check_link, check_swarm
from btflow.link.options import scenario_from
from btflow.sweeps import api

TABLE = tomllib.loads(Path(__file__).with_name("refused.toml").read_text(encoding="utf-8"))


def settings(section: str) -> list[tuple[Any, ...]]:
    """Return the rows of a section by model, each with its model."""
    return [(model, *row) for model, rows in TABLE[section].items() for row in rows]


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with None for what is left out."""
    return {name: None if value == "(left out)" else value for name, value in values.items()}


def opened(model: str) -> Any:
    """Return a model of links or swarms."""
    return load_link(model) if model in names("links") else load(model)


def problems(model: str, values: dict[str, Any]) -> Iterator[InputError]:
    """Give what is refused of a model with some values set."""
    scenario = opened(model)
    with pytest.raises(InputError) as caught:
        scenario.set(**given(values))
    yield from caught.value.problems


def check_order(words: str, said: str) -> None:
    """Assert that words with ``...`` between them are said in this order, in one line."""
    assert "\n" not in said
    place = 0
    for part in words.split(" ... "):
        assert part in said[place:], said
        place = said.index(part, place) + len(part)


@pytest.mark.parametrize(("model", "values", "field", "text"), settings("alone"))
def test_one_field_is_refused_by_its_name(model: str, values: dict[str, Any], field: str, text: str) -> None:
    (problem,) = problems(model, values)
    assert problem.field == field
    assert text in problem.describe()


@pytest.mark.parametrize(("model", "values", "field", "text"), settings("among_others"))
def test_each_of_several_fields_is_refused(model: str, values: dict[str, Any], field: str, text: str) -> None:
    assert text in {problem.field: problem.describe() for problem in problems(model, values)}[field]


@pytest.mark.parametrize(("changes", "field", "text"), TABLE["trial"])
def test_what_no_link_experiment_is_has_a_name(changes: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(InputError) as error:
        trial(**given(changes))
    assert any(p.field.startswith(field) and text in p.describe() for p in error.value.problems), str(error.value)


@pytest.mark.parametrize(("old", "new", "field", "text"), TABLE["edits"])
def test_wrong_model_files_name_the_field(edit: Edit, old: str, new: str, field: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        load(edit(old, new))
    assert any(field in problem.field for problem in caught.value.problems)
    assert text in str(caught.value)


@pytest.mark.parametrize(("client", "changed", "text"), TABLE["clients"])
def test_rules_of_a_client_that_contradict_each_other_are_refused(
    client: str, changed: dict[str, Any], text: str
) -> None:
    tree = of_clients({"base": client, **changed})
    tree["swarm"] |= {"file_size": "4 MiB", "piece_size": "256 KiB"}
    with pytest.raises(InputError) as caught:
        parse(tree).build({})
    assert any(text in problem.describe() for problem in caught.value.problems)


@pytest.mark.parametrize(("command", "words"), TABLE["flow"])
def test_the_command_line_says_in_one_line_what_flow_does_not_have(
    command: str, words: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("run", "load_kernels"):
        monkeypatch.setattr(btflow.swarm.flow, name, lambda *_: pytest.fail("a swarm is run"))
    code, out, said = run("run", *shlex.split(command))
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert said.startswith("btflow: error: ")
    check_order(words, said.rstrip("\n"))


@pytest.mark.parametrize(("options", "words"), TABLE["links_in_flow"])
def test_what_flow_does_not_have_of_links_is_said_in_a_line(options: dict[str, Any], words: str) -> None:
    fixed = {"rate": "10 Mbit/s", "rtt": "50 ms", "rtt_spread": "0 s", "buffer": "100 packets", "duration": "120 s"}
    with pytest.raises(InputError) as caught:
        simulate_link(scenario_from(**fixed | {"flows": ["cubic"]} | options), fidelity="flow")
    check_order(words, str(caught.value.problems[0]))


EXPLORED = [
    *((check_link, "link", *row) for row in TABLE["explored_links"]),
    *((check_swarm, *row) for row in TABLE["explored_swarms"]),
]


@pytest.mark.parametrize(("check", "model", "values", "field", "allowed"), EXPLORED)
def test_what_is_too_large_is_not_explored(
    check: Callable[[Any], None], model: str, values: dict[str, Any], field: str, allowed: str
) -> None:
    uploads = {"flows": "cubic:2", "rate": "1 Mbit/s", "duration": "60 s"}
    scenario: Any = scenario_from(**uploads | values) if model == "link" else load(model, **values)
    with pytest.raises(InputError) as caught:
        check(scenario)
    assert caught.value.field == field
    assert allowed in caught.value.allowed


@pytest.mark.parametrize(("model", "values", "options", "said"), TABLE["recorded"])
def test_what_cannot_be_recorded_is_said(
    model: str, values: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        motion.record(opened(model).set(**values), **options)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("made", "vary", "more", "text"),
    [(kind, *row) for kind, table in ((short, "swept_links"), (tiny, "swept")) for row in TABLE[table]],
)
def test_what_cannot_be_varied_is_said_before_any_work(
    made: Callable[[], Any],
    vary: dict[str | tuple[str, ...], object],
    more: dict[str, Any],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api, "execute", lambda *_, **__: pytest.fail("it was run"))
    with pytest.raises(InputError) as caught:
        sweep(made(), vary, out=tmp_path / "a.zarr", progress=False, **more)
    assert text in str(caught.value)
    assert not list(tmp_path.iterdir())
