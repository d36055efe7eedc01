"""One simulated experiment: a setting of the rao2010 model, and the seed that belongs to it alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

MODEL = "rao2010"
"""The model all cases are settings of."""

Setting = str | int | bool
"""A parameter's value as `Scenario.set` takes it."""


@dataclass(frozen=True, order=True)
class Case:
    """A setting of the model, in the units of the paper's tables (1 kB = 1024 B)."""

    limit: int
    """Upload limit of the leechers [kB/s]."""
    rtt: int = 0
    """Round-trip time between any two peers [ms]; not used where ASes are given."""
    loss: int = 0
    """Packets lost [%]."""
    tso: bool = False
    """TCP segmentation offload."""
    seed_limit: int = 0
    """Upload limit of the seed [kB/s]; 0 for that of the leechers."""
    leechers_in: tuple[str, ...] = ()
    """ASes of the leechers, a third in each."""
    seed_in: str = ""
    """AS whose latencies the seed's has."""
    spread: int = -1
    """Time over which the leechers start [s]; -1 for the model's."""

    @property
    def label(self) -> str:
        """The case in words, different for each case."""
        parts = [f"{self.limit} kB/s"]
        if self.seed_limit:
            parts.append(f"seed {self.seed_limit} kB/s")
        if self.leechers_in:
            parts.append(f"{'+'.join(self.leechers_in)}, seed {self.seed_in}'")
        else:
            parts.append(f"RTT {self.rtt} ms")
        parts += [f"loss {self.loss}%"] * (self.loss > 0) + ["TSO"] * self.tso
        parts += [f"starts within {self.spread} s"] * (self.spread >= 0)
        return ", ".join(parts)

    @property
    def seed(self) -> int:
        """Seed of the random numbers, different for each case: 48 bits of the label's SHA-256."""
        return int.from_bytes(hashlib.sha256(self.label.encode()).digest()[:6], "big")

    def settings(self) -> Mapping[str, Setting]:
        """Return the parameters of the model to set."""
        values: dict[str, Setting] = {
            "upload_limit": f"{self.limit} kB/s",
            "rtt": f"{self.rtt} ms",
            "loss": f"{self.loss}%",
            "tso": self.tso,
        }
        if self.seed_limit:
            values["seed_upload_limit"] = f"{self.seed_limit} kB/s"
        if self.leechers_in:
            del values["rtt"]  # ASes have their own
            values |= {"leecher_as": ",".join(self.leechers_in), "seed_as": self.seed_in}
        if self.spread >= 0:
            values["arrival_spread"] = f"{self.spread} s"
        return values
