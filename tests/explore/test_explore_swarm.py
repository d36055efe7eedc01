"""The swarm panel and `Scenario.explore`, driven without a browser."""

from __future__ import annotations

import csv
import io
import re
import shlex
import sys
import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from explorer_saved import read_figure

import btflow
from btflow.errors import InputError
from btflow.explore import explore, work
from btflow.explore.figure import Gallery, live, redraw
from btflow.explore.form import Form
from btflow.explore.inputs import Choice, spec_of
from btflow.explore.panel import SHOWN
from btflow.explore.swarm_panel import INPUTS, SwarmPanel, SwarmState, command_of, inputs, scenario_of
from btflow.explore.views import BEFORE
from btflow.plots import completion_cdf, why_slow
from btflow.units.formatting import ratio_in_words
from validation.served import PATIENCE

SMALL = SwarmState(leechers="9", file_size="1 MB")


@pytest.fixture(scope="module")
def panel() -> SwarmPanel:
    made = SwarmPanel(SMALL)
    assert made.canvas.wait()
    return made


@pytest.fixture(autouse=True)
def _as_at_first(request: pytest.FixtureRequest) -> None:
    if "panel" in request.fixturenames:
        panel = request.getfixturevalue("panel")
        panel.set_state(SMALL)
        assert panel.canvas.wait()


def enter(form: Form[Any], name: str, text: str) -> None:
    """Type a value into an input."""
    form.fields[name]._control.value = text


def first_trace(panel: SwarmPanel, figure: str) -> np.ndarray[Any, Any]:
    return np.array(panel.canvas.gallery.figures[figure].shown.data[0].x, float)


def test_the_figures_are_those_of_btflow_plots_of_the_same_swarm(panel: SwarmPanel) -> None:
    result = btflow.simulate(btflow.load("flashcrowd", leechers=9, file_size="1 MB"))
    plain = completion_cdf(result)
    shown = panel.canvas.gallery.figures["completion"].shown
    assert [trace.name for trace in shown.data] == [trace.name for trace in plain.data]
    for ours, theirs in zip(shown.data, plain.data, strict=True):
        np.testing.assert_array_equal(ours.x, theirs.x)
        np.testing.assert_array_equal(ours.y, theirs.y)
    assert panel.canvas.gallery.shown == ["completion", "pieces", "causes", "queues"]


OTHER = {
    "leechers": "12",
    "file_size": "2 MB",
    "utp_share": "100%",
    "uplink": "2 Mbit/s",
    "seed_uplink": "1 Mbit/s",
    "buffer": "10 packets",
    "aqm": "fq-codel",
    "utp_target": "5 ms",
    "utp_gain": "1 kB",
    "upload_limit": "40 kB/s",
    "limit": "80 kB/s",
    "seed_limit": "200 kB/s",
    "paths": "iplane",
    "cc": "lp",
    "cubic_share": "50%",
    "rtt": "300 ms",
    "loss": "2%",
    "tso": "true",
    "stay": "leave",
    "client": "mainline-4.0",
    "bt": "utorrent",
    "seed": "1",
}
"""By input, a value that is not the default of any model."""


def moving() -> list[tuple[str, str]]:
    """Return each model with each of its inputs; the model itself is one."""
    return [(model, name) for model in INPUTS for name in (*INPUTS[model], "seed")]


def test_no_input_is_left_out_of_those_that_move() -> None:
    assert {name for _, name in moving()} | {"model"} == set(vars(SwarmState()))
    assert all(name in inputs(SwarmState(model, cc=control(name))) for model, name in moving())
    assert not {"utp_target", "utp_gain"} & set(inputs(SwarmState("testa2012", cc="lp")))


def control(name: str) -> str:
    """Return the control of class x under which an input has an effect."""
    return "utp" if name in ("utp_target", "utp_gain") else "cubic"


