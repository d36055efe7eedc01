"""Link experiments: units, defaults, what is derived from them, and that nonsense is refused by name."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st
from link_made import TRIAL, trial as build

from btflow import InputError
from btflow.link.options import OPTIONS, scenario_from
from btflow.units import Buffer, format_quantity, parse_quantity


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
    scenario = build(flows__upload={**TRIAL["flows"]["upload"], **KINDS[kind]})
    assert scenario.flows[0].kind == kind


def test_calls() -> None:
    flow = build(flows__upload={"codec": "g729", "from": "home", "to": "internet", "count": 2}).flows[0]
    assert (flow.kind, flow.members, flow.packet) == ("voip", ("upload-1", "upload-2"), 60)
    other = {"base": "g729", "frames_per_packet": 1}
    assert build(flows__upload={"codec": other, "from": "home", "to": "internet"}).flows[0].packet == 50


def test_a_congestion_control_may_start_from_another() -> None:
    cc = build(flows__upload__cc={"base": "cubic", "mss": "500 B", "hystart": False}).flows[0].cc
    assert cc is not None
    assert (cc.name, cc.mss, cc.beta, cc.hystart) == ("cubic", 500, 0.7, False)


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


def test_a_loop_of_bases_ends(tmp_path: Any) -> None:
    path = tmp_path / "loop.toml"
    path.write_text(f'base = "{path}"\nname = "loop"\n')
    with pytest.raises(InputError, match="perhaps of itself"):
        build(flows__upload__cc=str(path))


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


@given(st.sampled_from(OPTIONS), anything)
def test_any_option_is_read_or_refused(field: str, value: Any) -> None:
    try:
        scenario_from(**{"flows": "cubic", field: value})
    except InputError as error:
        assert error.field
