"""The link panel without a browser: presets, what a state stands for, refused values, files, the figure's data."""

from __future__ import annotations

import csv
import html
import io
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st

import btflow
from btflow.config.catalog import names
from btflow.explore.link_figure import MOST_GROUPS
from btflow.explore.link_panel import LinkPanel
from btflow.explore.link_state import CONTROLS, DISCIPLINES, ONE_LINK, LinkState, command, preset, scenario
from btflow.explore.panel import checked, differences, from_query, to_query
from btflow.explore.views import RUNNING
from btflow.explore.work import text_of
from btflow.options import FIDELITIES
from btflow.plots.verdict import verdict
from btflow.units import Buffer, parse_quantity
from validation.served import PATIENCE

MODELS = (ONE_LINK, *names("links"))

states = st.builds(
    LinkState,
    rate=st.sampled_from(["64 kbit/s", "2 Mbit/s", "20 Mbit/s"]),
    rtt=st.sampled_from(["70 ms", "1 s"]),
    buffer=st.sampled_from(["2 packets", "500 packets", "200 ms", "50 BDP", "50 kB"]),
    aqm=st.sampled_from(DISCIPLINES),
    loss=st.sampled_from(["0%", "1%"]),
    cc1=st.sampled_from(CONTROLS),
    n1=st.sampled_from(["1", "3"]),
    cc2=st.sampled_from(CONTROLS),
    n2=st.sampled_from(["0", "2"]),
    start2=st.sampled_from(["0 s", "1 s"]),
    call=st.sampled_from(["none", "g711", "g729"]),
    duration=st.just("5 s"),
)


@pytest.fixture(scope="module")
def panel() -> LinkPanel:
    return LinkPanel()


@pytest.mark.parametrize("model", names("links"))
def test_presets_are_the_published_experiments(model: str) -> None:
    assert scenario(preset(model)).digest() == btflow.load_link(model).digest()
    assert command(preset(model)) == f"btflow link {model}"


@pytest.mark.parametrize("model", MODELS)
def test_a_preset_is_brought_back_by_its_link(model: str) -> None:
    opened = from_query(to_query("link", preset(model)), {"link": LinkState})
    assert opened.state == preset(model)
    assert opened.problems == ()
    assert checked(LinkState, differences(preset(model), LinkState())) == preset(model)


def test_every_preset_simulates(panel: LinkPanel) -> None:
    for shown in panel.presets:
        panel.set_state(shown.state)
        assert panel.state == shown.state
        assert panel.result is not None
        expected = btflow.simulate_link(scenario(shown.state))
        assert panel.result.attrs["scenario_hash"] == expected.attrs["scenario_hash"]
        assert len(panel.figure.shown.data[0].x) > 100


def test_the_guide_says_how_many_congestion_controls_the_menu_has() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text(encoding="utf-8")
    assert f"have {len(CONTROLS)} of btflow's {len(names('congestion'))} congestion controls" in page


@settings(max_examples=15)
@given(states)
def test_the_command_line_makes_the_same_experiment(state: LinkState) -> None:
    from btflow.link.options import scenario_from

    words = shlex.split(command(state))[2:]
    given: dict[str, Any] = {"flow": [], "voip": []}
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option in ("--flow", "--voip"):
            given[option[2:]].append(value)
        else:
            given[option[2:]] = value
    given.pop("seed", None)
    by_options = btflow.simulate_link(scenario_from(flows=given.pop("flow"), **given))
    result = btflow.simulate_link(scenario(state))
    assert np.array_equal(by_options["goodput"].values, result["goodput"].values)
    assert np.array_equal(by_options["drops"].values, result["drops"].values)


@pytest.mark.parametrize("model", MODELS)
def test_saved_files_give_the_same_result(model: str, tmp_path: Path) -> None:
    state = replace(preset(model), rtt="33 ms", loss="1%", duration="90 s", seed="2")
    shown = LinkPanel(state)
    saved = shown.files()
    (tmp_path / "saved.toml").write_text(saved["btflow-link.toml"], encoding="utf-8")
    loaded = btflow.load_link(tmp_path / "saved.toml")
    again = btflow.simulate_link(loaded, seed=2)
    assert shown.result is not None
    assert np.array_equal(again["goodput"].values, shown.result["goodput"].values)
    table = list(csv.DictReader(io.StringIO(saved["btflow-link.csv"])))
    assert [float(row["time [s]"]) for row in table] == again["time"].values.tolist()
    last, end = table[-1], again.isel(time=-1)
    for name in again["flow"].values:
        flow = end.sel(flow=name)
        values = {"window [segments]": flow.window, "rate [B/s]": flow.rate, "smoothed RTT [s]": flow.srtt}
        for column, value in values.items():
            assert np.array_equal(float(last[f"{name} {column}"]), float(value), equal_nan=True)
    for name in again["queue"].values:
        queue = end.sel(queue=name)
        assert float(last[f"{name} [packets]"]) == float(queue.queue_length)
        assert float(last[f"{name} delay [s]"]) == float(queue.queue_delay)


