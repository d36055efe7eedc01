"""Checks across the fields of a scenario: what no single field can know."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, combinations_with_replacement, pairwise, product
from typing import TYPE_CHECKING

from btflow.errors import ScenarioError
from btflow.swarm.client import Client
from btflow.units import format_quantity
from btflow.units.course import Course
from btflow.units.formatting import counted
from btflow.units.quantity import FrozenModel, quantity_of, text_of

if TYPE_CHECKING:
    from btflow.swarm.scenario import PeerClass, Scenario

MAX_LEECHERS = 1_000_000
MAX_SEEDS = 10_000

CLIENT_ORDER = (("pipeline_floor", "pipeline_cap"), ("min_peers_incoming", "min_peers"))
TRANSPORT_ORDER = (("rto_min", "rto_max"), ("rto_initial", "rto_max"), ("mss", "tso_segment"))
"""Pairs of fields of which the first may not exceed the second."""


def problems(scenario: Scenario) -> list[ScenarioError]:
    """Return every reason why the scenario's fields do not go together."""
    checks: tuple[Callable[[Scenario], Iterator[ScenarioError]], ...] = (
        _names,
        _shares,
        _counts,
        _links,
        _transports,
        _starts,
        _departures,
        _horizon,
        _clients,
        _lengths,
        _transport,
        _matrix,
        _locations,
    )
    found = [problem for check in checks for problem in check(scenario)]
    return list(_shares(scenario)) or found  # without them nobody knows how many peers there are


def _names(scenario: Scenario) -> Iterator[ScenarioError]:
    matrix = scenario.paths.matrix
    named = [("name", scenario.name)]
    if scenario.transport is not None:
        named.append(("transport.name", scenario.transport.name))
    for c in scenario.classes:
        named += [("classes", c.name), (f"classes.{c.name}.client.name", c.client.name)]
    if matrix is not None:
        named += [("paths.matrix.name", matrix.name), *(("paths.matrix.rtt", name) for name in matrix.locations)]
    if scenario.paths.internet is not None:
        named.append(("paths.internet.name", scenario.paths.internet.name))
    for field, name in named:
        if not name.strip():
            yield ScenarioError(field, name, "is an empty name", "a name of at least one character")
    for name, times in Counter(c.name for c in scenario.classes).items():
        if times > 1:
            yield ScenarioError("classes", name, "is the name of two classes", "distinct names")


