"""The state of a link experiment with nothing in it, and drivers that serve one queue without the engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from btflow.kernels.link import state

NONE = int(state.NONE)
ARRIVAL, SERVICE = 0, 1


class Record(np.record):  # type: ignore[misc]  # to mypy it is Any
    """A record whose fields come before the attributes of NumPy's scalars (`size`, `base`, `round`), as in Numba."""

    def __getattribute__(self, name: str) -> Any:
        fields = np.void.__getattribute__(self, "dtype").fields
        return self[name] if name in fields else super().__getattribute__(name)


class Records(np.recarray):
    """An array of them; NumPy's own would make plain records of them."""

    def __array_finalize__(self, _: object) -> None:
        """Leave the type of the records as it is."""


def records(array: np.ndarray) -> Any:
    """Return an array whose elements are such records."""
    view = array.view(Records)
    np.ndarray.__setattr__(view, "dtype", np.dtype((Record, array.dtype)))
    return view


def bare(*, queues: int = 0, pipes: int = 0, nodes: int = 0, flows: int = 0, seed: int = 1, warmup: float = 0.0) -> Any:
    """Return a state whose records are zero and whose lists are empty."""
    rules = state.Rules(flows, queues, 0, 0.0, warmup, 0.0, 0, 10, 9, 0, 9 * flows)
    made = {
        "clock": np.zeros(1, state.CLOCK),
        "flow": np.zeros(flows, state.FLOW),
        "queue": np.zeros(queues, state.QUEUE),
        "pipe": np.zeros(pipes, state.PIPE),
        "subqueue": np.zeros(pipes, state.SUBQUEUE),
        "hand": np.zeros(1, state.PARCEL),
        "parcel": np.zeros(0, state.PARCEL),
        "waiting": np.zeros(nodes, state.PARCEL),
        "segment": np.zeros(flows, state.SEGMENT),
    }
    made["queue"]["alpha"], made["queue"]["beta"] = 0.125, 1.25  # PIE, RFC 8033
    for name in ("head", "tail", "new_first", "new_last", "old_first", "old_last"):
        made["queue"][name] = NONE
    for name in ("head", "tail", "next"):
        made["subqueue"][name] = NONE
    made["waiting"]["next"] = np.arange(1, nodes + 1)
    made["waiting"]["next"][-1:] = NONE
    made["clock"]["free"] = 0 if nodes else NONE
    arrays = {name: records(array) for name, array in made.items()}
    arrays["rng"] = np.array([seed], np.uint64)
    arrays["recent"] = np.zeros((flows, rules.filter_slots))
    arrays["queue_time"] = np.zeros((queues, 1))
    empty = {name: np.zeros(0) for name in state.State._fields if name not in arrays}
    return state.State(**{**empty, **arrays, "rules": rules})


def queue_driver(module: Any, parcels: Any, by_ref: Any) -> Any:
    """Return a function that serves queue 0 at its rate; arrival i has the number i.

    It writes a row per arrival and per service: time, which of them, number (-1 none) or whether it was accepted,
    and what was dropped and what waits by then.
    """
    enqueue, dequeue, give = module.enqueue, module.dequeue, parcels.give_node

    def note(q: Any, row: Any, t: float, kind: int, number: int) -> None:
        row[0], row[1], row[2], row[3], row[4], row[5] = t, kind, number, q.drops, q.packets, q.bytes

    def serve(s: Any, q: Any, t: float, row: Any) -> None:
        n = dequeue(s, 0, q, t)
        number = -1
        if n != NONE:
            number = s.waiting[n].number
            q.free_at = t + s.waiting[n].bytes / q.rate
            give(s, n)
        note(q, row, t, SERVICE, number)

    if hasattr(enqueue, "py_func"):  # compiled: so are these
        import numba

        note, serve = numba.njit(note), numba.njit(serve)

    def drive(state: Any, at: Any, pipe: Any, size: Any, log: Any) -> int:
        s = by_ref(state)
        q = s.queue[0]
        rows = 0
        for i in range(at.size):
            t = at[i]
            while q.packets > 0 and q.free_at <= t:
                serve(s, q, q.free_at, log[rows])
                rows += 1
            parcel = s.hand[0]
            parcel.number = i
            parcel.stamp = t
            parcel.packets = 1
            accepted = enqueue(s, 0, q, t, pipe[i], parcel, size[i])
            note(q, log[rows], t, ARRIVAL, int(accepted))
            rows += 1
            if q.free_at <= t and q.packets > 0:
                serve(s, q, t, log[rows])
                rows += 1
        while q.packets > 0:
            serve(s, q, q.free_at, log[rows])
            rows += 1
        return rows

    if hasattr(enqueue, "py_func"):
        import numba

        return numba.njit(drive)
    return drive
