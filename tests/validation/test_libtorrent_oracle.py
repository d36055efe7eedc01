"""libtorrent beside the simulator: what is drawn, what both are told of it, and decisions made again from a log."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import btflow
from btflow.errors import InputError
from validation.libtorrent import compare, replay, settings, toolchain, trace
from validation.libtorrent.runs import Row
from validation.packet_level.toolchain import ToolchainError

DIGESTS = {"development": "56c71e4e", "judgement": "a69cd102", "fresh": "e1b8176f"}
"""Of the samples as they were when their seeds were committed."""


@pytest.mark.parametrize("sample", settings.SEEDS)
def test_a_sample_stays_what_its_seed_drew(sample: str) -> None:
    drawn = list(settings.draw(sample))
    assert len(drawn) == settings.SIZES[sample] == len({one.name for one in drawn})
    assert hashlib.sha256(repr(drawn).encode()).hexdigest()[:8] == DIGESTS[sample]
    for one in drawn:
        assert 20 <= one.leechers <= 150
        assert 2 <= one.slots <= 16
        assert 0 <= one.rtt <= 1.2
        assert one.leechers * one.file_size < 1.3 * settings.TRAFFIC


def test_the_oracle_and_the_simulator_are_told_the_same(tmp_path: Path) -> None:
    for one in list(settings.draw("judgement"))[:12]:
        path = tmp_path / f"{one.name}.toml"
        path.write_text(settings.model_text(one))
        swarm = btflow.load(str(path))
        peers = re.findall(r"^peer class=(\w+) seed=(\d).* limit=(\d+) slots=(\d+)", settings.oracle_text(one, 1), re.M)
        assert len(peers) == one.leechers + 1
        for klass in swarm.classes:
            (told,) = {found[1:] for found in peers if found[0] == klass.name}
            limit = round(klass.upload_limit) if klass.upload_limit < 1e12 else 0
            assert told == (str(int(klass.role == "seed")), str(limit), str(klass.client.max_uploads))
            assert sum(found[0] == klass.name for found in peers) == klass.count


def test_a_line_goes_behind_its_place_or_is_refused() -> None:
    hook = toolchain.Hook("a.cpp", within="void f()", after="{", insert=" log();")
    assert hook.applied("{ void f() { g(); }") == "{ void f() { log(); g(); }"
    with pytest.raises(ToolchainError, match=r"a\.cpp: there is no '{' behind 'void f\(\)'"):
        hook.applied("void g() {}")


def test_a_program_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "ar" else f"/bin/{name}")
    with pytest.raises(ToolchainError, match=r"^ar is not installed"):
        toolchain.check()


HEAD = '{"log": 1, "version": "2.0.11.0"}\n'
CHOKE = {"t": 20.0, "kind": "choke", "peer": 0, "slots": 2, "kept": 1}
# peer 3 brought most; 1 and 2 nothing, and 2 waits longer: 3 and 2 are the first two, the third has no slot
CHOKE |= {"from": [[1, 0, 0, 0, 1, 0, 5.0], [2, 0, 0, 0, 1, 0, 9.0], [3, 7, 0, 0, 1, 0, 1.0]], "order": [3, 2, 1]}


def _replayed(path: Path) -> subprocess.CompletedProcess[str]:
    # a process of its own: the rules are plain Python there
    command = [sys.executable, "-m", "validation.libtorrent", "replay", "--sample", "development", "--only", "d12"]
    return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)


def test_decisions_are_made_again_from_their_candidates(tmp_path: Path) -> None:
    log = tmp_path / "log"
    optimistic = {"t": 1.0, "kind": "optimistic", "peer": 0, "slots": 1, "from": [[4, 9, 0], [5, 3, 0], [6, 3, 0]]}
    queue = {"t": 1.0, "kind": "queue", "peer": 0, "to": 1, "rate": 20480, "slow": 0, "size": 3, "most": 2000}
    share = {"t": 1.0, "kind": "share", "peer": 0, "quota": 100, "asks": [[1, 30, 0, 20], [2, 90, 0, 20]]}
    decisions = [
        CHOKE,
        CHOKE | {"order": [1, 2, 3]},  # not what the rule leaves
        optimistic | {"order": [[5, 3, 0], [4, 9, 0], [6, 3, 0]]},
        queue,
        share | {"given": [30, 50]},
    ]
    log.write_text(HEAD + "".join(json.dumps(one) + "\n" for one in decisions))
    ended = _replayed(log)
    assert ended.returncode == 0, ended.stderr
    assert re.findall(r"^(\w+): (\d+) of (\d+) alike", ended.stdout, re.M) == [
        ("choke", "1", "2"),
        ("optimistic", "1", "1"),
        ("queue", "1", "1"),
        ("share", "1", "1"),
    ]
    assert "first other one: t = 20.000 s, peer 0" in ended.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"log": 1, "version": "1.2.3.0"}\n', "is a log of another version; allowed: 2.0.11, 2.1.0"),
        ('{"log": 2, "version": "2.0.11.0"}\n', "is a log of another version"),
        (HEAD + '{"t": 1.0, "kind"', "line 2 = .* is cut or damaged"),
        (HEAD + "{}", "line 2 = '{}': is cut or damaged"),
        ("", "line 1 = '': is cut or damaged"),
    ],
)
def test_a_log_of_another_version_or_a_damaged_one_is_refused(tmp_path: Path, text: str, told: str) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    with pytest.raises(InputError, match=told):
        list(replay.read(log))


def test_a_trace_has_every_request_and_reads_as_a_log_does(tmp_path: Path) -> None:
    drawn = next(one for one in settings.draw("development") if one.name == "d12")
    small, path = replace(drawn, leechers=3, pieces=4, piece_size=2 * settings.BLOCK), tmp_path / "trace"
    trace.write(small, path)
    decisions = list(replay.read(path))
    for peer in range(1, small.leechers + 1):
        asked = {(one["piece"], one["block"]) for one in decisions if (one["kind"], one["peer"]) == ("request", peer)}
        assert asked == {(piece, block) for piece in range(4) for block in range(2)}
    rounds = [one for one in decisions if one["kind"] == "choke"]
    assert all(len(one["order"]) <= small.slots + 1 for one in rounds)
    assert any(one["order"] for one in rounds)
    assert "distance 0.00" in trace.beside(replay.read(path), replay.read(path))[-1]


def test_errors_are_of_means_over_runs() -> None:
    (one,) = [each for each in settings.draw("development") if each.name == "d03"]
    values = {"oracle": {"mean": (90.0, 110.0), "tcp.mean": (100.0, 100.0), "utp.mean": (95.0, 95.0)}}
    values["btflow 1"] = {"mean": (104.0, 106.0), "tcp.mean": (100.0, 100.0), "utp.mean": (99.0, 99.0)}
    rows = [
        Row("d03", who, "", "", run, figure, value)
        for who, figures in values.items()
        for figure, runs in figures.items()
        for run, value in enumerate(runs, 1)
    ]
    assert compare.errors([one], rows, "btflow 1")["d03", "mean"] == pytest.approx(0.05)
    assert compare.points([one], rows, "btflow 1") == {"d03": pytest.approx((-5.0, -1.0))}
