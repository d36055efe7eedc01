"""Replicas to one labelled Dataset: dimensions, coordinates, units and where it all came from."""

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import btflow.accessor  # noqa: F401  # for ds.btflow
from btflow import __version__
from btflow.swarm import replica
from btflow.swarm.program import Program
from btflow.swarm.scenario import Scenario, content_digest


def to_dataset(scenario: Scenario, program: Program, rows: Sequence[replica.Replica], seed: int) -> xr.Dataset:
    """Return the replicas of a scenario as a Dataset whose variables say their unit in `attrs["units"]`.

    Dimensions: replica; peer, in the program's order (initial seeds first); time, a regular grid from 0 to the last
    completion of any replica; cause; sender_class and active, for the times between sends; payload, for segment sizes.

    Args:
        scenario: What was simulated.
        program: What `scenario` compiled to.
        rows: What `collect` kept of replicas 0, 1... in this order.
        seed: The seed they were run with.
    """
    data: dict[str, Labelled] = {}
    full = program.fidelity == "full"
    for name, (value, unit, meaning) in replica.PER_PEER.items():
        if name == "unchokes" and not full:
            continue
        data[name] = _array(("replica", "peer"), np.array([value(row) for row in rows]), unit, meaning)
    rate = replica.sending_rate(program)
    data["upload_utilisation"] = _array(
        ("replica", "peer"),
        np.array([replica.utilisation(row, rate) for row in rows]),
        "1",
        "payload sent over what the upload limit and the uplink let through while the peer was there",
    )
    is_seed = program.is_seed == 1
    data["seed_copies"] = _array(
        ("replica",),
        np.array([row.sent[is_seed].sum() for row in rows]) / scenario.swarm.file_size,
        "1",
        "payload sent by the initial seeds over the file size",
    )
    data["pieces_held"] = _pieces_held(rows)
    if full:
        data["limited_share"] = _limited_share(rows)
        data |= _seed_slots(rows)
    data["send_gap_count"] = _send_gaps(scenario, program, rows)
    if full:
        data["control_gap_count"] = _control_gaps(program, rows)
    # Bursts are counted in writes of each peer's own size: of several sizes nobody knows their bytes.
    if scenario.transport is not None and len(np.unique(program.unit[np.isfinite(program.upload_limit)])) <= 1:
        # segments by payload: a burst is cut into the largest segments allowed and a remainder
        sizes, counts = segments(
            np.array([row.bursts for row in rows]),
            int(program.unit.min()),
            scenario.transport.tso_segment if program.tso else scenario.transport.mss,
        )
        payload = _array(("payload",), sizes, "B", "payload of a segment")
        data["segment_payload_count"] = _array(("replica", "payload"), counts, "1", "segments sent", payload=payload)
    if program.links is not None:
        data |= _links(program, rows)
    if program.internet is not None:
        data |= _paths(rows)
    number = _array(("replica",), np.arange(len(rows)), "1", "number of the replica")
    coords = _peer_coordinates(program) | {"replica": number}
    for variable in data.values():
        coords |= variable.coords
    variables, labels = ({name: one.variable for name, one in part.items()} for part in (data, coords))
    return xr.Dataset(variables, coords=labels, attrs=_provenance(scenario, program, rows, seed))


class Labelled(NamedTuple):
    """A variable and the coordinates that it brings; to align arrays that have theirs takes as long as a small swarm.

    Attributes:
        variable: Values with their dimensions, meaning and unit.
        coords: Coordinates by name.
    """

    variable: xr.Variable
    coords: "dict[str, Labelled]"


def _array(dims: tuple[str, ...], values: NDArray[Any], unit: str, meaning: str, **coords: Labelled) -> Labelled:
    return Labelled(xr.Variable(dims, values, {"long_name": meaning, "units": unit}), coords)


def _peer_coordinates(program: Program) -> dict[str, Labelled]:
    """Coordinates along `peer`: number, class, role at the start, upload limit [B/s], on access links the uplink's."""
    names = np.array(program.class_names, object)
    peers = np.arange(len(program.klass))
    roles = np.where(program.is_seed == 1, "seed", "leecher").astype(object)
    links: dict[str, Labelled] = {}
    if program.links is not None:
        rate = np.array(program.links.queue["rate"][0::2])
        links["uplink_rate"] = _array(("peer",), rate, "B/s", "rate of the uplink, headers and framing included")
    return links | {
        "peer": _array(("peer",), peers, "1", "number of the peer, initial seeds first"),
        "peer_class": _array(("peer",), names[program.klass], "1", "class of the peer"),
        "role": _array(("peer",), roles, "1", "role at the start"),
        "upload_limit": _array(("peer",), program.upload_limit, "B/s", "upload limit"),
        "choke_interval": _array(
            ("peer",), program.client["choke_interval"][program.klass], "s", "time between two rounds of its choker"
        ),
    }


