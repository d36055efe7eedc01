"""`simulate`: what it refuses, how it looks for Ctrl-C, what it tells of its progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made
import numpy as np
import pytest
import states
from engines import ENGINES

import btflow
from btflow import InputError, ScenarioError, SimulationError, load, memory, simulate, termination
from btflow.swarm.program import compile_scenario
from btflow.swarm.state import build, state_bytes


@pytest.mark.parametrize("size", [1, 7, 1000, 10**9])
def test_the_size_of_a_chunk_changes_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compile_scenario(states.scenario(leechers=5, file_size="500 kB", rtt="120 ms", loss=0.04))
    of = ENGINES["swarm"]
    expected = of.digest(of.run(program, 7, 0))
    monkeypatch.setattr(termination, "FIRST_CHUNK", size)
    monkeypatch.setattr(termination, "next_chunk", lambda *_: size)
    assert of.digest(of.run(program, 7, 0)) == expected


def test_a_chunk_takes_a_fifth_of_a_second() -> None:
    assert termination.next_chunk(1000, termination.CHUNK_SECONDS) == 1000
    assert termination.next_chunk(1000, 4 * termination.CHUNK_SECONDS) == 250
    assert termination.next_chunk(1000, 0.0) == 2000  # a fast one says little
    assert termination.next_chunk(1, 100.0) == 1
    assert termination.FIRST_CHUNK < 10_000


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        *(("seed", value, "is not a whole number") for value in ("a", "1", 1.5, None, True)),
        *(("seed", value, "is out of range") for value in (-1, 2**63, 2**64)),
        *(("replicas", value, "is out of range") for value in (0, -1, 100_001, np.int64(0))),
        *(("replicas", value, "is not a whole number") for value in (1.0, None, "2")),
    ],
)
def test_wrong_arguments_are_named(field: str, value: Any, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(made.scenario(), **{field: value})
    error = caught.value
    assert (error.field, error.value, error.reason) == (field, value, reason)
    limits = {"seed": "0 to 9223372036854775807", "replicas": "1 to 100000"}
    assert error.allowed == f"a whole number from {limits[field]}"


@pytest.mark.parametrize("value", ["rao2010", None, 3])
def test_what_is_not_a_scenario_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^scenario.*: is not a scenario; allowed: such as btflow.load"):
        simulate(value)


def test_numbers_of_numpy_are_numbers() -> None:
    seed, replicas = np.array([3, 1], np.uint8)
    one, two = simulate(made.scenario(), seed=seed, replicas=replicas), simulate(made.scenario(), seed=3)
    np.testing.assert_array_equal(one["completion_time"], two["completion_time"])


def test_progress_rises_to_the_number_of_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(termination, "FIRST_CHUNK", 10)
    monkeypatch.setattr(termination, "next_chunk", lambda *_: 10)
    seen: list[float] = []
    simulate(made.scenario(), replicas=2, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 2
    assert 1 in seen
    assert len({done for done in seen if 0 < done < 1}) > 4  # within the first replica


def test_a_swarm_that_cannot_finish_says_where_its_horizon_is_set(tmp_path: Path) -> None:
    text = (Path(btflow.__file__).parents[1] / "models" / "swarms" / "rao2010.toml").read_text()
    (tmp_path / "short.toml").write_text('horizon = "11 s"\n' + text)
    with pytest.raises(
        SimulationError, match=r"^5 of 5 downloads had not finished at \d+ s; .* here 11 s: .*model file"
    ):
        simulate(load(tmp_path / "short.toml").set(leechers=5))


def test_a_swarm_larger_than_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 10**9)
    assert simulate(made.scenario()).sizes["replica"] == 1
    with pytest.raises(ScenarioError) as caught:
        simulate(load("rao2010").set(leechers=100_000))
    assert caught.value.field == "leechers"
    assert caught.value.value == 100_000
    text = str(caught.value)
    assert "GB of memory for 200 pieces" in text
    assert "allowed: 1.0 GB: fewer leechers, a lower upload_limit or a smaller file_size / piece_size" in text


def test_a_million_leechers_are_a_matter_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 10**9)
    with pytest.raises(ScenarioError, match=r"leechers = 1000000: needs 3\d\.\d GB"):
        simulate(load("rao2010").set(leechers=1_000_000))


def test_connections_that_32_bits_cannot_number_are_refused() -> None:
    many = load("rao2010").set(leechers=999_999, **{"classes.*.client.max_allow_in": 4000})
    with pytest.raises(ScenarioError, match=r"too many for 4096 connections each .*; allowed: at most 524287 peers"):
        compile_scenario(many)


def test_the_memory_of_a_replica_is_that_of_its_arrays() -> None:
    program = compile_scenario(made.scenario(leechers=40, file_size="10 MB"))
    arrays = [a for a in build(program, 1, 0)._asdict().items() if isinstance(a[1], np.ndarray) and a[0] != "dn_words"]
    built = sum(array.nbytes for _, array in arrays)
    assert built <= state_bytes(program) <= 1.2 * built
