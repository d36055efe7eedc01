"""The frozen tables of the packet-level swarms agree with each other and with what a swarm can do at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import fsum, isclose

import pytest

from validation.packet_level import tables
from validation.packet_level.grids import GRIDS

FILE = 10_000_000  # B
UP, DOWN = 1e6, 8e6  # bit/s
PACKET, PAYLOAD = 1502, 1448  # B, with PPP's 2 bytes and without headers
LEECHERS = 20
KEY = ("mix", "buffer_packets", "piece_bytes", "rto_slack_ms", "seed")
COUNTS = {"cubic": {"cubic": LEECHERS}, "ledbat": {"ledbat": LEECHERS}, "half": {"cubic": 10, "ledbat": 10}}
MESSAGES = ("request", "have", "unchoke")

Row = dict[str, str]
Key = tuple[str, ...]
Runs = dict[Key, Row]
Groups = dict[Key, list[Row]]


def table(name: str) -> list[Row]:
    return list(tables.rows(f"swarms/{name}"))


def key(row: Row) -> Key:
    return tuple(row[name] for name in KEY)


def grouped(rows: Iterable[Row]) -> Groups:
    groups: Groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def total(rows: Iterable[Row], column: str) -> float:
    return fsum(float(row[column]) for row in rows)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return {key(row): row for row in table("swarm_runs")}


@pytest.fixture(scope="module")
def leechers() -> Groups:
    return grouped(table("swarm"))


@pytest.fixture(scope="module")
def queues() -> Groups:
    return grouped(table("swarm_queue"))


def test_every_run_of_the_grid_is_in_every_table(runs: Runs, leechers: Groups, queues: Groups) -> None:
    grid = [tuple(str(inputs[name]) for name in KEY) for inputs in GRIDS["swarm"].runs()]
    assert list(runs) == list(leechers) == list(queues) == grid
    manifest = tables.manifest()["swarm"]
    assert manifest["runs"] == len(grid)
    assert manifest["cpu_s"] == pytest.approx(total(runs.values(), "cpu_s"), abs=1)


def test_every_leecher_completes_and_not_sooner_than_the_links_allow(runs: Runs, leechers: Groups) -> None:
    wire = 8 * FILE * PACKET / PAYLOAD  # bits
    for run, rows in leechers.items():
        assert [int(row["leecher"]) for row in rows] == list(range(1, LEECHERS + 1))
        assert runs[run]["unfinished"] == "0"
        ends = [float(row["start_s"]) + float(row["completion_s"]) for row in rows]
        assert max(ends) == pytest.approx(float(runs[run]["simulated_s"]))
        assert max(ends) >= LEECHERS * wire / (UP * (LEECHERS + 1))
        for row, end in zip(rows, ends, strict=True):
            assert 0 <= float(row["start_s"]) <= 10
            assert 1 <= float(row["delay_ms"]) <= 25
            assert float(row["completion_s"]) >= wire / DOWN
            assert end >= wire / UP  # the seeder has to upload everything once


def test_bytes_are_conserved(runs: Runs, leechers: Groups) -> None:
    for run, rows in leechers.items():
        of_all = {name: float(value) for name, value in runs[run].items() if name.endswith("_bytes")}
        for row in rows:
            assert int(row["down_bytes"]) - int(row["wasted_bytes"]) == FILE
        assert total(rows, "down_bytes") == of_all["down_bytes"]
        assert total(rows, "wasted_bytes") == of_all["wasted_bytes"] >= of_all["wasted_early_bytes"]
        assert total(rows, "up_bytes") + of_all["seeder_up_bytes"] == of_all["up_bytes"] >= of_all["down_bytes"]
        assert of_all["seeder_up_bytes"] >= FILE
        assert of_all["wire_bytes"] > of_all["down_bytes"] * PACKET / PAYLOAD
        assert 8 * of_all["wire_bytes"] <= (LEECHERS + 1) * UP * float(runs[run]["simulated_s"])
        assert of_all["wasted_bytes"] < 0.25 * of_all["down_bytes"]


def test_the_classes_have_their_leechers_and_their_means(runs: Runs, leechers: Groups) -> None:
    for run, rows in leechers.items():
        for name in ("cubic", "ledbat"):
            times = [float(row["completion_s"]) for row in rows if row["class"] == name]
            assert len(times) == int(runs[run][f"{name}_leechers"]) == COUNTS[run[0]].get(name, 0)
            if times:
                assert float(runs[run][f"{name}_completion_mean_s"]) == pytest.approx(fsum(times) / len(times))
            else:
                assert runs[run][f"{name}_completion_mean_s"] == ""
        assert runs[run]["seeder"] == ("ledbat" if run[0] == "ledbat" else "cubic")


def test_delays_and_starts_do_not_depend_on_the_mix(leechers: Groups) -> None:
    drawn: dict[str, set[tuple[tuple[str, str], ...]]] = {}
    for run, rows in leechers.items():
        drawn.setdefault(run[-1], set()).add(tuple((row["delay_ms"], row["start_s"]) for row in rows))
    assert all(len(draws) == 1 for draws in drawn.values())
    assert len(set.union(*drawn.values())) == len(drawn)


def test_control_messages_take_plausible_times(runs: Runs) -> None:
    for run, row in runs.items():
        for name in COUNTS[run[0]]:
            for message in MESSAGES:
                delay = {part: float(row[f"{name}_{message}_{part}_ms"]) for part in ("mean", "p50", "p95")}
                assert int(row[f"{name}_{message}_messages"]) > 0
                assert 2 <= delay["p50"] <= delay["p95"]  # two access links of at least 1 ms
                assert 2 < delay["mean"] < 10_000


def over(row: Row, unit: str) -> Iterator[tuple[int, float]]:
    prefix = f"{unit}_over_"
    for name, value in row.items():
        if name.startswith(prefix):
            yield int(name.removeprefix(prefix)), float(value)


def test_queues_stay_within_their_buffers(runs: Runs, queues: Groups) -> None:
    for run, rows in queues.items():
        buffer = int(run[1])
        assert int(runs[run]["longest_queue_packets"]) <= buffer
        assert {row["class"] for row in rows} == set(COUNTS[run[0]])
        for row in rows:
            most = {"packets": buffer, "ms": 8e3 * buffer * PACKET / UP}
            for unit, limit in most.items():
                points = list(over(row, unit))
                assert all(a < b and above >= beyond for (a, above), (b, beyond) in pairwise(points))
                assert all(part == 0 for threshold, part in points if threshold >= limit)
                assert 0 <= float(row[f"p50_{unit}"]) <= float(row[f"p90_{unit}"]) <= limit
                assert float(row[f"mean_{unit}"]) <= limit
            assert isclose(float(row["packets_over_0"]), float(row["ms_over_0"]))
            seconds = float(runs[run]["simulated_s"])
            samples = int(row["samples"]) / COUNTS[run[0]][row["class"]]
            assert 10 * (seconds - 10) - 1 <= samples <= 10 * seconds + 1
