"""T01 to T06: uTP and TCP on ADSL uplinks, after Testa and Rossi (2011)."""

from __future__ import annotations

from typing import Any

from validation.statistics import SIGNIFICANT
from validation.swarms.compare import Interval, Paired, apart, interval, p_above, p_text, paired, slope, spearman
from validation.swarms.experiments import BELOW, BUFFERS, SHARES, SIZES, STATED, adsl, buffered, sized
from validation.swarms.measured import ALL, QUEUE_PERCENTS, Measured, Results
from validation.verdict import Condition, Finding

DOWNLINK = 1e6
"""Rate of a leecher's downlink [B/s]."""
UPLINK = 125e3
"""Rate of a leecher's uplink [B/s]."""
NEAR = 1.5
"""Completion time over the file's time on the downlink at which the downlink counts as nearly full."""
LONG_SHARE = (0.15, 0.25)
"""Share of samples above 100 packets that counts as about 20 %."""
TARGET = 0.025
"""Queueing delay uTP aims at [s]."""
FACTOR, TAIL = 2.0, 4.0
"""Median over target and target over median at most; 90th percentile over target at most."""
STAYS = {"forever": "never leave", "random": "random stay"}


def _means(results: Results, share: float, stay: str) -> Any:
    return results[adsl(share, stay)].of("mean")


def _equal(name: str, found: Paired, part: str = "") -> Condition:
    return Condition(f"{name}: {found.equivalence}", found.equal, part)


def _classes(found: Measured) -> Paired:
    """Return uTP's mean completion time over TCP's, run by run."""
    return paired(found.of("mean", "utp"), found.of("mean", "tcp"))


def _swarms(results: Results, stay: str) -> dict[str, Interval]:
    return {name: interval(_means(results, share, stay)) for name, share in SHARES.items()}


def never_leave(results: Results) -> Finding:
    """T01: no difference if seeds never leave."""
    tcp, half, utp = (_means(results, share, "forever") for share in SHARES.values())
    pairs = {
        "all uTP over all TCP": paired(utp, tcp),
        "half and half over all TCP": paired(half, tcp),
        "half and half over all uTP": paired(half, utp),
    }
    return Finding(
        "the three distributions coincide",
        "; ".join(f"{name} {found.text(2, 's')}" for name, found in _swarms(results, "forever").items()),
        tuple(_equal(name, found) for name, found in pairs.items()),
        brief=f"{', '.join(f'{times.mean():.1f}' for times in (tcp, half, utp))} s",
    )


def ranks(results: Results) -> Finding:
    """T02: completion times shrink with rank until the downlink is nearly full, but not with random stay."""
    conditions, ours, ratios = [], [], dict[str, list[float]]()
    for stay, text in STAYS.items():
        for name, share in SHARES.items():
            found = results[adsl(share, stay)]
            ratio = found.of("mean") * DOWNLINK / found.file_size
            trend = [spearman(range(len(times)), times) for times in found.ranked]
            falls = p_above([-x for x in trend], 0.0)
            shown = interval(ratio)
            above = p_above(ratio, NEAR)
            near = stay == "forever"
            p = 1.0 - above if near else above
            word = "at most" if near else "above"
            conditions.append(
                Condition(
                    f"{text}, {name}: last 50 take {shown.text(2)} times the file's time on the downlink, "
                    f"{word} {NEAR:g}: t, {p_text(p)}",
                    p < SIGNIFICANT,
                    text,
                )
            )
            if near:
                conditions.append(
                    Condition(
                        f"{text}, {name}: Spearman correlation of time and rank {interval(trend).text(2)}, below 0: "
                        f"t, {p_text(falls)}",
                        falls < SIGNIFICANT,
                        text,
                    )
                )
            ours.append(f"{text}, {name}: {shown.text(2)}")
            ratios.setdefault(stay, []).append(shown.mean)
    return Finding(
        "never leave: the last ones nearly fill the downlink; random stay: they do not",
        "completion time of the last 50 over the file's time on the downlink: " + "; ".join(ours),
        tuple(conditions),
        brief="; ".join(f"{min(some):.2f} to {max(some):.2f}" for some in ratios.values()),
    )


