"""Claims of the paper of 2011, judged on made-up figures both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from validation_swarms_made import made, parts, results, swarms_2011

from validation.swarms import completion, report
from validation.swarms.experiments import BELOW, BUFFERS, STATED, adsl, buffered


@pytest.mark.parametrize(
    ("changed", "judge", "failed"),
    [
        ({"forever": 16.0}, "T02", {"never leave"}),
        ({"forever": 80.0}, "T03", {"slower"}),
        ({"utp": 75.0}, "T03", {"the same"}),
        ({"half": (70.0, 70.0)}, "T04", {"random stay"}),
        ({"half": (56.0, 100.0)}, "T04", {"random stay"}),
        ({"above": 0.26}, "T05", {"TCP's long queues"}),
        ({"above": 0.14}, "T05", {"TCP's long queues"}),
    ],
)
def test_2011_otherwise(changed: dict[str, Any], judge: str, failed: set[str]) -> None:
    found = parts(report.JUDGES[judge](results(swarms_2011(**changed))))
    assert {name for name, held in found.items() if not held} == failed


def test_a_difference_among_permanent_seeds_is_seen() -> None:
    found = swarms_2011()
    found[adsl(0.5, "forever")] = made({"tcp": {"mean": 14.5}, "utp": {"mean": 13.5}})
    assert not completion.half_and_half(results(found)).conditions[1].held
    found[adsl(1.0, "forever")] = made({"utp": {"mean": 14.5}})
    assert not completion.never_leave(results(found)).conditions[0].held


@pytest.mark.parametrize(
    ("tcp", "utp", "failed"),
    [
        ((60, 80, 90, 95, 98, 100), (60, 58, 56, 56, 56, 56), set()),
        ((70, 80, 90, 95, 98, 100), (60, 58, 56, 56, 56, 56), {"10 packets"}),
        ((60, 80, 90, 95, 98, 100), (60, 58, 56, 50, 53, 56), {"uTP flat"}),
        ((60, 60, 60, 60, 60, 60), (60, 58, 56, 56, 56, 56), {"TCP grows"}),
    ],
)
def test_buffers(tcp: Sequence[float], utp: Sequence[float], failed: set[str]) -> None:
    found = {
        buffered(b): made({"tcp": {"mean": t}, "utp": {"mean": u}}, noise=0.005 if t != 60 or b == 10 else 0.0)
        for b, t, u in zip(BUFFERS, tcp, utp, strict=True)
    }
    found |= {buffered(b): made({"tcp": {}, "utp": {}}) for b in (STATED, BELOW)}
    judged = parts(completion.buffers(results(found)))
    assert {name for name, held in judged.items() if not held} == failed
