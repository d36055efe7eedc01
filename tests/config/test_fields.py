"""Any field of a scenario is set by its dotted path, and one field by one source only."""

from __future__ import annotations

import json
import math
import pickle
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from btflow import InputError, LinkScenario, Scenario, describe, load, load_link, simulate
from btflow.config.catalog import document, link_document

Values = dict[str, Any]


@pytest.fixture(scope="module")
def flashcrowd() -> Scenario:
    return load("flashcrowd")


@pytest.fixture(scope="module")
def geni() -> LinkScenario:
    return load_link("geni")


def read(scenario: Any, path: str) -> Any:
    """Return the value at a dotted path, with an entry's name in place of its number."""
    for key in path.split("."):
        if isinstance(scenario, tuple):
            scenario = next(entry for entry in scenario if entry.name == key)
        elif isinstance(scenario, dict):
            scenario = scenario[key]
        else:
            scenario = getattr(scenario, key)
    return scenario


SET: list[tuple[str, str, object, object]] = [
    ("rao2010", "slots", "6", 6),
    ("rao2010", "slots", 6, 6),
    ("rao2010", "horizon", "2 h", 7200.0),
    ("rao2010", "paths.rtt", "100 ms", 0.1),
    ("rao2010", "paths.loss", 0.05, 0.05),
    ("rao2010", "classes.leechers.upload_limit", "30 kB/s", 30 * 1024.0),
    ("rao2010", "classes.leechers.location", "none", ()),
    ("rao2010", "transport.initial_window", "10", 10),
    ("rao2010", "transport.tso", "on", True),
    ("rao2010", "departures.stay", "leave", "leave"),
    ("rao2010", "paths.matrix", "none", None),
    ("flashcrowd", "classes.utp.access.uplink.discipline", "codel", "codel"),
    ("flashcrowd", "classes.utp.access.uplink.framing", "18 B", 18),
    ("flashcrowd", "classes.utp.opens", "utp", ("utp",)),
    ("flashcrowd", "classes.utp.opens", ["utp"], ("utp",)),
    ("flashcrowd", "classes.utp.opens", '["utp"]', ("utp",)),
    ("flashcrowd", "classes.utp.upload_limit", "none", math.inf),
    ("flashcrowd", "classes.utp.utp.target", "25 ms", 0.025),
    ("flashcrowd", "classes.utp.disposition", 10, 10),
    ("flashcrowd", "classes.utp.share", "20%", 0.2),
    ("flashcrowd", "idealised.acks", "true", True),
    ("geni", "duration", "60 s", 60.0),
    ("geni", "paths.loss", "1%", 0.01),
    ("geni", "flows.iperf.window", "64 KiB", 65536),
    ("geni", "flows.iperf.cc.beta", 0.8, 0.8),
    ("geni", "access.downloader.downlink.rate", "1 Mbit/s", 125e3),
    ("geni", "bottleneck", "seed-a.uplink", "seed-a.uplink"),
    ("geni", "bottleneck", None, None),
]


@pytest.mark.parametrize(("model", "path", "given", "value"), SET)
def test_a_path_sets_its_field_and_is_taken_back(model: str, path: str, given: object, value: object) -> None:
    base: Any = load_link(model) if model == "geni" else load(model)
    changed = base.set(**{path: given})
    assert read(changed, path) == value
    assert base.set(**changed.parameters) == changed
    copy = pickle.loads(pickle.dumps(changed))
    assert copy.parameters == changed.parameters
    assert base.set(**{path: copy.parameters[path]}) == copy.set(**{path: given}) == changed


def test_paths_may_be_given_when_loading(flashcrowd: Scenario) -> None:
    values: Values = {"classes.*.client": "mainline-4.0", "rtt": "5 ms"}
    assert load("flashcrowd", **values) == flashcrowd.set(**values)
    link: Values = {"flows.iperf.cc": "bbr"}
    cc = load_link("geni", **link).flows[0].cc
    assert cc is not None
    assert cc.law == "bbr"


