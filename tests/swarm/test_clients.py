"""Clients with rules of their own, alone and mixed: what holds of all of them, and what each rule does."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from completion import check_completion
from hypothesis import HealthCheck, event, example, given, settings, strategies as st

import btflow
from btflow.kernels.access import engine as access_engine
from btflow.kernels.swarm import engine, state
from btflow.swarm import run as swarm_run
from btflow.swarm.access import widen
from btflow.swarm.program import Program, compile_scenario
from btflow.swarm.scenario import Scenario
from btflow.swarm.state import grow, more_rows

CLIENTS = tuple(sorted(file.stem for file in Path(str(files("btflow.models") / "clients")).glob("*.toml")))
SERVED = state.UNCHOKED | state.INTERESTED_IN_US


def capped(clients: dict[str, str], **values: Any) -> Scenario:
    """Return a small swarm with upload limits in which each class has a client."""
    fields = {f"classes.{name}.client": client for name, client in clients.items()}
    return btflow.load("rao2010").set(**{"file_size": "2 MB", "piece_size": "64 KiB", **values}).set(**fields)


def linked(clients: dict[str, str], **values: Any) -> Scenario:
    """Return a small swarm on access links in which each class has a client."""
    fields = {f"classes.{name}.client": client for name, client in clients.items()}
    return btflow.load("flashcrowd").set(**{"file_size": "2 MB", "piece_size": "64 KiB", **values}).set(**fields)


def unchoked_at_once(program: Program, seed: int, events: int) -> np.ndarray[Any, Any]:
    """Run a swarm and return how many interested peers each had unchoked at most, looked at every so many events."""
    s, x = swarm_run.start(program, seed, 0)
    most, up = np.zeros(program.rules.peers, np.int64), s.up[:0]
    while True:
        outcome = engine.run(s, events) if x is None else access_engine.run(x, events)
        if not np.array_equal(s.up, up):  # few events change a flag
            up = s.up.copy()
            served = (up & SERVED) == SERVED
            np.maximum(most, served.reshape(program.rules.peers, -1).sum(axis=1), out=most)
        if outcome == engine.FINISHED:
            check_completion(program, s)
            return most
        if outcome == engine.FULL:
            s = grow(s)
            x = x and x._replace(swarm=s)
        elif outcome == engine.CROWDED:
            s = more_rows(s)
        elif outcome == access_engine.CRAMPED:
            assert x is not None
            x = widen(x)
        else:
            assert outcome == engine.MORE


def most_slots(clients: Iterable[str], slots: int) -> int:
    """How many may be unchoked: with libtorrent's choker also those new by waiting, until it runs a second later."""
    return slots + max(1, slots // 5) * any(client.startswith(("libtorrent", "qbittorrent")) for client in clients)


@pytest.mark.slow
@pytest.mark.parametrize("leechers", CLIENTS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(CLIENTS), st.integers(1, 14), st.sampled_from([0, 80, 400]), st.integers(0, 99))
@example("libtorrent-2", 2, 0, 10)  # a CHOKE overtook the UNCHOKE that waited for a quota
def test_slots_bind_every_client(leechers: str, seeds: str, slots: int, rtt: int, seed: int) -> None:
    clients = {"seed": seeds, "leechers": leechers}
    program = compile_scenario(
        capped(clients, leechers=16, file_size="1 MB", upload_limit="100 kB/s", rtt=f"{rtt} ms", slots=slots)
    )
    most = unchoked_at_once(program, seed, 1)
    assert most.max() <= most_slots(clients.values(), slots)
    event(f"as many as there are: {most.max() == slots}")


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(*[st.sampled_from(CLIENTS)] * 3), st.integers(1, 14), st.integers(0, 99))
def test_slots_bind_every_client_on_access_links(clients: tuple[str, str, str], slots: int, seed: int) -> None:
    scenario = linked(
        dict(zip(("seed", "tcp", "utp"), clients, strict=True)), leechers=16, file_size="1 MB", slots=slots
    )
    assert unchoked_at_once(compile_scenario(scenario), seed, 7).max() <= most_slots(clients, slots)
