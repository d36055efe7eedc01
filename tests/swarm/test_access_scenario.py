"""Swarms on access links that make no sense are refused, and what is wrong, and what is allowed, is said."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import access_made as made
import numpy as np
import pytest

from btflow import ScenarioError, load
from btflow.config.catalog import parse
from btflow.kernels.access import state as a
from btflow.kernels.swarm.state import OPENS_TCP, OPENS_UTP
from btflow.swarm.program import compile_scenario

LEECHERS = made.leechers(3)
OWN = {"control": "newreno"}


def table(**fields: Any) -> made.Table:
    """Return a class of leechers whose number is said in some other way."""
    return made.leechers(None, **fields)


def without(content: dict[str, Any], *names: str, field: str = "access") -> dict[str, Any]:
    """Return the content of a model file with a field of some classes left out."""
    for name in names:
        del content["classes"][name][field]
    return content


CASES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "shares below one": (
        lambda: made.tree(table(share=0.5), table(share=0.25), population=8),
        "classes.*.share = 'a 0.5, b 0.25': sum to 0.75; allowed: shares that sum to 1, or one class with rest = true",
    ),
    "shares above one": (
        lambda: made.tree(table(share=0.7), table(share=0.6), table(rest=True), population=8),
        "classes.*.share = 'a 0.7, b 0.6': sum to 1.3; allowed: shares that sum to at most 1",
    ),
    "two rests": (
        lambda: made.tree(table(rest=True), table(rest=True), population=8),
        "classes = 'a, b': all have the rest; allowed: one class with rest = true",
    ),
    "a population of nobody": (
        lambda: made.tree(LEECHERS, population=8),
        "population = 8: is never used: no class has a share of it",
    ),
    "two numbers": (
        lambda: made.tree(made.leechers(3, share=1), population=8),
        "classes.a = 'count, share': does not say how many peers there are in one way; allowed: count, share or rest",
    ),
    "a seed's share": (
        lambda: without(made.tree(table(rest=True), seed={"share": 0.5}, population=8), "seed", field="count"),
        "classes.seed.share = 'seed': is a share of the leechers, and this is a seed; allowed: count",
    ),
    "nobody accepts": (
        lambda: made.tree(made.leechers(3, opens=["utp"], utp="utp")),
        "classes.a.opens = 'utp': is a transport that nobody accepts: peers of a can never connect; "
        "allowed: a transport that the other side accepts: tcp",
    ),
    "neither of two accepts": (
        lambda: made.tree(
            LEECHERS,
            made.leechers(2, opens=["utp"], accepts=["utp"], utp="utp"),
            seed={"accepts": ["tcp", "utp"], "utp": "utp"},
        ),
        "classes.a.opens = 'tcp': is a transport that nobody accepts: a and b can never connect; "
        "allowed: a transport that the other side accepts: utp",
    ),
    "data that does not arrive": (
        lambda: made.tree(
            made.leechers(3, accepts=["tcp", "utp"], utp="utp"),
            made.leechers(2, opens=["utp"], accepts=["utp"], utp="utp"),
            seed={"opens": ["tcp", "utp"], "utp": "utp"},
            common=OWN,
            control_connections="separate",
        ),
        "classes.a.opens = 'tcp': is a transport that b does not accept, and peers send over connections of their own; "
        "allowed: a transport that the other side accepts: utp",
    ),
    "a transport twice": (
        lambda: made.tree(made.leechers(3, opens=["tcp", "tcp"])),
        "classes.a.opens = 'tcp, tcp': names a transport twice; allowed: tcp, utp",
    ),
    "uTP without its control": (
        lambda: made.tree(
            made.leechers(3, opens=["utp"], accepts=["utp", "tcp"]), seed={"accepts": ["utp"], "utp": "utp"}
        ),
        "classes.a.utp: is missing: the class sends over utp connections; allowed: a congestion control",
    ),
    "accepted uTP without its control": (
        lambda: made.tree(
            LEECHERS, made.leechers(2, opens=["utp", "tcp"], utp="utp"), seed={"accepts": ["tcp", "utp"]}
        ),
        "classes.seed.utp: is missing: the class sends over utp connections; allowed: a congestion control",
    ),
    "separate without control": (
        lambda: made.tree(made.leechers(3, **OWN), control_connections="separate"),
        "classes.seed.control: is missing: control connections are separate; allowed: newreno",
    ),
    "shared with control": (
        lambda: made.tree(made.leechers(3, **OWN)),
        "classes.a.control = 'newreno': is never used: control shares the connection",
    ),
    "no sockets": (
        lambda: made.tree(LEECHERS, sockets=None),
        'sockets: is missing: the peers have access links; allowed: such as "linux-2.6"',
    ),
    "a transport on links": (
        lambda: made.tree(LEECHERS, transport="linux-2.6.32"),
        "transport = 'linux-2.6.32': is never used: the peers have access links; allowed: none",
    ),
    "one class without a link": (
        lambda: without(made.tree(LEECHERS), "a"),
        "classes.a.access: is missing while class seed has an access link; "
        "allowed: an access link for every class, or for none",
    ),
    "a delay below its least": (
        lambda: made.tree(LEECHERS, paths={"delay_min": "30 ms", "delay_max": "20 ms"}),
        "paths.delay_min = '30 ms': exceeds delay_max; allowed: at most 20 ms",
    ),
    "times for others": (
        lambda: made.tree(LEECHERS, arrivals={"kind": "trace", "times": ["0 s", "1 s"]}),
        "arrivals.times = '2 times': is not one for each leecher; allowed: 3 times",
    ),
    "poisson without interval": (
        lambda: made.tree(LEECHERS, arrivals={"kind": "poisson"}),
        "arrivals.interval: is missing: the arrivals are of kind poisson",
    ),
    "a spread that is not used": (
        lambda: made.tree(LEECHERS, arrivals={"kind": "poisson", "interval": "1 s", "spread": "5 s"}),
        "arrivals.spread = '5.0': is never used by arrivals of kind poisson",
    ),
    "more downloads than leechers": (
        lambda: made.tree(LEECHERS, departures={"discard": 2, "completions": 2}),
        "departures.completions = 2: makes, with departures.discard = 2, more downloads than leechers; "
        "allowed: 3 in all, or leavers that are replaced",
    ),
    "no download counts": (
        lambda: made.tree(LEECHERS, departures={"discard": 3}),
        "departures.discard = 3: leaves no download that counts; allowed: less than 3",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_go_together_is_said(case: str) -> None:
    """Field, value and what is allowed stand in the message, and nothing else is found wrong with the scenario."""
    build, message = CASES[case]
    with pytest.raises(ScenarioError) as caught:
        parse(build()).build({})
    assert str(caught.value).splitlines() == [message]


def without_links(**fields: Any) -> dict[str, Any]:
    """Return the content of a swarm without access links but for some fields of its leechers."""
    content = without(made.tree(LEECHERS, sockets=None, transport="linux-2.6.32"), "seed", "a")
    for peers in content["classes"].values():
        del peers["tcp"]
        peers["upload_limit"] = "20 kB/s"
    content["classes"]["a"] |= fields
    return content


@pytest.mark.parametrize(
    ("fields", "top", "message"),
    [
        ({}, {"sockets": "ns2"}, "sockets = 'ns2': is never used: the peers have no access links; allowed: none"),
        (
            {},
            {"control_connections": "separate"},
            "control_connections = 'separate': needs access links; allowed: shared",
        ),
        ({"tcp": "newreno"}, {}, "classes.a.tcp = 'newreno': is never used without an access link"),
        ({"opens": ["utp"]}, {}, "classes.a.opens = 'utp': needs an access link; allowed: tcp"),
        (
            {"upload_limit": "unlimited"},
            {},
            "classes.a.upload_limit = 'unlimited': is not supported without an access link; allowed: an upload limit",
        ),
    ],
)
def test_what_only_access_links_can_have_is_said(fields: made.Table, top: made.Table, message: str) -> None:
    """Without access links, what needs one is refused, not ignored; without it the scenario is right."""
    content = without_links()
    assert not parse(content).build({}).linked
    with pytest.raises(ScenarioError) as caught:
        parse({**without_links(**fields), **top}).build({})
    assert str(caught.value).splitlines() == [message]


RULES = [
    line.split(" = ")[0]
    for line in (files("btflow.models") / "clients" / "mainline-4.0.toml").read_text().splitlines()
    if " = {" in line and not line.startswith(("below", "uploads"))
]


@pytest.mark.parametrize(
    "rule", ["choke_interval", "super_seeding", "handshake_size", "unlimited_slots", "upload_unit"]
)
def test_a_client_of_ones_own_that_lacks_a_rule_is_refused(tmp_path: Path, rule: str) -> None:
    """A client file is named by its path, from the model's folder; a rule that is missing in it is named."""
    assert rule in RULES
    text = (files("btflow.models") / "clients" / "mainline-4.0.toml").read_text()
    (tmp_path / "own").mkdir()
    own = tmp_path / "own" / "client.toml"
    content = made.tree(LEECHERS, common={"client": "own/client.toml"})
    own.write_text(text)
    assert parse(content, tmp_path).build({}).classes[1].client.choke_interval == 10.0
    own.write_text("\n".join(line for line in text.splitlines() if not line.startswith(f"{rule} =")))
    with pytest.raises(ScenarioError) as caught:
        parse(content, tmp_path).build({})
    lines = str(caught.value).splitlines()
    assert len(lines) == 2  # the seed's client and the leechers'
    for line, name in zip(lines, ("seed", "a"), strict=True):
        assert f"classes.{name}.client.{rule}" in line
        assert "missing" in line


