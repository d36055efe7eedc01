"""A scenario made from kept tables is the one that its whole file gives, and what is wrong is said alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from btflow import InputError, Scenario, load
from btflow.config.catalog import document, link_document, names
from btflow.config.document import Document
from btflow.config.fields import everywhere
from btflow.config.files import NOTHING, put
from btflow.config.schema import Variable, describe

DOCUMENTS: dict[str, Document[Any]] = {name: document(name) for name in names()} | {
    name: link_document(name) for name in names("links")
}
"""Used by all examples, so that each finds the tables that those before it left."""

BUFFERS = ("100 packets", "30 kB", "200 ms", "1.5 BDP", "1 packets")
WRONG = ("", "none", "1", "x", "1 apple", "-1 s", "nan s", "1e99", None, 3, 0.5, True, ["a"], {"base": "x"})


def values(variable: Variable) -> st.SearchStrategy[object]:
    """Give values of a variable, most of them right."""
    if variable.words:
        right: st.SearchStrategy[object] = st.sampled_from(variable.words)
    elif variable.limits is not None:
        low, high = variable.limits
        whole = variable.kind in ("count", "size", "packets")
        number = (
            st.integers(int(low), int(min(high, 2 * low + 50))) if whole else st.floats(low, min(high, 2.0 * low + 3.0))
        )
        right = number.map(variable.from_si)
    else:
        right = {"flag": st.booleans(), "buffer": st.sampled_from(BUFFERS)}.get(variable.kind, st.just("some text"))
    return st.integers(1, 10).flatmap(lambda nth: st.sampled_from(WRONG) if nth == 7 else right)


def paths(name: str) -> list[str]:
    """Return every path of a model, and each with a star in place of an entry's name."""
    read = DOCUMENTS[name]
    found = [place.keys for place in everywhere(read.kind, read.assigner.assign({}).tree)]
    every = [(keys[0], "*", *keys[2:]) for keys in found if keys[0] in read.kind.named]
    return sorted({".".join(keys) for keys in found + every})


PATHS = {name: paths(name) for name in DOCUMENTS}


@st.composite
def choices(draw: st.DrawFn, most_paths: int) -> tuple[str, dict[str, object]]:
    """Give a model, and values of some of its parameters and fields."""
    model = draw(st.sampled_from(sorted(DOCUMENTS)))
    chosen = draw(st.lists(st.sampled_from(sorted(DOCUMENTS[model].parameters)), max_size=3, unique=True))
    chosen += draw(st.lists(st.sampled_from(PATHS[model]), max_size=most_paths, unique=True))
    return model, {name: draw(values(describe(DOCUMENTS[model], name))) for name in chosen}


def outcome(read: Document[Any], given: dict[str, object]) -> tuple[object, ...]:
    """Return all there is to see of a build: the scenario, or what is wrong."""
    try:
        built = read.build(given)
    except InputError as error:
        return type(error), str(error)
    return built, repr(built), dict(built.parameters), built.digest(), given_fields(built)


def given_fields(model: Any) -> object:
    """Return which fields of a model and of those in it were given."""
    if isinstance(model, tuple):
        return [given_fields(entry) for entry in model]
    if not hasattr(model, "model_fields_set"):
        return None
    return sorted(model.model_fields_set), [given_fields(value) for value in model.__dict__.values()]


def anew(read: Document[Any]) -> Document[Any]:
    """Return a copy that has kept nothing: it validates the whole file."""
    return replace(read)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(choices(most_paths=0), choices(most_paths=3))
def test_parameters_and_paths_make_what_the_whole_file_gives(
    parameters: tuple[str, dict[str, object]], paths: tuple[str, dict[str, object]]
) -> None:
    for model, chosen in (parameters, paths):
        assert outcome(DOCUMENTS[model], chosen) == outcome(anew(DOCUMENTS[model]), chosen)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(choices(most_paths=2), st.data())
def test_settings_compose_and_are_taken_back(choice: tuple[str, dict[str, object]], data: st.DataObject) -> None:
    """Set together, in two steps or again from what the scenario says of itself: all the same."""
    model, given = choice
    try:
        together = DOCUMENTS[model].build(given)
    except InputError:
        return
    assert DOCUMENTS[model].build(together.parameters) == together
    first = {name: given[name] for name in given if data.draw(st.booleans())}
    try:
        half = DOCUMENTS[model].build(first)
    except InputError:  # what is missing makes it right
        return
    in_turn = half.set(**{name: value for name, value in given.items() if name not in first})
    assert in_turn == together
    assert dict(in_turn.parameters) == dict(together.parameters)


def test_tables_in_which_nothing_is_set_are_the_same_objects() -> None:
    """That is what makes a sweep's point cheap: the transport, the clients and the matrix are not read again."""
    base = load("rao2010", leecher_as="AS1,AS2", seed_as="AS1")
    slower = base.set(loss="1%", upload_limit="35 kB/s")
    assert slower.paths.matrix is base.paths.matrix
    assert slower.transport is base.transport
    assert slower.classes[1].client is base.classes[1].client
    assert slower.tracker is base.tracker
    assert slower.paths is not base.paths


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_more_settings_than_are_kept_make_no_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btflow.config.document._MOST_KEPT", 3)
    monkeypatch.setattr("btflow.config.overrides._MOST_KEPT", 3)
    read = replace(DOCUMENTS[name])
    default = read.build({})
    for i in (0, 1, 2, 0, 1):
        assert (
            read.build({"paths.rtt": f"{i} ms"} if "rtt" not in read.parameters else {"rtt": f"{i} ms"}).paths.rtt
            == i / 1000
        )
    assert read.build({}) == default == DOCUMENTS[name].build({})


WRONG_TOGETHER: list[dict[str, object]] = [
    {"piece_size": "17 KiB"},
    {"leecher_as": "AS1"},
    {"arrivals.kind": "poisson"},
    {"leechers": 0, "classes.*.client.slot_table": "[{ below = '3 B' }]"},
]


@pytest.mark.parametrize("wrong", WRONG_TOGETHER)
def test_what_is_wrong_is_said_by_the_one_validation(wrong: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    base = load("rao2010")
    validate = Mock(wraps=Scenario.model_validate)
    monkeypatch.setattr(Scenario, "model_validate", validate)
    with pytest.raises(InputError):
        base.set(**wrong)
    validate.assert_called_once()


tables = st.recursive(st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8)


@given(tables, st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.one_of(st.integers(), st.just(NOTHING)))
def test_put_changes_one_place_of_a_copy(tree: Any, keys: list[str], content: object) -> None:
    before = repr(tree)
    try:
        after = put(tree, tuple(keys), content)
    except InputError:
        return
    assert repr(tree) == before
    here, there = tree, after
    for key in keys[:-1]:
        assert {k: v for k, v in there.items() if k != key} == {k: v for k, v in here.items() if k != key}
        here, there = here.get(key, {}), there[key]
    assert there == {k: v for k, v in here.items() if k != keys[-1]} | (
        {} if content is NOTHING else {keys[-1]: content}
    )
