"""The test bed of real clients: its cells, its guard, its messages, its report; and, with root, its links."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from btflow.errors import InputError, SimulationError
from validation.clients import cells, figures, guard, predictions, programs, report, scenario, tables, torrent, tracker
from validation.clients.cells import Cell
from validation.clients.guard import Load, starved
from validation.clients.network import PREFIX, Bed, Link
from validation.clients.predictions import Prediction
from validation.clients.tables import Row
from validation.markdown import DETAILS
from validation.served import PATIENCE

CELLS = cells.load()
INSIDE = CELLS["mainline-50k-1000ms-loss-2009"]
MEASURED = [cell for cell in CELLS.values() if cell.links]
ROOT = Path(__file__).parents[2]

MAY_DO = f"btflow-may-do-{os.getpid()}"  # a name for each worker: one that is there already cannot be added
needs_root = pytest.mark.skipif(
    os.geteuid() != 0
    or not Path("/dev/net/tun").exists()
    or any(shutil.which(name) is None for name in ("ip", "tc", "cc", "chrt"))
    or subprocess.run(("ip", "netns", "add", MAY_DO), capture_output=True, check=False).returncode != 0
    or subprocess.run(("ip", "netns", "del", MAY_DO), capture_output=True, check=False).returncode != 0,
    reason="needs root, /dev/net/tun, network namespaces and a compiler",
)


# Cells


def test_there_are_30_cells_besides_bulk_uploads() -> None:
    assert sum(not cell.bulk for cell in CELLS.values()) >= 30
    assert sum(cell.bulk for cell in CELLS.values()) >= 1


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_a_cell_is_within_what_the_bed_is_for(cell: Cell) -> None:
    assert 24 <= cell.leechers <= 40
    if cell.links:
        assert 2e6 / 8 <= cell.uplink <= 5e6 / 8
        assert all(peers.cap not in (20e3, 100e3) for peers in (cell.seed, *cell.classes.values()))
    assert sum(cell.numbers.values()) == cell.leechers
    assert all(cell.numbers.values())


def test_the_cells_have_what_was_asked_for() -> None:
    alone = [cell for cell in CELLS.values() if len(cell.classes) == 1 and not cell.bulk]
    for transport in ("tcp", "utp"):
        same = [c for c in alone if {p.transports for p in (c.seed, *c.classes.values())} == {transport}]
        assert len({cell.buffer for cell in same if cell.interval is None}) >= 3
    capped = [cell for cell in alone if next(iter(cell.classes.values())).cap]
    assert {(cell.rtt, cell.loss) for cell in capped} >= {(rtt, loss) for rtt in (0, 0.2, 0.6) for loss in (0, 0.02)}
    pairs = [{peers.client for peers in cell.classes.values()} for cell in CELLS.values()]
    assert {"libtorrent-2.0", "transmission"} in pairs
    assert any(cell.uplink_of(cell.seed) >= 5 * cell.uplink for cell in CELLS.values())
    assert any(cell.stay != "forever" for cell in CELLS.values())


def test_shares_that_do_not_add_up_are_refused_by_name() -> None:
    given = {"about": "", "file_size": "1 MB", "uplink": "3 Mbit/s", "buffer": "60 ms"}
    with pytest.raises(InputError, match=r"cells\.odd.*add up to 1"):
        cells.read({"cells": {"odd": given | {"classes": {"tcp": {"share": 0.5}}}}})
    with pytest.raises(InputError, match=r"cells\.odd\.uplink"):
        cells.read({"cells": {"odd": given | {"uplink": "3", "classes": {"tcp": {}}}}})


def test_an_unknown_cell_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'none'.*tcp-90ms"):
        cells.chosen("none", CELLS)


# Models


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_the_model_files_are_those_of_the_cells(cell: Cell, tmp_path: Path) -> None:
    written = (scenario.MODELS / f"{cell.name}.toml").read_text(encoding="utf-8")
    assert written == scenario.text(cell), "python -m validation.clients models"
    tomllib.loads(written)
    path = tmp_path / "model.toml"
    path.write_text(written, encoding="utf-8")
    if cell.bulk:
        link = scenario.link_scenario(path)
        assert link.access[0].uplink.rate == cell.uplink_of(cell.seed)
        return
    loaded = scenario.scenario(path)
    assert sum(peers.number for peers in loaded.classes) == cell.leechers + cell.seeds
    assert loaded.swarm.file_size == cell.file_size


def test_there_are_no_model_files_of_other_cells() -> None:
    assert {path.stem for path in scenario.MODELS.glob("*.toml")} == set(CELLS)


def test_a_simulated_swarm_gives_the_figures() -> None:
    cell = replace_cell(CELLS["half-60ms"], file_size=2**21)
    found = predictions.simulate(cell, 2)
    assert len(found) == 2
    assert found[0]["p10"] <= found[0]["p50"] <= found[0]["p90"]
    assert 0 < found[0]["tcp.queue"] < 0.1
    assert found[0]["utp.utp"] > found[0]["tcp.utp"]
    assert found[0]["copies"] > 1


# Torrent and tracker


def test_a_torrent_is_bencoded() -> None:
    assert torrent.bencode({"b": 1, "a": b"xy", "c": {"d": "z"}}) == b"d1:a2:xy1:bi1e1:cd1:d1:zee"


def test_a_torrent_has_a_hash_for_each_piece(tmp_path: Path) -> None:
    file, metainfo = torrent.make(tmp_path, 100_000, 2**15, "http://tracker/announce", 1)
    assert file.stat().st_size == 100_000
    assert b"6:lengthi100000e" in metainfo.read_bytes()
    assert b"6:pieces80:" in metainfo.read_bytes()


def test_the_tracker_names_the_others_and_nobody_who_has_left() -> None:
    known = tracker.Tracker(1)
    assert tracker.answer(known, "198.18.1.2", "/announce?port=6881&event=started") == tracker.reply([])
    second = tracker.answer(known, "198.18.2.2", "/announce?port=6881&numwant=200")
    assert second == tracker.reply([("198.18.1.2", 6881)])
    assert second.endswith(socket.inet_aton("198.18.1.2") + b"\x1a\xe1e")
    tracker.answer(known, "198.18.1.2", "/announce?port=6881&event=stopped")
    assert tracker.answer(known, "198.18.2.2", "/announce?port=6881") == tracker.reply([])


def test_the_tracker_names_at_most_50_and_as_many_as_wanted() -> None:
    known = tracker.Tracker(1)
    for i in range(80):
        known.announce((f"198.18.{i}.2", 6881), "", 0)
    own = ("198.18.0.2", 6881)
    assert len(known.announce(own, "", 200)) == len(tracker.reply([own] * 50))
    assert len(known.announce(own, "", 3)) == len(tracker.reply([own] * 3))


def test_the_tracker_says_what_it_misses() -> None:
    assert b"failure reason" in tracker.answer(tracker.Tracker(1), "198.18.1.2", "/announce")


# Guard


def load_of(**changed: Any) -> Load:
    return replace(Load([1.0] * 60, [0.8] * 60, {"peer 1": [0.001] * 60, "peer 2": [0.002] * 60}), **changed)


def test_a_machine_that_kept_up_is_not_refused() -> None:
    assert starved(load_of()) == ""


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"idle": [0.1] * 60}, "10% of its cores were idle"),
        ({"idle": [0.8] * 50 + [0.0] * 5 + [0.8] * 5}, "no core was idle for 5 s"),
        ({"waited": {"peer 1": [0.0] * 60, "peer 2": [0.06] * 60}}, "peer 2 was starved: it waited 6.0% of the run"),
        ({"waited": {"peer 1": [0.6] + [0.0] * 59}}, "peer 1 was starved: it waited 0.60 s within one second"),
        ({"latest": 0.1}, "the forwarder was starved: a packet was 0.100 s late"),
    ],
)
def test_a_starved_machine_is_refused_by_name(changed: dict[str, Any], words: str) -> None:
    assert words in starved(load_of(**changed))


def test_the_guard_reads_its_own_process() -> None:
    watching = guard.Guard({"pytest": guard.children(os.getpid())}, 0.0)
    watching.look(1.0)
    assert 0 <= watching.load.idle[0] <= 1
    assert watching.load.waited["pytest"][0] >= 0


# Refusals


def test_a_cell_of_a_kernel_has_the_settings_of_that_kernel() -> None:
    assert tables.settings(INSIDE)["emulator"] == "netem"
    assert "sysctls" not in tables.settings(INSIDE)
    assert not INSIDE.old_tcp


@pytest.mark.parametrize("cell", [INSIDE, CELLS["mainline-20k-0ms"]], ids=lambda cell: cell.name)
def test_a_cell_of_the_mainline_client_is_measured_no_more(cell: Cell) -> None:
    with pytest.raises(SimulationError, match=f"^{cell.name} ran the mainline client: its table is kept"):
        programs.check([CELLS["tcp-90ms"], cell])


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "transmission-daemon" else found(name) or name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SimulationError, match=r"^transmission-daemon is missing: apt-get install transmission-daemon$"):
        programs.check(MEASURED)


def test_without_root_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SimulationError, match="needs root"):
        programs.check(MEASURED)


def test_only_what_the_cells_run_is_needed() -> None:
    names, environments = programs.needed([CELLS["tcp-90ms"]])
    assert "transmission-daemon" not in names
    assert environments == {"libtorrent-2.0"}


# Predictions


def prediction(cell: str, generation: int, figure: str, value: float) -> Prediction:
    because = "the choker counts blocks" if generation > 1 else ""
    settings = predictions.digest(CELLS[cell]) if cell in CELLS else ""
    return Prediction(cell, generation, "2026-11-24", "abc", settings, because, figure, value, 0.5, 32)


def test_predictions_come_back_from_their_file(tmp_path: Path) -> None:
    known = [prediction("a", 1, "mean", 70.0), prediction("a", 2, "mean", 75.0)]
    predictions.write(known, tmp_path / "p.csv")
    assert predictions.read(tmp_path / "p.csv") == known


def test_a_prediction_is_of_the_settings_of_its_cell_alone() -> None:
    cell = CELLS["tcp-90ms"]
    known = [prediction(cell.name, 1, "mean", 70.0), prediction(cell.name, 2, "mean", 75.0)]
    assert predictions.generations(cell, known) == {1: {"mean": 70.0}, 2: {"mean": 75.0}}
    assert not predictions.generations(replace_cell(cell, rtt=0.1), known)


def test_the_prediction_of_a_measured_cell_stays(tmp_path: Path) -> None:
    cell, known = CELLS["tcp-90ms"], [prediction("tcp-90ms", 1, "mean", 70.0)]
    assert predictions.next_generation(cell, known, False, "", tmp_path) == 1
    freeze(cell, tmp_path, 1, {"mean": 70.0})
    with pytest.raises(SimulationError, match="its prediction stays"):
        predictions.next_generation(cell, known, False, "", tmp_path)
    with pytest.raises(SimulationError, match="--because"):
        predictions.next_generation(cell, known, True, " ", tmp_path)
    assert predictions.next_generation(cell, known, True, "why", tmp_path) == 2
    with pytest.raises(SimulationError, match="has no prediction"):
        predictions.next_generation(cell, [], False, "", tmp_path)


# Tables and report


def replace_cell(cell: Cell, **changed: Any) -> Cell:
    return cell.model_copy(update=changed)


def row(run: int, found: dict[str, float]) -> Row:
    load = tables.load_row(load_of())
    return Row(run, "2026-11-24", found, {}, load, {"kernel": "6.18"})


def freeze(cell: Cell, folder: Path, run: int, found: dict[str, float]) -> None:
    """Write a table as `tables.freeze` does, from figures."""
    rows = [*tables.read(cell, folder), row(run, found)]
    content = {"cell": cell.name, "settings": tables.settings(cell), "runs": [vars(one) for one in rows]}
    tables.path_of(cell, folder).write_text(json.dumps(content), encoding="utf-8")


def test_a_table_knows_whether_its_settings_are_still_those_of_the_cell(tmp_path: Path) -> None:
    cell = CELLS["tcp-90ms"]
    assert not tables.changed(cell, tmp_path)
    freeze(cell, tmp_path, 1, {"mean": 70.0})
    assert not tables.changed(cell, tmp_path)
    assert tables.changed(replace_cell(cell, rtt=0.1), tmp_path)


def test_the_report_has_first_and_last_predictions_and_what_was_changed(tmp_path: Path) -> None:
    cell = CELLS["half-60ms"]
    for run, (tcp, utp) in enumerate([(70.0, 80.0), (71.0, 81.0), (72.0, 82.5)], 1):
        found = figures.completion({"tcp": np.array([tcp]), "utp": np.array([utp])})
        freeze(cell, tmp_path, run, found | {"tcp.queue": 0.03, "utp.queue": 0.02, "copies": 2.0})
    known = [
        *(prediction(cell.name, 1, name, value) for name, value in (("mean", 60), ("tcp.mean", 65), ("utp.mean", 55))),
        *(prediction(cell.name, 2, name, value) for name, value in (("mean", 76), ("tcp.mean", 71), ("utp.mean", 81))),
        prediction(cell.name, 2, "tcp.queue", 0.031),
    ]
    predictions.write(known, tmp_path / "p.csv")
    compared = report.compare([cell, CELLS["bulk-beside-utp"]], tmp_path, tmp_path / "p.csv")
    page = report.page(compared, known)
    text = page.text("clients.md")
    assert "1 of 2 cells are measured, 3 runs. Of 4 figures the first predictions reach 0 and the last 4;" in text
    assert "missed by the first: means, their median error, signs of differences, queues." in text
    assert "| cells whose mean completion is within 10% | 9 in 10 | 0 of 1 | 1 of 1 |" in text
    assert "of the right sign | all | 0 of 1 | 1 of 1 |" in text
    assert "| queue means of classes within 20% | 9 in 10 | – | 1 of 1 |" in text
    behind = page.behind("clients.md")
    assert "the choker counts blocks" in behind
    assert "80% of the cores were idle" in behind


def test_the_report_is_that_of_what_is_in_the_repository(tmp_path: Path) -> None:
    known = predictions.read()
    linked = [cell for cell in CELLS.values() if cell.links]
    report.write(report.compare(linked), known, tmp_path / report.REPORT.name)
    for name in (report.REPORT.name, f"{DETAILS}/{report.REPORT.name}"):
        assert (tmp_path / name).read_text() == (report.REPORT.parent / name).read_text()
    for path in tables.TABLES.glob("*.csv"):
        with path.open(encoding="utf-8") as file:
            assert tuple(next(csv.reader(file))) == tables.PEER_COLUMNS


# Links, with root

HELD = """
import sys, time
from validation.clients.network import Bed, Link, TUN
from validation.clients.processes import Child
from validation.clients import programs

