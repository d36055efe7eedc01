"""The swarms that are compared: the same flash crowd on paths of the Internet, and at RTT 0 without loss."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from validation.cases import MODEL, Setting
from validation.experiments import LIMITS
from validation.sweeps import Run

PATHS = "iplane"
"""The path model."""

WITHOUT_LOSS = {"base": PATHS, "loss": [{"share": 1.0, "value": 0.0}]}
NEAR, LOSSLESS, WHOLE = "RTT 0, no loss", "Internet, without loss", "Internet, with loss"
KINDS: Mapping[str, Mapping[str, Any]] = {NEAR: {}, LOSSLESS: {"internet": WITHOUT_LOSS}, WHOLE: {"internet": PATHS}}
"""Parameters of the model by what lies between the peers."""


@dataclass(frozen=True, order=True)
class Swarm:
    """One swarm."""

    limit: int
    """Upload limit of every peer [kB/s]."""
    kind: str
    """What lies between the peers."""
    number: int
    """Which of the swarms of this limit and kind."""
    smaller: Mapping[str, Setting] = field(default_factory=dict, hash=False, compare=False)
    """Parameters that make it smaller than the paper's."""

    @property
    def label(self) -> str:
        """The swarm in words, different for each."""
        return f"{self.limit} kB/s, {self.kind}, swarm {self.number}"

    @property
    def seed(self) -> int:
        """Seed of the random numbers: 48 bits of the SHA-256 of its number.

        So its paths are the same ones at every upload limit, and but for the loss the same with and without it.
        """
        text = f"RTT 0, swarm {self.number}" if self.kind == NEAR else f"Internet, swarm {self.number}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")

    @property
    def run(self) -> Run:
        """What is simulated."""
        return Run(MODEL, {"upload_limit": f"{self.limit} kB/s", **KINDS[self.kind], **self.smaller}, self.seed)


def wanted(internet: int, near: int, smaller: Mapping[str, Setting]) -> list[Swarm]:
    """Return the swarms to run: so many of each limit on the Internet, with and without loss, and at RTT 0.

    They are in the order of their numbers, so that a call that is interrupted has run as many of each.
    """
    return [
        Swarm(limit, kind, number, smaller)
        for number in range(max(near, internet))
        for kind in KINDS
        for limit in LIMITS
        if number < (near if kind == NEAR else internet)
    ]
