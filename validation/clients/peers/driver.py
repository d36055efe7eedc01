"""What the drivers of the clients have in common; they run in the peers' namespaces, without btflow.

A driver gets its settings as JSON in its only argument, says ``ready``, starts the download on the line ``go`` and says
``done`` once all pieces are there and verified. On the line ``quit``, or when the pipe closes, it says what it sent and
ends. Each message is a line of JSON with the monotonic time, which all processes of the machine share.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from typing import Any

POLL = 0.1
"""How often a driver asks its client how far it is [s]."""


def say(event: str, **more: Any) -> None:
    """Tell the test bed."""
    print(json.dumps({"event": event, "t": time.monotonic(), **more}), flush=True)


def quiet(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a client that says nothing."""
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)


class Driver(ABC):
    """One client. What it is told is in `given`; see ``Peer.settings`` of the test bed."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    @abstractmethod
    def prepare(self) -> str:
        """Start the client without a torrent; return its version."""

    @abstractmethod
    def go(self) -> None:
        """Add the torrent."""

    @abstractmethod
    def complete(self) -> bool:
        """Whether all pieces are there."""

    @abstractmethod
    def totals(self) -> dict[str, float]:
        """Payload bytes sent and received: ``up``, ``down``."""

    @abstractmethod
    def close(self) -> None:
        """End the client."""


def _told(wait: float) -> str | None:
    """Return the next line of the test bed, None if there is none yet; ``quit`` once it is gone."""
    if select.select([sys.stdin], [], [], wait)[0]:
        return sys.stdin.readline().strip() or "quit"
    return None


def drive(kind: type[Driver]) -> None:
    """Run one client from its settings to its end."""
    driver = kind(json.loads(sys.argv[1]))
    try:
        say("ready", version=driver.prepare())
        while (line := _told(3600.0)) not in ("go", "quit"):
            pass
        done = line == "quit"
        if not done:
            say("start")
            driver.go()
        while line != "quit":
            line = _told(3600.0 if done else POLL)
            if not done and driver.complete():
                done = True
                say("done")
        say("totals", **driver.totals())
    finally:
        driver.close()