def drawn(panel: LinkPanel, fluid: bool) -> list[Any]:
    """Return the lines that are shown of packets or of the fluid: windows, rates, queue."""
    each = 2 * MOST_GROUPS + 1
    return [trace for trace in panel.figure.shown.data[each * fluid :][:each] if trace.visible]


def test_a_fluid_is_drawn_dashed_beside_the_packets_in_their_colours(panel: LinkPanel) -> None:
    panel.set_state(LinkState(rate="2 Mbit/s", n1="2"))
    assert drawn(panel, fluid=True) == []
    assert panel.fluid is None
    alone = [(trace.name, trace.x, trace.y) for trace in drawn(panel, fluid=False)]
    panel.form.fields["fluid"]._control.value = "true"
    packets, fluid = drawn(panel, fluid=False), drawn(panel, fluid=True)
    for (name, *before), now in zip(alone, packets, strict=True):
        assert now.name == name
        np.testing.assert_array_equal(before, [now.x, now.y])
    names = ["first, CUBIC", "second, LEDBAT"] * 2 + ["queue home.uplink"]
    assert [trace.name for trace in packets] == names
    assert [trace.name for trace in fluid] == [f"{name}, fluid" for name in names]
    assert [trace.line.color for trace in packets] == [trace.line.color for trace in fluid]
    assert {trace.line.dash for trace in packets} == {"solid"}
    assert {trace.line.dash for trace in fluid} == {"dash"}
    expected = btflow.simulate_link(scenario(panel.state), fidelity="flow")
    window = expected["window"].values[:, 2]
    assert np.nanmax(fluid[1].y) == pytest.approx(window.max(), rel=1e-6)
    queue = expected["queue_length"].sel(queue="home.uplink").values
    assert (fluid[-1].y.max(), fluid[-1].y[-1]) == pytest.approx((queue.max(), queue[-1]), rel=1e-6)
    legend = [
        trace.name for trace in panel.figure.shown.data if trace.visible is not False and trace.showlegend is not False
    ]
    assert legend == ["first, CUBIC", "second, LEDBAT", "capacity", "fluid (dashed)", "slow start", "recovery", "drop"]
    assert "<td>second, LEDBAT, fluid</td>" in panel._numbers.value
    assert f"{float(expected.queue_mean_packets[0]):.1f} packets" in panel._numbers.value.partition("Fluid: ")[2]
    panel.form.fields["fluid"]._control.value = "false"
    assert drawn(panel, fluid=True) == []
    assert [trace.line.dash for trace in drawn(panel, fluid=False)] == ["solid", "dash"] * 2 + ["solid"]
    assert "fluid" not in panel._numbers.value.lower()


def test_a_fluid_is_kept_by_the_link_the_files_and_the_command_lines(panel: LinkPanel) -> None:
    state = LinkState(fluid="true", seed="3", duration="30 s")
    assert from_query(to_query("link", state), {"link": LinkState}).state == state
    panel.set_state(state)
    saved = panel.files()
    assert saved["btflow-link.toml"].startswith(
        "# The seed of the random numbers was 3, the fidelities full and flow.\n"
    )
    for fidelity, mark in zip(FIDELITIES, ("", "-flow"), strict=True):
        result = btflow.simulate_link(scenario(state), seed=3, fidelity=fidelity)
        rows = list(csv.DictReader(io.StringIO(saved[f"btflow-link{mark}.csv"])))
        assert [float(row["first window [segments]"]) for row in rows] == result["window"].values[:, 0].tolist()
        queue = result["queue_length"].sel(queue="home.uplink").values
        assert [float(row["home.uplink [packets]"]) for row in rows] == queue.tolist()
    commands = panel.commands()
    assert commands == {"Packets": command(state), "Fluid": f"{command(state)} --fidelity flow"}
    assert command(state) == command(replace(state, fluid="false"))
    panel.form.fields["model"]._control.value = "latecomer"
    assert panel.state == replace(preset("latecomer"), fluid="true")
    assert panel.fluid is not None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"aqm": "codel"}, "Packets only. Queue discipline = 'codel': is no discipline of flow fidelity"),
        ({"cc1": "lp", "rtt": "1 s"}, "Packets only. Flows 1: control = 'lp': has LP on a round trip of 1"),
        ({"cc2": "lp", "rtt": "200 ms", "aqm": "pie"}, "of flow fidelity; Flows 2: control = 'lp': has LP"),
    ],
)
def test_what_flow_refuses_is_told_in_a_line_and_packets_are_drawn(
    panel: LinkPanel, changes: dict[str, str], says: str
) -> None:
    state = LinkState(fluid="true", **changes)
    panel.set_state(state)
    assert panel.state == state
    told = panel.form.fields["fluid"]._error
    assert says in html.unescape(told.value)
    assert "<br>" not in told.value
    assert told.layout.display != "none"
    assert not panel.form.fields["fluid"].refused
    assert drawn(panel, fluid=True) == []
    assert len(drawn(panel, fluid=False)) == 5
    assert list(panel.files()) == ["btflow-link.toml", "btflow-link.csv"]
    assert panel.commands() == {"": command(state)}
    panel.form.fields["rtt"]._control.value = "3 parsecs"
    assert says in html.unescape(told.value), "the figure is still that of packets alone"
    panel.set_state(LinkState(fluid="true"))
    assert told.layout.display == "none"
    assert len(drawn(panel, fluid=True)) == 5


