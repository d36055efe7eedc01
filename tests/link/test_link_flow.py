"""Link experiments at flow fidelity: figures by hand, conservation, laws against packets, what is refused."""

from __future__ import annotations

import json
from typing import Any

import link_made as made
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st
from link_made import MBIT, PACKET, PAYLOAD, flow
from typer.testing import CliRunner

from btflow.cli.app import app
from btflow.errors import InputError
from btflow.kernels.fluid import engine
from btflow.link.fluid import build_fluid
from btflow.link.options import scenario_from
from btflow.link.run import simulate_link
from btflow.options import FIDELITIES

ACK = 52  # [B]
CONTROLS = ("newreno", "cubic", "vegas", "lp", "ledbat", "utp-2010", "utp", "ledbatpp", "bbr")
LONG = {"rate": "10 Mbit/s", "rtt": "50 ms", "rtt_spread": "0 s", "buffer": "100 packets", "duration": "120 s"}


def run(fidelity: Any = "flow", seed: int = 0, **options: Any) -> xr.Dataset:
    return simulate_link(scenario_from(**{**LONG, **options}), seed=seed, fidelity=fidelity)


def mean(name: str, fidelity: str, **options: Any) -> float:
    return float(np.mean([run(fidelity, seed, **options)[name].values[0] for seed in range(3)]))


@pytest.mark.parametrize("segments", [1, 5, 20])
def test_a_window_is_sent_each_round_trip(segments: int) -> None:
    """20 segments of 1448 B in 50 ms and the 1.2 ms that a packet of 1500 B takes on the link: 565.6 kB/s."""
    found = run(flows=[f"newreno:1,window={segments * PAYLOAD} B"])
    crossing = (PACKET + ACK) / (10 * MBIT)
    ack_waits = 0.04 if segments == 1 else 0.0  # for a second segment that does not come
    assert found.goodput[0] == pytest.approx(segments * PAYLOAD / (0.05 + crossing + ack_waits), rel=0.01)
    assert found.queue_mean_delay[0] < 1e-3
    assert found.drops[0] == 0


def test_a_rate_below_the_link_arrives_and_the_link_is_busy_by_it() -> None:
    found = run(flows=["cubic:1,rate=2 Mbit/s"])
    assert found.goodput[0] == pytest.approx(2 * MBIT, rel=1e-3)
    assert found.utilisation[0] == pytest.approx(0.2 * PACKET / PAYLOAD, rel=5e-3)


@settings(max_examples=8, deadline=None)
@given(
    controls=st.lists(st.sampled_from(CONTROLS), min_size=1, max_size=4),
    application=st.sampled_from([{}, {"size": "300 kB"}, {"rate": "800 kbit/s"}, {"on": "1 s", "off": "1 s"}]),
    rate=st.integers(64, 20_000),
    rtt=st.integers(2, 400),
    buffer=st.sampled_from(["1 packets", "10 packets", "20 kB", "200 ms"]),
    speech=st.booleans(),
    seed=st.integers(0, 99),
)
def test_nothing_is_made_or_lost_and_no_limit_exceeded(
    controls: list[str], application: dict[str, str], rate: int, rtt: int, buffer: str, speech: bool, seed: int
) -> None:
    flows = [flow(cc, start=f"{300 * i} ms", **application) for i, cc in enumerate(controls)]
    flows += [flow(None, codec="g729")] * speech
    program = made.program(
        *flows, rate=f"{rate} kbit/s", rtt=f"{rtt} ms", buffer=buffer, duration="8 s", warmup="0 s", spread="2 ms"
    )
    s = build_fluid(program, seed)
    hop, capacity = s.hop[0], float(program.queue["rate"][0])
    while engine.run(s, 5) == engine.MORE:
        held = float((s.passage.held * s.passage.wire).sum())
        assert hop.left <= capacity * s.time[0].step * (1 + 1e-9)
        assert held == pytest.approx(float(hop.held), abs=1e-3)
        assert held <= hop.room * capacity * (1 + 1e-9) + 1e-6
        assert 0.0 <= hop.seen <= hop.room
        assert np.isfinite(s.net.flow.cwnd).all()
    sent, got = float(s.net.flow.sent.sum()), float(s.lane.got.sum())
    dropped = float(s.net.queue[0].drops) + float(hop.dropping)
    assert sent == pytest.approx(got + float(s.passage.held.sum()) + dropped, rel=1e-9, abs=1e-6)
    assert (s.passage.held >= 0.0).all()


