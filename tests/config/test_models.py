"""The model files: each number has its source, and the path tables agree with each other."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from typing import Any

import jsonschema
import pytest

from btflow import InputError, Scenario, load, schema
from btflow.config import catalog
from btflow.units import parse_quantity

MODELS = files("btflow.models")
ASES = ("AS1", "AS2", "AS3", "AS4", "AS5")
DESCRIPTIVE = {"name", "title", "source"}


def read(kind: str, name: str) -> dict[str, Any]:
    return tomllib.loads((MODELS / kind / f"{name}.toml").read_text())


def unsourced(tree: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every value in a model file that is not beside its source."""
    if isinstance(tree, dict) and tree.keys() == {"value", "source"}:
        if not tree["source"].strip():
            yield path
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key not in DESCRIPTIVE:
                yield from unsourced(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for value in tree:
            yield from unsourced(value, path)
    else:
        yield path


@pytest.mark.parametrize(
    ("kind", "name"), [("clients", "mainline-4.0"), ("transports", "linux-2.6.32"), ("transports", "linux-6")]
)
def test_every_constant_of_a_client_or_transport_has_a_source(kind: str, name: str) -> None:
    tree = read(kind, name)
    assert len(tree) > 10
    assert list(unsourced(tree)) == []
    assert tree["source"]


def test_every_number_of_the_2010_swarm_has_a_source() -> None:
    tree = read("swarms", "rao2010")
    del tree["parameters"]
    assert set(unsourced(tree)) == {
        ".byte_prefix",
        ".transport",
        ".classes.seed.role",
        ".classes.seed.client",
        ".classes.leechers.role",
        ".classes.leechers.client",
        ".paths.matrix",
        ".arrivals.kind",
    }


def test_sources_are_kept_by_the_fields_path() -> None:
    sources = catalog.document("rao2010").sources
    assert sources["classes.seed.client.choke_interval"] == "BitTorrent 4.0.2 Choker.py"
    assert "Kconfig" in sources["transport.congestion_control"]
    assert "II-C" in sources["swarm.file_size"]


@pytest.mark.parametrize("kind", ["clients", "transports", "paths", "sockets"])
def test_shared_files_do_not_use_prefixes_that_depend_on_the_model(kind: str) -> None:
    for name in catalog.names(kind):
        text = (MODELS / kind / f"{name}.toml").read_text()
        assert not [unit for unit in (" kB", " MB", " GB", " TB") if f'{unit}"' in text or f'{unit}/s"' in text]


@pytest.mark.parametrize("name", catalog.names())
def test_models_load_and_match_the_published_schema(name: str) -> None:
    assert load(name).name == name
    jsonschema.validate(read("swarms", name), schema(), jsonschema.Draft202012Validator)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        ("clients", "Client"),
        ("transports", "Transport"),
        ("paths", "PathMatrix"),
        ("sockets", "Sockets"),
        ("access", "AccessLink"),
    ],
)
def test_shared_files_match_the_published_schema(kind: str, definition: str) -> None:
    part = {"$defs": schema()["$defs"], "$ref": f"#/$defs/{definition}"}
    jsonschema.Draft202012Validator.check_schema(part)
    for name in catalog.names(kind):
        jsonschema.Draft202012Validator(part).validate(read(kind, name))


def test_the_schema_refuses_unknown_fields() -> None:
    tree = read("swarms", "rao2010")
    tree["swarm"]["colour"] = "blue"
    with pytest.raises(jsonschema.ValidationError, match="colour"):
        jsonschema.validate(tree, schema(), jsonschema.Draft202012Validator)


@pytest.mark.slow
def test_the_schema_takes_and_refuses_the_sizes_that_the_parser_does() -> None:
    tree, known = read("swarms", "rao2010"), jsonschema.Draft202012Validator(schema())
    for text in ("50 MB", " 1.5e1MiB ", "+3 B", ".5 GB", "2. kB"):
        tree["swarm"]["file_size"] = text
        assert parse_quantity(text, "size")
        assert known.is_valid(tree), text
    for text in ("50", "50 mb", "50 MBs", "x50 MB", "-1 MB", "50 ms"):
        tree["swarm"]["file_size"] = text
        assert not known.is_valid(tree), text
        with pytest.raises(InputError):
            parse_quantity(text, "size")


@pytest.fixture(scope="module")
def placed() -> Scenario:
    return load("rao2010").set(leecher_as=",".join(ASES), seed_as="AS1")


@pytest.mark.parametrize(("one", "other"), list(product(ASES, ASES)))
def test_tables_2_and_3_follow_from_table_1(placed: Scenario, one: str, other: str) -> None:
    """A round trip crosses four devices: loopback within an AS, Ethernet to any other machine."""
    matrix = placed.paths.matrix
    assert matrix is not None
    latency = matrix.device_latency
    ethernet = 2 * (latency[one].ethernet + latency[other].ethernet)
    leechers = 4 * latency[one].loopback if one == other else ethernet
    assert matrix.between(one, other) == pytest.approx(leechers)
    assert matrix.between(other, one) == matrix.between(one, other)
    assert matrix.between(f"seed-{one}", other) == pytest.approx(ethernet)
    assert matrix.rtt[one][other] == matrix.rtt[other][one]


def test_the_matrix_names_ten_locations_and_no_pair_of_seeds(placed: Scenario) -> None:
    matrix = placed.paths.matrix
    assert matrix is not None
    assert matrix.locations == (*ASES, *(f"seed-{name}" for name in ASES))
    with pytest.raises(KeyError):
        matrix.between("seed-AS1", "seed-AS2")