@pytest.mark.parametrize("number", [{}, {"share": 1}])
def test_a_number_of_leechers_that_is_missing_is_said_first(number: made.Table) -> None:
    """Neither a class without a number nor a share of no population is taken for nobody."""
    with pytest.raises(ScenarioError) as caught:
        made.scenario(table(**number))
    assert str(caught.value).splitlines()[0] == (
        "population: is missing: classes have shares of it; allowed: a number of leechers"
        if number
        else "classes.a: does not say how many peers there are in one way; allowed: count, share or rest"
    )


def test_shares_make_whole_peers_and_the_rest_is_the_rest() -> None:
    """Shares of the population are rounded; whoever has the rest takes what is left, perhaps nobody."""
    scenario = made.scenario(table(share=0.35), table(share=0.3), table(rest=True), population=11)
    assert [c.number for c in scenario.classes] == [1, 4, 3, 4]
    assert scenario.leechers == 11
    everybody = made.scenario(table(share=1), table(rest=True), population=5)
    assert [c.number for c in everybody.classes] == [1, 5, 0]


def test_the_share_of_a_class_is_a_parameter_of_the_model() -> None:
    """From none to all of the 2011 experiment's leechers can be uTP peers, and their queues as long as one likes."""
    for share in (0.0, 0.5, 1.0):
        scenario = load("testa2011", utp_share=share, leechers=120)
        assert {c.name: c.number for c in scenario.classes} == {"seed": 1, "tcp": 120 - 120 * share, "utp": 120 * share}
    program = compile_scenario(load("testa2011", buffer="50 packets"))
    assert program.links is not None
    assert set(program.links.queue["limit_packets"]) == {50}


