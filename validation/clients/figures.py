"""The figures of a run, measured or simulated, by the same definitions.

By name: ``mean``, ``p10``, ``p50`` and ``p90`` of the leechers' completion times, each from the peer's own start [s],
of all and by class (``tcp.mean``); by class, seeds too, ``queue`` and ``queue_p90``, the time until an uplink's queue
would be empty, sampled on every peer from its start until it leaves or the last leecher completes [s], and ``utp``, the
share of uTP in the bytes that left the uplinks; ``copies``, the payload that the seeds sent over the file's size;
``goodput`` of a bulk upload [B/s], and then nothing of completion.

Where the links do not matter, nothing of queues and transports, but ``idle``, the share of the seeds' unchokes that end
as the connection is idle while one that is older is kept; ``dry``, the share of the seeds' slots of which no request
waits when their choker's timer runs; ``gap``, the time within which a tenth of the leechers' sends follow the one
before on their connection [s]. Such cells are simulated alone: what was measured of them is in the frozen tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation.clients.cells import Cell

if TYPE_CHECKING:
    import xarray as xr

    from validation.clients.runs import Outcome

Figures = dict[str, float]
Floats = NDArray[np.float64]

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}
EDGES = [0.001 * ms for ms in (1, 2, 5, 10, 20, 27, 40, 54, 80, 100, 120, 135, 160, 200, 240, 270, 320, 400)]
EDGES += [0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0]
"""Times between two sends are counted in bins that end at these [s], and one beyond, as they were when measured."""


def completion(times: Mapping[str, Floats]) -> Figures:
    """Return mean and quantiles of completion times [s], of all and by class."""
    found: Figures = {}
    everyone = np.concatenate(list(times.values()))
    for prefix, values in (("", everyone), *((f"{name}.", values) for name, values in times.items())):
        found[f"{prefix}mean"] = float(np.mean(values))
        found |= {f"{prefix}{name}": float(np.quantile(values, q)) for name, q in QUANTILES.items()}
    return found


def measured(cell: Cell, outcome: Outcome) -> Figures:
    """Return the figures of a run of real clients."""
    found: Figures = {}
    if cell.bulk:
        found["goodput"] = outcome.bulk
    else:
        took = {
            name: np.array([peer.done - peer.started for peer in outcome.peers if peer.klass == name])
            for name in cell.classes
        }
        found |= completion(took)
    for name, delays in outcome.queues.items():
        found[f"{name}.queue"] = float(np.mean(delays))
        found[f"{name}.queue_p90"] = float(np.quantile(delays, 0.9))
    for name in ("seed", *cell.classes):
        crossed = [outcome.crossed.get(peer.link.index, (0, 0, 0)) for peer in outcome.peers if peer.klass == name]
        tcp, utp, _ = np.sum(crossed, axis=0)
        found[f"{name}.utp"] = float(utp / max(tcp + utp, 1))
    found["copies"] = sum(peer.up for peer in outcome.peers if peer.is_seed) / cell.file_size
    return found


def _within(counts: np.ndarray) -> float:
    """Time within which a tenth of the sends follow the one before [s], from counts in the bins of `EDGES`."""
    edges = np.array([0.0, *EDGES, 2 * EDGES[-1]])
    return float(np.interp(0.1 * counts.sum(), np.concatenate([[0], np.cumsum(counts)]), edges))


def _all_gaps(one: xr.Dataset) -> np.ndarray:
    """Times between sends of leechers, parts of blocks and control messages, in the bins of `EDGES`."""
    parts = [(one["send_gap"].values.ravel(), one["send_gap_count"].values.ravel())]
    counts = one["control_gap_count"].sum("sender_class").values
    parts.append((one["control_gap"].values, counts))
    found = np.zeros(len(EDGES) + 1)
    for times, number in parts:
        np.add.at(found, np.searchsorted(EDGES, times, side="right"), number)
    return found


def simulated(cell: Cell, result: xr.Dataset, replica: int) -> Figures:
    """Return the figures of a simulated swarm."""
    one = result.isel(replica=replica)
    classes = np.asarray(one["peer_class"].values, str)
    times = one["completion_time"].values
    found = completion({name: times[classes == name] for name in cell.classes})
    for name in ("seed", *cell.classes) if cell.links else ():
        delays = one["queue_delay"].values
        counts = one["queue_delay_count"].sel(sender_class=name).values
        if counts.sum():
            found[f"{name}.queue"] = float((counts * delays).sum() / counts.sum())
            cumulated = np.cumsum(counts)
            found[f"{name}.queue_p90"] = float(delays[np.searchsorted(cumulated, 0.9 * cumulated[-1])])
        crossed = one["uplink_bytes"].sel(peer=classes == name).sum("peer")
        utp = float(crossed.sel(traffic=["uTP data", "uTP ACKs"]).sum())
        found[f"{name}.utp"] = utp / max(float(crossed.sum()), 1.0)
    found["copies"] = float(one["seed_copies"])
    if not cell.links:
        seeds = one.sel(peer=classes == "seed")
        found["idle"] = float(seeds["idle_terminations"].sum()) / max(float(seeds["unchokes"].sum()), 1.0)
        found["dry"] = float(seeds["slots_dry"].sum()) / max(float(seeds["slots_seen"].sum()), 1.0)
        found["gap"] = _within(_all_gaps(one.sel(sender_class=list(cell.classes))))
    return found


def counted(name: str) -> str:
    """Return the unit of a figure: ``s``, ``ms``, ``%``, ``copies`` or ``kB/s``."""
    last = name.rpartition(".")[2]
    if last.startswith("queue"):
        return "ms"
    return {"utp": "%", "copies": "copies", "goodput": "kB/s"}.get(last, "s")
