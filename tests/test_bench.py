"""The benchmark: its arithmetic, its table, and one tiny measurement."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pytest

from btflow import bench, cli
from btflow.errors import SimulationError


def test_exponent_of_a_power_law() -> None:
    sizes = [75, 150, 300, 3000]
    assert bench.exponent(sizes, [3e-4 * n**1.25 for n in sizes]) == pytest.approx(1.25)


def test_a_measurement_counts_peers_pieces_and_time() -> None:
    cost = bench.measure(bench.SMALL, 2)
    assert (cost.peers, cost.pieces, len(cost.cpu)) == (6, 4, 2)
    assert 0 < cost.least == min(cost.cpu)


def test_a_start_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "MODEL", "nosuchmodel")
    with pytest.raises(SimulationError, match="nosuchmodel"):
        bench.start_up()


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str] | None]:
    """Replace what takes time: a swarm costs 1 ms per leecher, a megabyte 20 ms, a start 1.5 s."""
    seen: list[Mapping[str, str] | None] = []

    def measure(settings: Mapping[str, object], replicas: int, *_: str) -> bench.Cost:
        leechers, size = int(str(settings.get("leechers", 300))), str(settings.get("file_size", "50 MB"))
        megabytes = float(size.removesuffix(" MB"))
        return bench.Cost(leechers + 1, int(4 * megabytes), (0.001 * (leechers + 1) * megabytes / 50,) * replicas)

    def start_up(environment: Mapping[str, str] | None = None) -> float:
        seen.append(environment)
        return 1.5 if environment is None else 45.0

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.setattr(bench, "start_up", start_up)
    return seen


def test_the_table(environments: list[Mapping[str, str] | None], capsys: pytest.CaptureFixture[str]) -> None:
    bench.main()
    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = {line.split("  ")[0]: line.split() for line in lines if line}
    assert rows["RTT 0"][-4:] == ["301", "200", "0.301", "0.301"]
    assert {"RTT 400 ms", "RTT 400 ms, loss 5%"} <= set(rows)
    # 1 ms * 76 peers, so 1 ms / 200 pieces = 5 us per peer and piece
    assert rows["76"] == ["76", "0.076", "5.00"]
    assert {"151", "301", "601", "1201", "3001", "50", "100", "200", "400"} <= set(rows)
    assert "cost grows as peers^1.00" in lines
    assert "cost grows as pieces^1.00" in lines
    assert any(line.startswith("start-up of a second") and line.endswith("1.50 s") for line in lines)
    assert "first `btflow run`" not in out
    assert environments == [None, None]
    assert all(line.startswith("btflow bench: ") for line in err.splitlines())
    assert max(map(len, lines)) <= 120


def test_a_cold_start_has_its_own_cache(
    environments: list[Mapping[str, str] | None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["btflow", "bench", "--cold"])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 0
    cold = environments[-1]
    assert cold is not None
    assert list(cold) == ["NUMBA_CACHE_DIR"]
    assert "first `btflow run`, compilation included       45.00 s" in capsys.readouterr().out
