"""The statistics, the judging on made-up figures both ways, and the page; a tiny swarm is measured, no claim is run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import btflow
from btflow.uplinks import quantile
from validation import reference
from validation.command import run_app
from validation.swarms import __main__ as command
from validation.swarms import ablations, completion, figures, measured, page, planes, report, why
from validation.swarms.compare import interval, p_above, paired, slope, spearman
from validation.swarms.experiments import (
    ABLATIONS,
    BELOW,
    BUFFERS,
    CHECK_FULL,
    FACTORS,
    HALVES,
    HOMOGENEOUS,
    LARGE,
    MANY,
    PLAIN,
    SIZES,
    SMALL,
    SOME,
    SWEPT,
    Plan,
    Setting,
    adsl,
    buffered,
    capped,
    cluster,
    sized,
)
from validation.swarms.measured import ALL, PERCENTS, QUEUE_PERCENTS, Group, Measured, Results
from validation.swarms.report import Report
from validation.verdict import Condition, Finding, Verdict

RUNS = 12
NOISE = np.random.default_rng(5).normal(0.0, 1.0, (40, RUNS))
"""Of standard deviation 1 for each figure and run, the same in every test."""


# Statistics.


def test_interval_of_students_t() -> None:
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.high - found.mean == pytest.approx(3.1824463 * np.std([1, 2, 3, 4], ddof=1) / 2)
    assert interval([1.0, np.nan, 3.0]).number == 2
    assert interval([1.0]).high == np.inf
    assert interval([]).number == 0


def test_an_order_is_found_by_pairs_that_the_spread_hides() -> None:
    level = np.linspace(50.0, 150.0, 10)
    found = paired(level + 1.0 + 0.1 * NOISE[0][:10], level)
    assert found.greater
    assert not found.less
    assert abs(found.effect) < 0.1  # small beside the spread of the runs
    assert found.equal


@pytest.mark.parametrize(
    ("shift", "noise", "equal"), [(0.0, 2.0, True), (0.04, 0.5, True), (0.0, 20.0, False), (0.06, 0.1, False)]
)
def test_equivalence_needs_evidence(shift: float, noise: float, equal: bool) -> None:
    base = np.full(RUNS, 100.0)
    assert paired(100.0 * (1.0 + shift) + noise * (NOISE[1] - NOISE[1].mean()), base).equal is equal


def test_one_run_shows_nothing() -> None:
    found = paired([1.0], [2.0])
    assert (found.less, found.greater, found.equal) == (False, False, False)
    nothing = paired([np.nan, np.nan], [1.0, 2.0])
    assert (nothing.less, nothing.greater, nothing.equal) == (False, False, False)


def test_the_effect_is_cohens_d() -> None:
    a, b = 10.0 + NOISE[0], 12.0 + NOISE[1]
    pooled = np.sqrt(0.5 * (a.var(ddof=1) + b.var(ddof=1)))
    assert paired(a, b).effect == pytest.approx((a.mean() - b.mean()) / pooled)


def test_what_does_not_vary_is_compared_as_it_is() -> None:
    assert p_above([2.0, 2.0], 1.0) == 0.0
    assert p_above([2.0, 2.0], 3.0) == 1.0
    assert paired([2.0, 2.0], [1.0, 1.0]).greater


def test_slopes_and_ranks() -> None:
    assert slope([0, 1, 2], [[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]]) == pytest.approx([2.0, 0.0])
    assert spearman([1, 2, 3], [1, 8, 9]) == 1.0
    assert spearman([1, 2, 3], [5, 5, 5]) == 0.0


# Settings.


def every() -> list[Setting]:
    found = [*PLAIN, *SWEPT, *HOMOGENEOUS.values(), *HALVES.values(), CHECK_FULL]
    found += [capped(f, b) for f in FACTORS for b in (SMALL, LARGE)]
    found += [sized(size, share) for size in SIZES for share in (0.0, 0.5, 1.0)]
    return found + [s for ablation in ABLATIONS for s in ablation.settings]


def test_every_setting_is_a_scenario() -> None:
    settings = set(every())
    assert len({setting.scenario().digest() for setting in settings}) == len(settings)
    assert len({setting.label for setting in settings}) == len(settings)


def test_replicas_of_a_model_belong_together() -> None:
    assert adsl(0.0).seed == adsl(1.0, "forever").seed != cluster("nice").seed
    assert buffered(200) == adsl(0.5) == sized(10, 0.5)


def test_runs_of_a_setting() -> None:
    plan = Plan(10)
    assert [plan.of(s) for s in (PLAIN[0], SWEPT[0], HOMOGENEOUS["BT:nice"])] == [10 * MANY, 10 * SOME, 10]
    assert plan.of(CHECK_FULL) == 5


def test_the_cap_is_the_only_difference_between_sending_rates() -> None:
    slow, fast = (capped(f, LARGE).scenario() for f in (0.25, 5.0))
    assert [c.upload_limit for c in slow.classes] == [156_250, 31_250]
    assert [c.upload_limit for c in fast.classes] == [3_125_000, 625_000]
    assert slow.slots == fast.slots == 7


# What is measured.


@pytest.fixture(scope="module")
def result() -> object:
    small = btflow.load("flashcrowd", leechers=6, file_size="1 MiB")
    return btflow.simulate(small, seed=1, replicas=2)


def test_measured_of_a_tiny_swarm(result: object) -> None:
    import xarray as xr

    assert isinstance(result, xr.Dataset)
    found = measured.measure(result)
    assert set(found.groups) == {"tcp", "utp", ALL}
    assert found.number == 2
    counted = result["completion_time"].where(result["counted"])
    for name in found.groups:
        mine = counted if name == ALL else counted.isel(peer=(result["peer_class"] == name).values)
        assert found.of("mean", name) == pytest.approx(mine.mean("peer").values, nan_ok=True)
    for row, times in zip(found.ranked, result["completion_time"].values, strict=True):
        assert sorted(row) == pytest.approx(sorted(times[np.isfinite(times)]))
    own = result["queue_packets_count"].sel(sender_class="tcp").values
    lengths = result["queue_packets"].values
    assert found.of("queue_p90", "tcp")[0] == quantile(lengths, own[0], 0.9)
    assert found.of("queue_mean", "tcp")[1] == pytest.approx((own[1] * lengths).sum() / own[1].sum())


def test_figures_are_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def simulate(*_: object, **__: object) -> None:
        calls.append(1)

    monkeypatch.setattr("btflow.simulate", simulate)
    monkeypatch.setattr(measured, "measure", lambda _: made({"tcp": {"mean": 3.0}}))
    path = tmp_path / "kept.json"
    first = Results(Plan(2), path)[PLAIN[0]]
    assert np.array_equal(Results(Plan(2), path)[PLAIN[0]].of("mean", "tcp"), first.of("mean", "tcp"))
    assert len(calls) == 1
    assert Results(Plan(3), path)[PLAIN[0]].number == RUNS  # other runs are not those kept
    path.write_text("{", encoding="utf-8")
    assert Results(Plan(2), path)[PLAIN[0]].number == RUNS
    assert Results(Plan(2), path, fresh=True)[PLAIN[0]].number == RUNS
    assert len(calls) == 4


# Made-up figures.

DEFAULTS = {
    "mean": 70.0,
    "p50": 70.0,
    "p90": 90.0,
    "last": 100.0,
    "spread": 30.0,
    "count": 25.0,
    "queue_mean": 30.0,
    "queue_p90": 90.0,
    "above": 0.2,
    "delay_mean": 0.3,
    "delay_p50": 0.025,
    "delay_p90": 0.06,
    "request_delay": 0.4,
    "have_delay": 0.4,
    "block_latency": 2.0,
    "slots": 4.0,
    "acks": 0.03,
    "drops": 1.0,
    "haves": 1.0,
}


def made(classes: Mapping[str, Mapping[str, float]], noise: float = 0.005, ranks: Sequence[float] = ()) -> Measured:
    """Figures with a little noise that is another for each figure and class."""
    groups = {}
    together = {n: float(np.mean([c.get(n, v) for c in classes.values()])) for n, v in DEFAULTS.items()}
    for k, (name, given) in enumerate({**classes, ALL: together}.items()):
        runs = {
            figure: list(value * (1.0 + noise * NOISE[(7 * k + i) % len(NOISE)]))
            for i, (figure, value) in enumerate((DEFAULTS | dict(given)).items())
        }
        times = np.linspace(0.5, 1.5, len(PERCENTS)) * (DEFAULTS | dict(given))["mean"]
        queue = np.linspace(0.0, 200.0, len(QUEUE_PERCENTS))
        groups[name] = Group(
            runs, [float(t) for t in times], [float(q) for q in queue], [float(q) / 100 for q in queue]
        )
    return Measured(groups, [list(ranks) or [100.0, 60.0, 20.0, 13.0]] * RUNS, 1.0, 1e7)


class Given(Results):
    """Figures that are given; none is simulated."""

    def __getitem__(self, setting: Setting) -> Measured:
        return self._found[setting]


def results(found: Mapping[Setting, Measured]) -> Results:
    filled = Given(Plan())
    for setting, figures_of in found.items():
        filled.add(setting, figures_of)
    return filled


def swarms_2011(
    *, forever: float = 13.5, utp: float = 70.0, half: tuple[float, float] = (100.0, 56.0), above: float = 0.2
) -> dict[Setting, Measured]:
    queue = {0.0: 60.0, 0.5: 36.0, 1.0: 5.0}
    found = {}
    for size in SIZES:
        for share in (0.0, 1.0):
            name, mean = ("utp", utp) if share else ("tcp", 70.0)
            found[sized(size, share)] = made(
                {name: {"mean": mean, "queue_mean": queue[share], "above": above if not share else 0.0}}
            )
        found[sized(size, 0.5)] = made({"tcp": {"mean": half[0]}, "utp": {"mean": half[1]}})
    found[adsl(0.5)] = made(
        {
            "tcp": {"mean": half[0], "queue_mean": 2 * queue[0.5] - 5.0, "above": above},
            "utp": {"mean": half[1], "queue_mean": 5.0},
        }
    )
    for share, classes in ((0.0, ("tcp",)), (0.5, ("tcp", "utp")), (1.0, ("utp",))):
        found[adsl(share, "forever")] = made({name: {"mean": forever} for name in classes})
    return found


def parts(finding: Finding) -> dict[str, bool]:
    names = dict.fromkeys(c.part for c in finding.conditions)
    return {name: all(c.held for c in finding.conditions if c.part == name) for name in names}


def test_2011_as_published() -> None:
    found = results(swarms_2011())
    for name in ("T01", "T02", "T03", "T04", "T05"):
        finding = report.JUDGES[name](found)
        assert all(c.held for c in finding.conditions), (name, parts(finding))


@pytest.mark.parametrize(
    ("changed", "judge", "failed"),
    [
        ({"forever": 16.0}, "T02", {"never leave"}),
        ({"forever": 80.0}, "T03", {"slower"}),
        ({"utp": 75.0}, "T03", {"the same"}),
        ({"half": (70.0, 70.0)}, "T04", {"random stay"}),
        ({"half": (56.0, 100.0)}, "T04", {"random stay"}),
        ({"above": 0.26}, "T05", {"TCP's long queues"}),
        ({"above": 0.14}, "T05", {"TCP's long queues"}),
    ],
)
def test_2011_otherwise(changed: dict[str, Any], judge: str, failed: set[str]) -> None:
    found = parts(report.JUDGES[judge](results(swarms_2011(**changed))))
    assert {name for name, held in found.items() if not held} == failed


def test_a_difference_among_permanent_seeds_is_seen() -> None:
    found = swarms_2011()
    found[adsl(0.5, "forever")] = made({"tcp": {"mean": 14.5}, "utp": {"mean": 13.5}})
    assert not completion.half_and_half(results(found)).conditions[1].held
    found[adsl(1.0, "forever")] = made({"utp": {"mean": 14.5}})
    assert not completion.never_leave(results(found)).conditions[0].held


@pytest.mark.parametrize(
    ("tcp", "utp", "failed"),
    [
        ((60, 80, 90, 95, 98, 100), (60, 58, 56, 56, 56, 56), set()),
        ((70, 80, 90, 95, 98, 100), (60, 58, 56, 56, 56, 56), {"10 packets"}),
        ((60, 80, 90, 95, 98, 100), (60, 58, 56, 50, 53, 56), {"uTP flat"}),
        ((60, 60, 60, 60, 60, 60), (60, 58, 56, 56, 56, 56), {"TCP grows"}),
    ],
)
def test_buffers(tcp: Sequence[float], utp: Sequence[float], failed: set[str]) -> None:
    found = {
        buffered(b): made({"tcp": {"mean": t}, "utp": {"mean": u}}, noise=0.005 if t != 60 or b == 10 else 0.0)
        for b, t, u in zip(BUFFERS, tcp, utp, strict=True)
    }
    found[buffered(BELOW)] = made({"tcp": {}, "utp": {}})
    judged = parts(completion.buffers(results(found)))
    assert {name for name, held in judged.items() if not held} == failed


ALONE = {
    "BT:cubic": (255.0, 60.0, 320.0, 0.5),
    "BT:newreno": (256.0, 61.0, 330.0, 0.4),
    "BT:vegas": (257.0, 62.0, 325.0, 0.08),
    "BT:nice": (270.0, 63.0, 360.0, 0.05),
    "BT:lp": (258.0, 64.0, 335.0, 0.35),
    "UT:cubic": (250.0, 30.0, 280.0, 0.45),
    "UT:utp": (240.0, 25.0, 270.0, 0.04),
}
BESIDE = {"BT:newreno": 0.98, "BT:vegas": 0.92, "BT:nice": 0.8, "BT:lp": 0.96, "UT:utp": 1.0}


def swarms_2012(changed: Mapping[str, float] = {}, beside: Mapping[str, float] = {}) -> dict[Setting, Measured]:
    """`changed` multiplies completion times of homogeneous swarms, `beside` those of halves."""
    found = {}
    for name, (mean, spread, last, delay) in ALONE.items():
        f = changed.get(name, 1.0)
        given = {"mean": f * mean, "spread": f * spread, "last": f * last, "delay_mean": delay, "delay_p50": delay}
        found[HOMOGENEOUS[name]] = made({"x": given})
    for name, factor in BESIDE.items():
        base = 200.0 if name.startswith("UT") else 220.0 if name == "BT:nice" else 280.0
        x = base * factor * beside.get(name, 1.0)
        halves = {"x": {"mean": x, "p50": x}, "cubic": {"mean": base, "p50": base}}
        if name != "UT:utp":
            halves["cubic"]["mean"] = 290.0
        found[HALVES[name]] = made(halves, noise=0.002)
    found[CHECK_FULL] = made({"x": {"mean": 800.0}, "cubic": {"mean": 900.0}})
    return found


def test_2012_as_published() -> None:
    found = results(swarms_2012())
    for name in ("D01", "D02", "D03"):
        finding = report.JUDGES[name](found)
        assert all(c.held for c in finding.conditions), (name, parts(finding))


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({"BT:nice": 1.2}, {"moderate effect"}),
        ({"BT:nice": 0.9}, {"Nice slowest"}),
        ({"UT:utp": 1.1}, {"uTP beats CUBIC"}),
        ({"UT:utp": 1.2, "UT:cubic": 1.2}, {"uTorrent faster"}),
    ],
)
def test_2012_homogeneous_otherwise(changed: dict[str, float], failed: set[str]) -> None:
    judged = parts(planes.homogeneous(results(swarms_2012(changed))))
    assert failed <= {name for name, held in judged.items() if not held}


@pytest.mark.parametrize(
    ("beside", "failed"),
    [
        ({"BT:newreno": 1.1}, {"CUBIC slower than its other half"}),
        ({"BT:nice": 1.3}, {"Nice fastest"}),
        ({"UT:utp": 0.93}, {"uTorrent's halves alike"}),
    ],
)
def test_2012_halves_otherwise(beside: dict[str, float], failed: set[str]) -> None:
    judged = parts(planes.heterogeneous(results(swarms_2012(beside=beside))))
    assert failed <= {name for name, held in judged.items() if not held}
    assert set(judged) == {
        "CUBIC slower than its other half",
        "CUBIC slower than uTorrent",
        "Nice fastest",
        "uTorrent's halves alike",
    }


def test_a_queue_out_of_order_is_seen() -> None:
    found = swarms_2012()
    found[HOMOGENEOUS["BT:vegas"]] = made({"x": {"delay_mean": 0.38}})
    judged = parts(planes.occupancy(results(found)))
    assert judged == {"utp/nice/vegas below lp/newreno": False, "lp/newreno below cubic": True}


def test_table_3_is_read_as_it_is_printed() -> None:
    table = reference.spearman()
    assert len(table) == 16
    assert table["homogeneous", "multi", 50, 50] == 0.54
    assert table["homogeneous", "mono", 90, 90] == -0.30
    assert table["heterogeneous", "mono", 50, 90] == 0.67


def test_the_number_of_pairs_fits_the_printed_figures() -> None:
    """Without ties, Spearman's coefficient of n pairs is 1 - 6 D / (n (n^2 - 1)) with an even D."""
    for (scenario, clients), pairs in planes.sets().items():
        n = len(pairs)
        steps = np.round(1.0 - 6.0 * np.arange(0, n * (n * n - 1) // 3 + 1, 2) / (n * (n * n - 1)), 2)
        for key, value in reference.spearman().items():
            if key[:2] == (scenario, clients):
                assert np.isclose(steps, value).any(), (key, n)


def test_correlations_by_rank_and_their_interval() -> None:
    times = np.array([[1.0, 1.1], [2.0, 2.1], [3.0, 3.1], [4.0, 4.1]])
    assert planes.correlation(times, times).mean == 1.0
    assert planes.correlation(times, -times).low == -1.0
    found = planes.correlation(times, np.array([[1.0, 9.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]))
    assert found.low < found.high == 1.0


@pytest.mark.parametrize(("value", "held"), [(1.0, False), (0.5, True)])
def test_correlations_are_judged_by_sign_and_distance(
    monkeypatch: pytest.MonkeyPatch, value: float, held: bool
) -> None:
    monkeypatch.setattr(reference, "spearman", lambda: dict.fromkeys(KEYS, 0.6))
    monkeypatch.setattr(planes, "correlation", lambda *_: interval([value, value]))
    finding = planes.correlations(results(swarms_2012()))
    assert [c.held for c in finding.conditions] == [held] * 16
    monkeypatch.setattr(reference, "spearman", lambda: dict.fromkeys(KEYS, -0.1))
    assert not any(c.held for c in planes.correlations(results(swarms_2012())).conditions)


KEYS = list(reference.spearman())


def rates(changed: Mapping[tuple[float, str], Mapping[str, float]] = {}) -> dict[Setting, Measured]:
    found = {}
    for f in FACTORS:
        for buffer, full in ((SMALL, 0.5), (LARGE, 1.1)):
            delay = 0.2 / min(f, 0.75) if f < 1 else full
            given = {"mean": 100.0 / min(f, 1.0), "request_delay": delay}
            found[capped(f, buffer)] = made({"leecher": given | dict(changed.get((f, buffer), {}))}, noise=0.002)
    return found


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({}, set()),
        ({(5.0, LARGE): {"mean": 110.0}}, {"throughput saturates"}),
        ({(5.0, LARGE): {"request_delay": 0.5}}, {"more with the buffer"}),
        ({(0.25, LARGE): {"mean": 100.0}}, {"data below C"}),
    ],
)
def test_sending_rates(changed: Mapping[tuple[float, str], Mapping[str, float]], failed: set[str]) -> None:
    judged = parts(planes.sending_rates(results(rates(changed))))
    assert {name for name, held in judged.items() if not held} == failed


# What carries the differences.


def ablated(gaps: Mapping[str, float]) -> Results:
    """The half-and-half swarm of 2011, whose TCP peers take 100 s and uTP peers the rest."""
    ablation = ABLATIONS[0]
    every_one = (("", ablation.base), *ablation.off)
    return results(
        {
            side[0][0]: made({"tcp": {"mean": 100.0}, "utp": {"mean": 100.0 + gaps.get(off, -40.0)}})
            for off, side in every_one
        }
    )


def test_the_part_that_goes_with_a_mechanism() -> None:
    (control, _), (acks, _), *_ = ABLATIONS[0].off
    found = ablations.taken(ablated({acks: -10.0, control: -38.0}), ABLATIONS[0])
    by_name = {row.off: row.removed for row in found.rows}
    assert by_name[acks] == pytest.approx(0.75, abs=0.02)
    assert by_name[control] == pytest.approx(0.05, abs=0.02)
    assert f"{acks}: -1" in found.words
    assert "changes little of it (-5%)" in found.words
    assert "The papers suspect slow control messages" in found.words
    assert "left without them: -10" in found.words
    assert f'the greatest part goes with "{acks}"' in found.words


def test_words_follow_the_figures() -> None:
    reversed_ = ablations.taken(ablated({ABLATIONS[0].off[0][0]: 20.0}), ABLATIONS[0])
    assert "reverses it" in reversed_.words
    gone = ablations.taken(ablated({ABLATIONS[0].off[2][0]: 0.0}), ABLATIONS[0])
    assert "takes all of it away" in gone.words
    assert "The papers suspect" not in reversed_.words
    by_chance = ablations.taken(ablated({ABLATIONS[0].off[1][0]: -39.99}), ABLATIONS[0])
    assert "changes nothing at all" in by_chance.words
    more = ablations.taken(ablated({ABLATIONS[0].off[1][0]: -60.0}), ABLATIONS[0])
    assert "adds 50%" in more.words
    assert "No mechanism taken alone carries a fifth of it." in more.words
    names = dict.fromkeys(("", *(off for off, _ in ABLATIONS[0].off)), 0.0)
    assert "hardly a difference" in ablations.taken(ablated(names), ABLATIONS[0]).words


def test_ablations_belong_to_claims() -> None:
    assert ablations.for_claims(results({}), ["T01", "D02"]) == []
    assert [t.ablation for t in ablations.for_claims(ablated({}), ["T04"])] == [ABLATIONS[0]]
    assert sorted(k for ks in ablations.OF_CLAIMS.values() for k in ks) == list(range(len(ABLATIONS)))


# The report.


def test_every_claim_is_judged() -> None:
    assert list(report.JUDGES) == list(reference.claims(report.CLAIMS))


def made_report(ids: Sequence[str] = ("T01", "T03", "T04", "T05", "D05")) -> Report:
    filled = results(swarms_2011(above=0.3) | rates())
    for setting in ABLATIONS[0].settings[1:]:
        filled.add(setting, ablated({})[setting])
    for setting in ABLATIONS[1].settings[2:]:
        filled.add(setting, made({"utp" if dict(setting.values)["utp_share"] else "tcp": {}}))
    return report.make(ids, filled)


def test_the_page_says_what_is_not_reproduced(tmp_path: Path) -> None:
    found = made_report()
    page.write_page(found, figures.drawn(found), tmp_path / "swarms.html")
    text = (tmp_path / "swarms.html").read_text(encoding="utf-8")
    for part in (
        "4 reproduced, 1 in part",
        "above 100 packets: 30.",
        "TOST ±5%",
        'id="completion_2011_random"',
        'id="planes"',
        'id="ablations"',
        "super-seeding",
        "swarm.file_size",
        "closed; as mainline",
        "packet-level swarm of 20",
        "testa2011: stay = random, utp_share = 0.5",
    ):
        assert part in text, part
    shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)  # plotly.js has addresses in it
    assert "http" not in shown