def test_a_star_sets_a_field_of_every_entry(flashcrowd: Scenario, geni: LinkScenario) -> None:
    every = flashcrowd.set(**{"classes.*.client": "mainline-4.0", "classes.*.access.uplink.framing": "4 B"})
    assert {c.client.name for c in every.classes} == {"mainline-4.0"}
    assert {c.access.uplink.framing for c in every.classes if c.access} == {4}
    one_by_one = {f"classes.{c.name}.client": "mainline-4.0" for c in flashcrowd.classes}
    assert flashcrowd.set(**one_by_one, **{"classes.*.access.uplink.framing": "4 B"}) == every
    assert {f.cc.name for f in geni.set(**{"flows.*.cc": "vegas"}).flows if f.cc} == {"vegas"}
    assert {link.uplink.framing for link in geni.set(**{"access.*": "adsl"}).access} == {0}


def test_a_table_is_set_before_the_fields_in_it(rao2010: Scenario) -> None:
    values: Values = {"classes.*.client.max_uploads": 4, "classes.*.client": "libtorrent-2"}
    for order in (values, dict(reversed(values.items()))):
        changed = rao2010.set(**order)
        assert {(c.client.name, c.client.max_uploads) for c in changed.classes} == {("libtorrent-2", 4)}
    in_turn = rao2010.set(**{"classes.*.client.max_uploads": 4}).set(**{"classes.*.client": "libtorrent-2"})
    assert in_turn == changed
    assert in_turn.parameters == changed.parameters
    assert json.dumps(dict(in_turn.parameters)) == json.dumps(dict(changed.parameters))


