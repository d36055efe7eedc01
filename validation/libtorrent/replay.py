"""Decisions of a log, made again by the simulator's rules from the same candidates: no swarm, no luck.

A log is lines of JSON; the first says which libtorrent wrote it. `log` of the command line writes one.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from btflow.errors import InputError
from btflow.kernels.swarm import rules
from btflow.kernels.swarm.state import RANK, TALLY
from validation.libtorrent.settings import BLOCK, Setting, model_text
from validation.libtorrent.toolchain import VERSIONS

FORMAT = 1


@dataclass
class Replayed:
    """How many decisions of a kind come out alike, and the first that does not."""

    kind: str
    alike: int = 0
    number: int = 0
    first: str = ""

    def note(self, alike: bool, decision: dict[str, Any], ours: object) -> None:
        """Count a decision."""
        self.number += 1
        self.alike += alike
        if not alike and not self.first:
            self.first = f"t = {decision['t']:.3f} s, peer {decision['peer']}: {json.dumps(decision)}; here {ours}"

    @property
    def text(self) -> str:
        """One line, and one more with the first that differs."""
        share = f"{100 * self.alike / self.number:.2f}%" if self.number else "none"
        return f"{self.kind}: {self.alike:,} of {self.number:,} alike ({share})" + (
            f"\n    first other one: {self.first[:400]}" if self.first else ""
        )


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a log.

    Raises:
        InputError: It cannot be read, is another version's, damaged or cut.
    """
    allowed = "what `python -m validation.libtorrent log` writes"
    try:
        with path.open(encoding="utf-8") as file:
            head = _parsed(path, 1, file.readline(), allowed)
            version = ".".join(str(head.get("version", "")).split(".")[:3])
            if head.get("log") != FORMAT or version not in VERSIONS:
                raise InputError(path.name, head.get("version"), "is a log of another version", ", ".join(VERSIONS))
            for number, line in enumerate(file, 2):
                yield _parsed(path, number, line, allowed)
    except OSError as error:
        raise InputError("log", str(path), f"cannot be read: {error.strerror}", allowed) from None
    except UnicodeDecodeError:
        raise InputError("log", str(path), "is no text", allowed) from None


def _parsed(path: Path, number: int, line: str, allowed: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
        if not line.endswith("\n") or not isinstance(found, dict):
            raise ValueError
    except ValueError:
        raise InputError(f"{path.name}, line {number}", line.strip()[:60], "is cut or damaged", allowed) from None
    return found


def constants(setting: Setting) -> Any:
    """Return the constants of a setting's client as the kernels have them."""
    import btflow
    from btflow.swarm.program import compile_scenario

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{setting.name}.toml"
        path.write_text(model_text(setting), encoding="utf-8")
        return compile_scenario(btflow.load(str(path))).client.view(np.recarray)[0]


def replay(setting: Setting, path: Path) -> list[Replayed]:
    """Make all decisions of a setting's log again."""
    client = constants(setting)
    found = {kind: Replayed(kind) for kind in ("choke", "optimistic", "queue", "share")}
    for decision in read(path):
        kind = decision.get("kind")
        try:
            if kind == "choke":
                ours: object = choke(setting, client, decision)
                alike = sorted(decision["order"][: max(decision["kept"], 0)]) == ours
            elif kind == "optimistic":
                ours = optimistic(decision)
                alike = sorted(one[0] for one in decision["order"][: decision["slots"]]) == ours
            elif kind == "queue" and not decision["slow"]:
                ours = rules.queue_of_rate(client, BLOCK, float(decision["rate"]), decision["most"])
                alike = min(max(decision["size"], int(client.pipeline_floor)), decision["most"]) == ours
            elif kind == "share":
                ours = share(decision)
                alike = decision["given"] == ours
            else:
                continue
        except (KeyError, TypeError, ValueError, IndexError):
            raise InputError(path.name, json.dumps(decision)[:60], "is damaged", "a decision of the log") from None
        found[kind].note(alike, decision, ours)
    return list(found.values())


def choke(setting: Setting, client: Any, decision: dict[str, Any]) -> list[int]:
    """Return the peers that keep a slot in a round."""
    candidates = decision["from"]
    keys, ends = np.recarray(len(candidates) + 1, RANK), np.array([one[0] for one in candidates], np.int64)
    tally = np.zeros(1, TALLY).view(np.recarray)[0]
    for key, (_, got, sent, sent_since, choked, _, since) in zip(keys, candidates, strict=False):
        tally["got"], tally["sent"], tally["sent_since"] = got, sent, sent_since
        tally["unchoked_at"] = -since
        rules.rank_by_round(client, key, tally, 0.0, setting.piece_size, choked == 0, 0.0)
    rules.split(keys, ends, len(ends), decision["slots"])
    return sorted(int(end) for end in ends[: max(decision["kept"], 0)])


def optimistic(decision: dict[str, Any]) -> list[int]:
    """Return the peers that have an optimistic slot: who had one longest ago, the first of equals."""
    order = sorted(decision["from"], key=lambda one: one[1])
    return sorted(one[0] for one in order[: decision["slots"]])


def share(decision: dict[str, Any]) -> list[int]:
    """Return what each request gets of a quota [B]."""
    given = []
    for _, asked, had, _ in decision["asks"]:
        given.append(min(int(decision["quota"] / len(decision["asks"])), asked - had))
    return given