def random_stay(results: Results) -> Finding:
    """T03: homogeneous TCP and uTP alike with random stay, and slower than with permanent seeds."""
    tcp, utp = (_means(results, share, "random") for share in (0.0, 1.0))
    slower = {
        name: paired(_means(results, share, "random"), _means(results, share, "forever"))
        for name, share in SHARES.items()
        if share != 0.5
    }
    found = paired(utp, tcp)
    shown = _swarms(results, "random")
    return Finding(
        "practically the same; longer than with permanent seeds",
        f"all TCP {shown['all TCP'].text(1, 's')}, all uTP {shown['all uTP'].text(1, 's')}: uTP {found.text}",
        (
            _equal("all uTP over all TCP", found, "the same"),
            *(
                Condition(f"{name}, random stay over never leave: {c.ordered(greater=True)}", c.greater, "slower")
                for name, c in slower.items()
            ),
        ),
        (f"half and half: {shown['half and half'].text(1, 's')}", _curves(results), *_sizes(results)),
        brief=f"{100 * found.relative.mean:+.1f}%",
    )


def _curves(results: Results) -> str:
    """Return how far the distributions that the paper draws are apart."""
    tcp, half, utp = (results[adsl(share)].groups[ALL].completion for share in SHARES.values())
    return (
        "greatest distance of the distributions of the completions of all runs, as figure 2b draws them: all uTP from "
        f"all TCP {apart(utp, tcp):.2f}, half and half from all TCP {apart(half, tcp):.2f}, from all uTP "
        f"{apart(half, utp):.2f}"
    )


def _sizes(results: Results) -> list[str]:
    """Return what the size of the file changes, which the paper does not give."""
    lines = []
    for size in SIZES:
        tcp, utp = (results[sized(size, share)].of("mean") for share in (0.0, 1.0))
        half = results[sized(size, 0.5)]
        lines.append(
            f"file of {size} MB, all uTP over all TCP: {paired(utp, tcp).text}; half and half, uTP over TCP: "
            f"{_classes(half).text}"
        )
    return lines


def half_and_half(results: Results) -> Finding:
    """T04: uTP peers sooner with random stay, no difference if seeds never leave."""
    stay, forever = results[adsl(0.5)], results[adsl(0.5, "forever")]
    found, none = _classes(stay), _classes(forever)
    times = ", ".join(
        f"{text} {interval(stay.of('mean', name)).text(1, 's')}" for name, text in (("utp", "uTP"), ("tcp", "TCP"))
    )
    return Finding(
        "random stay: uTP's distribution lies to the left of TCP's; never leave: they coincide",
        f"random stay: {times}: {found.text}; never leave: {none.text}",
        (
            Condition(f"random stay, uTP over TCP: {found.ordered()}", found.less, "random stay"),
            _equal("never leave, uTP over TCP", none, "never leave"),
        ),
        (
            *_classes_seen(stay),
            *_sizes(results),
        ),
        brief=f"{100 * found.relative.mean:+.0f}%; {100 * none.relative.mean:+.1f}%",
    )


def _classes_seen(found: Measured) -> list[str]:
    """Return how messages, blocks and queues of the two classes differ in a swarm of both."""
    lines = []
    for name, text, unit, scale in (
        ("request_delay", "a request's delay", "ms", 1e3),
        ("have_delay", "a HAVE's delay", "ms", 1e3),
        ("block_latency", "from request to block", "s", 1.0),
        ("slots", "connections served on", "", 1.0),
        ("acks", "ACKs among the uplink's bytes", "%", 100.0),
        ("drops", "packets dropped at an uplink", "", 1.0),
        ("count", "completions that count", "", 1.0),
    ):
        sides = [
            f"{shown} {interval(found.of(name, group)).text(1, unit, scale)}"
            for group, shown in (("utp", "uTP"), ("tcp", "TCP"))
        ]
        lines.append(f"{text}: {', '.join(sides)}")
    return lines


def queues(results: Results) -> Finding:
    """T05: uplink queues with random stay."""
    tcp, half, utp = (results[adsl(share)] for share in SHARES.values())
    above = interval(tcp.of("above", "tcp"))
    median, tail = (interval(utp.of(f"delay_p{q}", "utp")) for q in (50, 90))
    order = {
        "half and half over all TCP": (paired(half.of("queue_mean"), tcp.of("queue_mean")), False),
        "half and half over all uTP": (paired(half.of("queue_mean"), utp.of("queue_mean")), True),
    }
    low, high = LONG_SHARE
    return Finding(
        "about 20% of the samples of TCP uplinks above 100 packets; uTP near 25 ms",
        f"above 100 packets: {above.text(1, '%', 100)} of the samples (all TCP); all uTP: median "
        f"{median.text(0, 'ms', 1e3)}, 90th percentile {tail.text(0, 'ms', 1e3)}",
        (
            Condition(
                f"all TCP, above 100 packets: {above.text(1, '%', 100)}, {100 * low:g} to {100 * high:g}%",
                low <= above.mean <= high,
                "TCP's long queues",
            ),
            Condition(
                f"all uTP, median {median.text(0, 'ms', 1e3)}, within a factor of {FACTOR:g} of {1e3 * TARGET:g} ms",
                TARGET / FACTOR <= median.mean <= TARGET * FACTOR,
                "uTP's median",
            ),
            Condition(
                f"all uTP, 90th percentile {tail.text(0, 'ms', 1e3)}, at most {1e3 * TARGET * TAIL:g} ms",
                tail.mean <= TARGET * TAIL,
                "uTP's 90th percentile",
            ),
            *(
                Condition(f"mean queue, {name}: {c.ordered(up)}", c.greater if up else c.less, "half and half between")
                for name, (c, up) in order.items()
            ),
        ),
        _queue_lines(tcp, half, utp),
        brief=f"{100 * above.mean:.0f}%; {1e3 * median.mean:.0f} ms",
    )


