"""Tiny hand-made states for tests of single window laws: one flow, no queues, no engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import plain

STATE = plain.link_module("state")
FLOW, FOREVER, OPEN, RECOVERY, LOSS = STATE.FLOW, STATE.FOREVER, STATE.OPEN, STATE.RECOVERY, STATE.LOSS

COMMON: dict[str, float] = {
    "train": 1,
    "ack_every": 1,
    "initial_window": 2,
    "min_window": 2,
    "max_window": 1e6,
    "mss": 1451,
    "beta": 0.5,
    "gain": 1,
    "history": 10,
    "history_step": 60,
    "filter": 4,
    "validate": 1,
    "limited": 1,
    "running": 1,
    "cwnd": 2,
    "halves": 1,  # of the window
    "ssthresh": FOREVER,
    "rto": 1,
    "srtt": -1,
    "min_rtt": FOREVER,
}
LAWS: dict[str, dict[str, float]] = {
    "vegas": {"alpha": 2, "beta_delay": 4, "gamma": 1},
    "nice": {"alpha": 2, "beta_delay": 4, "gamma": 1, "threshold": 0.1, "fraction": 0.5, "min_window": 1 / 48},
    "lp": {"threshold": 0.15, "min_window": 1},
    "ledbat": {"target": 0.1},
    "utp": {
        "target": 0.1,
        "max_gain": 10,
        "filter": 3,
        "history": 13,
        "beta": 0.78,
        "loss_gap": 0.1,
        "gate": 0.3,
        "decay_idle": 2 / 3,
        "min_window": 1 / 30,
        "cwnd": 1,
    },
    "ledbatpp": {"target": 0.06},
}


def flows(count: int, law: str, values: Mapping[str, float]) -> Any:
    """Return a state with only what laws use: flows, base delays and samples."""
    flow = np.zeros(count, FLOW).view(np.recarray)
    for name, value in {**COMMON, **LAWS[law], **values}.items():
        flow[name] = value
    flow["law"] = getattr(STATE, law.upper())
    return SimpleNamespace(flow=flow, history=np.zeros((count, 16)), recent=np.zeros((count, 16)))


class Driver:
    """One flow under one law, told of ACKs by hand."""

    def __init__(self, law: str, **values: float) -> None:
        """Start the flow at time 0 with some constants changed."""
        self.law = plain.link_module(f"laws.{law}")
        self.state = flows(1, law, values)
        self.flow = self.state.flow[0]
        if hasattr(self.law, "start"):
            self.law.start(self.state, 0, self.flow, 0.0)

    def measure(self, t: float, rtt: float, owd: float | None) -> None:
        """Enter what the sender measures with an ACK."""
        f = self.flow
        f.stamp = t - rtt
        f.rtt, f.owd = rtt, rtt if owd is None else owd
        f.min_rtt = min(f.min_rtt, rtt)
        f.srtt = rtt if f.srtt < 0 else 0.875 * f.srtt + 0.125 * rtt

    def ack(self, t: float, rtt: float, owd: float | None = None, acked: int = 1) -> float:
        """Let an ACK of `acked` segments come at `t`, and as much be sent as the window lets; return the window."""
        f = self.flow
        self.measure(t, rtt, owd)
        f.una += acked
        f.nxt = max(f.nxt, f.una)
        f.flight = f.nxt - f.una
        if hasattr(self.law, "sample"):
            self.law.sample(self.state, 0, f, t, float(acked))
        if hasattr(self.law, "grow") and f.phase != RECOVERY and (f.limited or not f.validate):
            self.law.grow(self.state, 0, f, t, float(acked))
        f.nxt = max(f.nxt, f.una + max(1, int(f.cwnd)))
        f.flight = f.nxt - f.una
        return float(f.cwnd)

    def round(self, t: float, rtt: float, owd: float | None = None) -> float:
        """Let every segment in flight be acknowledged, one by one, within one round trip that ends at `t`."""
        f = self.flow
        n = int(f.nxt - f.una) or 1
        for k in range(n):
            self.ack(t - rtt * (n - 1 - k) / n, rtt, owd)
        return float(f.cwnd)

    def lose(self, t: float) -> float:
        """Find a loss at `t`, and be done with its repair at once; return the window."""
        f = self.flow
        f.flight = max(1, int(f.cwnd))
        f.ssthresh = self.law.reduce(self.state, 0, f, t)
        if self.law.__name__.rpartition(".")[2] != "utp":
            f.cwnd = f.ssthresh
        return float(f.cwnd)

    def time_out(self, t: float) -> float:
        """Let the retransmission timer fire at `t`; return ssthresh."""
        f = self.flow
        f.ssthresh = self.law.timeout(self.state, 0, f, t)
        f.cwnd = 1.0
        return float(f.ssthresh)


class Bottleneck:
    """Flows through one queue, a round trip at a time: the queue is what the windows exceed the pipe by."""

    def __init__(self, flows: list[Driver], *, rate: float, rtt: float, buffer: float = 1e9) -> None:
        """`rate` in segments per second; nothing is queued."""
        self.flows, self.rate, self.rtt, self.buffer = flows, rate, rtt, buffer
        self.t, self.queue = 0.0, 0.0
        self.queues: list[float] = []

    def step(self) -> None:
        """One round trip of every flow: its window passes the queue that all windows make."""
        windows = [float(x.flow.cwnd) for x in self.flows]
        self.queue = max(0.0, sum(windows) - self.rate * self.rtt)
        overflow, self.queue = self.queue > self.buffer, min(self.queue, self.buffer)
        rtt = self.rtt + self.queue / self.rate
        self.t += rtt
        for x in self.flows:
            x.round(self.t, rtt, 0.5 * self.rtt + self.queue / self.rate)
            if overflow:
                x.lose(self.t)
        self.queues.append(self.queue / self.rate)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.t + seconds
        while self.t < end:
            self.step()