def _shares(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield what is wrong with how many peers each class has."""
    for c in scenario.classes:
        field = f"classes.{c.name}"
        said = {"count": "count" in c.model_fields_set, "share": c.share is not None, "rest": c.rest}
        given = [name for name, is_said in said.items() if is_said]
        if len(given) != 1:
            shown = ", ".join(given) or None
            yield ScenarioError(
                field, shown, "does not say how many peers there are in one way", "count, share or rest"
            )
        elif given != ["count"] and c.role == "seed":
            yield ScenarioError(
                f"{field}.{given[0]}", c.name, "is a share of the leechers, and this is a seed", "count"
            )
    sharing = [c for c in scenario.classes if c.share is not None or c.rest]
    if not sharing:
        if scenario.population is not None:
            yield ScenarioError("population", scenario.population, "is never used: no class has a share of it")
        return
    if scenario.population is None:
        yield ScenarioError("population", None, "is missing: classes have shares of it", "a number of leechers")
    total = sum(c.share or 0.0 for c in sharing)
    rest = [c.name for c in sharing if c.rest]
    if len(rest) > 1:
        yield ScenarioError("classes", ", ".join(rest), "all have the rest", "one class with rest = true")
    shares = ", ".join(f"{c.name} {c.share:g}" for c in sharing if c.share is not None)
    if (rest and total > 1.0 + 1e-9) or (not rest and abs(total - 1.0) > 1e-9):
        allowed = "shares that sum to at most 1" if rest else "shares that sum to 1, or one class with rest = true"
        yield ScenarioError("classes.*.share", shares, f"sum to {total:g}", allowed)


def _links(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield what does not go together with access links, or without."""
    linked = [c for c in scenario.classes if c.access is not None]
    if not linked:
        yield from _without_links(scenario)
        return
    for c in scenario.classes:
        if c.access is None:
            yield ScenarioError(
                f"classes.{c.name}.access",
                None,
                f"is missing while class {linked[0].name} has an access link",
                "an access link for every class, or for none",
            )
        for way in ("uplink", "downlink"):
            rate = getattr(c.access, way).rate if c.access else 0.0
            if isinstance(rate, Course):
                reason = "changes while it runs, which swarms do not know"
                yield ScenarioError(f"classes.{c.name}.access.{way}.rate", rate.text, reason, "one rate")
    if scenario.sockets is None:
        yield ScenarioError("sockets", None, "is missing: the peers have access links", 'such as "linux-2.6"')
    if scenario.transport is not None:
        yield ScenarioError("transport", scenario.transport.name, "is never used: the peers have access links", "none")
    if scenario.paths.matrix is not None:
        yield ScenarioError(
            "paths.matrix", scenario.paths.matrix.name, "is not supported together with access links", "paths.rtt"
        )
    if scenario.paths.internet is not None:
        yield ScenarioError(
            "paths.internet",
            scenario.paths.internet.name,
            "is refused by access links: a link's pipe has one delay to all other peers, not one to each",
            "rtt and loss of all pairs, delay_min and delay_max of peers, or a sweep with rtt=iplane and loss=iplane",
        )
    if scenario.paths.delay_min > scenario.paths.delay_max:
        yield ScenarioError(
            "paths.delay_min",
            format_quantity(scenario.paths.delay_min, "time"),
            "exceeds delay_max",
            f"at most {format_quantity(scenario.paths.delay_max, 'time')}",
        )


def _without_links(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield what only peers with access links can have."""
    if scenario.transport is None:
        yield ScenarioError("transport", None, "is missing: the peers have no access links", 'such as "linux-2.6.32"')
    if scenario.sockets is not None:
        yield ScenarioError("sockets", scenario.sockets.name, "is never used: the peers have no access links", "none")
    for name in ("control", "acks"):
        if getattr(scenario.idealised, name):
            yield ScenarioError(f"idealised.{name}", "true", "needs access links", "false")
    if scenario.control_connections != "shared":
        yield ScenarioError("control_connections", scenario.control_connections, "needs access links", "shared")
    if scenario.paths.delay_max > 0.0 or scenario.paths.delay_min > 0.0:
        yield ScenarioError("paths.delay_max", None, "is never used: the peers have no access links", "paths.rtt")
    for c in scenario.classes:
        field = f"classes.{c.name}"
        for name in ("tcp", "utp", "control"):
            if getattr(c, name) is not None:
                yield ScenarioError(f"{field}.{name}", getattr(c, name).name, "is never used without an access link")
        if c.opens != ("tcp",) or c.accepts != ("tcp",):
            yield ScenarioError(f"{field}.opens", ", ".join(c.opens), "needs an access link", "tcp")
        if c.uplink_queue != "modem":
            yield ScenarioError(
                f"{field}.uplink_queue", c.uplink_queue, "is never used without an access link", "modem"
            )
        if c.upload_limit == math.inf:
            yield ScenarioError(
                f"{field}.upload_limit", "unlimited", "is not supported without an access link", "an upload limit"
            )


def _transports(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield transports that a class uses without a congestion control, or that nobody accepts."""
    if not scenario.linked:
        return
    opened = {way for c in scenario.classes for way in c.opens}
    for c in scenario.classes:
        field = f"classes.{c.name}"
        for name in ("opens", "accepts"):
            ways = getattr(c, name)
            if len(set(ways)) < len(ways):
                yield ScenarioError(f"{field}.{name}", ", ".join(ways), "names a transport twice", "tcp, utp")
        for way in ("tcp", "utp"):
            used = way in c.opens or (way in c.accepts and way in opened)
            if used and getattr(c, way) is None:
                reason = f"is missing: the class sends over {way} connections"
                yield ScenarioError(f"{field}.{way}", None, reason, "a congestion control")
        if scenario.control_connections == "separate" and c.control is None:
            yield ScenarioError(f"{field}.control", None, "is missing: control connections are separate", "newreno")
        if c.uplink_queue == "host" and c.access is not None and c.access.uplink.discipline != "drop-tail":
            reason = "is not what tells a host: it drops what has waited"
            allowed = "drop-tail, or uplink_queue = modem"
            yield ScenarioError(f"{field}.access.uplink.discipline", c.access.uplink.discipline, reason, allowed)
        for way in ("uplink", "downlink") if c.access is not None else ():
            if (shaper := getattr(c.access, way).shaper) != "line":
                reason = "is known on links alone: swarms send no super-packets"
                yield ScenarioError(f"{field}.access.{way}.shaper", shaper, reason, "line")
        if scenario.control_connections == "shared" and c.control is not None:
            yield ScenarioError(f"{field}.control", c.control.name, "is never used: control shares the connection")
    if scenario.control_connections == "separate":
        yield from _unreachable(scenario)
        return
    for one, other in combinations_with_replacement(scenario.classes, 2):
        if (one is other and one.number < 2) or {one.role, other.role} == {"seed"}:
            continue
        if not set(one.opens) & set(other.accepts) and not set(other.opens) & set(one.accepts):
            between = f"{one.name} and {other.name}" if one is not other else f"peers of {one.name}"
            yield ScenarioError(
                f"classes.{one.name}.opens",
                ", ".join(one.opens) or "nothing",
                f"is a transport that nobody accepts: {between} can never connect",
                f"a transport that the other side accepts: {', '.join(other.accepts) or 'none'}",
            )


def _unreachable(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield whose data never arrives: with separate control connections each side opens a connection for its own."""
    for one, other in product(scenario.classes, repeat=2):
        alone = one is other and one.number < 2
        if other.role == "leecher" and not alone and not set(one.opens) & set(other.accepts):
            yield ScenarioError(
                f"classes.{one.name}.opens",
                ", ".join(one.opens) or "nothing",
                f"is a transport that {other.name} does not accept, and peers send over connections of their own",
                f"a transport that the other side accepts: {', '.join(other.accepts) or 'none'}",
            )


def _starts(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield what the kind of arrivals needs or does not use."""
    arrivals = scenario.arrivals
    needs = {"flash": "spread", "poisson": "interval", "trace": "times"}
    for kind, name in needs.items():
        given = name in arrivals.model_fields_set and getattr(arrivals, name) not in (None, ())
        if kind == arrivals.kind and not given:
            yield ScenarioError(f"arrivals.{name}", None, f"is missing: the arrivals are of kind {kind}")
        if kind != arrivals.kind and given:
            shown = str(getattr(arrivals, name))
            yield ScenarioError(f"arrivals.{name}", shown, f"is never used by arrivals of kind {arrivals.kind}")
    if arrivals.kind == "trace" and arrivals.times and len(arrivals.times) != scenario.leechers:
        yield ScenarioError(
            "arrivals.times",
            counted(len(arrivals.times), "time"),
            "is not one for each leecher",
            counted(scenario.leechers, "time"),
        )


def _departures(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield downloads that can never be completed."""
    departures = scenario.departures
    replaced = departures.replace and departures.stay != "forever"
    if not replaced and scenario.target > scenario.leechers:
        yield ScenarioError(
            "departures.completions",
            scenario.counted,
            f"makes, with departures.discard = {departures.discard}, more downloads than leechers",
            f"{scenario.leechers} in all, or leavers that are replaced",
        )
    if scenario.counted < 1 <= scenario.leechers:  # of a swarm without leechers it is said elsewhere
        yield ScenarioError(
            "departures.discard", departures.discard, "leaves no download that counts", f"less than {scenario.leechers}"
        )


def _counts(scenario: Scenario) -> Iterator[ScenarioError]:
    missing = {"seed", "leecher"} - {c.role for c in scenario.classes}
    for role in sorted(missing):
        text = "nobody has the file and the swarm cannot finish" if role == "seed" else "nobody wants the file"
        yield ScenarioError("classes", None, f"has no class of role {role}: {text}", f"at least 1 peer of role {role}")
    if "seed" not in missing and scenario.seeds < 1:
        yield ScenarioError(
            _count_field(scenario, "seed"),
            scenario.seeds,
            "without a seed nobody has the file and the swarm cannot finish",
            "at least 1 peer of role seed",
        )
    for role, number, most in (("leecher", scenario.leechers, MAX_LEECHERS), ("seed", scenario.seeds, MAX_SEEDS)):
        if role not in missing and (number > most or (number < 1 and role == "leecher")):
            allowed = f"1 to {most} peers of role {role} in all"
            yield ScenarioError(_count_field(scenario, role), number, "is out of range", allowed)


def _count_field(scenario: Scenario, role: str) -> str:
    """Return the field that says how many peers have a role."""
    return next(f"classes.{c.name}.count" for c in scenario.classes if c.role == role)


def _horizon(scenario: Scenario) -> Iterator[ScenarioError]:
    last = scenario.arrivals.last(scenario.leechers)
    if scenario.horizon is not None and scenario.horizon <= last:
        yield ScenarioError(
            "horizon",
            f"{scenario.horizon} s",
            "ends before the last leecher starts",
            f"more than {'arrivals.spread = ' if scenario.arrivals.kind == 'flash' else ''}{last} s",
        )


def _clients(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield what does not go together in each client, once for the classes that share it."""
    checked = []
    for c in scenario.classes:
        field = f"classes.{c.name}.client"
        if scenario.slots_of(c) < 1:
            reason = "leaves a peer with this upload limit no upload slot: slot_table and slot_factor give it none"
            yield ScenarioError(f"{field}.max_uploads", c.client.max_uploads, reason, "at least 1")
        if c.client in checked:
            continue
        checked.append(c.client)
        yield from _in_order(c.client, field, CLIENT_ORDER)
        yield from _rules(c.client, field, scenario)
        steps = [step.below for step in c.client.slot_table]
        if any(second <= first for first, second in pairwise(steps)):
            below = ", ".join(format_quantity(step, "rate") for step in steps)
            yield ScenarioError(f"{field}.slot_table", below, "is not in rising order of below", "rising rates")


RANKED = ("last-round", "salted-rate")
NEEDS: tuple[tuple[str, tuple[str, ...], str, tuple[str, ...]], ...] = (
    ("choker", ("list",), "optimistic", ("list-head",)),
    ("choker", ("list",), "free_slots", ("tick",)),
    ("choker", RANKED, "optimistic", ("longest-waiting", "random")),
    ("picker", ("begun-first",), "interest", ("unrequested",)),
    ("picker", ("begun-first",), "endgame", ("none", "everywhere")),
    ("picker", ("whole-pieces", "fewest-left"), "interest", ("missing",)),
    ("picker", ("whole-pieces", "fewest-left"), "endgame", ("none", "when-idle", "when-idle-kept")),
)
"""Rules that need others: with one of some values, a field must have one of others."""

TIMED = (
    ("limiter", "quota", "limiter_interval"),
    ("limiter", "shares", "limiter_interval"),
    ("limiter", "shares", "quota_kept"),
    ("picker", "whole-pieces", "whole_piece_time"),
    ("picker", "whole-pieces", "retry_interval"),
    ("picker", "fewest-left", "request_interval"),
    ("choker", "last-round", "slot_time"),
    ("choker", "last-round", "piece_quota"),
)
"""Rules that need a constant: with a value of a field, another may not be 0."""

ASKS = ("request_interval", "retry_interval", "refill_below", "fast_extension")
"""Constants of when it asks that a picker ``begun-first`` does not look at: it asks when something comes."""


def _rules(client: Client, field: str, scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield the rules of a client that contradict each other, or lack what they need."""
    for rule, values, other, allowed in NEEDS:
        if getattr(client, rule) in values and getattr(client, other) not in allowed:
            reason = f"does not go with {rule} = {getattr(client, rule)}"
            yield ScenarioError(f"{field}.{other}", getattr(client, other), reason, " or ".join(allowed))
    for rule, value, name in TIMED:
        if getattr(client, rule) == value and getattr(client, name) == 0:
            reason = f"is none, which {rule} = {value} needs"
            yield ScenarioError(f"{field}.{name}", text_of(client, name), reason, f"more than {text_of(client, name)}")
    for name in ASKS:
        without, quantity = Client.model_fields[name].default, quantity_of(Client, name)
        assert quantity is not None
        if client.picker == "begun-first" and getattr(client, name) != without:
            reason = "is never used: picker = begun-first asks when something comes, and nobody who chokes it"
            unused = format_quantity(without, quantity.kind)
            yield ScenarioError(f"{field}.{name}", text_of(client, name), reason, unused)
    if client.batch_interval > 0.0 and client.request_interval == 0.0:
        reason = "is never used: no request_interval says when it looks at its connections"
        yield ScenarioError(f"{field}.batch_interval", text_of(client, "batch_interval"), reason, "0 s")
    if client.limiter == "shares" and 0.0 < client.quota_kept < client.limiter_interval:
        reason, least = "is less than limiter_interval: no quota could be used up", text_of(client, "limiter_interval")
        yield ScenarioError(f"{field}.quota_kept", text_of(client, "quota_kept"), reason, f"{least} or more")
    if client.limiter == "shares" and client.quota_spare > client.quota_kept > 0.0:
        reason, most_kept = "is more than quota_kept: nothing is ever given at once", text_of(client, "quota_kept")
        yield ScenarioError(f"{field}.quota_spare", text_of(client, "quota_spare"), reason, f"0 s to {most_kept}")
    size, most = client.allowed_fast_set_size, max(scenario.swarm.pieces, USUAL_SET)
    if size > most:
        reason = f"is more than the {scenario.swarm.pieces} pieces of the file"
        yield ScenarioError(f"{field}.allowed_fast_set_size", size, reason, f"0 to {most}")


USUAL_SET = 5
"""Pieces of libtorrent's allowed-fast set, which goes with any file: of one with fewer it allows all."""

LENGTHS = ("handshake_size", "piece_header", "request_size", "have_size", "state_size")


def _lengths(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield the lengths of messages in which clients of one swarm differ: they speak one protocol."""
    first = scenario.classes[0]
    for c in scenario.classes[1:]:
        for name in LENGTHS:
            mine, other = getattr(c.client, name), getattr(first.client, name)
            if mine != other:
                reason = f"differs from that of class {first.name}, with whom it speaks"
                yield ScenarioError(f"classes.{c.name}.client.{name}", f"{mine} B", reason, f"{other} B")


def _transport(scenario: Scenario) -> Iterator[ScenarioError]:
    if scenario.transport is not None:
        yield from _in_order(scenario.transport, "transport", TRANSPORT_ORDER)


def _in_order(model: FrozenModel, field: str, pairs: tuple[tuple[str, str], ...]) -> Iterator[ScenarioError]:
    """Yield each pair of fields of a table of which the first exceeds the second."""
    for small, large in pairs:
        if getattr(model, small) > getattr(model, large):
            first, second = (text_of(model, name) for name in (small, large))
            yield ScenarioError(f"{field}.{small}", first, f"exceeds {large} = {second}", f"at most {large}")


def _matrix(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield the pairs of locations whose round-trip time depends on the direction: it cannot."""
    rtt = scenario.paths.matrix.rtt if scenario.paths.matrix is not None else {}
    for one, other in combinations(rtt, 2):
        there, back = rtt[one].get(other), rtt[other].get(one)
        if there is not None and back is not None and there != back:
            yield ScenarioError(
                f"paths.matrix.rtt.{other}.{one}",
                format_quantity(back, "time"),
                f"differs from paths.matrix.rtt.{one}.{other} = {format_quantity(there, 'time')}",
                "the same time in both directions, or one of the two alone",
            )


def _locations(scenario: Scenario) -> Iterator[ScenarioError]:
    placed = [c for c in scenario.classes if c.location]
    matrix, internet = scenario.paths.matrix, scenario.paths.internet
    if placed and internet is not None:
        reason = f"is a location, while the paths of each peer are drawn: paths.internet = {internet.name}"
        yield ScenarioError(
            f"classes.{placed[0].name}.location", ", ".join(placed[0].location), reason, "one of the two"
        )
    if not placed and internet is None and "rtt" not in scenario.paths.model_fields_set:
        yield ScenarioError("paths.rtt", None, "is missing, and no class has a location")
    if placed and len(placed) < len(scenario.classes):
        for peer_class in scenario.classes:
            if not peer_class.location:
                yield ScenarioError(
                    f"classes.{peer_class.name}.location",
                    "none",
                    f"is missing while class {placed[0].name} has a location",
                    "a location for every class, or for none",
                )
    elif placed and matrix is None:
        yield ScenarioError("paths.matrix", None, "is missing while the classes have locations", "a path matrix")
    elif placed:
        yield from _unknown_pairs(scenario)


def _unknown_pairs(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield the locations, and the pairs of them that meet, which the matrix does not have."""
    matrix = scenario.paths.matrix
    assert matrix is not None
    unknown = [(c, place) for c in scenario.classes for place in c.location if place not in matrix.locations]
    for peer_class, place in unknown:
        yield ScenarioError(
            f"classes.{peer_class.name}.location",
            place,
            f"is not in the path matrix {matrix.name}",
            ", ".join(matrix.locations),
        )
    if not unknown:
        for one, other in meeting(scenario.classes):
            try:
                matrix.between(one, other)
            except KeyError:
                yield ScenarioError("paths.matrix", matrix.name, f"has no RTT between {one} and {other}")


def meeting(classes: tuple[PeerClass, ...]) -> list[tuple[str, str]]:
    """Return the pairs of locations whose peers exchange data; two seeds never do."""
    pairs = {
        (one, other)
        for a, b in combinations_with_replacement(classes, 2)
        if "leecher" in (a.role, b.role)
        for one in a.location
        for other in b.location
    }
    return sorted(pairs)
