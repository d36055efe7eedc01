"""Connections of libtorrent that are given up, cut and made again, on access links."""

from __future__ import annotations

from typing import Any, Literal

import access_made as made
import numpy as np
import pytest

import btflow
from btflow.kernels.swarm.state import OPEN, UNCHOKED

SLOW_SEED = {"access": {"uplink": made.way("20 kB/s", "200 packets"), "downlink": made.way("8 Mbit/s")}}
"""Six blocks to each of two leechers fill its uplink for ten seconds."""


def client(**constants: Any) -> dict[str, Any]:
    """Return libtorrent with other constants."""
    return {"base": "libtorrent-2", "max_allow_in": 16, "max_initiate": 16, "max_uploads": 2, **constants}


def connections(count: int, rtt: str, until: float, way: str = "tcp", loss: float = 0.0, **constants: Any) -> int:
    """Return how often the seed's connections have begun or ended until then [s]."""
    ways = [way]
    common = {"client": client(**constants), "tcp": "cubic-6", "utp": "utp-libtorrent", "opens": ways, "accepts": ways}
    program = made.program(
        made.leechers(count),
        seed=SLOW_SEED,
        common=common,
        paths={"rtt": rtt, "loss": loss},
        swarm={"file_size": "2 MiB"},
    )
    for s, _, _ in made.steps(program, 200):
        if s.clock.now[0] > until:
            break
    return int(s.conn.generation[: 1 << s.rules.slot_bits].sum())


def test_who_asks_long_after_a_choke_is_cut_off_and_comes_again() -> None:
    """CHOKE waits behind the queue of the seed, and requests still come two seconds later."""
    assert connections(8, "1 s", 300.0, choke_grace="2 s", idle_timeout="0 s") > connections(
        8, "1 s", 300.0, choke_grace="0 s", idle_timeout="0 s"
    )


def test_utp_of_libtorrent_gives_up_what_left_three_times() -> None:
    """One packet in five is lost: each connection ends now and then, over TCP none."""
    alone = {"choke_grace": "0 s", "idle_timeout": "0 s"}
    assert connections(4, "100 ms", 300.0, "utp", 0.2, **alone) > connections(4, "100 ms", 300.0, "tcp", 0.2, **alone)


@pytest.mark.parametrize(("preemptive", "trips"), [(True, 0), (False, 1)])
def test_a_slot_before_interest_saves_a_round_trip(preemptive: bool, trips: int) -> None:
    """The seed unchokes with its bitfield, or when INTERESTED has come back."""
    common = {"client": client(preemptive_unchoke=preemptive), "tcp": "cubic-6"}
    program = made.program(made.leechers(1), common=common, paths={"rtt": "400 ms"})
    opened = unchoked = None
    for s, _, _ in made.steps(program, 1):
        seed = slice(0, 1 << s.rules.slot_bits)
        now = float(s.clock.now[0])
        opened = now if opened is None and (s.conn.state[seed] == OPEN).any() else opened
        if np.any(s.up[seed] & UNCHOKED):
            unchoked = now
            break
    assert opened is not None
    assert unchoked is not None
    assert trips * 0.4 <= unchoked - opened < (trips + 1) * 0.4 + 0.05


def test_data_that_nagles_rule_holds_leaves_with_the_next_ack() -> None:
    """Over uTP of libtorrent a message waits for one segment from the other side at most, if the window has room."""
    common = {"client": client(), "utp": "utp-libtorrent", "opens": ["utp"], "accepts": ["utp"]}
    slow = {"uplink": made.way("100 kB/s", "8 packets"), "downlink": made.way("8 Mbit/s")}
    program = made.program(made.leechers(3, access=slow), common=common, seed={"access": slow}, paths={"rtt": "60 ms"})
    waits: dict[int, tuple[int, int]] = {}
    longest = lost = 0
    for _, x, _ in made.steps(program, 1):
        for i in (int(flow) for flow in made.live(x)):
            f = x.net.flow[i]
            came, left = int(x.net.flow[f.reverse].log), f.wrote - f.cut
            held = left > 0 and f.flight - f.short + left / f.mss <= f.cwnd and f.waiting_retransmit == 0
            if not held or waits.get(i, (-1, 0))[0] != f.cut:
                waits[i] = int(f.cut), came
            longest = max(longest, came - waits[i][1])
            lost += int(f.waiting_retransmit)
    assert lost > 0
    assert longest <= 1


def test_no_more_connections_are_opened_at_once_than_the_client_opens_in_a_second() -> None:
    """Thirty with the tracker's first reply, the others a second or two later; in the end all know each other."""
    count, at_once = 50, 0
    common = {"client": client(max_allow_in=64, max_initiate=64), "tcp": "cubic-6"}
    program = made.program(made.leechers(count), common=common, paths={"rtt": "100 ms"})
    before = np.zeros(count + 1, int)
    most = 0
    for s, _, _ in made.steps(program, 1):
        degree = np.array(s.peer["degree"])
        at_once = max(at_once, int((degree - before).max()))
        most = max(most, int(degree.min()))
        before = degree
        if s.clock.now[0] > 12.0:
            break
    assert at_once == 30
    assert most >= count - 1


@pytest.mark.parametrize("fidelity", ["full", "flow"])
def test_who_dropped_a_seed_too_early_connects_again_a_minute_later(fidelity: Literal["full", "flow"]) -> None:
    """Who lacks only a neighbour's last piece drops it; without a second call the last ones wait for others."""

    def last(interval: str) -> float:
        fast = {"uplink": made.way("100 Mbit/s", "1000 packets"), "downlink": made.way("100 Mbit/s", "1000 packets")}
        common = {"client": client(reconnect_interval=interval, max_uploads=4), "tcp": "cubic-6", "access": fast}
        scenario = made.scenario(
            made.leechers(16, upload_limit="40 kB/s"),
            seed={"upload_limit": "15 kB/s"},
            common=common,
            swarm={"file_size": "2 MiB", "piece_size": "128 KiB"},
        )
        result = btflow.simulate(scenario, replicas=4, seed=1, fidelity=fidelity)
        return float(result["completion_time"].max("peer").mean())

    assert last("60 s") < last("0 s")


def test_a_block_that_is_paid_for_leaves_behind_the_messages_before_it() -> None:
    """A seed unchokes who asked before it was choked: UNCHOKE leaves first, then nothing else wakes the limiter."""
    common = {"client": client(), "tcp": "cubic-6", "upload_limit": "1 MB/s"}
    wide = {"uplink": made.way("100 Mbit/s", "1000 packets"), "downlink": made.way("100 Mbit/s", "1000 packets")}
    program = made.program(
        made.leechers(1, access=wide), common=common, seed={"access": wide}, paths={"rtt": "643 ms", "loss": 0.05}
    )
    for seed in range(100):
        made.run(program, seed)