def test_what_a_class_opens_and_accepts_are_bits() -> None:
    """The order in `opens` is the preference; what is tried at once is said too."""
    program = made.program(
        made.leechers(1, opens=["utp", "tcp"], accepts=["tcp"], utp="utp", attempts="parallel"),
        made.leechers(1, opens=["tcp", "utp"], accepts=["utp", "tcp"], utp="utp"),
        seed={"opens": [], "accepts": ["utp", "tcp"], "utp": "utp"},
    )
    assert program.links is not None
    both = OPENS_TCP | OPENS_UTP
    assert program.links.transports.tolist() == [
        a.ACCEPTS_TCP | a.ACCEPTS_UTP,
        both | a.ACCEPTS_TCP | a.PREFERS_UTP | a.IN_PARALLEL,
        both | a.ACCEPTS_TCP | a.ACCEPTS_UTP,
    ]


@pytest.mark.parametrize(
    ("disposition", "opens", "accepts"),
    [
        (5, ("tcp",), ("tcp",)),
        (13, ("tcp",), ("tcp", "utp")),
        (31, ("utp", "tcp"), ("tcp", "utp")),
        (10, ("utp",), ("utp",)),
    ],
)
def test_a_disposition_says_what_is_opened_and_accepted(
    disposition: int, opens: tuple[str, ...], accepts: tuple[str, ...]
) -> None:
    """uTorrent's number stands for both lists; both ways of saying it together are refused."""
    fields = {"disposition": disposition, "utp": "utp"}
    seed = {"opens": ["utp", "tcp"], "accepts": ["tcp", "utp"], "utp": "utp"}
    made_class = made.scenario(made.leechers(3, **fields), seed=seed).classes[1]
    assert (made_class.opens, made_class.accepts) == (opens, accepts)
    with pytest.raises(ScenarioError, match="is what disposition says already"):
        made.scenario(made.leechers(3, **fields, opens=["tcp"]), seed=seed)


def test_shares_that_round_up_together_make_no_more_peers_than_there_are() -> None:
    """Two halves of 75 are 38 and 37, and leave nobody for the rest."""
    halves = [table(share=0.5), table(share=0.5)]
    assert [c.number for c in made.scenario(*halves, population=75).classes[1:]] == [38, 37]
    with_rest = made.scenario(*halves, table(rest=True), population=75)
    assert [c.number for c in with_rest.classes[1:]] == [38, 37, 0]


def test_a_trace_gives_its_times_to_the_classes_at_random() -> None:
    """Who starts when does not follow the order of the classes."""
    times = [f"{i} s" for i in range(12)]
    program = made.program(made.leechers(6), made.leechers(6), arrivals={"kind": "trace", "times": times})
    firsts = {float(made.run(program, seed)[0].peer.start[1:7].mean()) for seed in (1, 2, 3)}
    assert len(firsts) > 1


def test_buffers_are_packets_bytes_or_time_at_the_rate() -> None:
    """A buffer given as a time is that many bytes at the rate of its link; the other limit is out of reach."""
    links = made.program(
        made.leechers(1, access={"uplink": made.way("1 Mbit/s", "200 ms"), "downlink": made.way("8 Mbit/s", "30 kB")})
    ).links
    assert links is not None
    assert links.queue["limit_bytes"][2:].tolist() == pytest.approx([25_000, 30_000])
    assert (links.queue["limit_packets"][2:] > 10**9).all()
    assert links.queue["limit_packets"][:2].tolist() == [40, 40]
    assert np.isinf(links.queue["limit_bytes"][:2]).all()