@pytest.mark.slow
@pytest.mark.parametrize(("model", "name"), moving())
def test_every_input_moves_the_data_of_the_figures(panel: SwarmPanel, model: str, name: str) -> None:
    lossy = "2%" if name == "tso" else "0%"  # without loss it is only in the sizes of segments
    panel.set_state(replace(SMALL, model=model, rtt="70 ms", loss=lossy, cc=control(name)))
    assert panel.canvas.wait()
    before = first_trace(panel, "completion")
    enter(panel.form, name, OTHER[name])
    assert panel.canvas.wait()
    assert getattr(panel.state, name) == OTHER[name]
    assert not np.array_equal(before, first_trace(panel, "completion"))


def test_a_swarm_without_access_links_has_no_queues_and_other_inputs(panel: SwarmPanel) -> None:
    enter(panel.form, "model", "rao2010")
    assert panel.canvas.wait()
    assert panel.canvas.gallery.shown == ["completion", "pieces", "causes"]
    shown = set(panel.form.shown)
    wanted = {"model", "leechers", "file_size", "limit", "seed_limit", "paths", "rtt", "loss", "tso", "stay", "seed"}
    assert shown == set(inputs(panel.state)) == wanted


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("leechers", "5000", "out of range"),
        ("leechers", "many", "does not start with a number; allowed: 1 to 300"),
        ("file_size", "20 GB", "out of range"),
        ("uplink", "10", "unit"),
        ("rtt", "-3 ms", ""),
        ("loss", "90%", "out of range"),
        ("buffer", "0 packets", ""),
    ],
)
def test_a_bad_value_is_refused_next_to_its_input_and_the_figures_stay(
    panel: SwarmPanel, name: str, text: str, says: str
) -> None:
    before, state = first_trace(panel, "completion"), panel.state
    enter(panel.form, name, text)
    assert panel.canvas.wait()
    error = str(panel.form.fields[name]._error.value)
    assert 'role="alert"' in error
    assert says in error
    assert panel.form.fields[name].text == text
    assert panel.state == state
    np.testing.assert_array_equal(before, first_trace(panel, "completion"))


def test_a_swarm_that_takes_too_long_is_refused_next_to_what_to_lower(panel: SwarmPanel) -> None:
    panel.set_state(SwarmState(leechers="250", file_size="50 MB"))
    assert panel.canvas.wait()
    assert "more than this page computes" in panel.form.fields["file_size"]._error.value
    assert panel.state == SMALL


