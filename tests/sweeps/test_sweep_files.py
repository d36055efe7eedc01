"""Files that the values of a sweep name: their content is the sweep's, wherever and whenever it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sweep_made import TINY, bits, read, tiny

from btflow import InputError, Scenario, load, simulate, sweep
from btflow.sweeps import api
from btflow.sweeps.declare import declaration, declare
from btflow.sweeps.plan import Plan
from btflow.sweeps.running import Running

MODELS = Path(__file__).parents[2] / "models"


def transport(path: Path, window: int) -> Path:
    path.write_text(f'base = "linux-2.6.32"\ninitial_window = {window}\n')
    return path


def client(path: Path, slots: int) -> Path:
    path.write_text(f'base = "mainline-4.0"\nmin_uploads = {slots}\n')
    return path


def planned(vary: dict[Any, object], scenario: Scenario | None = None, **fixed: object) -> Plan:
    made = scenario or tiny(rtt="20 ms")
    said = declaration(vary, fixed, "vary", replicas=2)
    return declare(made.document, made.given, said)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with two transports and two clients in it."""
    monkeypatch.chdir(tmp_path)
    for name, number in (("a", 1), ("b", 30)):
        transport(tmp_path / f"{name}.toml", number)
        client(tmp_path / f"client-{name}.toml", 1 + number)
    (tmp_path / "p.toml").write_text('base = "iplane"')
    return tmp_path


WAYS: dict[str, Callable[[], Plan]] = {
    "varied": lambda: planned({"transport": "a.toml,b.toml"}),
    "fixed": lambda: planned({"rtt": "10 ms,20 ms"}, transport="b.toml"),
    "together": lambda: planned({("transport", "rtt"): [("a.toml", "10 ms"), ("b.toml", "20 ms")]}),
    "paths": lambda: planned({"internet": "none,p.toml"}, tiny()),
    "clients": lambda: planned({"classes.*.client": ["client-a.toml", "client-b.toml"]}),
    "based": lambda: planned({"transport": [{"base": "a.toml", "quick_acks": 2}, {"base": "b.toml"}]}),
    "loaded": lambda: planned({"rtt": "10 ms,20 ms"}, load("rao2010", **TINY, transport="b.toml")),
    "chosen": lambda: declare(
        load("rao2010", **TINY).document,
        TINY,
        declaration({"transport": "choice(a.toml, b.toml)"}, {}, "vary", sample="random:4", replicas=2),
    ),
}


