"""The packet-level swarm beside ours: what is read from the frozen tables, and when a figure counts as reached."""

from __future__ import annotations

import pytest

from validation.swarms import packets
from validation.swarms.packets import Compared, Setting

SETTING = Setting("half", 100, 262144)


def compared(name: str, ours: float, theirs: float, spread: float = 0.0) -> Compared:
    """Return a class whose runs are `spread` [s] apart."""
    runs, frozen = ((mean - spread, mean, mean + spread) for mean in (ours, theirs))
    return Compared(SETTING, name, runs, frozen, ((0.0, 0.5, 0.5), (20.0, 0.1, 0.2)), 0.1, 5.0)


def test_every_setting_is_in_the_frozen_tables() -> None:
    """Each has at least five runs, and a scenario of its own with the same leechers."""
    for setting in packets.settings():
        runs = packets.rows("swarm_runs", setting)
        assert len(runs) >= 5
        assert {row["unfinished"] for row in runs} == {"0"}
        scenario = setting.scenario
        assert scenario.leechers == 20
        counts = {c.name: c.number for c in scenario.classes}
        for name in packets.CLASSES:
            assert counts[name] == int(runs[0][f"{name}_leechers"])
        assert scenario.classes[1].access is not None
        assert scenario.classes[1].access.uplink.limit_packets() == setting.buffer


@pytest.mark.parametrize(
    ("cubic", "ledbat", "expected"),
    [
        ((100.0, 100.0), (90.0, 90.0), True),
        ((107.1, 100.0), (96.0, 90.0), False),  # a mean
        ((100.0, 100.0), (96.0, 104.0), False),  # the sign, and by more than 7 points
        ((104.0, 100.0), (90.0, 95.0), False),  # in sign, but 13 points against 5
    ],
)
def test_means_and_differences_decide(cubic: tuple[float, float], ledbat: tuple[float, float], expected: bool) -> None:
    """Means within 7 %, differences of the same sign and within 7 points."""
    assert packets.reached([compared("cubic", *cubic), compared("ledbat", *ledbat)]) is expected


def test_differences_within_the_noise_have_no_sign() -> None:
    """A difference smaller than the spread of the runs may have either sign."""
    pair = [compared("cubic", 100.0, 100.0, 5.0), compared("ledbat", 99.5, 100.5, 5.0)]
    assert packets.difference(pair) == pytest.approx((0.5, -0.5), rel=0.01)
    assert packets.same_sign(pair)
    assert not packets.same_sign([compared("cubic", 100.0, 100.0), compared("ledbat", 99.5, 100.5)])


def test_the_summary_has_a_row_for_each_class() -> None:
    """Ratios, queues and what is missed are in the table."""
    found = packets.summary([[compared("cubic", 120.0, 100.0), compared("ledbat", 90.0, 90.0)]])
    text = found.text("packets.md")
    rows = [line for line in text.splitlines() if line.startswith("| 256 KiB")]
    assert len(rows) == 2
    assert "1.200" in rows[0]
    assert "50, 10; 50, 20" in rows[0]
    assert all("not reached" in row for row in rows)
    assert "0 of 1 settings are reached" in text
    assert "50 times our CPU time" in text
