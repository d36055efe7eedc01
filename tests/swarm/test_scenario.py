"""Scenarios: parameters, checks within and across fields, digests, copies, comparisons."""

from __future__ import annotations

import math
import pickle
import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError
from scenario_made import RAO2010, Edit

from btflow import InputError, Scenario, ScenarioError, UnitError, load, load_link, simulate
from btflow.config.catalog import parse

SETTINGS: dict[str, object] = {
    "upload_limit": "50 kB/s",
    "arrival_spread": "30 s",
    "loss": 0.05,
    "tso": True,
    "leechers": 30,
    "file_size": "1 MB",
    "leecher_as": "AS1,AS2,AS3",
    "seed_as": "AS1",
}


def test_defaults_are_the_2010_experiment(rao2010: Scenario) -> None:
    assert (rao2010.seeds, rao2010.leechers) == (1, 300)
    assert rao2010.swarm.file_size == 50 * 2**20
    assert (rao2010.swarm.pieces, rao2010.swarm.block_size) == (200, 2**14)
    assert {c.upload_limit for c in rao2010.classes} == {20 * 1024}
    assert (rao2010.paths.rtt, rao2010.paths.loss, rao2010.paths.matrix) == (0, 0, None)
    assert rao2010.transport is not None
    assert rao2010.transport.tso is False


def test_upload_limit_sets_the_seed_unless_it_has_its_own(rao2010: Scenario) -> None:
    def rates(scenario: Scenario) -> tuple[float, ...]:
        return tuple(c.upload_limit / 1024 for c in scenario.classes)

    assert rates(rao2010.set(upload_limit="50 kB/s")) == (50, 50)
    assert rates(rao2010.set(seed_upload_limit="50 kB/s")) == (50, 20)
    both = rao2010.set(seed_upload_limit="50 kB/s").set(upload_limit="10 kB/s")
    assert rates(both) == (50, 10)
    assert both.parameters["seed_upload_limit"] == "50 kB/s"


@given(st.permutations(list(SETTINGS.items())), st.integers(0, len(SETTINGS)))
def test_the_order_of_settings_does_not_matter(settings: list[tuple[str, object]], cut: int) -> None:
    together = load("rao2010").set(**SETTINGS)
    settings = [s for s in settings if s[0] not in ("leecher_as", "seed_as")]
    first = dict(settings[:cut]) | {"leecher_as": "AS1,AS2,AS3", "seed_as": "AS1"}
    in_turn = load("rao2010").set(**first).set(**dict(settings[cut:]))
    assert in_turn == together
    assert in_turn.parameters == together.parameters
    assert in_turn.digest() == together.digest()


def test_parameters_can_be_set_again_from_their_own_texts(rao2010: Scenario) -> None:
    changed = rao2010.set(**SETTINGS)
    assert load("rao2010").set(**changed.parameters) == changed
    assert changed.parameters["loss"] == "5%"
    assert changed.parameters["tso"] == "true"
    assert changed.parameters["leecher_as"] == "AS1,AS2,AS3"


def test_set_leaves_the_original_alone(rao2010: Scenario) -> None:
    before = rao2010.digest()
    rao2010.set(**SETTINGS)
    assert rao2010.digest() == before
    with pytest.raises(ValidationError):
        rao2010.paths.rtt = 1.0


def test_a_pickled_copy_is_equal_and_can_be_set(rao2010: Scenario) -> None:
    copy = pickle.loads(pickle.dumps(rao2010))
    assert copy == rao2010
    assert hash(copy) == hash(rao2010)
    assert copy.set(rtt="1 s") == rao2010.set(rtt="1 s") != rao2010


def test_digest_is_of_the_physical_content_alone(rao2010: Scenario, edit: Edit) -> None:
    renamed = edit('title = "Flash crowd', 'title = "Another title: flash crowd')
    assert load(renamed).digest() == rao2010.digest()
    assert rao2010.set(upload_limit="20 KiB/s").digest() == rao2010.digest()
    placed = rao2010.set(leecher_as="AS1", seed_as="AS2")
    assert rao2010.set(rtt="1 s").set(leecher_as="AS1", seed_as="AS2").digest() == placed.digest()
    with pytest.raises(InputError, match=r"^rtt = '1 s': is never used: leecher_as = AS1 takes its place"):
        placed.set(rtt="1 s")
    others = [rao2010.set(**{name: value}) for name, value in SETTINGS.items() if not name.endswith("as")]
    assert len({s.digest() for s in [rao2010, placed, *others]}) == 2 + len(others)


def test_the_byte_prefix_is_the_models(edit: Edit) -> None:
    decimal = load(edit('byte_prefix = "binary"', 'byte_prefix = "decimal"'))
    assert decimal.swarm.file_size == 50_000_000
    assert decimal.swarm.pieces == 191
    assert decimal.set(upload_limit="10 kB/s").classes[0].upload_limit == 10_000


def test_placement_is_even_and_in_order(rao2010: Scenario) -> None:
    seed, leechers = rao2010.set(leechers=8, leecher_as="AS3,AS1,AS2", seed_as="AS4").classes
    assert leechers.placement() == ("AS3",) * 3 + ("AS1",) * 3 + ("AS2",) * 2
    assert seed.placement() == ("seed-AS4",)
    assert rao2010.classes[1].placement() == ()


@pytest.mark.parametrize(("cap", "slots"), [(8, 2), (9, 3), (14, 3), (15, 4), (41, 4), (42, 5), (100, 7), (1000, 24)])
def test_automatic_upload_slots(rao2010: Scenario, cap: int, slots: int) -> None:
    client = rao2010.classes[0].client
    assert client.upload_slots(cap * 1024) == slots
    assert client.model_copy(update={"max_uploads": 6}).upload_slots(cap * 1024) == 6