def test_the_summary(tmp_path: Path) -> None:
    report.write_summary(made_report(), tmp_path / "swarms.md")
    text = (tmp_path / "swarms.md").read_text(encoding="utf-8")
    assert "| T01 | reproduced |" in text
    assert "- T05 FAILS: all TCP, above 100 packets: 30." in text
    assert "| nothing | uTP 55.9" in text
    assert "`testa2011: swarm.file_size` = 10 MB. assumed: the paper gives none" in text


def test_what_does_not_come_out_is_looked_into() -> None:
    filled = swarms_2011(utp=80.0) | swarms_2012()
    filled |= {buffered(b): made({"tcp": {}, "utp": {}}) for b in (BELOW, *BUFFERS[:-1])}
    claims = reference.claims(report.CLAIMS)
    failed, held = Finding("", "", (Condition("", False),)), Finding("", "", (Condition("", True),))
    shown = why.why([Verdict(claims[name], failed) for name in why.WHY], results(filled))
    assert list(shown) == list(why.WHY)
    assert "over all TCP's: +14" in shown["T03"]
    assert "10 full packets last 120 ms" in shown["T06"]
    assert "BT:nice < UT:utp < BT:vegas" not in shown["D04"].partition("by median queue")[0]
    assert why.why([Verdict(claims["T03"], held), Verdict(claims["T01"], failed)], results(filled)) == {}


