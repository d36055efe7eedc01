"""The frozen tables: what was measured, a file for each cell, and each peer's times in one beside it."""

from __future__ import annotations

import csv
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from btflow.errors import InputError
from btflow.files import replacing
from validation.clients.cells import FOLDER, Cell
from validation.clients.figures import Figures, measured
from validation.clients.guard import Load
from validation.clients.network import SYSCTLS
from validation.clients.runs import Outcome

TABLES = FOLDER / "tables"

OLD_TCP = {
    "net/ipv4/tcp_early_retrans": "0",  # no tail loss probes, which came with 3.10
    "net/ipv4/tcp_frto": "2",
    "net/ipv4/tcp_no_metrics_save": "0",
    "net/ipv4/tcp_comp_sack_nr": "0",  # SACKs as they are due; compressed since 4.18
}
OLD_WINDOW = 3
"""What of the TCP of Linux 2.6.32 a kernel of today was told, and its initial window [segments]. Its loss detection by
counting is gone (RACK is all there is since 6.17), and the initial timeout of 3 s cannot be set."""
HELD = 100_000
"""Packets that netem held in a kernel in user mode: 2010's section II-C, more than there ever were."""


@dataclass(frozen=True)
class Row:
    """A run."""

    run: int
    """Number of the run, from 1; also its seed."""
    date: str
    figures: Figures
    """See ``validation.clients.figures``."""
    counts: dict[str, float]
    """How long the run took [s], and packets dropped and lost, which a kernel in user mode did not tell."""
    load: dict[str, Any]
    """What the guard saw."""
    versions: dict[str, str]
    """Kernel and programs."""
    queues: str = "every second"
    """When the queues were looked at, if at all; at first in step with the clocks of upload limits."""
    watched: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What was counted of the mainline client, added up by class; of no other."""


def row(cell: Cell, run: int, outcome: Outcome) -> Row:
    """Return the row of a run."""
    return Row(
        run=run,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        figures={name: round(value, 5) for name, value in measured(cell, outcome).items()},
        counts={"took": round(outcome.took, 2)} | _drops(outcome),
        load=load_row(outcome.load),
        versions=outcome.versions,
        queues="at random",
    )


def _drops(outcome: Outcome) -> dict[str, float]:
    return {
        "uplink_drops": sum(outcome.drops.values()),
        "seed_drops": sum(outcome.drops[peer.link.index] for peer in outcome.peers if peer.is_seed),
        "downlink_drops": outcome.downlink_drops,
        "lost": outcome.lost,
    }


def load_row(load: Load) -> dict[str, Any]:
    """Return what the guard saw: shares of the run, and times [s]."""
    waits, second = load.worst_process, load.worst_second
    return {
        "idle": round(load.idle_share, 4),
        "least_idle": round(min(load.idle, default=1.0), 4),
        "cores_used": round(load.used / max(sum(load.took), 1e-9), 3),
        "waited_most": waits[0],
        "waited_share": round(waits[1], 5),
        "waited_in_second": round(second[1], 4),
        "forwarder_late": round(load.late, 6),
        "forwarder_latest": round(load.latest, 6),
    }


def settings(cell: Cell) -> dict[str, Any]:
    """Return the settings of a cell as they were run, in SI units."""
    given = cell.model_dump(mode="json", exclude_none=True)
    if cell.old_tcp:
        return given | {"sysctls": SYSCTLS | OLD_TCP, "initial_window": OLD_WINDOW, "push": False}
    if cell.kernel is not None:
        return given | {"emulator": "netem", "held": HELD}  # and the kernel's defaults
    return given | {"sysctls": SYSCTLS}


def path_of(cell: Cell, folder: Path) -> Path:
    """Return the path of a cell's table."""
    return folder / f"{cell.name}.json"


@dataclass(frozen=True)
class Table:
    """What is in a file."""

    cell: str
    settings: dict[str, Any]
    runs: list[Row]


def table(cell: Cell, folder: Path = TABLES) -> Table | None:
    """Return the table of a cell, None if there is none.

    Raises:
        InputError: It is none, or that of another cell.
    """
    path = path_of(cell, folder)
    if not path.exists():
        return None
    try:
        found = TypeAdapter(Table).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "JSON"
        raise InputError(path.name, where, f"is no table: {first['msg']}", "what `measure` writes") from None
    if found.cell != cell.name:
        raise InputError(path.name, found.cell, "is the table of another cell", cell.name)
    return found


def read(cell: Cell, folder: Path = TABLES) -> list[Row]:
    """Return the runs of a cell, none if it is not measured."""
    found = table(cell, folder)
    return [] if found is None else found.runs


def changed(cell: Cell, folder: Path = TABLES) -> bool:
    """Whether a cell was measured with other settings than it has now."""
    found = table(cell, folder)
    return found is not None and found.settings != settings(cell)


def freeze(cell: Cell, run: int, outcome: Outcome, folder: Path = TABLES) -> Row:
    """Add a run to a cell's table, and its peers to the table of peers."""
    new = row(cell, run, outcome)
    rows = sorted([*(old for old in read(cell, folder) if old.run != run), new], key=lambda one: one.run)
    folder.mkdir(parents=True, exist_ok=True)
    content = {"cell": cell.name, "settings": settings(cell), "runs": [asdict(one) for one in rows]}
    with replacing(path_of(cell, folder)) as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    _add_peers(folder / f"{cell.name}.csv", run, outcome)
    return new


PEER_COLUMNS = ("run", "class", "peer", "start", "done", "left", "up", "tcp", "udp", "drops")
"""Times from the run's start [s], payload sent, bytes that left the uplink [B], packets dropped there."""


def _add_peers(path: Path, run: int, outcome: Outcome) -> None:
    rows: list[list[str]] = []
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            rows = [line for line in csv.reader(file) if line[0] not in (PEER_COLUMNS[0], str(run))]
    rows += [[str(value) for value in _peer_row(run, outcome, i)] for i in range(len(outcome.peers))]
    rows.sort(key=lambda line: (int(line[0]), int(line[2])))
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(PEER_COLUMNS)
        writer.writerows(rows)


def _peer_row(run: int, outcome: Outcome, i: int) -> tuple[object, ...]:
    peer = outcome.peers[i]
    times = [
        "" if np.isnan(t) else round(t - outcome.began, 3)
        for t in (peer.started, peer.done, peer.left if peer.left < outcome.began + outcome.took else np.nan)
    ]
    tcp, udp, _ = outcome.crossed.get(peer.link.index, (0, 0, 0))
    drops = outcome.drops.get(peer.link.index, 0)
    return (run, peer.klass, peer.link.index, *times, int(peer.up), tcp, udp, drops)