@pytest.mark.slow
def test_the_command_line_takes_the_saved_file(tmp_path: Path) -> None:
    file = tmp_path / "saved.toml"
    file.write_text(
        LinkPanel(replace(preset("geni"), buffer="10 packets")).files()["btflow-link.toml"], encoding="utf-8"
    )
    run = [sys.executable, "-m", "btflow", "link", str(file), "--json"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert '"iperf"' in done.stdout


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"n1": "30", "n2": "1"}, "flows", "more than this page"),
        ({"rate": "10 Gbit/s", "duration": "120 s"}, "duration", "at this rate"),
        ({"model": "geni", "call": "g711"}, "call", "does not go with geni"),
        ({"model": "latecomer", "n3": "1"}, "n3", "does not go with latecomer"),
        ({"model": "latecomer", "duration": "30 s"}, "warmup", "nothing to measure"),
        ({"model": "latecomer", "duration": "9 s"}, "start2", "before the end"),
        ({"n1": "0", "n2": "0"}, "flows", "out of range"),
        ({"rtt": "0 s", "buffer": "1 BDP"}, "buffer", "holds no packet"),
    ],
)
def test_what_does_not_go_together_is_an_error_of_an_input_if_of_one(
    changes: dict[str, str], field: str, reason: str
) -> None:
    state = replace(preset(changes.get("model", ONE_LINK)), **changes)
    with pytest.raises(btflow.InputError) as caught:
        scenario(state)
    assert field in [problem.field for problem in caught.value.problems]
    assert any(reason in problem.reason for problem in caught.value.problems)


def test_every_problem_is_told_once_beside_its_input_or_beside_what_was_entered(panel: LinkPanel) -> None:
    panel.set_state(preset("opnet2009"))
    fields = panel.form.fields
    fields["duration"]._control.value = "1 s"
    told = {name: field._error.value for name, field in fields.items() if field._error.value}
    assert set(told) == {"duration", "start1", "start2", "start3"}
    assert "warmup" in told["duration"]
    assert "flows.pair-4.start" in told["duration"]
    assert all("not before the end" in told[name] and "<br>" not in told[name] for name in set(told) - {"duration"})
    panel.set_state(LinkState())
    fields["n2"]._control.value = "30"
    assert "flows = 31" in fields["n2"]._error.value
    panel.set_state(LinkState())
    assert not any(field._error.value for field in fields.values())