def _pieces_held(rows: Sequence[replica.Replica]) -> Labelled:
    """Mean pieces per leecher on the coarsest of the replicas' grids, which is part of each of the others."""
    step = max(row.time_step for row in rows)
    times = math.ceil(max(row.last for row in rows) / step) + 1
    held = np.empty((len(rows), times))
    for out, row in zip(held, rows, strict=True):
        coarse = row.held[:: int(step / row.time_step)]
        out[:] = row.held[-1]
        out[: len(coarse)] = coarse
    time = _array(("time",), step * np.arange(times), "s", "time since the swarm's start")
    return _array(("replica", "time"), held, "pieces", "mean number of pieces held by a leecher", time=time)


def _limited_share(rows: Sequence[replica.Replica]) -> Labelled:
    """Share of its unchoked time a peer's connections were held back by each cause; NaN if it unchoked nobody."""
    spent = np.array([row.held_for for row in rows])
    share = _over(spent, spent.sum(axis=-1, keepdims=True))
    meaning = "share of the time of a peer's unchoked connections, by what held them back"
    cause = _array(("cause",), np.array(replica.CAUSE_NAMES), "1", "what held a connection back")
    return _array(("replica", "peer", "cause"), share, "1", meaning, cause=cause)


def _over(values: NDArray[Any], number: NDArray[Any]) -> NDArray[Any]:
    """Values over a number; NaN where that is 0."""
    return np.asarray(np.divide(values, number, out=np.full(values.shape, np.nan), where=number > 0))


def _seed_slots(rows: Sequence[replica.Replica]) -> dict[str, Labelled]:
    """What a seed's choker found whenever its timer ran: unchoked peers, and those who had no request waiting."""
    seen = np.array([row.slots for row in rows])
    meanings = {
        "slots_seen": "unchoked peers that a seed's choker found when its timer ran",
        "slots_dry": "those of whom no request waited then",
    }
    return {name: _array(("replica", "peer"), seen[:, i], "1", said) for i, (name, said) in enumerate(meanings.items())}


def _send_gaps(scenario: Scenario, program: Program, rows: Sequence[replica.Replica]) -> Labelled:
    """Units sent, by class and number of connections sharing the limit, with the time between two of a connection's."""
    counts = np.array([row.gaps for row in rows])
    most = max(1, int(np.flatnonzero(counts.any(axis=(0, 1))).max(initial=0)))
    active = np.arange(1, most + 1)
    unit_time_of = {c.name: c.client.upload_unit / c.upload_limit for c in scenario.classes}
    unit_time = np.array([unit_time_of[name] for name in program.class_names])
    gap = _array(("sender_class", "active"), np.outer(unit_time, active), "s", "time between a connection's sends")
    return _array(
        ("replica", "sender_class", "active"),
        counts[:, :, 1 : most + 1],
        "1",
        "units sent while this many connections shared the upload limit",
        sender_class=_array(("sender_class",), np.array(program.class_names), "1", "class of the sender"),
        active=_array(("active",), active, "1", "connections sharing the upload limit (the last: or more)"),
        send_gap=gap,
    )


def _control_gaps(program: Program, rows: Sequence[replica.Replica]) -> Labelled:
    """Control messages with a send of their own, by class and time since the last send on their connection."""
    counts = np.array([row.control_gaps for row in rows])
    edges = 1e-3 * 2.0 ** (0.5 * np.arange(counts.shape[-1]))
    middle = np.concatenate([[0.5e-3], np.sqrt(edges[:-1] * edges[1:])])
    return _array(
        ("replica", "sender_class", "control_gap"),
        counts,
        "1",
        "control messages that had a send of their own",
        sender_class=_array(("sender_class",), np.array(program.class_names), "1", "class of the sender"),
        control_gap=_array(("control_gap",), middle, "s", "time since the last send on the connection"),
    )