@pytest.mark.slow
def test_a_large_swarm_shows_progress_and_is_cancelled(panel: SwarmPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btflow.swarm.flow_limits.UNLIKE_FULL", ("cubic",))  # in full alone
    before = first_trace(panel, "completion")
    panel.set_state(SwarmState(leechers="200", file_size="4 MB"))
    assert panel.canvas._work.wait(PATIENCE, lambda: panel.canvas.stage.share is not None)
    panel.canvas.stage._button.click()
    assert panel.canvas.wait(PATIENCE)
    assert "Cancelled" in panel.canvas.stage.text
    assert panel.canvas.stage.share is None
    np.testing.assert_array_equal(before, first_trace(panel, "completion"))
    assert "do not show" in panel.about()
    assert [name for name in panel.files() if name.endswith(".csv")] == []


CAPPED = replace(SMALL, model="rao2010", rtt="100 ms")


def flow_shown(panel: SwarmPanel, state: SwarmState) -> None:
    """Show a state and wait until it is drawn from flow, all of it."""
    panel.set_state(state)
    flow_drawn(panel)


def flow_drawn(panel: SwarmPanel) -> None:
    """Wait until what is asked for is drawn from flow, all of it."""
    wanted = scenario_of(panel.state)

    def drawn() -> bool:
        seen = panel.canvas.seen
        return seen is not None and seen.fidelity == "flow" and seen.asked[0] == wanted and not seen.late

    assert panel.canvas._work.wait(PATIENCE, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("state", [CAPPED, replace(SMALL, rtt="100 ms")], ids=["capped", "linked"])
def test_a_swarm_is_drawn_from_flow_and_then_from_full_with_the_difference(
    panel: SwarmPanel, state: SwarmState
) -> None:
    flow_shown(panel, state)
    linked = ["queues"] if state.model == "flashcrowd" else []
    means = {}
    for fidelity in ("flow", "full"):
        result = btflow.simulate(scenario_of(state), fidelity=fidelity)
        means[fidelity] = float(result.completion_time.mean())
        drawn = np.array(completion_cdf(result).data[0].x, float)
        np.testing.assert_array_equal(drawn, first_trace(panel, "completion"))
        figures, words = panel.canvas.gallery.figures, panel.canvas.stage.words.value
        assert panel.canvas.gallery.shown == ["completion", "pieces", "causes", *linked]
        titles = [figures[name].shown.layout.title.text for name in panel.canvas.gallery.shown]
        assert {title.endswith(" (flow)") for title in titles} == {fidelity == "flow"}
        assert bool(figures["causes"].shown.data) == (fidelity == "full"), "flow does not know them"
        assert panel.result is not None
        assert panel.result.attrs["fidelity"] == fidelity
        saved = panel.files()
        note = saved[f"{state.model}.toml"].partition("\n")[0]
        assert note == f"# The seed of the random numbers was 0, the fidelity {fidelity}."
        mark = "-flow" if fidelity == "flow" else ""
        assert f"{result.completion_time.max():.6g}"[:5] in saved[f"peers{mark}.csv"]
        assert {name for name in saved if name.endswith(".csv")} == {
            f"{name}{mark}.csv" for name in ("peers", "pieces", *linked, *(["causes"] if fidelity == "full" else []))
        }
        assert "--fidelity" not in panel.commands()[""], "of full, which is there or about to be"
        if fidelity == "flow":
            assert f"</b> Flow, an approximation: mean completion {means['flow']:.4g} s." in words
            assert panel.canvas.wait()
    off = ratio_in_words(means["flow"] / means["full"], "longer", "shorter", "as long")
    said = f"</b> Full: mean completion {means['full']:.4g} s; flow said {means['flow']:.4g} s, {off}."
    assert said in words


def test_while_a_slider_moves_there_is_flow_alone_and_full_when_it_rests(
    panel: SwarmPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "REST", 2 * PATIENCE)
    flow_shown(panel, CAPPED)
    for rtt in (0.2, 0.3, 0.4):
        panel.form.fields["rtt"]._slider.value = rtt
        flow_drawn(panel)
    monkeypatch.setattr(work, "REST", 0.1)
    panel.form.fields["rtt"]._slider.value = 0.5
    assert panel.canvas.wait(PATIENCE)
    assert panel.state.rtt == "500 ms"
    assert panel.result is not None
    assert panel.result.attrs["fidelity"] == "full"
    assert panel.result.attrs["scenario_hash"] == scenario_of(panel.state).digest()


def test_flow_that_stays_as_full_was_cancelled_has_its_own_command_line(
    panel: SwarmPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "REST", 2 * PATIENCE)
    flow_shown(panel, CAPPED)
    panel.canvas.stage._button.click()
    assert panel.canvas.wait(PATIENCE)
    assert "Flow, an approximation" in panel.canvas.stage.words.value
    assert panel.about() == SHOWN
    assert panel.commands()[""].endswith(" --seed 0 --fidelity flow")
    assert "peers-flow.csv" in panel.files()


def test_flow_that_stays_as_full_failed_is_told_until_the_next_run(
    panel: SwarmPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import btflow.explore.views as views

    def simulate(*given: Any, fidelity: str = "full", **more: Any) -> Any:
        if fidelity == "full":
            raise MemoryError
        return btflow.simulate(*given, fidelity="flow", **more)

    monkeypatch.setattr(views, "simulate", simulate)
    flow_shown(panel, CAPPED)
    assert panel.canvas.wait()
    says = "Full: this needs more memory than one page may take. The figures are those of flow."
    assert panel.canvas.stage.text == says
    assert panel.result is not None
    assert panel.result.attrs["fidelity"] == "flow"
    assert panel.commands()[""].endswith("--fidelity flow")
    monkeypatch.setattr(views, "has_flow", lambda _: False)
    enter(panel.form, "rtt", "200 ms")
    assert panel.canvas.wait()
    assert panel.canvas.stage.text == f"this needs more memory than one page may take. {BEFORE}"
    monkeypatch.undo()
    enter(panel.form, "rtt", "100 ms")
    assert panel.canvas.wait()
    assert panel.canvas.stage.text == ""


@pytest.mark.parametrize("why", ["refused", "stuck", "no memory"])
def test_what_flow_does_not_run_is_drawn_from_full_alone(
    panel: SwarmPanel, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "stuck":
        monkeypatch.setattr("btflow.swarm.flow.run", stuck)
    if why == "no memory":
        monkeypatch.setattr("btflow.swarm.flow.build", too_large)
    if why == "refused":
        monkeypatch.setattr("btflow.swarm.flow_limits.UNLIKE_FULL", ("cubic",))
    shown: list[str] = []

    def show(drawn: dict[str, Any], late: object) -> None:
        assert late == ()
        shown.append(drawn["completion"].layout.title.text)

    monkeypatch.setattr(panel.canvas.gallery, "show", show)
    panel.set_state(replace(SMALL if why == "refused" else CAPPED, seed="7"))
    assert panel.canvas.wait()
    assert shown == ["Completion time of the leechers"]
    assert "flow" not in panel.canvas.stage.words.value.lower()


def stuck(*_: object, **__: object) -> None:
    raise btflow.SimulationError("3 of 9 downloads had not finished")


def too_large(*_: object) -> None:
    raise MemoryError


def test_an_error_is_shown_beside_and_goes_with_the_next_run(
    panel: SwarmPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import btflow.explore.views as views

    def broken(*_: object, **__: object) -> None:
        raise btflow.SimulationError("3 of 9 downloads had not finished")

    monkeypatch.setattr(views, "simulate", broken)
    enter(panel.form, "seed", "3")
    assert panel.canvas.wait()
    assert panel.canvas.stage.text == f"3 of 9 downloads had not finished. {BEFORE}"
    monkeypatch.undo()
    enter(panel.form, "seed", "4")
    assert panel.canvas.wait()
    assert panel.canvas.stage.text == ""


@pytest.mark.slow
@pytest.mark.parametrize("model", INPUTS)
def test_the_command_line_and_the_saved_model_give_the_same_swarm(model: str, tmp_path: Any) -> None:
    state = SwarmState(model=model, leechers="10", file_size="1 MB", stay="leave", loss="1%")
    words = shlex.split(command_of(state))
    given = dict(word.split("=", 1) for word in words if "=" in word)
    assert words[:3] == ["btflow", "run", model]
    assert btflow.load(model, **given).digest() == scenario_of(state).digest()
    panel = SwarmPanel(state)
    assert panel.canvas.wait()
    files = panel.files()
    (tmp_path / "own.toml").write_text(files[f"{model}.toml"])
    assert tomllib.loads(files[f"{model}.toml"])["name"] == model
    assert btflow.load(tmp_path / "own.toml").digest() == scenario_of(state).digest()
    rows = files["peers.csv"].splitlines()
    assert len(rows) >= 1 + panel.scenario().seeds + 10  # more where others take the place of who leaves
    assert rows[0].startswith("peer,class,role,start [s],completion time [s]")
    linked = {"queues.csv"} if model != "rao2010" else set()
    assert files.keys() == {f"{model}.toml", "peers.csv", "pieces.csv", "causes.csv"} | linked


def test_what_is_drawn_is_saved_with_its_units(panel: SwarmPanel) -> None:
    files, shown = panel.files(), panel.canvas.gallery.figures
    queues = read_figure(files["queues.csv"])
    assert queues.columns == ("packets waiting", "time with more [%]")
    assert list(queues.series) == [trace.name for trace in shown["queues"].shown.data] == ["TCP", "uTP"]
    for trace in shown["queues"].shown.data:
        np.testing.assert_array_equal(queues.series[trace.name], np.column_stack([trace.x, trace.y]))
    rows = list(csv.DictReader(io.StringIO(files["causes.csv"])))
    share = "share of the time of unchoked connections [%]"
    drawn = {
        (trace.name, sender): x
        for trace in shown["causes"].shown.data
        for x, sender in zip(trace.x, trace.y, strict=True)
    }
    assert {(row["series"], row["sender"]): float(row[share]) for row in rows} == drawn
    for sender in {sender for _, sender in drawn}:
        assert sum(x for (_, of), x in drawn.items() if of == sender) == pytest.approx(100.0)


def test_a_figure_is_redrawn_in_place_whatever_its_traces_were() -> None:
    one, other = (btflow.simulate(btflow.load("rao2010", leechers=n, file_size="1 MB")) for n in (5, 9))
    widget = live(completion_cdf(one))
    for drawn in (completion_cdf(other), why_slow(one), completion_cdf(one)):
        redraw(widget, drawn)
        assert [trace.name for trace in widget.shown.data] == [trace.name for trace in drawn.data]
        assert widget.shown.layout.xaxis.title.text == drawn.layout.xaxis.title.text
    sent = widget.get_state()["drawn"]["data"][0]["x"]  # to a browser that comes now
    np.testing.assert_array_equal(np.frombuffer(sent["buffer"]), completion_cdf(one).data[0].x)


def test_a_gallery_shows_those_that_it_is_given_and_no_others() -> None:
    result = btflow.simulate(btflow.load("rao2010", leechers=5, file_size="1 MB"))
    gallery = Gallery(["a", "b"])
    gallery.show({"a": completion_cdf(result), "b": why_slow(result)})
    assert gallery.shown == ["a", "b"]
    gallery.show({"b": why_slow(result)})
    assert gallery.shown == ["b"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rao2010", "flashcrowd", "testa2011", "testa2012"])
def test_a_swarm_is_explored_in_two_lines(name: str) -> None:
    small = {"leechers": 9, "file_size": "1 MB"} | ({"discard": 3} if name == "testa2011" else {})
    shown = btflow.load(name, **small).explore(seed=2)
    assert shown.canvas.wait()
    before = np.array(shown.canvas.gallery.figures["completion"].shown.data[0].x)
    field = next(field for field, parameter in shown._names.items() if parameter == "leechers")
    enter(shown.form, field, "12")
    assert shown.canvas.wait()
    assert shown.scenario == btflow.load(name, **small | {"leechers": 12})
    assert shown.result.attrs["seed"] == 2
    assert not np.array_equal(before, np.array(shown.canvas.gallery.figures["completion"].shown.data[0].x))
    enter(shown.form, field, "12 kg")
    assert "whole number" in shown.form.fields[field]._error.value


@pytest.mark.slow
@pytest.mark.parametrize("name", ["geni", "bufferbloat", "latecomer", "coexistence", "opnet2009"])
def test_a_link_is_explored_in_two_lines(name: str) -> None:
    shown = btflow.load_link(name, **({"duration": "30 s"} if name in ("geni", "opnet2009") else {})).explore()
    assert shown.canvas.wait()
    assert shown.canvas.gallery.shown == ["windows", "rates", "queue", "queues"]
    before = np.array(shown.canvas.gallery.figures["queue"].shown.data[0].y)
    field = next(field for field, parameter in shown._names.items() if parameter == "rtt")
    enter(shown.form, field, "333 ms")
    assert shown.canvas.wait()
    assert shown.canvas.stage.text == ""
    assert not np.array_equal(before, np.array(shown.canvas.gallery.figures["queue"].shown.data[0].y))


def test_a_slider_writes_units_of_the_model() -> None:
    shown = btflow.load("rao2010", leechers=9, file_size="1 MB").explore()
    field = next(field for field, parameter in shown._names.items() if parameter == "upload_limit")
    shown.form.fields[field]._slider.value = 51200.0
    assert shown.canvas.wait()
    assert shown.form.fields[field].text == "50 kB/s"
    assert shown.scenario.classes[1].upload_limit == 51200.0
    assert shown.scenario.classes[0].upload_limit == 51200.0, "the seed's limit follows"


@pytest.mark.parametrize("before", [{}, {"rtt": "70 ms", "loss": "1%"}])
def test_drawn_paths_take_the_place_of_a_round_trip_time_as_in_set(before: dict[str, str]) -> None:
    first = btflow.load("rao2010", leechers=5, file_size="1 MB", **before)
    shown = first.explore()
    fields = {name: shown.form.fields[field] for field, name in shown._names.items()}
    by_name = {name: field for field, name in shown._names.items()}
    enter(shown.form, by_name["rtt"], "50 ms")
    enter(shown.form, by_name["internet"], "iplane")
    assert {field._error.value for field in fields.values()} == {""}
    assert shown.scenario == first.set(rtt="50 ms").set(internet="iplane")
    hidden = {name for name, field in fields.items() if field.widget.layout.display == "none"}
    assert hidden == {"rtt", "loss"}
    enter(shown.form, by_name["internet"], "none")
    assert {field.widget.layout.display for field in fields.values()} == {None}
    assert shown.scenario.digest() == first.set(rtt="50 ms").digest()
    enter(shown.form, by_name["leechers"], "0")
    assert "leechers = &#x27;0&#x27;" in fields["leechers"]._error.value, "an error names an input by its label"
    assert shown.canvas.wait()


def test_what_cannot_be_explored_is_refused() -> None:
    with pytest.raises(InputError, match="is not a scenario"):
        explore("rao2010")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seed"):
        btflow.load("rao2010").explore(seed=-1)
    with pytest.raises(InputError, match=r"rtt = '4 apples'.*known: us"):
        btflow.load("rao2010").explore(rtt="4 apples")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(InputError, match=r"needs the package ipywidgets.*\[notebook\]"):
        btflow.load("rao2010").explore()


def test_what_has_no_limit_stands_at_the_end_of_its_slider_and_a_browser_that_rounds_leaves_it(
    panel: SwarmPanel,
) -> None:
    cap = panel.form.fields["upload_limit"]
    assert cap.text == "unlimited"
    assert cap._slider is not None
    cap._slider.value = cap._slider.value * (1 + 1e-12)
    assert panel.canvas.wait()
    assert panel.state.upload_limit == "unlimited"
    cap._slider.value = 100_000.0
    assert panel.canvas.wait()
    assert panel.state.upload_limit == "100 kB/s"


@pytest.mark.parametrize("model", ["rao2010", "flashcrowd"])
def test_sizes_of_a_piece_are_a_menu_of_what_the_model_takes(model: str) -> None:
    scenario = btflow.load(model, file_size="2 MB")
    spec = spec_of(scenario, "piece_size")
    assert isinstance(spec, Choice)
    assert spec.default in spec.options
    assert [scenario.set(piece_size=text).swarm.piece_size for text in spec.options] == [2**p for p in range(14, 25)]


def test_a_swarm_waits_for_its_kernels_and_goes_on_by_itself(
    panel: SwarmPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    share, said = iter([0.25, 0.5]), []
    monkeypatch.setattr("btflow.explore.warm.swarms_compiled", lambda: next(share, 1.0))
    late = panel.canvas.stage.late

    def tell(why: str) -> None:
        said.append(why)
        late(why)

    work = panel.canvas._work
    monkeypatch.setattr(work, "_listeners", replace(work._listeners, waits=tell))
    panel.set_state(replace(CAPPED, seed="8"))
    assert panel.canvas.wait()
    assert [re.findall(r"\d+%", text) for text in said] == [["25%"], ["50%"]]
    assert panel.canvas.stage.text == ""