def _queue_lines(tcp: Measured, half: Measured, utp: Measured) -> tuple[str, ...]:
    """Return further figures of the queues."""
    lines = [
        f"{name}: mean {interval(found.of('queue_mean')).text(1, 'packets')}, 90th percentile "
        f"{interval(found.of('queue_p90')).text(0, 'packets')}, above 100 packets "
        f"{interval(found.of('above')).text(1, '%', 100)}"
        for name, found in zip(SHARES, (tcp, half, utp), strict=True)
    ]
    lines += [
        f"half and half, uplinks of {text} peers: mean {interval(half.of('queue_mean', name)).text(1, 'packets')}, "
        f"above 100 packets {interval(half.of('above', name)).text(1, '%', 100)}"
        for name, text in (("tcp", "TCP"), ("utp", "uTP"))
    ]
    size = UPLINK * tcp.of("delay_mean", "tcp").mean() / tcp.of("queue_mean", "tcp").mean()
    lines.append(
        "all TCP, time until the queue is empty: 90th percentile "
        f"{interval(tcp.of('delay_p90', 'tcp')).text(2, 's')}, 99.9th of all runs together "
        f"{tcp.groups['tcp'].delay[QUEUE_PERCENTS.index(99.9)]:.2f} s. A waiting packet has {size:.0f} B on average, "
        "ACKs and control messages included, so that 100 of them last less than the 1.2 s of full ones: the paper's "
        'share of long queues is met in packets, its "more than a second" is not'
    )
    return tuple(lines)


def buffers(results: Results) -> Finding:
    """T06: completion times against the buffer, half and half with random stay."""
    found = {packets: results[buffered(packets)] for packets in BUFFERS}
    least = _classes(found[BUFFERS[0]])
    utp = {b: found[b].of("mean", "utp") for b in BUFFERS}
    flat = {b: paired(utp[b], utp[BUFFERS[-1]]) for b in BUFFERS if 50 < b < BUFFERS[-1]}
    per_packet = slope(BUFFERS, [found[b].of("mean", "tcp") for b in BUFFERS])
    grows = p_above(per_packet, 0.0)
    shown = interval(per_packet)
    return Finding(
        "at 10 packets alike; uTP roughly unaltered above 50 packets; TCP slower the larger the buffer",
        "; ".join(f"B = {b}: uTP over TCP {100 * _classes(found[b]).relative.mean:+.0f}%" for b in BUFFERS)
        + f"; TCP grows by {shown.text(2, 's')} per packet",
        (
            _equal(f"B = {BUFFERS[0]}, uTP over TCP", least, "10 packets"),
            *(_equal(f"uTP, B = {b} over B = {BUFFERS[-1]}", c, "uTP flat") for b, c in flat.items()),
            Condition(
                f"TCP's slope over B = {BUFFERS[0]} to {BUFFERS[-1]}: {shown.text(3, 's')} per packet, above 0: t, "
                f"{p_text(grows)}",
                grows < SIGNIFICANT,
                "TCP grows",
            ),
        ),
        (
            *(
                f"B = {b}: uTP {interval(utp[b]).text(1, 's')}, TCP {interval(found[b].of('mean', 'tcp')).text(1, 's')}"
                f", uTP over TCP {_classes(found[b]).text}"
                for b in BUFFERS
            ),
            *(
                f"B = {b}, {text}: uTP over TCP {_classes(results[buffered(b)]).equivalence}"
                for b, text in ((STATED, "the 12 ms that the paper gives for 10"), (BELOW, "not in the paper"))
            ),
        ),
        brief=f"{100 * least.relative.mean:+.0f}%; {shown.mean:+.2f} s a packet",
    )
