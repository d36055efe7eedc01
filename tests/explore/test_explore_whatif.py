"""The what-if: pairs that grow, the paired difference of btflow.analysis in words, cancel."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import hypothesis
import numpy as np
import pytest
from explorer_saved import read_figure
from hypothesis import given, strategies as st

import btflow
from btflow.analysis import paired_difference
from btflow.errors import InputError
from btflow.explore import whatif
from btflow.explore.app import Frame
from btflow.explore.comparison import (
    Compared,
    Values,
    _against_flow,
    compare,
    difference,
    differences,
    labels_of,
    words,
)
from btflow.explore.panel import from_query, to_query
from btflow.explore.swarm_panel import SwarmState
from btflow.explore.views import Seen
from btflow.explore.whatif_panel import Settings, WhatIfPanel, WhatIfState, scenario_of, settings, state_of
from btflow.explore.work import Look
from btflow.units.formatting import ratio_in_words
from validation.served import PATIENCE

SMALL = {"leechers": 9, "file_size": "1 MB"}


def seen(asked: Compared) -> list[Seen]:
    return list(compare(asked, Look()))


def assert_same(found: Any, wanted: Any) -> None:
    for name in ("mean_difference", "mean_ratio"):
        for end in ("", "_low", "_high"):
            assert float(found[name + end]) == float(wanted[name + end])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rao2010", "flashcrowd"])
def test_the_interval_is_that_of_a_sweep_with_common_random_numbers(model: str) -> None:
    scenario = btflow.load(model, **SMALL)
    sweep = btflow.sweep(scenario, {"rtt": ["30 ms", "500 ms"]}, replicas=5, seed=7, common=True, progress=False)
    last = seen(Compared(scenario.set(rtt="30 ms"), scenario.set(rtt="500 ms"), 7, 5))[-1]
    assert_same(last.result, paired_difference(sweep, "completion_mean", "rtt", "30 ms", "500 ms"))
    np.testing.assert_array_equal(last.result["completion_mean"], sweep["completion_mean"])


def test_the_interval_of_links_is_that_of_a_sweep_with_common_random_numbers() -> None:
    scenario = btflow.load_link("geni", duration="20 s")
    buffers = ["10 packets", "40 packets"]
    sweep = btflow.sweep(scenario, {"buffer": buffers}, replicas=4, seed=3, common=True, progress=False)
    a, b = (scenario.set(buffer=text) for text in buffers)
    last = seen(Compared(a, b, 3, 4))[-1]
    assert_same(last.result, paired_difference(sweep, "bottleneck_delay_mean", "buffer", *buffers))


def test_pairs_are_those_of_simulate_and_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btflow.explore.comparison.BETWEEN", 0.0)
    a = btflow.load("rao2010", **SMALL)
    b = a.set(rtt="1 s")
    steps = seen(Compared(a, b, 5, 4))
    kinds = [(step.fidelity, int(step.result["pairs"])) for step in steps]
    assert kinds == [(fidelity, pairs) for fidelity in ("flow", "full") for pairs in (1, 2, 3, 4)]
    for last in (steps[3], steps[-1]):
        for side, scenario in enumerate((a, b)):
            times = btflow.simulate(scenario, seed=5, replicas=4, fidelity=last.fidelity).completion_time.mean("peer")
            np.testing.assert_allclose(last.result["completion_mean"].values[side], times)
    points = steps[-1].figures["pairs"].data[-1]
    assert list(points.x) == [1, 2, 3, 4]
    assert len(steps[-1].figures["both"].data) == 2 * 1


def test_a_pair_is_told_in_a_sentence() -> None:
    a, b = [100.0, 200.0, 0.0], [112.0, 200.0, 0.0]
    drawn = differences(a, b, difference("completion_mean", a, b), "completion_mean")
    assert drawn.data[-1].text == ("B takes 12% longer than A", "B takes just as long as A", "nothing to compare")
    assert drawn.data[-2].hovertemplate == "in the mean B takes 4% longer than A<extra></extra>"


def test_pairs_of_flow_say_so_and_those_of_full_say_how_far_it_was_off() -> None:
    a = btflow.load("rao2010", **SMALL)
    steps = seen(Compared(a, a.set(rtt="1 s"), 5, 3))
    flow, full = [step for step in steps if step.fidelity == "flow"][-1], steps[-1]
    assert flow.words.startswith("Flow, an approximation: ")
    assert {drawn.layout.title.text.endswith(" (flow)") for drawn in flow.figures.values()} == {True}
    assert not any("flow" in drawn.layout.title.text for drawn in full.figures.values())
    ratios = [ratio_in_words(float(step.result["mean_ratio"]), "longer", same="as long") for step in (flow, full)]
    found, difference_of_flow = full.words.splitlines()
    assert re.search(rf"B \(rtt 1 s\) takes {ratios[1]} (than|as) A", found)
    off = flow.result["completion_mean"].mean("replica") / full.result["completion_mean"].mean("replica")
    in_both = " in A, ".join(ratio_in_words(float(s), "longer", "shorter", "as long", to="full's") for s in off)
    said = f"Flow said that B takes {ratios[0]} (than|as) A\\. Its mean completion time is {re.escape(in_both)} in B\\."
    assert re.fullmatch(said, difference_of_flow)


@pytest.mark.parametrize(
    ("flow", "full", "said"),
    [
        (([100, 101, 99], [96, 97, 95]), ([100, 101, 99], [105, 106, 104]), "Flow had it the wrong way round: it said"),
        (([100, 101, 99], [96, 97, 95]), ([100, 101, 99], [100, 103, 98]), "Flow said the opposite, that"),
        (([100, 101, 99], [96, 97, 95]), ([100, 101, 99], [90, 91, 89]), "Flow said that"),
    ],
)
def test_a_wrong_sign_of_flow_is_said(flow: Values, full: Values, said: str) -> None:
    text = _against_flow("completion_mean", flow, full)
    assert text.startswith(f"{said}{' that' * said.endswith('said')} B takes 4% less time than A")
    assert ("too few to say" in text) == ("opposite" in said)


def test_a_widget_has_a_short_text_where_no_notebook_shows_it() -> None:
    a = btflow.load("rao2010", **SMALL)
    shown = repr(a.compare(rtt="1 s", pairs=2)), repr(a.explore())
    assert shown[0] == "<WhatIf rao2010> B (rtt 1 s) against A (rtt 0 s), 2 pairs: a widget, which a notebook shows"
    assert shown[1].startswith("<Explorer rao2010> 1 seed and ")
    assert max(map(len, shown)) < 120


def test_a_swarm_and_one_that_flow_does_not_run_are_compared_in_full_alone() -> None:
    a, b = btflow.load("rao2010", **SMALL), btflow.load("flashcrowd", **SMALL, uplink="unlimited")
    steps = seen(Compared(a, b, 0, 2))
    assert {step.fidelity for step in steps} == {"full"}
    assert "flow" not in steps[-1].words.lower()


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (
            [100, 101, 99, 100],
            [112, 113, 111, 112],
            "b takes 12% longer than a. 95% interval: 11.8% to 12.2% longer, from 4 pairs.",
        ),
        ([100, 90, 110, 95], [50, 44, 56, 47], "b takes half as long as a. 95% interval: "),
        ([100, 90, 110, 95], [101, 88, 109, 99], "It may be chance: b takes 0.5% longer than a. 95% interval: "),
        (
            [100, 90, 110, 95],
            [1000, 900, 1110, 955],
            "b takes ten times as long as a. 95% interval: 9.97 to 10.1 ",
        ),
        ([100, 90, 110], [100, 90, 110], "a and b have the same mean completion time in each of 3 pairs."),
        ([100.0, 90.0], [100.0, 90.5], "It may be chance: b takes 0.3% longer than a. 95% interval: "),
        ([100.0], [150.0], "b takes 50% longer than a; 1 pair, no interval yet."),
    ],
)
def test_the_difference_in_words(a: list[float], b: list[float], text: str) -> None:
    found = difference("completion_mean", a, b)
    assert words(found, ("a", "b"), "completion_mean").startswith(text)


@pytest.mark.parametrize("shift", [-30.0, 0.1, 25.0])
def test_words_and_numbers_agree(shift: float) -> None:
    a = np.random.default_rng(4).normal(100.0, 8.0, 12)
    b = a + shift + np.random.default_rng(5).normal(0.0, 2.0, 12)
    found = difference("completion_mean", list(a), list(b))
    said = words(found, ("A", "B"), "completion_mean")
    low, high = float(found["mean_ratio_low"]), float(found["mean_ratio_high"])
    assert said.startswith("It may be chance") == (low <= 1.0 <= high)
    assert ("longer than" in said) == (b.mean() > a.mean())


def test_settings_are_named_by_what_differs() -> None:
    scenario = btflow.load("rao2010", **SMALL)
    assert labels_of(Compared(scenario, scenario.set(rtt="400 ms"))) == ("A (rtt 0 s)", "B (rtt 400 ms)")
    assert labels_of(Compared(scenario, scenario)) == ("A", "B")
    drawn = scenario.set(internet="iplane")  # nothing reads its round-trip time and loss
    assert labels_of(Compared(scenario, drawn)) == ("A (rtt 0 s, loss 0%, internet none)", "B (internet iplane)")
    assert labels_of(Compared(scenario, btflow.load("flashcrowd"))) == ("A", "B")
    geni = btflow.load_link("geni")
    field = geni.set(**{"flows.seed-a.cc": "utp-2013", "flows.seed-b.cc": "utp-2013"})
    assert labels_of(Compared(geni, field)) == ("A (transport tcp)", "B (cc utp-2013)")


def test_a_what_if_is_two_lines_and_grows() -> None:
    shown = btflow.load("rao2010", **SMALL).compare(rtt="400 ms", pairs=3, seed=1)
    assert shown.canvas.wait()
    assert "3 pairs" in shown.canvas.stage.words.value
    assert "B (rtt 400 ms)" in shown.canvas.stage.words.value
    assert shown.canvas.gallery.shown == ["both", "pairs"]
    before = len(shown.canvas.gallery.figures["pairs"].shown.data[-1].x)
    shown.more.click()
    assert shown.canvas.wait()
    assert "6 pairs" in shown.canvas.stage.words.value
    assert len(shown.canvas.gallery.figures["pairs"].shown.data[-1].x) == 2 * before == 6


def test_what_a_browser_gets_is_strict_json() -> None:
    """With one pair there are differences without an interval, which are NaN in Python."""
    from btflow.explore.figure import Figure

    shown = Figure(
        data=[{"y": [float("nan"), 1.0, float("inf")], "x": np.array([np.nan, 1.0, 2.0])}], layout={"height": 300}
    )
    sent = shown.drawn["data"][0]
    assert sent["y"] == [None, 1.0, None]
    assert isinstance(sent["x"], np.ndarray)  # it goes in binary
    json.dumps(shown.drawn["layout"], allow_nan=False)


@pytest.mark.slow
def test_a_what_if_is_cancelled_and_keeps_the_pairs_it_has() -> None:
    scenario = btflow.load("rao2010", leechers=60, file_size="5 MB")
    shown = whatif(scenario, scenario.set(rtt="400 ms"), pairs=1000)
    shown.canvas.cancel()
    assert shown.canvas.wait(PATIENCE)
    assert shown.canvas.seen is not None
    assert 1 <= int(shown.canvas.seen.result["pairs"]) < 1000


def test_what_cannot_be_compared_is_refused() -> None:
    swarm, link = btflow.load("rao2010", **SMALL), btflow.load_link("geni")
    with pytest.raises(InputError, match="not of the kind of a"):
        whatif(swarm, link)
    with pytest.raises(InputError, match="is not a scenario"):
        whatif(swarm, {"rtt": "400 ms"})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pairs"):
        whatif(swarm, swarm, pairs=0)
    with pytest.raises(InputError, match="rtt"):
        swarm.compare(rtt="400 kg")


@pytest.fixture(scope="module")
def panel() -> WhatIfPanel:
    return WhatIfPanel()


@pytest.fixture(autouse=True)
def _as_at_first(request: pytest.FixtureRequest) -> None:
    if "panel" in request.fixturenames:
        shown = request.getfixturevalue("panel")
        shown.set_state(state_of("swarm", TINY, "3"))
        assert shown.canvas.wait()


TINY = Settings(SwarmState(leechers="6", file_size="1 MB"), SwarmState(leechers="6", file_size="1 MB", rtt="300 ms"))


def enter(form: Any, name: str, text: str) -> None:
    """Type a value into an input."""
    form.fields[name]._control.value = text


@pytest.mark.slow
def test_the_panel_shows_what_btflow_analysis_finds(panel: WhatIfPanel) -> None:
    scenario = btflow.load("flashcrowd", leechers=6, file_size="1 MB")
    sweep = btflow.sweep(scenario, {"rtt": ["20 ms", "300 ms"]}, replicas=3, common=True, progress=False)
    assert_same(panel.result, paired_difference(sweep, "completion_mean", "rtt", "20 ms", "300 ms"))
    assert "B (rtt 300 ms) takes" in panel.canvas.stage.words.value
    assert "3 pairs" in panel.canvas.stage.words.value


@pytest.mark.slow
def test_an_input_of_either_setting_moves_the_data(panel: WhatIfPanel) -> None:
    for side, figure in ((0, 0), (1, 2)):
        before = np.array(panel.canvas.gallery.figures["both"].shown.data[figure].x)
        enter(panel.sides[side], "uplink", "3 Mbit/s")
        assert panel.canvas.wait()
        assert not np.array_equal(before, np.array(panel.canvas.gallery.figures["both"].shown.data[figure].x))
    assert [setting.uplink for setting in settings(panel.state) if isinstance(setting, SwarmState)] == ["3 Mbit/s"] * 2
    enter(panel.form, "pairs", "5")
    assert panel.canvas.wait()
    assert "5 pairs" in panel.canvas.stage.words.value


def test_another_kind_begins_anew_and_a_link_brings_it_back(panel: WhatIfPanel) -> None:
    enter(panel.form, "of", "link")
    assert panel.canvas.wait()
    assert panel.state == WhatIfState("link", "3")
    assert "queueing delay" in panel.canvas.stage.words.value
    enter(panel.sides[1], "buffer", "20 packets")
    assert panel.canvas.wait()
    state = panel.state
    assert from_query(to_query("whatif", state), {"whatif": WhatIfState}).state == state
    assert vars(settings(state).b)["buffer"] == "20 packets"


def test_a_bad_value_is_refused_next_to_its_input(panel: WhatIfPanel) -> None:
    state = panel.state
    for name, text, says in (("rtt", "5 kg", "unit"), ("leechers", "0", "out of range"), ("file_size", "300 MB", "")):
        enter(panel.sides[1], name, text)
        assert panel.canvas.wait()
        assert says in panel.sides[1].fields[name]._error.value
        assert panel.sides[1].fields[name]._error.value
        assert panel.state == state
        enter(panel.sides[1], name, getattr(TINY.b, name))
    enter(panel.form, "pairs", "0")
    assert "out of range" in panel.form.fields["pairs"]._error.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "name", "text", "told", "says"),
    [
        ("link", "start2", "70 s", "start2", "is not before the end"),
        ("link", "duration", "9 s", "start2", "is not before the end"),
        ("link", "n1", "30", "n1", "flows = 31"),
        ("swarm", "buffer", "1000000 packets", "leechers", "GB of memory"),
    ],
)
def test_what_does_not_go_together_is_refused_in_its_own_setting(
    panel: WhatIfPanel, of: str, name: str, text: str, told: str, says: str
) -> None:
    panel.set_state(WhatIfState(of, "2"))
    assert panel.canvas.wait()
    state = panel.state
    enter(panel.sides[1], name, text)
    alerts = [{n for n, field in side.fields.items() if field._error.value} for side in panel.sides]
    assert alerts == [set(), {told}]
    assert says in panel.sides[1].fields[told]._error.value
    assert panel.state == state


@pytest.mark.slow
@pytest.mark.parametrize("of", ["link", "swarm"])
def test_both_settings_have_the_seed_of_the_first(panel: WhatIfPanel, of: str) -> None:
    panel.set_state(WhatIfState(of, "2"))
    assert panel.canvas.wait()
    enter(panel.sides[0], "seed", "5")
    assert [setting.seed for setting in settings(panel.state)] == ["5", "5"]
    assert [text.count("--seed 5") for text in panel.commands().values()] == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("of", ["link", "swarm"])
def test_the_commands_of_both_settings_are_told_each_with_its_side(panel: WhatIfPanel, of: str) -> None:
    few = {"link": ("buffer=20+packets", "buffer=30+packets"), "swarm": ("leechers=5", "leechers=6")}[of]
    frame = Frame(panel, lambda: None, lambda: None)
    frame.panel.set_state(WhatIfState(of, "2", *few))
    assert panel.canvas.wait()
    told = re.findall(r"([AB]): <code>(.*?)</code>", frame._command.value)
    assert [side for side, _ in told] == ["A", "B"]
    for (_, text), setting in zip(told, settings(panel.state), strict=True):
        words = shlex.split(html.unescape(text))
        if of == "swarm":
            given = dict(word.split("=", 1) for word in words if "=" in word)
            assert btflow.load(words[2], **given).digest() == scenario_of(setting).digest()
            assert words[-2:] == ["--replicas", "2"]
        else:
            assert setting.buffer in words
    assert ("first pair" in frame._command.value) == (of == "link")


def test_pairs_of_other_settings_are_not_saved_beside_these(panel: WhatIfPanel) -> None:
    assert panel.files().keys() == {"a.toml", "b.toml", "pairs.csv", "distributions.csv"}
    assert panel.about() == "The same numbers"
    panel.set_state(WhatIfState("link", "200"))
    panel.canvas.cancel()
    assert panel.canvas.wait()
    assert panel.result is not None
    assert panel.files().keys() == {"a.toml", "b.toml"}
    assert "do not show" in panel.about()


def test_a_link_with_a_wrong_setting_is_refused() -> None:
    with pytest.raises(InputError, match="no input of this panel"):
        settings(WhatIfState(a="speed=3"))
    with pytest.raises(InputError, match="unit"):
        settings(WhatIfState(b="rtt=3+kg"))
    opened = from_query("v=1&panel=whatif&a=nonsense", {"whatif": WhatIfState})
    assert "names no values" in opened.problems[0]
    opened = from_query("panel=whatif&a=leechers%3D%26leechers%3D40", {"whatif": WhatIfState})
    assert "has two values of one name" in opened.problems[0]
    assert from_query("panel=whatif&a=leechers%3D40%26leechers%3D40", {"whatif": WhatIfState}).problems == ()


@pytest.mark.parametrize(
    ("query", "kept", "told"),
    [
        ("a=rtt%3D5+kg", WhatIfState(), ["setting A: Round-trip time = '5 kg'", "0 ms to 1 s"]),
        ("a=leechers%3D5000%26rtt%3D70+ms", WhatIfState(a="rtt=70+ms"), ["setting A: Leechers = '5000'", "1 to 300"]),
        (
            "pairs=2&b=leechers%3D300%26file_size%3D50+MB",
            WhatIfState(pairs="2", b="leechers=300"),
            ["setting B: File size = '50 MB'", "at most 38 MB for 300 leechers"],
        ),
        (
            "b=stay%3Dleave%26buffer%3D1000000+packets",
            WhatIfState(b="stay=leave"),
            ["setting B: Buffer = '1000000 packets': does not go with Leechers = 30: takes", "GB"],
        ),
        (
            "of=link&b=duration%3D9+s%26rtt%3D20+ms",
            WhatIfState("link", b="rtt=20+ms"),
            ["setting B: Duration = '9 s': does not go with Flows 2: start = 10 s", "before the end"],
        ),
        ("a=speed%3D3%26seed%3D4", WhatIfState(a="seed=4"), ["setting A: speed: is no input of this panel"]),
    ],
)
def test_a_bad_value_in_a_setting_of_a_link_is_told_and_alone_left_out(
    query: str, kept: WhatIfState, told: list[str]
) -> None:
    opened = from_query(f"v=1&panel=whatif&{query}", {"whatif": WhatIfState})
    assert settings(opened.state) == settings(kept)
    assert (opened.state.of, opened.state.pairs) == (kept.of, kept.pairs)
    assert len(opened.problems) == 1
    assert all(part in opened.problems[0] for part in told), opened.problems
    assert all(scenario_of(side) for side in settings(opened.state))


@given(
    st.sampled_from(["swarm", "link"]),
    st.dictionaries(
        st.sampled_from(["leechers", "file_size", "buffer", "rate", "rtt", "n1", "n3", "model", "duration", "start2"]),
        st.sampled_from(["300", "0", "50 MB", "0 s", "9 s", "1 Gbit/s", "1 BDP", "1000000 packets", "geni", "rao2010"]),
    ),
)
@hypothesis.settings(max_examples=40)
def test_whatever_a_link_says_both_settings_can_be_simulated(of: str, given: dict[str, str]) -> None:
    text = "&".join(f"{name}={quote_plus(value)}" for name, value in given.items())
    opened = from_query(to_query("whatif", WhatIfState(of, a=text, b=text)), {"whatif": WhatIfState})
    found = settings(opened.state)
    assert all(scenario_of(side) for side in found)
    refused = {name for name in given if vars(found.a).get(name) != given[name]}
    told = [problem for problem in opened.problems if "setting A" in problem]
    assert len(told) == len(refused)


def test_files_are_both_settings_and_the_pairs(panel: WhatIfPanel, tmp_path: Path) -> None:
    files = panel.files()
    for side, setting in zip("ab", settings(panel.state), strict=True):
        (tmp_path / f"{side}.toml").write_text(files[f"{side}.toml"])
        assert btflow.load(tmp_path / f"{side}.toml").digest() == scenario_of(setting).digest()
    rows = files["pairs.csv"].splitlines()
    assert rows[0] == "pair,completion_mean A [s],completion_mean B [s]"
    assert len(rows) == 4
    found = read_figure(files["distributions.csv"])
    both = panel.canvas.gallery.figures["both"].shown
    assert found.columns == ("completion time [s]", "leechers that have completed [%]")
    assert list(found.series) == [trace.name for trace in both.data]
    for trace in both.data:
        np.testing.assert_array_equal(found.series[trace.name], np.column_stack([trace.x, trace.y]))
