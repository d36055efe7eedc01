"""Symmetries of a swarm: its size in bytes, the names of its peers and the limiter's unit do not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import states
from hypothesis import HealthCheck, given, settings, strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from strategies import clients, transports

from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.run import run_swarm

SIZES = ("upload_unit", "piece_header", "request_size", "have_size", "state_size")
SLOTS = {"max_uploads": 4}  # otherwise they depend on the cap


def completions(program: Program, replicas: int, seed: int = 1) -> NDArray[np.float64]:
    """Return the completion time of each leecher in each replica (replicas, leechers) [s]."""
    leecher = program.is_seed == 0
    rows = []
    for k in range(replicas):
        s = run_swarm(program, seed, k)
        rows.append((s.peer.done - s.peer.start)[leecher])
    return np.array(rows)


@st.composite
def swarms(draw: st.DrawFn) -> dict[str, Any]:
    """Any small swarm whose sizes and rates are whole multiples of 1 KiB and 1 kB/s."""
    values: dict[str, Any] = {}
    if draw(st.booleans()):
        values |= {"rtt": f"{draw(st.integers(0, 800))} ms"}
    if draw(st.booleans()):
        values |= {"loss": draw(st.floats(0, 0.1))}
    client, transport = draw(clients()), draw(transports())
    sizes = {name: client.pop(name) for name in SIZES if name in client}
    return values | {
        "seeds": draw(st.integers(1, 2)),
        "leechers": draw(st.integers(1, 8)),
        "client": client | {"max_uploads": draw(st.integers(2, 8))},  # else they depend on the cap
        "transport": transport,
        "arrival_spread": f"{draw(st.integers(0, 20))} s",
        "sizes": {name: int(size.split()[0]) for name, size in sizes.items()},
        "file": draw(st.integers(20, 900)),
        "piece": draw(st.sampled_from([16, 32, 64, 128])),
        "rates": (draw(st.integers(5, 100)), draw(st.integers(5, 100))),
    }


def scaled(factor: int, values: dict[str, Any]) -> Program:
    """Return a swarm with file, pieces, blocks, messages, units, segments and caps `factor` times as large."""
    values = dict(values)
    sizes, file, piece, (rate, seed_rate) = (values.pop(name) for name in ("sizes", "file", "piece", "rates"))
    made = compile_scenario(
        states.scenario(
            file_size=f"{file * factor} KiB",
            piece_size=f"{piece * factor} KiB",
            block_size=f"{16 * factor} KiB",
            upload_limit=f"{rate * factor} kB/s",
            seed_upload_limit=f"{seed_rate * factor} kB/s",
            client=values.pop("client") | {name: f"{size * factor} B" for name, size in sizes.items()},
            transport=values.pop("transport") | {"mss": f"{1448 * factor} B"},
            **values,
        )
    )
    return replace(made, request_room=256)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(swarms(), st.sampled_from([2, 4, 8]), st.integers(0, 2**32))
def test_scaling_everything_by_a_power_of_two_changes_no_bit(values: dict[str, Any], factor: int, seed: int) -> None:
    """File, pieces, blocks, messages, the limiter's unit, segments and caps; powers of two scale without rounding."""
    one, two = (run_swarm(scaled(by, values), seed, 0) for by in (1, factor))
    assert_array_equal(one.have_time, two.have_time)
    assert_array_equal(factor * one.peer.bytes_up, two.peer.bytes_up)
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


@pytest.mark.slow
@settings(max_examples=6, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([{}, {"rtt": "150 ms"}, {"rtt": "60 ms", "loss": 0.05}]),
    st.integers(1, 2),
    st.lists(st.booleans(), min_size=8, max_size=16).filter(lambda fast: len(set(fast)) == 2),
    st.integers(15, 120),
    st.randoms(use_true_random=False),
)
def test_relabelling_peers_leaves_the_distribution(
    path: dict[str, Any], seeds: int, fast: list[bool], rate: int, random: Any
) -> None:
    """Some leechers have other uplinks; whichever numbers they have, both groups are as fast.

    Means of independent swarms are compared, so that the samples are independent; twelve comparisons at 1e-4 each.
    """
    n = len(fast)
    base = compile_scenario(
        states.scenario(
            leechers=n, seeds=seeds, file_size="800 kB", piece_size="64 KiB", client={"max_uploads": 4}, **path
        )
    )
    times: list[list[NDArray[np.float64]]] = []
    for seed, order in enumerate((sorted(fast), random.sample(fast, n))):
        chosen = np.array(order)
        limits = np.concatenate([base.upload_limit[:seeds], np.where(chosen, 1024.0 * rate, 20480.0)])
        found = completions(replace(base, upload_limit=limits), 150, seed)
        times.append([found[:, chosen].mean(axis=1), found[:, ~chosen].mean(axis=1)])
    for group in (0, 1):
        assert ks_2samp(times[0][group], times[1][group]).pvalue > 1e-4


def test_half_the_upload_unit_moves_the_mean_little() -> None:
    """The unit is the limiter's grain, 69 ms at 20 kB/s beside 3 s and more for a block."""
    means = []
    for unit in ("1380 B", "690 B"):
        scenario = states.scenario(leechers=30, file_size="4 MB", client={"upload_unit": unit})
        means.append(completions(compile_scenario(scenario), 60).mean())
    assert means[1] == pytest.approx(means[0], rel=0.01)