bed = Bed(7)
links = [Link(i, 375e3, 20_000, 1.5e6, 100_000) for i in (1, 2)]
with bed.locked():
    bed.build(links)
    bed.check_kernel()
    log = (bed.folder / "log").open("w")
    forwarder = Child("the forwarder", bed.core, [str(programs.forwarder()), TUN, "50000000", "0", "1"], log)
    forwarder.tell("peer 1 375000 1500000\\npeer 2 375000 1500000\\ngo")
    forwarder.line()
    bed.shape(links)
    Child("a peer", bed.namespace(links[0]), ["sleep", "1000"], log)
    {body}
"""

ECHO = """
import socket
import struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 9000))
print("ready", flush=True)
while True:
    data, address = s.recvfrom(2000)
    s.sendto(data[:1], address)
"""

SEND = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5):  # where other programs hold it up, another round is as it should be
    n, times = 0, []
    for many in (1, 30):
        t = time.monotonic()
        for _ in range(many):
            s.sendto(bytes(1472), ("198.18.2.2", 9000))
        try:
            while True:
                s.settimeout(0.5)
                s.recv(10)
                n, last = n + 1, time.monotonic() - t
        except TimeoutError:
            times.append(last)
    print(times[0], n - 1, times[1], end=",")
print(flush=True)
"""


