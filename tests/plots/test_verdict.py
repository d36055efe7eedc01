"""What came out, in a sentence: its numbers are those of the result."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import btflow
from btflow import plots
from btflow.plots.style import counted_times
from btflow.plots.verdict import satisfaction


def said(**options: Any) -> str:
    """Return the verdict on a link of 1 Mbit/s."""
    common = {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "100 packets", "duration": "30 s"}
    return plots.verdict(btflow.simulate_link(**common | options))


def test_of_a_link_the_shares_the_queue_and_the_call() -> None:
    result = btflow.simulate_link(
        rate="1 Mbit/s", rtt="50 ms", buffer="100 packets", flows=["cubic:1,name=first"], voip=["g711"], duration="30 s"
    )
    found = re.fullmatch(
        r"CUBIC takes (\d+)% of the link; the queue holds (\d+) packets, (\d+) ms; the call's MOS is (.+) \((.+)\)\.",
        plots.verdict(result),
    )
    assert found
    share, packets, wait, mos = (float(text) for text in found.groups()[:4])
    assert share == pytest.approx(100 * float(result["goodput"][0]) / 125e3, abs=0.5)
    assert packets == pytest.approx(float(result["queue_mean_packets"].sel(queue="home.uplink")), abs=0.5)
    assert wait == pytest.approx(1000 * float(result["queue_mean_delay"].sel(queue="home.uplink")), abs=0.5)
    assert mos == pytest.approx(float(result["voip_mos"][0]), abs=0.05)
    assert found[5] == "unusable"


@pytest.mark.parametrize(
    ("flows", "start"),
    [
        (["cubic:2"], "2 CUBIC flows take 9"),
        (["cubic:1", "ledbat:1@5s"], r"CUBIC takes \d+% of the link and LEDBAT \d+%;"),
        (
            ["cubic:1,name=first", "cubic:1,name=second"],
            r"(First|Second) \(CUBIC\) takes \d+% of the link and (first|second) ",
        ),
        (
            ["cubic:3", "newreno", "ledbat", "vegas"],
            r"3 CUBIC flows take \d+% of the link and the others together \d+%;",
        ),
        (["utp"], r"uTP takes \d+%"),
    ],
)
def test_flows_are_called_by_what_tells_them_apart(flows: list[str], start: str) -> None:
    assert re.match(start, said(flows=flows))


def test_an_empty_queue_is_empty() -> None:
    assert said(voip=["g711"]) == "The queue is empty; the call's MOS is 4.4 (very good)."


def test_flow_fidelity_says_nothing_of_a_call() -> None:
    assert "MOS" not in said(flows=["cubic"], voip=["g711"], fidelity="flow")


def test_of_a_swarm_the_median_and_the_classes() -> None:
    scenario = btflow.load("flashcrowd", leechers="12", file_size="1 MB", utp_share="50%")
    result = btflow.simulate(scenario, seed=1)
    found = re.fullmatch(
        r"Half of 12 peers complete after (\S+) s; (\w+) peers (.*) (\w+) peers\.", plots.verdict(result)
    )
    assert found
    middle = {name: float(np.nanmedian(counted_times(result, name))) for name in ("tcp", "utp")}
    assert float(found[1]) == pytest.approx(float(np.nanmedian(counted_times(result))), abs=0.5)
    slow = max(middle, key=middle.__getitem__)
    assert found[2].lower() == slow
    later = re.search(r"(\d+)% later than", found[3])
    quick = min(middle.values())
    assert float(later[1] if later else 0) == pytest.approx(100 * (middle[slow] / quick - 1), abs=0.5)
    assert plots.verdict(btflow.simulate(btflow.load("rao2010", leechers=3, file_size="512 KiB"))).count(";") == 0


@pytest.mark.parametrize(
    ("mos", "words"), [(4.4, "very good"), (4.03, "good"), (2.6, "nearly all are dissatisfied"), (1.0, "unusable")]
)
def test_satisfaction_is_that_of_g107(mos: float, words: str) -> None:
    assert satisfaction(mos) == words