def test_a_parameter_too_is_set_after_the_table_it_is_in(rao2010: Scenario, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    text = (files("btflow.models") / "transports" / "linux-2.6.32.toml").read_text()
    own.write_text(text.replace("initial_window = { value = 3", "initial_window = { value = 7"))
    path: Values = {"transport": str(own)}
    new = rao2010.set(**path)
    assert new.transport is not None
    assert new.transport.initial_window == 7  # the file's, not the default of a parameter nobody gave
    assert "initial_window" not in new.parameters
    both = new.set(initial_window=10)
    assert both.transport is not None
    assert both.transport.initial_window == 10
    assert both == rao2010.set(initial_window=10, **path) == rao2010.set(**both.parameters)
    own.write_text(text.replace("initial_window", "initial_windows"))
    assert new.set(rtt="1 ms").transport == new.transport  # a file is read once for a loaded model
    with pytest.raises(InputError, match="initial_window"):
        load("rao2010", **path)


def test_a_table_may_be_written_out(rao2010: Scenario) -> None:
    as_text = rao2010.set(transport='{ base = "linux-2.6.32", rto_min = "1 s", nagle = false }')
    as_table: Values = {"transport": {"base": "linux-2.6.32", "rto_min": "1 s", "nagle": False}}
    assert as_text.transport is not None
    assert (as_text.transport.rto_min, as_text.transport.nagle) == (1.0, False)
    assert rao2010.set(**as_table) == as_text == rao2010.set(**as_text.parameters)
    steps: Values = {"classes.*.client.slot_table": [{"below": "9 KiB/s", "uploads": 2}]}
    table = rao2010.set(**steps)
    assert [(s.below, s.uploads) for s in table.classes[1].client.slot_table] == [(9216.0, 2)]
    assert rao2010.set(**table.parameters) == table


@pytest.mark.parametrize("cc", ["cubic", {"base": "cubic"}, {"base": "cubic", "hystart": False}])
def test_names_and_bases_in_a_table_are_read(cc: object) -> None:
    model = load_link("bufferbloat")
    table = {"from": "home", "to": "internet", "cc": cc}
    values: Values = {"flows.upload": table}
    found = model.set(**values)
    values = {"flows.upload.cc": cc}
    assert found.flows[0].cc == model.set(**values).flows[0].cc
    assert model.set(**found.parameters) == found
    values = {"flows.upload": table | {"cc": "cubics"}}
    with pytest.raises(InputError, match=r"flows.upload.cc = 'cubics': is not a name in models/congestion"):
        model.set(**values)


def test_lists_are_texts_with_commas(rao2010: Scenario) -> None:
    few = rao2010.set(leechers=3, **{"arrivals.kind": "trace", "arrivals.times": "0 s, 1 s,1 min"})
    assert few.arrivals.times == (0.0, 1.0, 60.0)
    assert few.parameters["arrivals.times"] == "0 s,1 s,1 min"
    assert rao2010.set(**few.parameters) == few


def test_a_field_takes_the_place_of_its_rivals_in_the_file(rao2010: Scenario, flashcrowd: Scenario) -> None:
    poisson = rao2010.set(**{"arrivals.kind": "poisson", "arrivals.interval": "1 s"})
    assert (poisson.arrivals.interval, poisson.arrivals.spread) == (1.0, 0.0)
    assert "arrival_spread" not in poisson.parameters
    assert rao2010.set(**poisson.parameters) == poisson
    counts: Values = {"classes.tcp.count": 3, "classes.utp.count": 4, "population": None}
    assert [c.number for c in load("flashcrowd", **counts).classes] == [1, 3, 4]
    assert flashcrowd.set(**{"classes.utp.disposition": 10}).classes[2].opens == ("utp",)
    with pytest.raises(InputError, match="never used by arrivals of kind poisson"):
        poisson.set(arrival_spread="5 s")


def test_a_model_without_access_links_can_be_put_on_them(rao2010: Scenario) -> None:
    linked = rao2010.set(
        **{
            "transport": "none",
            "paths.matrix": "none",
            "sockets": "linux-2.6",
            "classes.*.access.uplink.rate": "1 Mbit/s",
            "classes.*.access.uplink.buffer": "100 packets",
            "classes.*.tcp": "cubic",
        }
    )
    assert linked.linked
    assert rao2010.set(**linked.parameters) == linked


def test_the_digest_does_not_know_how_a_value_was_set(rao2010: Scenario, flashcrowd: Scenario) -> None:
    same = (
        {"rtt": "400 ms"},
        {"paths.rtt": "0.4 s"},
        {"paths.rtt": "400000 us"},
    )
    assert len({rao2010.set(**values).digest() for values in same}) == 1
    by_path = {"classes.seed.client": "mainline-4.0", "classes.tcp.client": "mainline-4.0"}
    assert (
        flashcrowd.set(client="mainline-4.0").digest()
        == flashcrowd.set(**{"classes.*.client": "mainline-4.0"}).digest()
        == flashcrowd.set(**by_path, **{"classes.utp.client": '{ base = "mainline-4.0" }'}).digest()
    )


def test_what_was_set_is_in_the_result() -> None:
    scenario = load("rao2010", leechers=2, file_size="256 KiB", **{"classes.*.client.max_uploads": "4"})
    told = json.loads(simulate(scenario, seed=1).attrs["parameters"])
    assert told == dict(scenario.parameters)
    assert told["classes.*.client.max_uploads"] == "4"
    assert load("rao2010", **told) == scenario


def test_a_parameter_of_a_table_that_is_taken_out_is_refused() -> None:
    assert load("testa2012", idealised=None).idealised.acks is False
    with pytest.raises(InputError, match=r"ideal_acks.* is in a table that is not there"):
        load("testa2012", idealised=None, ideal_acks=True)


def test_all_that_is_wrong_is_said_at_once(rao2010: Scenario) -> None:
    with pytest.raises(InputError) as caught:
        rao2010.set(**{"paths.rt": "1 s", "slots": "x", "rtt": "1"})
    assert {problem.field for problem in caught.value.problems} == {"paths.rt", "slots", "rtt"}


def test_what_is_wrong_with_the_whole_names_what_was_given(rao2010: Scenario) -> None:
    with pytest.raises(InputError) as caught:
        rao2010.set(**{"swarm.piece_size": "17.0 KiB"})
    assert caught.value.describe().startswith("swarm.piece_size = '17.0 KiB': is not a usable number of blocks")
    with pytest.raises(InputError) as every:
        rao2010.set(**{"classes.*.count": "0"})
    assert {problem.field for problem in every.value.problems} == {"classes.*.count"}


def test_settings_that_the_file_has_beside_what_uses_them_are_no_error(flashcrowd: Scenario) -> None:
    assert (flashcrowd.departures.stay, flashcrowd.departures.mean_stay) == ("forever", 0.5)
    assert flashcrowd.set(**{"departures.mean_stay": 0.4, "stay": "random"}).departures.mean_stay == 0.4
    assert flashcrowd.set(**{"departures.replace": "false"}).departures.replace is False


DESCRIBED = [
    ("flashcrowd", "rtt", "time", "s", "30 ms", 0.03, "30 ms"),
    ("flashcrowd", "paths.rtt", "time", "s", "30 ms", 0.03, "30 ms"),
    ("flashcrowd", "population", "count", "", "30", 30, "30"),
    ("flashcrowd", "classes.utp.share", "fraction", "", "30%", 0.3, "30%"),
    ("flashcrowd", "classes.*.access.uplink.rate", "rate", "B/s", "8 Mbit/s", 1e6, "8 Mbit/s"),
    ("flashcrowd", "classes.*.access.uplink.rate", "rate", "B/s", "none", math.inf, "unlimited"),
    ("flashcrowd", "classes.*.client", "choice", "", "libtorrent-2", "libtorrent-2", "libtorrent-2"),
    ("flashcrowd", "classes.utp.opens", "names", "", ["utp", "tcp"], "utp,tcp", "utp,tcp"),
    ("flashcrowd", "buffer", "buffer", "", "0.1 s", "100 ms", "100 ms"),
    ("flashcrowd", "idealised.acks", "flag", "", "on", True, "true"),
    ("flashcrowd", "horizon", "time", "s", None, math.nan, "none"),
    ("flashcrowd", "arrivals.times", "text", "", "0 s, 1 s", "0 s,1 s", "0 s,1 s"),
    ("geni", "transport", "choice", "", "utp", "utp", "utp"),
    ("geni", "flows.*.cc.mss", "size", "B", "1 kB", 1000, "1 kB"),
    ("rao2010", "swarm.file_size", "size", "B", "1 kB", 1024, "1 kB"),
]


@pytest.mark.parametrize(("model", "name", "kind", "unit", "given", "value", "text"), DESCRIBED)
def test_a_name_is_described(model: str, name: str, kind: str, unit: str, given: Any, value: Any, text: str) -> None:
    read_in: Any = link_document(model) if model == "geni" else document(model)
    for source in (read_in, read_in.build({})):
        variable = describe(source, name)
        assert (variable.name, variable.kind, variable.unit) == (name, kind, unit)
        assert variable.meaning
        assert variable.text(given) == text
        assert variable.value(given) == pytest.approx(value, nan_ok=True) if value != text else value
        assert variable.from_si(variable.value(given)) == text
        with pytest.raises(InputError) as caught:
            variable.value(("of no", 3))
        assert caught.value.field == name
    with pytest.raises(InputError, match="did you mean"):
        describe(read_in, f"{name}s")


def test_words_and_limits_of_a_name(flashcrowd: Scenario) -> None:
    assert "libtorrent-2" in describe(flashcrowd, "classes.seed.client").words
    assert describe(flashcrowd, "departures.stay").words == ("forever", "leave", "random")
    assert describe(flashcrowd, "paths.loss").limits == describe(flashcrowd, "loss").limits == (0, 0.4)
    assert describe(flashcrowd, "buffer").limits is None
