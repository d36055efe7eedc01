"""The settings of the claims on swarms, and what is measured of one; a tiny swarm is, no claim is run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import btflow
from btflow.swarm.replica import quantile
from validation.swarms import experiments, measured
from validation.swarms.measured import ALL, Results
from validation.sweeps import Sweeps


def every() -> list[experiments.Setting]:
    found = [
        *experiments.PLAIN,
        *experiments.SWEPT,
        *experiments.HOMOGENEOUS.values(),
        *experiments.HALVES.values(),
        experiments.CHECK_FULL,
    ]
    found += [experiments.capped(f, b) for f in experiments.FACTORS for b in (experiments.SMALL, experiments.LARGE)]
    found += [experiments.sized(size, share) for size in experiments.SIZES for share in (0.0, 0.5, 1.0)]
    return found + [s for ablation in experiments.ABLATIONS for s in ablation.settings]


def test_every_setting_is_a_scenario() -> None:
    settings = set(every())
    assert len({setting.run(1).scenario().digest() for setting in settings}) == len(settings)
    assert len({setting.label for setting in settings}) == len(settings)


def test_replicas_of_a_model_belong_together() -> None:
    assert experiments.adsl(0.0).seed == experiments.adsl(1.0, "forever").seed != experiments.cluster("nice").seed
    assert experiments.buffered(200) == experiments.adsl(0.5) == experiments.sized(10, 0.5)


def test_runs_of_a_setting() -> None:
    plan = experiments.Plan(10)
    assert [plan.of(s) for s in (experiments.PLAIN[0], experiments.SWEPT[0], experiments.HOMOGENEOUS["BT:nice"])] == [
        10 * experiments.MANY,
        10 * experiments.SOME,
        10,
    ]
    assert plan.of(experiments.CHECK_FULL) == 5


def test_the_cap_is_the_only_difference_between_sending_rates() -> None:
    slow, fast = (experiments.capped(f, experiments.LARGE).run(1).scenario() for f in (0.25, 5.0))
    assert [c.upload_limit for c in slow.classes] == [156_250, 31_250]
    assert [c.upload_limit for c in fast.classes] == [3_125_000, 625_000]
    assert slow.slots == fast.slots == 7


@pytest.fixture(scope="module")
def result() -> object:
    small = btflow.load("flashcrowd", leechers=6, file_size="1 MiB")
    return btflow.simulate(small, seed=1, replicas=2)


def test_measured_of_a_tiny_swarm(result: object) -> None:
    import xarray as xr

    assert isinstance(result, xr.Dataset)
    found = measured.measure(result)
    assert set(found.groups) == {"tcp", "utp", ALL}
    assert found.number == 2
    counted = result["completion_time"].where(result["counted"])
    for name in found.groups:
        mine = counted if name == ALL else counted.isel(peer=(result["peer_class"] == name).values)
        assert found.of("mean", name) == pytest.approx(mine.mean("peer").values, nan_ok=True)
    for row, times in zip(found.ranked, result["completion_time"].values, strict=True):
        assert sorted(row) == pytest.approx(sorted(times[np.isfinite(times)]))
    own = result["queue_packets_count"].sel(sender_class="tcp").values
    lengths = result["queue_packets"].values
    assert found.of("queue_p90", "tcp")[0] == quantile(lengths, own[0], 0.9)
    assert found.of("queue_mean", "tcp")[1] == pytest.approx((own[1] * lengths).sum() / own[1].sum())


def test_settings_are_run_once_when_they_are_asked_for(tmp_path: Path) -> None:
    small = experiments.Setting("testa2011", (("discard", 0), ("file_size", "1 MiB"), ("leechers", 6)))
    results = Results(experiments.Plan(2), Sweeps(tmp_path, "swarms"))
    assert results.settings == []
    found = results[small]
    assert results[small] is found
    assert (results.settings, results.swarms) == ([small], 2)
    again = Results(experiments.Plan(2), Sweeps(tmp_path, "swarms"))[small]
    assert again.cpu == found.cpu  # which was measured once
    assert Results(experiments.Plan(3), Sweeps(tmp_path, "swarms"))[small].number == 3
