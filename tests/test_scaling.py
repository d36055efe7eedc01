"""Symmetries of a swarm: its size in bytes, the names of its peers and the limiter's unit do not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plain
import pytest
import states
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from btflow.program import Program, compile_scenario
from btflow.simulation import run_swarm

SLOTS = {"max_uploads": 4}  # otherwise they depend on the cap


def completions(program: Program, replicas: int, seed: int = 1) -> NDArray[np.float64]:
    """Return the completion time of each leecher in each replica (replicas, leechers) [s]."""
    leecher = program.is_seed == 0
    rows = []
    for k in range(replicas):
        s = run_swarm(program, seed, k)
        rows.append((s.peer.done - s.peer.start)[leecher])
    return np.array(rows)


def scaled(factor: int, **values: Any) -> Program:
    """Return a swarm with file, pieces, blocks, messages, units and caps `factor` times as large."""
    made = compile_scenario(
        states.scenario(
            leechers=5,
            file_size=f"{350 * factor} KiB",
            piece_size=f"{64 * factor} KiB",
            block_size=f"{16 * factor} KiB",
            upload_limit=f"{20 * factor} kB/s",
            seed_upload_limit=f"{30 * factor} kB/s",
            client={**SLOTS, "upload_unit": f"{1380 * factor} B", "piece_header": f"{13 * factor} B"},
            **values,
        )
    )
    return replace(made, request_room=64)


@pytest.mark.parametrize("values", [{}, {"rtt": "80 ms", "loss": 0.03}])
def test_scaling_everything_by_a_power_of_two_changes_no_bit(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the control messages keep their size, so here they have none; a power of two scales without rounding."""
    monkeypatch.setattr(plain.messages, "message_bytes", lambda _s, kind: 0 * kind)
    one, two = (plain.simulate.run_swarm(scaled(factor, **values), 3, 0) for factor in (1, 2))
    assert_array_equal(one.have_time, two.have_time)
    assert_array_equal(2 * one.peer.bytes_up, two.peer.bytes_up)
    assert one.clock[0].events == two.clock[0].events


def test_scaling_file_pieces_and_rates_leaves_the_mean_where_it_was() -> None:
    """With blocks, units and messages of the usual size as well: finer grains, the same times.

    Four times as many blocks per piece change what a request pipeline and a part-sent block are worth in seconds: the
    first blocks of a slot come sooner, the wait behind one is shorter. Both are a few seconds of some 250 s, hence 5 %;
    the standard error of the difference is well below 1 %.
    """
    means = []
    for factor in (1, 4):
        scenario = states.scenario(
            leechers=30,
            file_size=f"{4 * factor} MB",
            piece_size=f"{64 * factor} KiB",
            upload_limit=f"{20 * factor} kB/s",
            client=SLOTS,
        )
        means.append(completions(compile_scenario(scenario), 30).mean())
    assert means[1] == pytest.approx(means[0], rel=0.05)


@pytest.mark.parametrize("delay", ["0 ms", "150 ms"])
def test_relabelling_peers_leaves_the_distribution(delay: str) -> None:
    """A third of the leechers have faster uplinks; they are numbered first, last, or one in three."""
    base = compile_scenario(states.scenario(leechers=24, file_size="2 MB", upload_limit="20 kB/s", rtt=delay))
    number = np.arange(24)
    fast = {"first": number < 8, "last": number >= 16, "one in three": number % 3 == 0}
    times: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for seed, (name, chosen) in enumerate(fast.items()):
        limits = np.concatenate([base.upload_limit[:1], np.where(chosen, 61440.0, 20480.0)])
        slots = np.concatenate([base.upload_slots[:1], np.where(chosen, 6, 4)]).astype(np.int32)
        found = completions(replace(base, upload_limit=limits, upload_slots=slots), 60, seed)
        times[name] = found[:, chosen].mean(axis=1), found[:, ~chosen].mean(axis=1)
    for name in ("last", "one in three"):
        for group in (0, 1):  # means of independent swarms, so that the samples are independent
            assert ks_2samp(times["first"][group], times[name][group]).pvalue > 0.01


def test_half_the_upload_unit_moves_the_mean_little() -> None:
    """The unit is the limiter's grain, 69 ms at 20 kB/s beside 3 s and more for a block."""
    means = []
    for unit in ("1380 B", "690 B"):
        scenario = states.scenario(leechers=30, file_size="4 MB", client={"upload_unit": unit})
        means.append(completions(compile_scenario(scenario), 60).mean())
    assert means[1] == pytest.approx(means[0], rel=0.01)