def test_give_up_time_leaves_room_for_any_swarm(rao2010: Scenario, edit: Edit) -> None:
    assert rao2010.give_up_time == 3610 + 20 * 2560  # F/u = 50 MiB over 20 KiB/s
    slow_seed = rao2010.set(upload_limit="1 MB/s", seed_upload_limit="10 kB/s")
    assert slow_seed.give_up_time == 3610 + 20 * 5120
    assert rao2010.set(arrival_spread="1 h").give_up_time == 7200 + 20 * 2560
    assert rao2010.set(rtt="400 ms").give_up_time == 400 + rao2010.give_up_time
    farthest = rao2010.set(leecher_as="AS1,AS5", seed_as="AS5")
    assert farthest.longest_rtt == 0.4
    assert farthest.give_up_time == 400 + rao2010.give_up_time
    given_up = load(edit('byte_prefix = "binary"', 'byte_prefix = "binary"\nhorizon = "2 h"'))
    assert given_up.give_up_time == 7200


def test_every_problem_is_reported_at_once(rao2010: Scenario) -> None:
    with pytest.raises(InputError) as wrong_values:
        rao2010.set(upload_limit="20", rtt="nan s", nosuch=1)
    assert {p.field for p in wrong_values.value.problems} == {"upload_limit", "rtt", "nosuch"}
    with pytest.raises(ScenarioError) as wrong_fields:
        rao2010.set(leechers=0, leecher_as="AS1")
    assert {p.field for p in wrong_fields.value.problems} == {"leechers", "seed_as"}


def test_give_up_time_follows_the_rate_that_loss_leaves(rao2010: Scenario) -> None:
    lossy = rao2010.set(rtt="1 s", loss="10%")
    # one segment takes 1 s and timeouts of 1.2 s, doubled up to 120 s: 0.12 + 0.024 + ... s
    waits = sum(0.1**k * min(1.2 * 2 ** (k - 1), 120) for k in range(1, 30))
    assert lossy.slowest_rate == pytest.approx(1448 / (1 + waits))
    assert lossy.give_up_time == pytest.approx(4610 + 20 * 50 * 2**20 / (4 * lossy.slowest_rate))
    assert rao2010.set(loss="10%").give_up_time == rao2010.give_up_time  # the cap is the limit
    assert rao2010.slowest_rate == math.inf
    assert rao2010.set(loss=1e-300).give_up_time == rao2010.give_up_time


@pytest.mark.parametrize("paths", [{"rtt": "60 s"}, {"rtt": "3 s", "loss": "40%"}, {"rtt": "10 s", "loss": "40%"}])
@pytest.mark.parametrize("upload_limit", ["20 kB/s", "1 MB/s"])
def test_long_paths_with_loss_are_not_given_up(rao2010: Scenario, paths: dict[str, str], upload_limit: str) -> None:
    found = simulate(rao2010.set(leechers=20, file_size="1 MB", upload_limit=upload_limit, **paths))
    assert not found["completion_time"].isel(peer=found["role"].values == "leecher").isnull().any()


def test_what_does_not_go_together_shows_the_value_as_given(rao2010: Scenario) -> None:
    with pytest.raises(ScenarioError, match=r"^piece_size = '17.0 KiB': is not a usable number of blocks"):
        rao2010.set(piece_size="17.0 KiB")


def test_numbers_of_numpy_are_numbers(rao2010: Scenario) -> None:
    given = rao2010.set(loss=np.float64(0.05), leechers=np.int64(30), initial_window=np.uint8(10))
    assert given == rao2010.set(loss=0.05, leechers=30, initial_window=10)
    with pytest.raises(UnitError, match="has no unit"):
        rao2010.set(rtt=np.float64(0.4))


@pytest.mark.parametrize(
    ("table", "field", "text", "value"),
    [
        ("client", "choke_interval", "0.1 s", 0.1),
        ("transport", "rto_min", "1 ms", 0.001),
        ("transport", "rto_initial", "10 ms", 0.01),
        ("transport", "cubic_beta", "1%", 0.01),
    ],
)
def test_a_bound_is_inside_the_range(table: str, field: str, text: str, value: float) -> None:
    tree = tomllib.loads(RAO2010)
    changed = {field: text}
    for peer_class in tree["classes"].values():
        peer_class["client"] = {"base": "mainline-4.0"} | (changed if table == "client" else {})
    tree["transport"] = {"base": "linux-2.6.32"} | (changed if table == "transport" else {})
    built = parse(tree).build({})
    holder = built.classes[0].client if table == "client" else built.transport
    assert getattr(holder, field) == value


@pytest.mark.parametrize(
    ("values", "given"),
    [
        ({}, "compare: changes nothing"),
        ({"rtt": "0 ms"}, "compare = \"rtt='0 ms'\": changes nothing"),
        ({"seed_upload_limit": "20 kB/s", "title": "mine"}, "compare = .*: changes nothing"),
    ],
)
def test_a_setting_is_not_compared_with_itself(values: dict[str, Any], given: str) -> None:
    with pytest.raises(InputError, match=rf"^{given}.*both settings are the same.*; allowed: a value other than"):
        load("rao2010").compare(**values)


def test_a_link_experiment_is_not_compared_with_itself() -> None:
    with pytest.raises(InputError, match=r"^compare = \"title='mine'\": changes nothing"):
        load_link("geni").compare(title="mine")
