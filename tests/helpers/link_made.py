"""Link experiments made in a line, and runs of them that a test can look into."""

from __future__ import annotations

import copy
import hashlib
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from btflow.config.catalog import parse_as
from btflow.kernels.link import engine, state as k
from btflow.link.program import compile_link
from btflow.link.results import to_dataset
from btflow.link.run import run_link
from btflow.link.scenario import LINKS, LinkScenario
from btflow.link.state import LinkProgram, build

Table = Mapping[str, Any]
Floats = NDArray[np.float64]

PAYLOAD, HEADER = 1448, 52
PACKET = PAYLOAD + HEADER  # of the TCP stacks: a full packet [B]
MBIT = 125e3  # [B/s]


def control(base: str, **changes: Any) -> Table:
    """Return a congestion control of models/congestion with some of its fields changed."""
    return {"base": base, **changes}


def flow(cc: str | Table | None = "newreno", *, way: str = "up", **fields: Any) -> Table:
    """Return a group of flows over the uplink of `home`, or, with `way="down"`, its downlink."""
    ends = ("home", "internet") if way == "up" else ("internet", "home")
    table: dict[str, Any] = {"from": ends[0], "to": ends[1], **fields}
    if cc is not None:
        table["cc"] = cc
    return table


def scenario(
    *flows: str | Table,
    rate: str | Iterable[int] = "1 Mbit/s",
    rtt: str = "50 ms",
    buffer: str = "100 packets",
    reverse: str = "unlimited",
    reverse_buffer: str = "1000 packets",
    loss: float = 0.0,
    ack_loss: float = 0.0,
    spread: str = "0 s",
    duration: str = "60 s",
    warmup: str | None = None,
    sample: str | None = None,
    queue: Table | None = None,
) -> LinkScenario:
    """Return an experiment on one access link, `home`, its rate a text or a trace [ms]; flows are named a, b, c..."""
    uplink: dict[str, Any] = {"rate": rate if isinstance(rate, str) else trace(rate), **(queue or {})}
    if rate != "unlimited":
        uplink["buffer"] = buffer
    access: dict[str, Any] = {"uplink": uplink}
    if reverse != "unlimited":
        access["downlink"] = {"rate": reverse, "buffer": reverse_buffer}
    tables = [flow(f) if isinstance(f, str) else f for f in flows]
    tree: dict[str, Any] = {
        "name": "made",
        "title": "made by a test",
        "source": "made by a test",
        "duration": duration,
        "access": {"home": access},
        "paths": {"rtt": rtt, "loss": loss, "ack_loss": ack_loss, "rtt_spread": spread},
        "flows": {"abcdefghijklmnopqrstuvwxyz"[i]: dict(table) for i, table in enumerate(tables)},
    }
    for name, value in (("warmup", warmup), ("sample", sample)):
        if value is not None:
            tree[name] = value
    return parse_as(LINKS, tree).build({})


def trace(times: Iterable[int]) -> str:
    """Return a rate by a file of mahimahi's format, with these times [ms]."""
    content = "".join(f"{time}\n" for time in times)
    path = Path(tempfile.gettempdir()) / f"btflow-{hashlib.sha256(content.encode()).hexdigest()[:16]}.trace"
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)  # at once: threads and processes write the same file
    return f"trace:{path}"


TRIAL: dict[str, Any] = {
    "name": "trial",
    "title": "A trial",
    "source": "made up",
    "duration": "100 s",
    "access": {"home": {"uplink": {"rate": "1 Mbit/s", "buffer": "100 packets"}}},
    "paths": {"rtt": "50 ms"},
    "flows": {"upload": {"cc": "cubic", "from": "home", "to": "internet"}},
}


def trial(**changes: Any) -> LinkScenario:
    """Return the trial with fields changed by path, `__` between its parts; None takes a field out."""
    tree = copy.deepcopy(TRIAL)
    for path, value in changes.items():
        *tables, field = path.split("__")
        here = tree
        for table in tables:
            here = here.setdefault(table, {})
        if value is None:
            del here[field]
        else:
            here[field] = value
    return parse_as(LINKS, tree).build({})


def program(*flows: str | Table, **options: Any) -> LinkProgram:
    """Return the arrays of `scenario(...)`."""
    return compile_link(scenario(*flows, **options))


def run(*flows: str | Table, seed: int = 0, **options: Any) -> k.State:
    """Return the state at the end of `scenario(...)`."""
    return run_link(program(*flows, **options), seed)


def results(*flows: str | Table, seed: int = 0, **options: Any) -> xr.Dataset:
    """Return the Dataset of `scenario(...)`."""
    made = scenario(*flows, **options)
    compiled = compile_link(made)
    return to_dataset(made, compiled, run_link(compiled, seed), seed, 0.0)


class Steps:
    """A run that goes on event by event."""

    def __init__(self, made: LinkProgram, seed: int = 0) -> None:
        self.rules = made.rules
        self.state = build(made, seed)
        self.over = engine.run(self.state, 0) == engine.DONE

    def step(self, events: int = 1) -> bool:
        """Handle some events; False at the end of the experiment."""
        self.over = self.over or engine.run(self.state, events) == engine.DONE
        return not self.over

    @property
    def now(self) -> float:
        """Time of the last event [s]."""
        return float(self.state.clock[0].now)
