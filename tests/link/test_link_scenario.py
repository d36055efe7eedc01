"""Link experiments: units, defaults, what is derived from them, and that nonsense is refused by name."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btflow import InputError, LinkScenario, load_link
from btflow.config.catalog import parse_as
from btflow.link.options import scenario_from
from btflow.link.scenario import LINKS
from btflow.units import Buffer, format_quantity, parse_quantity

TREE: dict[str, Any] = {
    "name": "trial",
    "title": "A trial",
    "source": "made up",
    "duration": "100 s",
    "access": {"home": {"uplink": {"rate": "1 Mbit/s", "buffer": "100 packets"}}},
    "paths": {"rtt": "50 ms"},
    "flows": {"upload": {"cc": "cubic", "from": "home", "to": "internet"}},
}


def build(**changes: Any) -> LinkScenario:
    """Return the trial with fields changed by path, `__` between its parts; None takes a field out."""
    tree = copy.deepcopy(TREE)
    for path, value in changes.items():
        *tables, field = path.split("__")
        here = tree
        for table in tables:
            here = here.setdefault(table, {})
        if value is None:
            del here[field]
        else:
            here[field] = value
    return parse_as(LINKS, tree).build({})


def test_defaults() -> None:
    scenario = build()
    assert (scenario.warmup_time, scenario.sample_period) == (20.0, 0.05)
    assert build(duration="1 h").warmup_time == 60.0
    assert list(scenario.queues) == ["home.uplink"]
    assert scenario.bottleneck_queue == "home.uplink"
    flow = scenario.flows[0]
    assert (flow.kind, flow.members, flow.start, flow.stop) == ("long", ("upload",), 0.0, None)
    assert (flow.packet, flow.max_window) == (1500, 4 * 2**20)
    assert (scenario.data_queues(flow), scenario.ack_queues(flow)) == (("home.uplink",), ())
    assert (scenario.paths.loss, scenario.paths.ack_loss, scenario.paths.rtt_spread) == (0.0, 0.0, 0.002)


@pytest.mark.parametrize(
    ("text", "packets", "size"),
    [
        ("100 packets", 100, None),
        ("150 kB", None, 150_000),
        ("64 KiB", None, 65536),
        ("200 ms", None, 25_000),
        ("1.5 BDP", None, 9375),
    ],
)
def test_buffers(text: str, packets: int | None, size: float | None) -> None:
    queue = build(access__home__uplink__buffer=text).queues["home.uplink"]
    assert queue.limit_packets() == packets
    assert queue.limit_bytes(0.05) == (None if size is None else pytest.approx(size))


buffers = st.one_of(
    st.builds(Buffer, st.integers(1, 10**6).map(float), st.just("packets")),
    st.builds(Buffer, st.integers(1, 2**30).map(float), st.just("size")),
    st.builds(Buffer, st.floats(1e-5, 100), st.just("time")),
    st.builds(Buffer, st.floats(0.001, 1000), st.just("bdp")),
)


@given(buffers)
def test_a_buffer_is_read_back(buffer: Buffer) -> None:
    assert parse_quantity(format_quantity(buffer, "buffer"), "buffer") == buffer


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (100, "is not a text"),
        ("100", "has no unit"),
        ("", "does not start with a number"),
        ("many packets", "does not start with a number"),
        ("0 packets", "out of range"),
        ("1.5 packets", "not a whole number"),
        ("-1 packets", "negative"),
        ("10 apples", "unknown unit 'apples'"),
        ("2 Mbit/s", "unknown unit"),
        ("0 BDP", "out of range"),
        ("1e9 ms", "out of range"),
        ("nan packets", "does not start with a number"),
    ],
)
def test_refused_buffers(text: object, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as error:
        build(access__home__uplink__buffer=text)
    assert error.value.field == "access.home.uplink.buffer"
    assert error.value.allowed


def test_an_unlimited_link_has_no_queue() -> None:
    scenario = build(access__home__downlink={"rate": "unlimited"})
    assert list(scenario.queues) == ["home.uplink"]
    assert math.isinf(scenario.access[0].downlink.rate)


@pytest.mark.parametrize(
    ("discipline", "constants"),
    [
        ("drop-tail", {}),
        ("codel", {"target": 0.005, "interval": 0.1}),
        ("fq-codel", {"target": 0.005, "interval": 0.1, "quantum": 1514}),
        ("pie", {"target": 0.015, "update": 0.015, "burst": 0.15, "alpha": 0.125, "beta": 1.25}),
        ("cake", {"target": 0.005, "interval": 0.1, "isolation": "triple-isolate"}),
    ],
)
def test_disciplines_have_the_constants_of_their_sources(discipline: str, constants: dict[str, float | str]) -> None:
    queue = build(access__home__uplink__discipline=discipline).queues["home.uplink"]
    names = ("target", "interval", "quantum", "update", "burst", "alpha", "beta", "isolation")
    assert {name: getattr(queue, name) for name in names if getattr(queue, name) is not None} == constants


KINDS = {
    "long": {},
    "sized": {"size": "1 MB"},
    "rate": {"rate": "100 kbit/s"},
    "on-off": {"on": "1 s", "off": "2 s"},
    "messages": {"message": "100 B", "period": "1 s"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_flows(kind: str) -> None:
    scenario = build(flows__upload={**TREE["flows"]["upload"], **KINDS[kind]})
    assert scenario.flows[0].kind == kind


def test_calls() -> None:
    flow = build(flows__upload={"codec": "g729", "from": "home", "to": "internet", "count": 2}).flows[0]
    assert (flow.kind, flow.members, flow.packet) == ("voip", ("upload-1", "upload-2"), 60)
    other = {"base": "g729", "frames_per_packet": 1}
    assert build(flows__upload={"codec": other, "from": "home", "to": "internet"}).flows[0].packet == 50


def test_a_congestion_control_may_start_from_another() -> None:
    flow = build(flows__upload__cc={"base": "cubic", "mss": "500 B"}).flows[0]
    assert flow.cc is not None
    assert (flow.cc.name, flow.cc.mss, flow.cc.beta) == ("cubic", 500, 0.7)


def test_digest_is_of_the_physical_content_alone() -> None:
    scenario = build()
    assert build(name="other", title="Other", source="else").digest() == scenario.digest()
    assert build(warmup="20 s", sample="50 ms", bottleneck="home.uplink").digest() == scenario.digest()
    assert build(flows__upload__cc={"base": "cubic", "title": "x"}).digest() == scenario.digest()
    changes: list[dict[str, Any]] = [
        {"duration": "101 s"},
        {"paths__rtt": "51 ms"},
        {"flows__upload__cc": "newreno"},
        {"access__home__uplink__buffer": "101 packets"},
        {"flows__upload__start": "1 s"},
    ]
    assert len({build(**change).digest() for change in changes} | {scenario.digest()}) == len(changes) + 1


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"duration": "0 s"}, "duration", "out of range"),
    ({"duration": "2 d"}, "duration", "out of range"),
    ({"duration": 100}, "duration", "has no unit"),
    ({"duration": None}, "duration", "missing"),
    ({"warmup": "100 s"}, "warmup", "nothing to measure"),
    ({"sample": "10 us"}, "sample", "too many samples"),
    ({"bottleneck": "home.downlink"}, "bottleneck", "home.uplink"),
    ({"nosuch": 1}, "nosuch", "not a known field"),
    ({"paths__rtt": "11 s"}, "paths.rtt", "out of range"),
    ({"paths__rtt": "-1 ms"}, "paths.rtt", "negative"),
    ({"paths__loss": "50%"}, "paths.loss", "out of range"),
    ({"paths__los": "5%"}, "paths.los", "did you mean loss"),
    ({"paths": None}, "paths", "missing"),
    ({"access__home__uplink__rate": "1 bit/s"}, "access.home.uplink.rate", "out of range"),
    ({"access__home__uplink__rate": "20 Gbit/s"}, "access.home.uplink.rate", "out of range"),
    ({"access__home__uplink__rate": 1000000}, "access.home.uplink.rate", "has no unit"),
    ({"access__home__uplink__rate": "unlimited"}, "access.home.uplink.buffer", "never used"),
    ({"access__home__uplink__buffer": None}, "access.home.uplink.buffer", "missing"),
    ({"access__home__uplink__buffer": "1000 B"}, "access.home.uplink.buffer", "at least 1500 B"),
    ({"access__home__uplink__discipline": "red"}, "access.home.uplink.discipline", "drop-tail"),
    ({"access__home__uplink__target": "5 ms"}, "access.home.uplink.target", "never used by drop-tail"),
    ({"access__home__uplink__framing": "1 kB"}, "access.home.uplink.framing", "out of range"),
    ({"access__home": "nosuch"}, "access.home", "adsl"),
    ({"access__home": 3}, "access.home", "neither a name nor a table"),
    ({"access__home__base": 3}, "access.home.base", "not a name"),
    ({"access__internet": {}}, "access", "the other side"),
    ({"access": 3}, "access", "no table for each access link"),
    ({"flows": {}}, "flows", "out of range"),
    ({"flows": None}, "flows", "no table for each group"),
    ({"flows__upload__count": 0}, "flows", "1 to 1000 flows"),
    ({"flows__upload__count": 1001}, "flows.upload.count", "out of range"),
    ({"flows__upload__count": 1.5}, "flows.upload.count", "whole number"),
    ({"flows__upload__cc": "cubc"}, "flows.upload.cc", "did you mean cubic"),
    ({"flows__upload__cc": None}, "flows.upload.cc", "missing"),
    ({"flows__upload__cc": {"base": "cubic", "target": "25 ms"}}, "flows.upload.cc.target", "never used by cubic"),
    ({"flows__upload__cc": {"base": "vegas", "hs_least": "4 ms"}}, "flows.upload.cc.hs_least", "never used by vegas"),
    ({"flows__upload__cc": {"base": "cubic", "variant": "2010"}}, "flows.upload.cc.variant", "rfc9438"),
    ({"flows__upload__cc": {"base": "cubic", "law": "utp"}}, "flows.upload.cc.variant", "2010, 2013"),
    ({"flows__upload__cc": {"base": "cubic", "rto_min": "200 s"}}, "flows.upload.cc.rto_min", "exceeds rto_max"),
    ({"flows__upload__cc": {"base": "tcp-linux"}}, "flows.upload.cc.law", "missing"),
    ({"flows__upload__from": None}, "flows.upload.from", "missing"),
    ({"flows__upload__from": "work"}, "flows.upload.from", "home, internet"),
    ({"flows__upload__to": "home"}, "flows.upload.to", "no link"),
    ({"flows__upload__to": None}, "flows.upload.to", "missing"),
    ({"flows__upload__frm": "home"}, "flows.upload.frm", "did you mean from"),
    ({"flows__upload__from": "internet"}, "flows.upload", "no queue"),
    ({"flows__upload__start": "100 s"}, "flows.upload.start", "before the end"),
    ({"flows__upload__stop": "0 s"}, "flows.upload.stop", "after the start"),
    ({"flows__upload__size": 1000}, "flows.upload.size", "has no unit"),
    ({"flows__upload__size": "0 B"}, "flows.upload.size", "out of range"),
    ({"flows__upload__on": "1 s"}, "flows.upload.off", "missing beside on"),
    ({"flows__upload__period": "1 s"}, "flows.upload.message", "missing beside period"),
    ({"flows__upload__size": "1 MB", "flows__upload__rate": "1 Mbit/s"}, "flows.upload.rate", "does not go with size"),
    ({"flows__upload__codec": "g729"}, "flows.upload.cc", "speech has no congestion control"),
    ({"flows__upload__window": "1000 B"}, "flows.upload.window", "at least 1448 B"),
    ({"flows__a b": {"cc": "cubic", "from": "home", "to": "internet"}}, "flows", "is not a name"),
    ({"flows__upload-1": dict(TREE["flows"]["upload"]), "flows__upload__count": 2}, "flows", "name of two"),
    ({"duration": "1 d", "access__home__uplink__rate": "10 Gbit/s"}, "duration", "packets of work"),
    (
        {"flows__upload__rtt": "0 s", "flows__upload__from": "internet", "flows__upload__size": "1 MB"},
        "flows",
        "limits",
    ),
]


@pytest.mark.parametrize(("changes", "field", "text"), REFUSED, ids=[f"{f}: {t}" for _, f, t in REFUSED])
def test_what_is_refused_is_named(changes: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(InputError) as error:
        build(**changes)
    assert any(p.field.startswith(field) and text in p.describe() for p in error.value.problems), str(error.value)


def test_hystart_is_switched_off_by_one_field() -> None:
    changed = build(flows__upload__cc={"base": "cubic", "hystart": False})
    cc = changed.flows[0].cc
    assert cc is not None
    assert not cc.hystart


def test_a_loop_of_bases_ends(tmp_path: Any) -> None:
    path = tmp_path / "loop.toml"
    path.write_text(f'base = "{path}"\nname = "loop"\n')
    with pytest.raises(InputError, match="perhaps of itself"):
        build(flows__upload__cc=str(path))


PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "choice", "values": {"a": ["cubic"]}, "sets": ["flows.upload.cc", "paths.rtt"]}, "parameters.p.values.a"),
    ({"kind": "time", "values": {"a": "cubic"}, "sets": ["paths.rtt"]}, "parameters.p.values"),
    ({"kind": "choice", "values": {"a": "newreno"}, "sets": ["flows.upload.cc"]}, "flows.upload.cc"),
    ({"kind": "choice", "values": {"a": "cubic", "b": "nosuch"}, "sets": ["flows.upload.cc"]}, "parameters.p"),
    ({"kind": "choice", "values": {"a": "1"}, "sets": ["flows.upload.count"]}, "flows.upload.count"),
    ({"kind": "buffer", "sets": ["access.home.downlink.buffer"]}, "access.home.downlink.buffer"),
]


@pytest.mark.parametrize(("body", "field"), PARAMETERS)
def test_wrong_parameters_of_a_file(body: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as error:
        build(parameters={"p": {"meaning": "x", **body}})
    assert error.value.field.startswith(field)


SETTINGS: list[tuple[str, dict[str, Any], str, str]] = [
    ("geni", {"transport": "udp"}, "transport", "tcp, utp"),
    ("geni", {"seeds": 3}, "seeds", "0, 1, 2"),
    ("geni", {"buffer": "20"}, "buffer", "no unit"),
    ("geni", {"nosuch": 1}, "nosuch", "transport"),
    ("geni", {"duration": "1 s"}, "duration", "warmup"),
    ("opnet2009", {"downloads": 2000}, "downloads", "0 to 1000"),
    ("bufferbloat", {"rate": "1 bit/s"}, "rate", "out of range"),
    ("latecomer", {"start": "1 h"}, "start", "before the end"),
    ("coexistence", {"high": 0, "low": 0}, "flows", "1 to 1000"),
]


@pytest.mark.parametrize(("model", "values", "field", "text"), SETTINGS)
def test_refused_settings(model: str, values: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(InputError) as error:
        load_link(model, **values)
    found = [p.describe() for p in error.value.problems]
    assert any(field in line and text in line for line in found), found


def test_options_make_the_users_link() -> None:
    scenario = scenario_from(
        rate="2 Mbit/s",
        reverse_rate="16 Mbit/s",
        buffer="1 BDP",
        aqm="codel",
        loss="1%",
        flows=["cubic:3", "ledbat:1@10s", "cubic,size=5 MB,direction=down,rtt=20 ms"],
        voip="g729:1",
        probes=["100 B@1s,cc=newreno"],
        duration="300 s",
    )
    assert [m for f in scenario.flows for m in f.members] == [
        "cubic-1", "cubic-2", "cubic-3", "ledbat", "cubic.2", "voip", "probe",
    ]  # fmt: skip
    assert [f.kind for f in scenario.flows] == ["long", "long", "sized", "voip", "messages"]
    assert (scenario.flows[1].start, scenario.flows[2].rtt) == (10.0, 0.02)
    assert scenario.data_queues(scenario.flows[2]) == ("home.downlink",)
    up, down = scenario.queues.values()
    assert (up.rate, down.rate, up.discipline, down.discipline) == (250e3, 2e6, "codel", "codel")
    assert up.limit_bytes(0.05) == 12500
    assert scenario.set(rtt="100 ms").paths.rtt == 0.1


def test_options_change_a_preset() -> None:
    up, down = scenario_from(flows="cubic", access="adsl", buffer="1 s").queues.values()
    assert (up.rate, up.limit_bytes(0.05), down.rate, down.limit_packets()) == (125e3, 125e3, 1e6, 200)


def test_the_downlink_is_the_bottleneck_if_nothing_goes_up() -> None:
    assert scenario_from(flows="cubic,direction=down").bottleneck_queue == "home.downlink"
    assert scenario_from(flows=["cubic,direction=down", "ledbat"]).bottleneck_queue == "home.uplink"
    assert scenario_from(flows="cubic,direction=down", reverse_rate="unlimited", loss="1%").bottleneck_queue


anything = st.one_of(
    st.none(), st.text(), st.integers(), st.floats(), st.lists(st.text()), st.dictionaries(st.text(), st.text())
)
FIELDS: dict[str, Callable[[Any], Any]] = {
    "rate": lambda value: {"rate": value},
    "flows": lambda value: {"flows": value},
    "voip": lambda value: {"voip": value},
    "probes": lambda value: {"probes": value},
    "buffer": lambda value: {"buffer": value},
    "access": lambda value: {"access": value},
    "aqm": lambda value: {"aqm": value},
    "duration": lambda value: {"duration": value},
}


@given(st.sampled_from(sorted(FIELDS)), anything)
def test_any_option_is_read_or_refused(field: str, value: Any) -> None:
    try:
        scenario_from(**{"flows": "cubic", **FIELDS[field](value)})
    except InputError as error:
        assert error.field