def _links(program: Program, rows: Sequence[replica.Replica]) -> dict[str, Labelled]:
    """What was seen on the access links. Histograms are cut behind the longest queue and the longest delay."""
    seen = [row.uplinks for row in rows if row.uplinks is not None]
    assert program.links is not None
    classes = np.array(program.class_names)
    by_class = ("replica", "sender_class")
    out: dict[str, Labelled] = {}

    def histogram(name: str, counts: NDArray[Any], axis: str, values: NDArray[Any], unit: str, meaning: str) -> None:
        used = np.flatnonzero(counts.reshape(-1, counts.shape[-1]).any(axis=0))
        end = int(used.max(initial=0)) + 1
        dims = (*by_class, *(("message",) if counts.ndim == 4 else ()), axis)
        coord = _array((axis,), values[:end], unit, meaning)
        out[name] = _array(dims, counts[..., :end], "1", f"number by {meaning}", **{axis: coord})

    def kept(name: str) -> NDArray[Any]:
        return np.array([getattr(uplinks, name) for uplinks in seen])

    packets, delays, messages, latency = map(kept, ("packets", "delay", "messages", "latency"))
    histogram("queue_packets_count", packets, "queue_packets", np.arange(packets.shape[-1]), "1", "packets waiting")
    edges = seen[0].delay_width * np.arange(delays.shape[-1])
    histogram("queue_delay_count", delays, "queue_delay", edges, "s", "time until the uplink's queue is empty")
    histogram("message_delay_count", messages, "delay", replica.delay_edges(), "s", "time from writing to delivery")
    histogram("block_latency_count", latency, "latency", replica.delay_edges(), "s", "time from a request to its block")
    kinds = _array(("message",), np.array(list(replica.MESSAGES)), "1", "kind of a message")
    traffic = _array(("traffic",), np.array(replica.TRAFFIC), "1", "what bytes on an uplink are")
    peer, drops = ("replica", "peer"), kept("drops")
    mean, text = _over(kept("message_delay"), messages.sum(axis=-1)), "mean time from writing a message to its delivery"
    out["message_delay"] = _array((*by_class, "message"), mean, "s", f"{text}, by class of the sender", message=kinds)
    mean, text = _over(kept("block_latency"), latency.sum(axis=-1)), "mean time from a request to its block"
    out["block_latency"] = _array(by_class, mean, "s", f"{text}, by class of the asker")
    text = "connections on which a leecher is served, mean over time"
    out["download_slots"] = _array(by_class, kept("slots"), "1", text)
    if program.fidelity == "full":
        out["unchokes_received"] = _array(peer, kept("wins"), "1", "unchokes that came to the peer")
    text = "bytes that left the uplink, headers included"
    out["uplink_bytes"] = _array((*peer, "traffic"), kept("bytes"), "B", text, traffic=traffic)
    for way, name in enumerate(("uplink", "downlink")):
        out[f"{name}_drops"] = _array(peer, drops[..., way], "1", f"packets dropped at the {name}'s queue")
    coord = _array(("sender_class",), classes, "1", "class of the sender")
    return {
        name: one._replace(coords=one.coords | ({"sender_class": coord} if "sender_class" in one.variable.dims else {}))
        for name, one in out.items()
    }


def _paths(rows: Sequence[replica.Replica]) -> dict[str, Labelled]:
    """What the paths of each peer that were drawn are in the mean."""
    rtt = np.array([row.path_rtt for row in rows])
    loss = np.array([row.path_loss for row in rows])
    dims = ("replica", "peer")
    return {
        "path_rtt": _array(dims, rtt, "s", "mean round-trip time between the peer and each other one"),
        "path_loss": _array(dims, loss, "1", "mean loss between the peer and each other one"),
    }


def segments(bursts: replica.Floats, unit: int, largest: int) -> tuple[NDArray[np.int64], replica.Floats]:
    """Return the payloads that occur [B] (payloads,) and how many segments have them (replicas, payloads).

    Args:
        bursts: Number of bursts of m coalesced writes, by m (replicas, writes).
        unit: Size of a write [B].
        largest: Largest payload of a segment [B].
    """
    size = unit * np.arange(bursts.shape[1])
    whole, rest = np.divmod(size, largest)
    used = bursts.any(axis=0)
    payloads = np.unique(np.concatenate([rest[used & (rest > 0)], np.full(int((used & (whole > 0)).any()), largest)]))
    counts = np.zeros((len(bursts), len(payloads)))
    for m in np.flatnonzero(used & (size > 0)):
        if rest[m] > 0:
            counts[:, np.searchsorted(payloads, rest[m])] += bursts[:, m]
        if whole[m] > 0:
            counts[:, np.searchsorted(payloads, largest)] += bursts[:, m] * whole[m]
    return payloads.astype(np.int64), counts


def _provenance(scenario: Scenario, program: Program, rows: Sequence[replica.Replica], seed: int) -> dict[str, Any]:
    model = scenario.paths.internet
    return {
        "model": scenario.name,
        "title": scenario.title,
        "source": scenario.source,
        "parameters": json.dumps(dict(scenario.parameters)),
        "seed": seed,
        "fidelity": program.fidelity,
        "scenario_hash": scenario.digest(),
        "version": __version__,
        "replicas": len(rows),
        "cpu_s": math.fsum(row.cpu for row in rows) / len(rows),
        "byte_prefix": scenario.byte_prefix,
        "file_size": scenario.swarm.file_size,
        "pieces": scenario.swarm.pieces,
        "discard": scenario.departures.discard,
    } | ({} if model is None else {"internet": model.name, "internet_hash": content_digest(model.model_dump())})