one_bed = pytest.mark.xdist_group(__name__)  # a bed is one process's at a time: these run after each other


def held(body: str) -> subprocess.Popen[str]:
    """Start a bed of two peers, 100 ms apart, in a process of its own."""
    command = [sys.executable, "-c", HELD.format(body=body)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


@needs_root
@one_bed
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_bed_that_is_interrupted(number: signal.Signals) -> None:
    process = held('print("up", flush=True); time.sleep(1000)')
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n", process.stderr and process.stderr.read()
    bed = Bed(7)
    assert len(bed.namespaces()) == 3
    process.send_signal(number)
    process.wait(timeout=PATIENCE)
    if number == signal.SIGKILL:  # nobody could clean up: the next who comes does
        with Bed(6).locked():
            pass
    assert bed.namespaces() == []
    assert not bed.folder.exists()
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"forwarder\0paths\0" in path.read_bytes()]
    assert f"{PREFIX}7-" not in subprocess.run(("ip", "netns"), capture_output=True, text=True, check=True).stdout


@needs_root
@one_bed
def test_links_have_their_rate_buffer_and_delay() -> None:
    process = held(f"""Child("the echo", bed.namespace(links[1]), [sys.executable, "-c", {ECHO!r}], log).line()
    print(Child("the sender", bed.namespace(links[0]), [sys.executable, "-c", {SEND!r}], log).line(), flush=True)""")
    said, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    rounds = [tuple(float(word) for word in one.split()) for one in said.strip().rstrip(",").split(",")]
    alone = 0.1 + 1500 / 375e3 + 1500 / 1.5e6
    assert min(least for least, _, _ in rounds) == pytest.approx(alone + 0.005, abs=0.005)
    found = [(echoes, last - alone - (echoes - 1) * 1500 / 375e3) for _, echoes, last in rounds]
    # 13 packets of 1500 B wait in 20 000 B, one or two are let go at once
    assert any(echoes in (14, 15) and abs(off) < 0.01 for echoes, off in found), found


def test_a_link_has_an_address_of_its_own() -> None:
    assert Link(3, 1, 1, 1, 1).address == "198.18.3.2"
