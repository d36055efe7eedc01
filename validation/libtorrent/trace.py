"""What the simulator decided and from what, in the lines that the oracle's log has.

The swarm is looked at between any two events (a watch of `btflow.swarm.run`): a run that is not traced costs nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from btflow.files import replacing
from validation.libtorrent.settings import Setting, model_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = ("choke", "request")


EVENTS, AHEAD = 25, 0.05
"""Events between two looks, and how long before a round of its choker a peer is looked at [s]."""

Round = tuple[float, list[list[float]], list[int]]
"""When a peer's choker last ran, its candidates as the oracle logs them, and whom the peer serves."""


class Watch:
    """Writes a line for each round of a choker and for each request; a `btflow.swarm.run.Watch`.

    What a round is made from is as it was at most `EVENTS` events before.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._asked: NDArray[np.int64] | None = None
        self._before: dict[int, Round] = {}

    def __call__(self, s: Any, _: Any) -> int:
        """Look at what the last events changed; return how many may pass until the next look."""
        from btflow.kernels.swarm import state as k

        now = float(s.clock.now[0])
        for peer, (round_at, candidates, unchoked) in self._before.items():
            if s.session["round_at"][peer] != round_at:
                after = _unchoked(s, peer, k)
                order = sorted(after, key=lambda q: (q in unchoked, q))
                slots = int(s.peer["upload_slots"][peer])
                self._write(now, "choke", peer, slots=slots, order=order, **{"from": candidates})
        self._requests(s, now, k)
        self._before = _next_rounds(s, k)
        return EVENTS

    def _requests(self, s: Any, now: float, k: Any) -> None:
        asked = np.asarray(s.conn["dn_tail"], np.int64)
        if self._asked is not None:
            for h in np.nonzero(asked > self._asked)[0]:
                mate = int(s.mate[h])
                for seq in range(int(self._asked[h]), int(asked[h])):
                    block = int(s.requests[s.conn["row"][mate], seq & (s.requests.shape[1] - 1)])
                    if block >= 0:
                        piece, b = divmod(block, s.rules.blocks)
                        more = {"to": mate >> s.rules.slot_bits, "piece": piece, "block": b}
                        more |= {"want": int(s.tally["queue"][h]), "held": int(s.conn["outstanding"][h])}
                        more |= {"rate": int(s.tally["rate"][h]), "choked": int(s.dn[h] & k.SERVED == 0)}
                        self._write(now, "request", int(h) >> s.rules.slot_bits, **more)
        self._asked = asked.copy()

    def _write(self, t: float, kind: str, peer: int, **more: Any) -> None:
        self._file.write(json.dumps({"t": round(t, 6), "kind": kind, "peer": peer} | more) + "\n")


def _ends(s: Any, peer: int) -> slice:
    return slice(peer << s.rules.slot_bits, (peer + 1) << s.rules.slot_bits)


def _unchoked(s: Any, peer: int, k: Any) -> list[int]:
    ends = _ends(s, peer)
    return [int(q) >> s.rules.slot_bits for q in np.asarray(s.mate[ends])[s.up[ends] & k.UNCHOKED != 0]]


def _next_rounds(s: Any, k: Any) -> dict[int, Round]:
    """Return the peers whose chokers run next, and from what they would choose now."""
    peers = s.rules.peers
    nodes = s.node[peers : 2 * peers]
    due = np.where(nodes["bucket"] >= 0, nodes["time"], np.inf)
    soon = float(due.min()) + AHEAD
    return {int(peer): _round(s, int(peer), float(due[peer]), k) for peer in np.nonzero(due <= soon)[0]}


def _round(s: Any, peer: int, at: float, k: Any) -> Round:
    ends = _ends(s, peer)
    up, tally, mate = s.up[ends], s.tally[ends], s.mate[ends]
    candidates = [
        [
            int(mate[i]) >> s.rules.slot_bits,
            int(tally["got"][i]),
            int(tally["sent"][i]),
            int(tally["sent_since"][i]),
            int(up[i] & k.UNCHOKED == 0),
            int(up[i] & k.OPTIMISTIC != 0),
            round(float(at - tally["unchoked_at"][i]), 6),
        ]
        for i in np.nonzero(up & k.INTERESTED_IN_US)[0]
    ]
    return float(s.session["round_at"][peer]), candidates, _unchoked(s, peer, k)


def write(setting: Setting, path: Path, seed: int = 1) -> None:
    """Run a setting's swarm and write its decisions; slow, as it is looked at after every event."""
    import btflow
    from btflow.swarm import run
    from btflow.swarm.program import compile_scenario

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / f"{setting.name}.toml"
        model.write_text(model_text(setting), encoding="utf-8")
        program = compile_scenario(btflow.load(str(model)), "full")
    run.load_kernels(program)
    with replacing(path) as partial, partial.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"log": 1, "version": setting.version}) + "\n")
        run.run_with_links(program, seed, 0, Watch(file))


FIGURES: dict[str, Callable[[dict[str, Any]], float | None]] = {
    "candidates of a round": lambda d: len(d["from"]) if d["kind"] == "choke" else None,
    "unchoked before a round": lambda d: sum(not c[4] for c in d["from"]) if d["kind"] == "choke" else None,
    "optimistic before a round": lambda d: sum(c[5] for c in d["from"]) if d["kind"] == "choke" else None,
    "got in a round [B]": lambda d: sum(c[1] for c in d["from"]) if d["kind"] == "choke" else None,
    "requests wanted": lambda d: d["want"] if d["kind"] == "request" else None,
    "rate at a request [B/s]": lambda d: d["rate"] if d["kind"] == "request" else None,
}
"""Of a decision what is compared, or None if it has none of it."""


def beside(real: Iterator[dict[str, Any]], ours: Iterator[dict[str, Any]]) -> list[str]:
    """Return the lines of a table: how many decisions there are of each kind, and how their distributions differ.

    The last column is the Kolmogorov-Smirnov distance and the one that chance exceeds once in twenty.
    """
    values: list[dict[str, list[float]]] = []
    numbers: list[Counter[str]] = []
    for log in (real, ours):
        values.append({name: [] for name in FIGURES})
        numbers.append(Counter())
        for decision in log:
            if decision.get("kind") in KINDS and decision["peer"] > 0:
                numbers[-1][decision["kind"]] += 1
                for name, figure in FIGURES.items():
                    if (value := figure(decision)) is not None:
                        values[-1][name].append(value)
    lines = [f"{kind}: {numbers[0][kind]:,} of libtorrent's, {numbers[1][kind]:,} here" for kind in KINDS]
    for name in FIGURES:
        a, b = (np.array(found[name]) for found in values)
        if len(a) and len(b):
            distance = float(stats.ks_2samp(a, b).statistic)
            chance = 1.36 * np.sqrt((len(a) + len(b)) / (len(a) * len(b)))  # of large samples (Smirnov, 1948)
            lines.append(f"{name}: mean {a.mean():.4g}, here {b.mean():.4g}; distance {distance:.2f} ({chance:.2f})")
    return lines
