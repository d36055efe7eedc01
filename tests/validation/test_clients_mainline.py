"""The mainline client in the test bed: what is counted of it, what is refused, and the model beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

import btflow
from btflow.errors import InputError, SimulationError
from validation.clients import cells, figures, hypotheses, mainline, predictions, programs, report, scenario
from validation.clients.peers import mainline_peer
from validation.clients.peers.mainline_peer import EDGES, Counts

CELL = cells.load()["mainline-20k-400ms"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the driver reads, which the test sets."""
    now = [0.0]
    monkeypatch.setattr(mainline_peer, "monotonic", lambda: now[0])
    return now


class Socket:
    """A socket that takes everything."""

    def send(self, data: bytes) -> int:
        return len(data)


class SingleSocket:
    """The client's socket."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket


def test_times_between_sends_are_those_of_one_connection(clock: list[float]) -> None:
    class Watched(SingleSocket):
        pass

    counts = Counts()
    mainline_peer.watch_sends(counts, Watched)
    one, other = Watched(Socket()), Watched(Socket())
    for t, end, size in ((0.0, one, 1380), (0.01, other, 1380), (0.05, one, 17), (0.25, one, 1380)):
        clock[0] = t
        assert end.socket.send(b"x" * size) == size
    bins = {i: n for i, n in enumerate(counts.gaps) if n}
    assert [(EDGES[i - 1] <= 0.25 < EDGES[i], n) for i, n in bins.items()] == [(True, 1)]
    assert sum(counts.all_gaps) == 2


class Upload:
    """The client's upload, as far as its choker is concerned."""

    def __init__(self, unchoke_time: int, requests: int) -> None:
        self.interested, self.choked, self.unchoke_time, self.buffer = True, False, unchoke_time, [0] * requests

    def unchoke(self, when: int) -> None:
        self.unchoke_time = when
        self.choked = False

    def choke(self) -> None:
        self.choked = True

    def got_request(self, *request: int) -> None:
        self.buffer.append(request)  # type: ignore[arg-type]


class Connection:
    """A connection of the client's."""

    def __init__(self, upload: Upload) -> None:
        self.upload, self.connection, self._partial_message = upload, self, None

    def is_flushed(self) -> bool:
        return True


class Choker:
    """A seed's choker that chokes whom it is told to."""

    count = 10

    def __init__(self, connections: list[Connection], victim: int) -> None:
        self.connections, self.victim = connections, victim

    def _rechoke_seed(self, forced: bool = False) -> None:
        self.count += forced
        self.connections[self.victim].upload.choke()


@pytest.mark.parametrize(
    ("ages", "requests", "victim", "idle"),
    [
        ((5, 4), (1, 0), 1, 1),  # the younger one goes, as nothing waits there
        ((5, 4), (1, 1), 1, 0),  # the younger one goes for another reason
        ((5, 4), (1, 0), 0, 0),  # the older one goes
        ((5, 2), (1, 0), 1, 0),  # so young a one does not go for being idle
    ],
)
def test_an_unchoke_that_ends_idle_is_told_from_others(
    ages: tuple[int, int], requests: tuple[int, int], victim: int, idle: int
) -> None:
    class Watched(Choker):
        pass

    class Uploads(Upload):
        pass

    counts = Counts()
    mainline_peer.watch_choker(counts, Watched, Uploads)
    ends = [Connection(Uploads(10 - age, n)) for age, n in zip(ages, requests, strict=True)]
    Watched(ends, victim)._rechoke_seed(True)
    assert (counts.idle_ends, counts.chokes, sum(counts.slots.values())) == (idle, 1, 2)
    found = figures._dry([{"slots": counts.slots}])
    assert found == sum(n == 0 for n in requests) / 2


def test_the_wait_for_the_first_request_is_counted_once(clock: list[float]) -> None:
    class Watched(Choker):
        pass

    class Uploads(Upload):
        pass

    counts = Counts()
    mainline_peer.watch_choker(counts, Watched, Uploads)
    upload = Uploads(0, 0)
    upload.choke()
    clock[0] = 1.0
    upload.unchoke(1)
    for t in (1.405, 2.0):
        clock[0] = t
        upload.got_request(0, 0, 0)
    assert sum(counts.waits) == 1
    assert counts.waits[next(i for i, edge in enumerate(EDGES) if edge > 0.405)] == 1


@pytest.mark.parametrize(
    ("version", "python", "words"),
    [
        (None, "", "BTFLOW_MAINLINE is '', not the folder of a copy of BitTorrent 4.0.2"),
        ("4.0.1", "", "is not BitTorrent 4.0.2"),
        ("4.0.2", "/nowhere", "python2.7 is missing"),
    ],
)
def test_a_client_that_is_not_there_is_one_line(
    version: str | None, python: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BTFLOW_MAINLINE", raising=False)
    if version:
        (tmp_path / "BitTorrent").mkdir()
        (tmp_path / "BitTorrent" / "__init__.py").write_text(f"version = '{version}'\n", encoding="utf-8")
        monkeypatch.setenv("BTFLOW_MAINLINE", str(tmp_path))
        monkeypatch.setenv("BTFLOW_PYTHON2", python)
    with pytest.raises(SimulationError, match=r"[^\n]+") as told:
        programs.python2()
    assert words in str(told.value)


def test_a_cell_without_links_is_a_swarm_behind_upload_limits_alone(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(scenario.text(CELL), encoding="utf-8")
    model = btflow.load(path)
    assert model.transport is not None
    assert all(part.access is None for part in model.classes)
    assert {part.upload_limit for part in model.classes} == {20 * 1024}


def test_a_hypothesis_that_is_none_is_one_line() -> None:
    with pytest.raises(InputError, match="--only = 'magic': is not a hypothesis; allowed: model, segments"):
        hypotheses.chosen("magic")
    assert list(hypotheses.chosen("no-nagle")) == ["model", "no-nagle"]


@pytest.mark.parametrize("name", hypotheses.HYPOTHESES)
def test_a_hypothesis_is_a_swarm_of_its_own(name: str, tmp_path: Path) -> None:
    one = hypotheses.HYPOTHESES[name]
    path = tmp_path / "swarm.toml"
    path.write_text(hypotheses.text(50, 1000, 5, one), encoding="utf-8")
    swarm = btflow.load(path).set(**one.values)
    assert (swarm.transport is None) == one.segments
    assert swarm.paths.loss == 0.05
    if name != "model":
        path.write_text(hypotheses.text(50, 1000, 5, hypotheses.HYPOTHESES["model"]), encoding="utf-8")
        assert swarm != btflow.load(path)


def test_the_report_says_what_the_tables_say() -> None:
    compared = report.compare(cells.load().values())
    found = mainline.Found(compared, predictions.read())
    assert mainline.page(compared, predictions.read()).text("mainline.md") == mainline.REPORT.read_text(
        encoding="utf-8"
    )
    said = mainline.claims(found)
    assert set(said) == {"R02", "R04", "R05", "R07", "R12"}
    for brief, sentence in said.values():
        assert len(brief) <= 60
        assert "nan" not in brief + sentence
    seen = found.seen("mainline-20k-400ms", "idle")
    assert seen > mainline.OFTEN > found.seen("mainline-20k-200ms", "idle")
