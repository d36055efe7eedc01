"""What an upload limit of libtorrent's leaves of a download: requests, and ACKs where packets count, share it."""

from __future__ import annotations

from typing import Any

import pytest

import btflow
from btflow.options import Fidelity

BLOCKS = 2442
"""Of 40 MB."""
READ = 16397 / 1460 * 40
"""Headers of the ACKs for a block that is read [B]."""
REQUEST = 17
LIMITS = (5, 10, 30)


def download(client: str, limit: int, fidelity: Fidelity) -> Any:
    """Return the result of one leecher with an upload limit [KiB/s] behind one fast seed."""
    fast = dict.fromkeys(("uplink", "seed_uplink", "downlink"), "200 Mbit/s")
    scenario = btflow.load(
        "flashcrowd", leechers=1, utp_share="0%", buffer="200 ms", rtt="30 ms", file_size="40 MB", client=client, **fast
    )
    limited = scenario.set(**{"classes.tcp.upload_limit": f"{limit} KiB/s"})
    return btflow.simulate(limited, seed=1, replicas=32, fidelity=fidelity)


def seconds(result: Any) -> float:
    """Return the mean of the swarms: the last burst is fetched in debt, and how long that is is chance."""
    return float(result.completion_time.values[:, -1].mean())


@pytest.mark.parametrize("fidelity", ["full", "flow"])
@pytest.mark.parametrize("limit", LIMITS)
def test_requests_and_acks_share_an_upload_limit(limit: int, fidelity: Fidelity) -> None:
    by_hand = BLOCKS * (READ + REQUEST) / (limit * 1024)
    assert seconds(download("libtorrent-2", limit, fidelity)) == pytest.approx(by_hand, rel=0.15)


@pytest.mark.parametrize("fidelity", ["full", "flow"])
@pytest.mark.parametrize("limit", LIMITS)
def test_requests_alone_count_where_headers_do_not(limit: int, fidelity: Fidelity) -> None:
    kept = 3.0  # quota_kept
    without = seconds(download("qbittorrent-5", 10**6, fidelity))
    took = seconds(download("qbittorrent-5", limit, fidelity))
    assert max(without, BLOCKS * REQUEST / (limit * 1024) - kept) < took
    assert took < seconds(download("libtorrent-2", limit, fidelity))


@pytest.mark.parametrize("limit", LIMITS)
def test_what_a_peer_sends_keeps_its_limit_over_time(limit: int) -> None:
    result = download("libtorrent-2", limit, "full")
    sent = float(result.uplink_bytes.sum("traffic").values[:, -1].mean())
    # a second of headers, at most 500 blocks' worth under way, may be in debt at the end; ACKs ride on fewer packets
    assert sent <= limit * 1024 * (seconds(result) + 3.0) + 500 * (READ + REQUEST)
