"""The closure's harness: patterns are the same for a number, what agrees is counted right, and flow is near packets."""

from __future__ import annotations

import numpy as np
import pytest

from btflow.link.options import scenario_from
from validation.links import closure
from validation.links.patterns import KINDS, draw


@pytest.mark.parametrize("kind", KINDS)
def test_a_pattern_is_its_number_and_a_valid_experiment(kind: str) -> None:
    assert draw(kind, 7) == draw(kind, 7)
    assert draw(kind, 7) != draw(kind, 8)
    for number in range(20):
        scenario = scenario_from(**draw(kind, number).options)
        assert (kind == "two-hop") == any(flow.receiver == "home" for flow in scenario.flows)
    assert draw(kind, 0).command.startswith("btflow link --rate ")


def test_what_agrees_by_hand() -> None:
    """Of 100 kB a flow may be 5 kB off, of 1 kB a segment of 1.4 kB; a window without bytes is not counted."""
    one = closure.Seen(np.array([[[100e3, 1e3, 0.0], [100e3, 9e3, 0.0]]]), np.array([[0.0, 1.0]]))
    other = closure.Seen(np.array([[[104e3, 2e3, 0.0], [106e3, 7e3, 0.0]]]), np.array([[0.0, 1.0]]))
    assert closure.windows(one, other, np.full(3, 1400.0)).tolist() == [[1, 1, -1], [0, 0, -1]]
    assert closure.total(one, np.array([True, True, False])).payload.tolist() == [[[101e3], [109e3]]]


def test_quantiles_of_the_queue_by_hand() -> None:
    """Half of the time 20 packets, else 40: 23 and 46 are within 15%, 24 is not."""
    none = np.zeros((1, 1, 1))
    seen = {}
    for low, high in ((20, 40), (23, 46), (24, 46)):
        queue = np.zeros((1, 50))
        queue[0, [low, high]] = 1.0
        seen[low] = closure.Seen(none, queue)
    assert seen[20].lengths.tolist() == [20.0, 40.0, 40.0]
    assert closure.queue_agrees(seen[20], seen[23]).tolist() == [True, True, True]
    assert closure.queue_agrees(seen[20], seen[24]).tolist() == [False, True, True]


def test_uploads_in_all_are_near_packets_and_two_ways_are_refused() -> None:
    """The share within 5% is 78% to 100% in twenty sets of ten patterns (90% in a thousand patterns)."""
    found = [c for c in closure.run_all([draw("uplink", number) for number in range(12)], 1) if not c.refused]
    assert len(found) >= 6, "uTP of 2010 in a buffer below its target, short buffers, losses"
    pairs = [(closure.total(c.packets, ~c.down), closure.total(c.flow, ~c.down)) for c in found]
    agrees = [closure.windows(packets, flow, np.full(1, 1448.0)) for packets, flow in pairs]
    counted = np.concatenate([w[w >= 0] for w in agrees])
    assert counted.mean() > 0.75
    refused = closure.compare(draw("two-hop", 0))
    assert "data of" in refused.refused
    report = closure.page([*found, refused])
    uplink, two_hop = report.verdicts
    assert uplink.startswith("uplink, what agrees: bytes of uploads ")
    assert f"% of {6 * len(found)} (packets again " in uplink, "windows of 10 s in 60 s"
    assert "bytes of downloads " in two_hop
    assert "patterns, of which flow refuses 1,\n" in report.text("a.md")
    behind = report.behind("a.md")
    for part in (
        "Bytes in windows, each flow, uplink",
        "Worst of what is not refused, bytes of a direction",
        "Refused",
    ):
        assert f"\n\n## {part}\n\n" in behind