def test_two_newreno_flows_share_fairly() -> None:
    goodput = run(flows=["newreno:2"], buffer="50 packets", duration="600 s").goodput.values
    assert goodput.sum() == pytest.approx(10 * MBIT * PAYLOAD / PACKET, rel=0.01)
    assert goodput.min() > 0.4 * goodput.sum()


@pytest.mark.parametrize(("rate", "within"), [("2 Mbit/s", 0.01), ("10 Mbit/s", 0.005)])
def test_ledbat_alone_settles_its_queue_near_the_target(rate: str, within: float) -> None:
    delay = run(flows=["ledbat"], rate=rate).queue_delay
    late = delay[delay.time > 60.0, 0]
    assert float(late.mean()) == pytest.approx(0.1, abs=within)
    assert float(late.std()) < 0.01


@pytest.mark.parametrize("control", CONTROLS)
def test_a_law_alone_is_near_packets(control: str) -> None:
    options = {"flows": [control], "rtt_spread": "2 ms"}
    if control == "utp-2010":  # packets of 348 B: it is refused where 100 of them are less than its target
        options["buffer"] = "400 packets"
    packets, fluid = (mean("goodput", fidelity, **options) for fidelity in ("full", "flow"))
    assert fluid == pytest.approx(packets, rel=0.07 if control == "lp" else 0.03)
    packets, fluid = (mean("queue_mean_delay", fidelity, **options) for fidelity in ("full", "flow"))
    assert fluid == pytest.approx(packets, rel=0.15, abs=0.003)


@pytest.mark.parametrize("options", [{}, {"rate": "20 Mbit/s", "rtt": "80 ms"}])
def test_a_law_of_low_priority_sees_the_delays_of_its_own_bursts(options: dict[str, str]) -> None:
    """LP stays at a window or two, whose lone segments wait for their ACK."""
    packets, fluid = (mean("goodput", fidelity, flows=["lp"], **options) for fidelity in FIDELITIES)
    assert fluid == pytest.approx(packets, rel=0.12)
    packets, fluid = (mean("queue_mean_delay", fidelity, flows=["lp"], **options) for fidelity in FIDELITIES)
    assert fluid == pytest.approx(packets, rel=0.2, abs=0.001)


def test_an_initial_window_is_a_ramp_of_delays() -> None:
    """Ten segments at once on 1 Mbit/s: the last waits for nine of 12 ms each, so slow start is over for LP."""
    found = run(flows=["lp"], rate="1 Mbit/s", duration="5 s")
    assert float(found.window[:, 0].max()) == 10
    assert float(found.window[-1, 0]) < 5


@pytest.mark.parametrize("size", ["30 kB", "300 kB", "3 MB"])
def test_files_take_as_long_as_with_packets(size: str) -> None:
    options = {"flows": [f"cubic:1,size={size}"], "rate": "5 Mbit/s", "buffer": "50 packets"}
    packets, fluid = (mean("completion_time", fidelity, **options) for fidelity in ("full", "flow"))
    assert fluid == pytest.approx(packets, rel=0.1)


def test_a_result_is_that_of_packets_but_for_what_flow_does_not_know() -> None:
    options: dict[str, Any] = {"flows": ["cubic:2"], "voip": "g729", "duration": "10 s"}
    packets, fluid = run("full", **options), run(**options)
    assert (packets.attrs["fidelity"], fluid.attrs["fidelity"]) == ("full", "flow")
    assert set(fluid) == set(packets)
    assert fluid.queue_delay.shape == packets.queue_delay.shape
    assert np.isnan(fluid.voip_mos).all()
    assert np.isnan(fluid.voip_delay_mean).all()
    assert fluid.goodput[2] == pytest.approx(float(packets.goodput[2]), rel=0.1)


def test_a_seed_gives_the_same_bits() -> None:
    options = {"flows": ["cubic:3", "bbr"], "duration": "20 s", "loss": "0.1%"}
    one, again, other = run(seed=1, **options), run(seed=1, **options), run(seed=2, **options)
    xr.testing.assert_identical(one.drop_attrs(), again.drop_attrs())
    assert not np.array_equal(one.window, other.window)


def test_what_is_no_fidelity_is_refused() -> None:
    with pytest.raises(InputError, match="is no fidelity"):
        run("fluid", flows=["cubic"])


def test_the_command_runs_flow() -> None:
    asked = ["link", "--flow", "cubic:2", "--duration", "5 s", "--fidelity", "flow"]
    said = CliRunner().invoke(app, [*asked, "--json"])
    found = json.loads(said.stdout)
    assert found["fidelity"] == "flow"
    assert found["utilisation"] > 0.9
    assert "flow fidelity" in CliRunner().invoke(app, asked).stdout