@pytest.mark.parametrize(("way", "backend"), [*((way, "threads") for way in WAYS), ("varied", "processes")])
def test_nobody_needs_the_files_once_the_sweep_is_declared(
    here: Path, way: str, backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = sweep(load("rao2010", **TINY), {"rtt": "0 ms"}, jobs=1, progress=False)
    made = WAYS[way]()
    for file in here.glob("*.toml"):
        file.unlink()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert api.execute(made, elsewhere / "a.zarr", Running(jobs=1, backend=backend)) == (made.units, 0)
    assert set(read(elsewhere / "a.zarr").data_vars) == set(before.data_vars)


@pytest.mark.usefixtures("here")
def test_a_point_is_the_single_run_with_that_file() -> None:
    scenario = tiny(rtt="20 ms", upload_limit="100 kB/s")
    vary = {"transport": ["a.toml", "b.toml"], "classes.*.client": ["client-a.toml", "client-b.toml"]}
    found = sweep(scenario, dict(vary.items()), replicas=2, jobs=1, progress=False)
    assert found.transport.values.tolist() == vary["transport"]
    assert found["classes.*.client"].values.tolist() == vary["classes.*.client"]
    seen = set()
    for i, a in enumerate(vary["transport"]):
        for j, b in enumerate(vary["classes.*.client"]):
            at = found.isel({"transport": i, "classes.*.client": j})
            run = simulate(scenario.set(**{"transport": a, "classes.*.client": b}), seed=int(at.seed), replicas=2)
            leechers = run.isel(peer=(run.role == "leecher").values)
            assert at.completion_max.values.tolist() == leechers.completion_time.max("peer").values.tolist()
            assert at.unchokes.values.tolist() == leechers.unchokes.sum("peer").values.tolist()
            seen.add(float(at.completion_max[0]))
    assert len(seen) > 1


@pytest.mark.parametrize("way", ["varied", "together", "clients", "chosen", "based"])
def test_a_file_that_has_changed_is_refused(here: Path, way: str) -> None:
    path = here / "s.zarr"
    api.execute(WAYS[way](), path, Running(jobs=1))
    before = bits(read(path))
    transport(here / "b.toml", 20)
    client(here / "client-b.toml", 2)
    with pytest.raises(InputError) as caught:
        api.execute(WAYS[way](), path, Running(jobs=1), resume=True)
    assert "has changed" in str(caught.value)
    assert "b.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert bits(read(path)).identical(before)


@pytest.mark.parametrize(
    ("way", "written", "said"),
    [
        ("varied", {"a.toml": 30, "b.toml": 1}, r"transport = a\.toml has changed"),  # they change places
        ("fixed", {"b.toml": 20}, "another scenario"),
        ("loaded", {"b.toml": 20}, "another scenario"),
    ],
)
def test_files_that_change_places_or_are_set_and_have_changed_are_refused(
    here: Path, way: str, written: dict[str, int], said: str
) -> None:
    path = here / "s.zarr"
    api.execute(WAYS[way](), path, Running(jobs=1))
    for name, window in written.items():
        transport(here / name, window)
    with pytest.raises(InputError, match=said):
        api.execute(WAYS[way](), path, Running(jobs=1), resume=True)


def test_a_comment_in_a_file_is_no_change(here: Path) -> None:
    path = here / "s.zarr"
    api.execute(WAYS["varied"](), path, Running(jobs=1))
    with (here / "a.toml").open("a") as file:
        file.write("# as measured\n")
    assert api.execute(WAYS["varied"](), path, Running(jobs=1), resume=True) == (4, 0)


def test_a_choice_of_the_model_that_has_changed_is_refused(tmp_path: Path) -> None:
    """What a word of a parameter stands for is in the model's file, or in a file that this names."""
    source = (MODELS / "swarms" / "rao2010.toml").read_text()
    choice = '\n[parameters.tcp]\nkind = "choice"\nmeaning = "TCP"\nsets = ["transport"]\n'
    choice += 'choices = ["linux-2.6.32", "other.toml"]\n'
    (tmp_path / "my.toml").write_text(source + choice)
    transport(tmp_path / "other.toml", 20)

    def made() -> Plan:
        return planned({"tcp": "linux-2.6.32,other.toml"}, load(tmp_path / "my.toml", **TINY))

    path = tmp_path / "s.zarr"
    api.execute(made(), path, Running(jobs=1))
    assert api.execute(made(), path, Running(jobs=1), resume=True) == (4, 0)
    transport(tmp_path / "other.toml", 25)
    with pytest.raises(InputError, match=r"tcp = other\.toml has changed"):
        api.execute(made(), path, Running(jobs=1), resume=True)


def test_a_file_that_is_missing_or_wrong_is_one_error_before_any_work(here: Path) -> None:
    (here / "bad.toml").write_text("initial_window = [\n")
    for name in ("none.toml", "bad.toml"):
        with pytest.raises(InputError, match=name):
            planned({"transport": f"a.toml,{name}"})
        with pytest.raises(InputError, match=name):
            planned({"rtt": "0 ms"}, transport=name)


def test_paths_in_a_model_file_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its table ``[sweep]`` as everywhere in it; those on the command line are relative to the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models"
    folder.mkdir()
    transport(folder / "a.toml", 1)
    transport(folder / "b.toml", 30)
    transport(tmp_path / "b.toml", 4)
    client(folder / "c.toml", 3)
    source = (MODELS / "swarms" / "rao2010.toml").read_text()
    table = '\n[sweep]\nset = { leechers = 2, file_size = "512 KiB", "classes.*.client" = "c.toml" }\n[sweep.vary]\n'
    for varied in (
        'transport = ["a.toml", { base = "b.toml" }, "linux-2.6.32"]',
        'transport = "a.toml,b.toml,linux-2.6.32"',
        '"transport,rtt" = [["a.toml", "0 ms"], ["b.toml", "0 ms"], ["linux-2.6.32", "5 ms"]]',
        '"transport,rtt" = "(a.toml,0 ms),(b.toml,0 ms),(linux-2.6.32,5 ms)"',
    ):
        (folder / "my.toml").write_text(f"{source}{table}{varied}\n")
        made = declare(load("models/my.toml").document, {}, declaration({}, {}, "vary"))
        found = [made.job.scenario.set(**made.settings(point)).transport for point in range(3)]
        assert [at and at.initial_window for at in found] == [1, 30, 3]
        assert made.job.scenario.classes[0].client.min_uploads == 3
    (folder / "alone.toml").write_text(f'{source}{table}transport = {{ base = "a.toml" }}\n')
    alone = declare(load("models/alone.toml").document, {}, declaration({}, {}, "vary"))
    assert alone.job.scenario.transport is not None
    assert alone.job.scenario.transport.initial_window == 1
    over = declare(load("models/my.toml").document, {}, declaration({"transport": "b.toml"}, {}, "vary"))
    assert over.job.scenario.transport is not None
    assert over.job.scenario.transport.initial_window == 4
