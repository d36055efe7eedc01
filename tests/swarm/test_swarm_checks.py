"""Fields that are each right but do not go together are refused before anything runs."""

from __future__ import annotations

import copy
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from scenario_made import of_clients

from btflow.config.catalog import parse
from btflow.config.files import read_toml
from btflow.errors import InputError, ScenarioError

RAO2010 = tomllib.loads((files("btflow.models") / "swarms" / "rao2010.toml").read_text())
CLIENTS = files("btflow.models") / "clients"
CLIENT, TRANSPORT = "mainline-4.0", "linux-2.6.32"


def refusals(tree: dict[str, Any]) -> dict[str, str]:
    """Return the problems of a model by field."""
    with pytest.raises(ScenarioError) as caught:
        parse(tree).build({})
    return {problem.field: problem.describe() for problem in caught.value.problems}


@pytest.fixture
def tree() -> dict[str, Any]:
    return copy.deepcopy(RAO2010)


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"pipeline_floor": 51}, "pipeline_floor", "= '51': exceeds pipeline_cap = 50"),
        ({"pipeline_cap": 1}, "pipeline_floor", "= '2': exceeds pipeline_cap = 1"),
        ({"min_peers": 2}, "min_peers_incoming", "exceeds min_peers = 2"),
        (
            {"slot_table": [{"below": "9 KiB/s", "uploads": 2}, {"below": "1 KiB/s", "uploads": 3}]},
            "slot_table",
            "= '9 KiB/s, 1 KiB/s': is not in rising order",
        ),
    ],
)
def test_a_client_is_checked_once_for_all_its_classes(changed: dict[str, Any], field: str, text: str) -> None:
    found = refusals(of_clients({"base": CLIENT, **changed}))
    assert list(found) == [f"classes.seed.client.{field}"]
    assert text in found[f"classes.seed.client.{field}"]


def test_an_unknown_rule_is_refused_with_those_there_are(tree: dict[str, Any]) -> None:
    tree["classes"]["leechers"]["client"] = {"base": CLIENT, "choker": "best"}
    text = r"client\.choker = 'best': is unknown; allowed: 'list', 'last-round' or 'salted-rate'"
    with pytest.raises(InputError, match=text):
        parse(tree).build({})


def test_a_client_that_names_no_rule_for_something_is_refused(tree: dict[str, Any]) -> None:
    client = {name: given for name, given in read_toml(CLIENTS / f"{CLIENT}.toml").items() if name != "picker"}
    tree["classes"]["leechers"]["client"] = client
    with pytest.raises(InputError, match=r"client\.picker.*missing"):
        parse(tree).build({})


def test_clients_of_one_swarm_have_messages_of_one_length(tree: dict[str, Any]) -> None:
    tree["classes"]["leechers"]["client"] = {"base": CLIENT, "have_size": "10 B"}
    line = "= '10 B': differs from that of class seed, with whom it speaks; allowed: 9 B"
    assert line in refusals(tree)["classes.leechers.client.have_size"]


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"rto_min": "5 s", "rto_max": "4 s"}, "rto_min", "= '5 s': exceeds rto_max = 4 s; allowed: at most rto_max"),
        ({"rto_initial": "1 min", "rto_max": "59 s"}, "rto_initial", "exceeds rto_max = 59 s"),
        ({"tso_segment": "1 kB"}, "mss", "= '1448 B': exceeds tso_segment = 1 kB"),
    ],
)
def test_times_and_sizes_of_a_transport_are_in_order(
    tree: dict[str, Any], changed: dict[str, Any], field: str, text: str
) -> None:
    tree["byte_prefix"] = "decimal"
    tree["transport"] = {"base": TRANSPORT, **changed}
    assert text in refusals(tree)[f"transport.{field}"]


def matrix(**rtt: dict[str, str]) -> dict[str, Any]:
    return {"name": "own", "title": "Own", "source": "none", "rtt": rtt}


def test_a_matrix_is_symmetric(tree: dict[str, Any]) -> None:
    tree["paths"]["matrix"] = matrix(A={"B": "100 ms"}, B={"A": "900 ms"})
    found = refusals(tree)
    assert list(found) == ["paths.matrix.rtt.B.A"]
    assert "= '900 ms': differs from paths.matrix.rtt.A.B = 100 ms" in found["paths.matrix.rtt.B.A"]
    tree["paths"]["matrix"] = matrix(A={"B": "100 ms"}, B={"A": "0.1 s", "B": "1 ms"})
    assert parse(tree).build({}).paths.matrix is None  # right, but no class has a location


@pytest.mark.parametrize(("given", "field"), [(3, "paths.matrix"), ({"nonsense": 1}, "paths.matrix.nonsense")])
def test_a_matrix_that_is_not_used_is_checked(tree: dict[str, Any], given: object, field: str) -> None:
    tree["paths"]["matrix"] = given
    assert field in refusals(tree)


@pytest.mark.parametrize("name", ["", " "])
def test_names_are_not_empty(tree: dict[str, Any], name: str) -> None:
    tree["name"] = name
    tree["transport"] = {"base": TRANSPORT, "name": name}
    tree["paths"]["matrix"] = matrix(A={name: "1 ms"}) | {"name": name}
    tree["classes"][name] = dict(tree["classes"]["leechers"], upload_limit="1 kB/s")
    tree["classes"][name]["client"] = {"base": CLIENT, "name": name}
    wrong = {
        "name",
        "transport.name",
        "paths.matrix.name",
        "paths.matrix.rtt",
        "classes",
        f"classes.{name}.client.name",
    }
    found = refusals(tree)
    assert set(found) == wrong
    assert all("is an empty name" in text for text in found.values())
