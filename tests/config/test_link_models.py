"""The files of link experiments: they load, each number has its source, and their parameters are read back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from test_models import MODELS, read, unsourced

from btflow import InputError, LinkScenario, load_link, schema
from btflow.config import catalog
from btflow.config.files import read_table, split_sources
from btflow.kernels.link import state
from btflow.link import voip
from btflow.link.congestion import CONSTANTS, VARIANTS, CongestionControl
from btflow.link.flow import Codec
from btflow.link.options import scenario_from

NAMED = {"base", "cc", "codec", "from", "to", "bottleneck"}
FOLDERS = ("access", "congestion", "stacks", "codecs", "links")
FILES = [(folder, name) for folder in FOLDERS for name in catalog.names(folder)]


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_every_number_has_a_source(folder: str, name: str) -> None:
    tree = read(folder, name)
    tree.pop("parameters", None)
    assert {path.rsplit(".", 1)[-1] for path in unsourced(tree)} <= NAMED
    assert tree["name"] == {"ledbatpp": "ledbat++"}.get(name, name)
    assert tree["title"]


@pytest.mark.parametrize("name", catalog.names("congestion"))
def test_every_congestion_control_is_whole(name: str) -> None:
    tree = read_table(name, "congestion", Path(), "cc")
    cc = CongestionControl.model_validate(split_sources(tree)[0])
    assert cc.variant_number == VARIANTS[cc.law].index(cc.variant)
    fields = state.FLOW.names
    assert fields is not None
    assert set(cc.used) <= set(fields)  # what a law uses, the kernels have


def test_laws_have_variants_and_constants() -> None:
    assert VARIANTS.keys() == CONSTANTS.keys()


def test_ledbat_plus_plus_goes_by_its_name() -> None:
    flow = scenario_from(flows="ledbat++").flows[0]
    assert flow.cc is not None
    assert (flow.cc.name, flow.cc.target) == ("ledbat++", 0.06)


@pytest.mark.parametrize(("name", "other"), [("cubic-2.6", "linux-2.6.32"), ("cubic-6", "linux-6")])
def test_cubic_agrees_with_the_transport_of_swarms(name: str, other: str) -> None:
    old = split_sources(read_table(name, "congestion", Path(), "cc"))[0]
    transport = split_sources(read("transports", other))[0]
    for mine, theirs in {
        "mss": "mss",
        "initial_window": "initial_window",
        "ack_delay": "delayed_ack",
        "quick_acks": "quick_acks",
        "idle_reset": "idle_reset",
        "rto_slack": "rto_min",
        "rto_max": "rto_max",
        "rto_initial": "rto_initial",
        "c": "cubic_c",
        "beta": "cubic_beta",
    }.items():
        assert old[mine] == transport[theirs]


@pytest.mark.parametrize("name", catalog.names("codecs"))
def test_codecs_are_those_of_the_e_model(name: str) -> None:
    codec = Codec.model_validate(split_sources(read_table(name, "codecs", Path(), "codec"))[0])
    assert codec.payload + codec.header == codec.speech.packet
    if name in voip.CODECS:
        known = voip.CODECS[name]
        assert codec.period == pytest.approx(known.interval)
        assert codec.payload == known.payload
        assert (codec.impairment, codec.robustness) == (known.ie, known.bpl)
        assert codec.speech.sender_delay == pytest.approx(known.sender_delay)


@pytest.mark.parametrize("name", catalog.names("access"))
def test_every_access_link_is_usable(name: str) -> None:
    scenario = scenario_from(flows="cubic", access=name)
    assert list(scenario.queues) == ["home.uplink", "home.downlink"]


@pytest.mark.parametrize("name", catalog.names("links"))
def test_every_link_model_loads_and_its_parameters_are_read_back(name: str) -> None:
    scenario = load_link(name)
    assert scenario.set(**scenario.parameters) == scenario
    assert scenario.bottleneck_queue in scenario.queues
    for parameter in catalog.link_document(name).parameters.values():
        for word in parameter.words:
            assert scenario.set(**{parameter.name: word}).parameters[parameter.name] == word


@pytest.mark.parametrize("name", catalog.names("links"))
def test_every_link_model_is_of_the_schema(name: str) -> None:
    form = json.loads(json.dumps(schema("link"), allow_nan=False))
    jsonschema.validate(tomllib.loads((MODELS / "links" / f"{name}.toml").read_text()), form)


def test_unknown_schema() -> None:
    with pytest.raises(InputError, match="swarm or link"):
        schema("nosuch")


def names(scenario: LinkScenario) -> dict[str, str]:
    return {m: f.cc.name for f in scenario.flows if f.cc is not None for m in f.members}


def test_geni() -> None:
    """Claims G01 and G02: two seeds of half the downlink's rate, one downloader, an iperf flow."""
    assert names(load_link("geni")) == {"iperf": "cubic", "seed-a": "cubic", "seed-b": "cubic"}
    assert names(load_link("geni", transport="utp", seeds=1)) == {"iperf": "cubic", "seed-a": "utp-2013"}
    assert names(load_link("geni", seeds="0")) == {"iperf": "cubic"}
    scenario = load_link("geni", buffer="50 kB")
    assert scenario.queues["downloader.downlink"].limit_bytes(scenario.paths.rtt) == 50e3
    assert scenario.data_queues(scenario.flows[1]) == ("seed-a.uplink", "downloader.downlink")
    assert scenario.data_queues(scenario.flows[0]) == ("downloader.downlink",)
    assert scenario.ack_queues(scenario.flows[0]) == ()


def test_opnet2009() -> None:
    """Claims V01 and V02: only the first pair of five changes its TCP; a G.729 call goes with it."""
    scenario = load_link("opnet2009", transport="utp", buffer="20 packets")
    changed = {name for name, cc in names(scenario).items() if cc == "sfu-utp"}
    assert changed == {"pair-0-1", "pair-0-2", "pair-0-3"}
    assert len(names(scenario)) == 15
    first = scenario.flows[0]
    assert first.cc is not None
    assert (first.cc.mss, first.packet, first.cc.recovery, first.cc.initial_window) == (300, 340, "tahoe", 1)
    assert first.cc.max_window == 8760
    assert [q.limit_packets() for q in scenario.queues.values()][:4] == [20] * 4
    call = next(flow for flow in scenario.flows if flow.codec is not None)
    assert (call.packet, call.kind, scenario.data_queues(call)) == (50, "voip", ("s0.uplink", "c0.downlink"))
