"""What once went wrong on a link."""

from __future__ import annotations

import link_made as made
import numpy as np
import pytest

from btflow.kernels.link import engine
from btflow.kernels.link.state import FOREVER, LOSS


def test_speech_under_way_is_not_bounded_by_a_window() -> None:
    """450 packets of a call are in the air when the path takes 9 s: none of them is lost."""
    s = made.run(made.flow(None, codec="g711"), rtt="9 s", duration="20 s", warmup="0 s")
    assert int(s.flow.arrived[0]) == 1 + int((20.0 - 4.5) // 0.02)
    assert not np.isnan(s.record_delay[0, : int(s.flow.arrived[0])]).any()


def test_speech_waits_in_a_full_queue_of_any_length() -> None:
    """Two calls of 64 kbit/s fill a queue of 2000 packets on a link of 80 kbit/s."""
    calls = made.flow(None, codec="g711", count=2)
    s = made.run(calls, rate="80 kbit/s", buffer="2000 packets", duration="35 s", warmup="0 s")
    sent, waiting = int(s.flow.sent.sum()), int(s.queue.packets[0])
    assert int(s.queue.drops[0]) == 0
    assert waiting > 1000
    assert sent - waiting - int(s.flow.arrived.sum()) <= 4  # one in service, and what is in the air


@pytest.mark.parametrize("cc", ["vegas", "nice", "lp", "ledbat", "ledbat-linux", "ledbatpp", "utp-2013", "bbr"])
def test_delays_are_known_when_the_first_ack_tells_of_a_loss(cc: str) -> None:
    """The first packet is lost, so the first ACK acknowledges nothing in order: its delay counts all the same."""
    for seed in range(6):
        steps = made.Steps(made.program(cc, loss=0.35, duration="60 s"), seed)
        f = steps.state.flow[0]
        while f["acks"] < 1 and steps.step():
            pass
        assert f["srtt"] >= 0.05
        assert 0.05 <= f["min_rtt"] < FOREVER
        assert np.isfinite(f["pacing"])
        steps.step(1000)
        assert np.isfinite(f["cwnd"])


@pytest.mark.parametrize(
    "fields", [{"rate": "1 Gbit/s"}, {"message": "1 B", "period": "100 us"}], ids=["constant rate", "messages"]
)
def test_an_application_is_not_woken_again_and_again_for_what_rounding_takes_off(fields: dict[str, str]) -> None:
    steps = made.Steps(made.program(made.flow("newreno", start="1000.7 s", **fields), duration="1002 s", sample="1 s"))
    engine.run(steps.state, 1_000_000)
    assert engine.run(steps.state, 1) == engine.DONE


def test_one_segment_goes_after_a_timeout_whatever_acks_say_of_others() -> None:
    """The least window of the law, 2, does not lift the loss window of 1 (RFC 5681, section 3.1)."""
    steps = made.Steps(made.program("newreno", rtt="250 ms", loss=0.1, duration="60 s"))
    lifted, timeouts = 0, 0
    before = steps.state.flow[0].copy()
    while steps.step():
        f = steps.state.flow[0]
        fell = int(f["backoff"] > before["backoff"])
        timeouts += fell
        if before["phase"] == LOSS and before["cwnd"] == 1.0 and f["phase"] == LOSS and f["una"] == before["una"]:
            lifted += int(f["cwnd"] > 1.0)
        before = f.copy()
    assert timeouts > 3
    assert lifted == 0


def test_tahoe_falls_to_one_segment() -> None:
    steps = made.Steps(made.program("sfu-utp", rate="200 kbit/s", buffer="8 packets", duration="60 s", warmup="0 s"))
    falls, least = 0, []
    while steps.step():
        f = steps.state.flow[0]
        if int(f["losses"]) > falls:
            falls = int(f["losses"])
            least.append(float(f["cwnd"]))
    assert len(least) > 3
    assert set(least) == {1.0}


def test_the_timer_knows_from_sacks_how_long_the_queue_is() -> None:
    """Eight CUBIC of Linux behind FQ-CoDel: the real ones lose 14%; those that timed out in a recovery lost half."""
    fair = {"discipline": "fq-codel"}
    s = made.run(made.flow("cubic-6", count=8), rate="808 kbit/s", rtt="50 ms", queue=fair, duration="60 s")
    assert s.flow.timeouts.sum() == 0
    assert 0.09 < s.queue.drops[0] / s.queue.arrivals[0] < 0.15


@pytest.mark.parametrize(("shaper", "least", "most"), [("line", 0.06, 0.075), ("htb", 0.095, 0.15)])
def test_super_packets_double_the_queue_of_bbr(shaper: str, least: float, most: float) -> None:
    """Linux 6.18: 0.07 s without segmentation offload; 0.113 to 0.118 s with it, behind HTB."""
    s = made.run("bbr", rate="1.5 Mbit/s", rtt="20 ms", queue={"shaper": shaper}, duration="60 s")
    assert least < s.flow.rtt_sum[0] / s.flow.rtt_count[0] < most