def test_all_figures_are_drawn() -> None:
    filled = swarms_2011() | swarms_2012() | rates()
    filled |= {buffered(b): made({"tcp": {"mean": 90.0}, "utp": {"mean": 60.0}}) for b in BUFFERS}
    found = report.make([], results(filled))
    for setting in filled:
        assert found.results[setting].number == RUNS
    drawn = figures.drawn(found)
    assert len(drawn) == 11
    for plot, caption in drawn.values():
        assert plot.data
        assert caption


def test_constants_without_a_source_are_named_once() -> None:
    found = report.assumptions()
    names = [entry.name for entry in found]
    assert len(set(names)) == len(names)
    assert any(entry.name.startswith("utorrent-3.0") for entry in found)
    assert any(entry.name.startswith("datacontrol") for entry in found)
    assert any("tracker" in entry.name for entry in found)


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = swarms_2011()
    monkeypatch.setattr(Results, "__getitem__", lambda self, setting: self._found.setdefault(setting, found[setting]))
    monkeypatch.setattr(report, "SUMMARY", tmp_path / "swarms.md")

    def call(*options: str) -> int:
        monkeypatch.setattr("sys.argv", ["validation.swarms", *options])
        return run_app(command.app, "validation.swarms")

    assert call("--only", "T01", "--out", str(tmp_path)) == 0
    assert "T01  reproduced" in capsys.readouterr().out
    assert (tmp_path / "swarms.html").exists()
    assert not (tmp_path / "swarms.md").exists()  # part of the whole is no summary
    found[adsl(1.0, "forever")] = made({"utp": {"mean": 20.0}})
    assert call("--only", "T01", "--out", str(tmp_path)) == 1
    assert call("--only", "X99") == 2
    assert "X99" in capsys.readouterr().err