@pytest.mark.parametrize("error", [MemoryError(), btflow.SimulationError("gave up")])
def test_a_simulation_that_fails_is_told_beside_the_input_and_the_page_goes_on(
    panel: LinkPanel, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    panel.set_state(LinkState())
    rtt, before = panel.form.fields["rtt"], panel.result
    with monkeypatch.context() as patched:
        patched.setattr("btflow.explore.link_panel.simulate_link", broken)
        rtt._control.value = "80 ms"
    assert text_of(error) in rtt._error.value
    assert (panel.result, panel.state) == (before, LinkState())
    rtt._control.value = "90 ms"
    assert rtt._error.value == ""
    assert panel.state == LinkState(rtt="90 ms")


def test_a_long_run_is_flows_until_the_packets_are_there_and_says_so(
    panel: LinkPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures of other inputs say so from the first moment; those of flow that they are, and how far it was off."""
    panel.set_state(LinkState())
    long = LinkState(rate="500 Mbit/s", duration="20 s")
    panel.set_state(long)
    assert panel.stage.text == RUNNING
    assert panel.wait()
    assert panel.stage.text == ""
    flow, full = (btflow.simulate_link(scenario(long), fidelity=fidelity) for fidelity in ("flow", "full"))
    said = html.unescape(panel.stage.words.value)
    assert said.index(verdict(full)) < said.index(f"Flow, an approximation, said: {verdict(flow)}")

    def broken(*_: object, fidelity: str = "full", **__: object) -> xr.Dataset:
        if fidelity == "full":
            raise MemoryError
        return flow

    monkeypatch.setattr("btflow.explore.link_panel.simulate_link", broken)
    panel.set_state(replace(long, seed="1"))
    assert panel.wait()
    assert panel.stage.text == f"Packets: {text_of(MemoryError())}. The figures are those of flow."
    assert f"{verdict(flow)}</b> Flow, an approximation." in html.unescape(panel.stage.words.value)


def test_a_refused_value_stays_in_its_field_and_the_figure_stays(panel: LinkPanel) -> None:
    panel.set_state(LinkState())
    rtt, before = panel.form.fields["rtt"], panel.result
    rtt._control.value = "3 parsecs"
    assert "unknown unit" in rtt._error.value
    assert panel.result is before
    assert panel.state == LinkState()
    panel.form.fields["buffer"]._control.value = "50 packets"  # the others go on
    assert panel.state == LinkState(buffer="50 packets")
    assert rtt.text == "3 parsecs"
    rtt._control.value = "30 ms"
    assert rtt._error.value == ""
    assert panel.state == LinkState(buffer="50 packets", rtt="30 ms")


def test_a_value_refused_for_another_is_accepted_once_that_is_mended(panel: LinkPanel) -> None:
    panel.set_state(LinkState())
    fields = panel.form.fields
    fields["duration"]._control.value = "600 s"
    fields["rate"]._control.value = "2 Gbit/s"
    assert "at this rate" in fields["duration"]._error.value
    assert panel.state == LinkState(duration="600 s")
    assert panel.stage.text.startswith("Duration: refused")
    fields["duration"]._control.value = "12 s"
    assert fields["duration"]._error.value == ""
    assert panel.state == LinkState(rate="2 Gbit/s", duration="12 s")
    assert panel.wait()
    assert panel.stage.text == ""
    assert panel.result is not None
    assert float(panel.result.attrs["duration"]) == 12.0


def test_text_from_outside_is_shown_as_text(panel: LinkPanel) -> None:
    field = panel.form.fields["rtt"]
    field._control.value = "<img src=x onerror=alert(1)>"
    assert "<img" not in field._error.value
    assert "&lt;img" in field._error.value
    field._control.value = "50 ms"


def test_moving_a_slider_changes_text_and_data(panel: LinkPanel) -> None:
    panel.set_state(LinkState())
    before = np.array(panel.figure.shown.data[0].y)
    slider = panel.form.fields["buffer"]._slider
    assert slider is not None
    slider.value = 20
    assert panel.state.buffer == "20 packets"
    assert np.nanmax(panel.figure.shown.data[0].y) < np.nanmax(before)


@pytest.mark.parametrize(
    ("text", "share", "left", "right"),
    [
        ("100 packets", 99 / 499, "1 packet", "500 packets"),
        ("500 ms", 0.246, "10 ms", "2 s"),
        ("1.5 BDP", 1.4 / 9.9, "0.1 BDP", "10 BDP"),
        ("30 kB", 28.5 / 598.5, "1500 B", "600 kB"),
    ],
)
def test_the_slider_of_a_buffer_is_where_its_text_is(
    panel: LinkPanel, text: str, share: float, left: str, right: str
) -> None:
    panel.set_state(LinkState())
    field = panel.form.fields["buffer"]
    field._control.value = text
    slider = field._slider
    assert slider is not None
    assert (slider.value - slider.min) / (slider.max - slider.min) == pytest.approx(share, abs=0.003)
    assert panel.state.buffer == text
    for value, end in ((slider.max, right), (slider.min, left)):
        slider.value = value
        assert parse_quantity(field.text, "buffer") == parse_quantity(end, "buffer"), "whether it holds a packet or not"
    field._control.value = "80 packets"
    field._slider.value = 81  # of another unit it is another one
    assert parse_quantity(panel.state.buffer, "buffer") == Buffer(81, "packets")


def test_a_browser_that_rounds_a_slider_changes_nothing(panel: LinkPanel) -> None:
    panel.set_state(LinkState(rtt="51.7 ms"))
    for field in panel.form.fields.values():
        slider = field._slider
        if slider is not None and hasattr(slider, "base"):
            slider.value = 10 ** (round(np.log10(slider.value) / 1e-9) * 1e-9)
    assert panel.state == LinkState(rtt="51.7 ms")
