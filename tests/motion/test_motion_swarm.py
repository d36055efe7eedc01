"""The trace of a swarm: the same bits with and without it; pieces add up to completions, bytes to what was sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import btflow
from btflow import InputError, motion, simulate
from btflow.motion import swarm
from btflow.motion.trace import MOST_BYTES
from btflow.options import Fidelity
from btflow.swarm.program import compile_scenario
from btflow.swarm.run import run_with_links

SMALL = {"leechers": 9, "file_size": "1 MB"}


def bits(state: Any) -> dict[str, bytes]:
    """Return all arrays of a state, those of states in it among them."""
    found = {}
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            found[name] = value.tobytes()
        elif hasattr(value, "_asdict") and name != "rules":
            found |= {f"{name}.{part}": content for part, content in bits(value).items()}
    return found


@pytest.mark.parametrize(("model", "fidelity"), [("rao2010", "full"), ("rao2010", "flow"), ("flashcrowd", "full")])
def test_being_watched_changes_no_bit(model: str, fidelity: Fidelity) -> None:
    program = compile_scenario(btflow.load(model, **SMALL), fidelity)
    alone = run_with_links(program, 4, 0)
    watched = run_with_links(program, 4, 0, swarm._Watch(program, None))
    for one, other in zip(alone, watched, strict=True):
        assert (one is None) == (other is None)
        assert one is None or bits(one) == bits(other)


@pytest.mark.parametrize(
    ("model", "fidelity"),
    [("rao2010", "full"), ("rao2010", "flow"), ("flashcrowd", "full"), ("flashcrowd", "flow")],
)
def test_pieces_add_up_to_completions_and_shares_to_what_was_sent(model: str, fidelity: Fidelity) -> None:
    made = btflow.load(model, **SMALL)
    result, trace = simulate(made, seed=4, fidelity=fidelity), motion.record(made, seed=4, fidelity=fidelity)
    c, about = trace.columns, trace.about
    leecher = c["seed"] == 0
    completion = result["completion_time"].values[0][leecher]
    assert (c["done"] - c["start"])[leecher] == pytest.approx(completion, rel=1e-5)
    step = about["length"] / about["steps"]
    last = c["have"][leecher].max(axis=1) * step
    assert np.all(last >= c["done"][leecher] * (1 - 1e-6))
    assert np.all(last <= c["done"][leecher] + 1.01 * step)
    assert np.all(c["have"][~leecher] == swarm.ALWAYS)
    if (model, fidelity) == ("flashcrowd", "full"):  # headers and ACKs, too, and never more than the uplink takes
        assert np.all(c["sent"].sum(axis=0) > result["bytes_sent"].values[0])
        assert c["sent"].sum() == pytest.approx(result["bytes_sent"].values[0].sum(), rel=0.1)
        passed = np.diff(c["time"], prepend=0.0)[:, None]
        assert np.all(c["sent"] <= passed * c["limit"] + 1.0)
    else:
        assert c["sent"].sum(axis=0) == pytest.approx(result["bytes_sent"].values[0], rel=1e-5)
    shares = c["share"].sum(dtype=float) * about["unit"]
    assert shares == pytest.approx(about["carried"] * c["sent"].sum(), rel=1e-3)
    # what is sent on connections that end before they are looked at is nobody's; flow moves peers by seconds
    assert (0.6 if (model, fidelity) == ("rao2010", "flow") else 0.97) < about["carried"] < 1.001


def test_who_serves_whom_is_what_the_peer_sent() -> None:
    trace = motion.record(btflow.load("rao2010", **SMALL), seed=1)
    c, peers = trace.columns, len(trace.columns["start"])
    for look in range(1, len(c["time"])):
        part = slice(c["pairs"][look], c["pairs"][look + 1])
        by_source = np.bincount(c["source"][part], c["share"][part] * trace.about["unit"], peers)
        assert np.all(by_source <= c["sent"][look] * 1.001 + 8 * trace.about["unit"])
        assert np.all(c["source"][part] != c["sink"][part])
        assert np.all(np.diff(c["share"][part].astype(int)) <= 0)  # the strongest first
        assert not np.any(c["seed"][c["sink"][part]])


def test_looks_are_thinned_without_losing_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    made = btflow.load("rao2010", **SMALL)
    many = motion.record(made, seed=2)
    monkeypatch.setattr(swarm, "MOST_LOOKS", 12)
    few = motion.record(made, seed=2)
    assert len(few.columns["time"]) <= 13 < len(many.columns["time"])
    assert few.columns["sent"].sum(axis=0) == pytest.approx(many.columns["sent"].sum(axis=0))
    totals = [t.columns["share"].sum(dtype=float) * t.about["unit"] for t in (few, many)]
    assert totals[0] == pytest.approx(totals[1], rel=0.1)
    assert np.array_equal(few.columns["have"], many.columns["have"])
    assert np.all(np.diff(few.columns["time"]) > 0)


def test_links_have_queues() -> None:
    trace = motion.record(btflow.load("flashcrowd", **SMALL | {"leechers": 19}), seed=1)
    assert trace.about["linked"]
    assert 0.01 < trace.columns["queue"].max() < 5.0


@pytest.mark.parametrize("fidelity", ["full", "flow"])
def test_the_seeds_choker_runs_every_ten_seconds(fidelity: Fidelity) -> None:
    trace = motion.record(btflow.load("rao2010", **SMALL | {"file_size": "4 MB"}), seed=1, fidelity=fidelity)
    times, rounds = trace.columns["time"], trace.columns["rounds"]
    assert np.all(np.abs(rounds - times / 10) <= 1)
    assert not trace.columns["queue"].any()  # no access links


@pytest.mark.slow
@given(
    leechers=st.integers(1, 20),
    size=st.sampled_from(["300 kB", "1 MB"]),
    model=st.sampled_from(["rao2010", "flashcrowd"]),
    fidelity=st.sampled_from(["full", "flow"]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=12)
def test_any_swarm_in_bounded_memory(leechers: int, size: str, model: str, fidelity: Fidelity, seed: int) -> None:
    trace = motion.record(btflow.load(model, leechers=leechers, file_size=size), seed=seed, fidelity=fidelity)
    c = trace.columns
    assert trace.nbytes <= MOST_BYTES
    assert len(c["time"]) <= swarm.MOST_LOOKS + 1
    assert len(c["source"]) <= swarm.MOST_PAIRS
    assert np.all(c["have"] < swarm.NEVER)  # all complete in these
    assert np.all(c["unchoked"] <= len(c["start"]))
    assert c["time"][-1] <= trace.about["length"] * (1 + 1e-6)


def test_the_bounds_of_all_columns_are_within_that_of_a_trace() -> None:
    cells, states, pairs = 2 * swarm.MOST_CELLS, 12 * swarm.MOST_STATES, 6 * swarm.MOST_PAIRS
    assert cells + states + pairs + 25 * swarm.MOST_PEERS < MOST_BYTES
    assert swarm.MOST_PAIRS // swarm.MOST_LOOKS > 100


def test_only_scenarios_are_recorded() -> None:
    with pytest.raises(InputError, match="is not a scenario"):
        motion.record("rao2010")  # type: ignore[arg-type]
