"""The mapping of packet-level rows, and what is measured of a link; the comparison with packets is not run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from validation_links_made import RANDOM_LOSS, ROW, bottleneck

from btflow.link.program import compile_link
from validation.links import checks, frozen, measured
from validation.links.experiments import CONTROLS, NOISE_SOURCES, Single, experiment
from validation.packet_level import tables


def test_a_row_becomes_the_same_link() -> None:
    scenario = bottleneck().scenario
    link = scenario.access[0]
    assert (link.uplink.rate, link.uplink.limit_packets(), link.uplink.framing) == (125_000, 20, 2)
    assert (link.downlink.rate, link.downlink.limit_packets(), link.downlink.framing) == (1e6, 100_000, 2)
    assert (scenario.paths.rtt, scenario.paths.rtt_spread, scenario.paths.loss) == (0.05, 0.002, 0.0)
    assert (scenario.duration, scenario.warmup_time, scenario.bottleneck) == (300, 60, "home.uplink")
    found = [(flow.cc.name, flow.count, flow.start, flow.start_spread) for flow in scenario.flows if flow.cc]
    assert found == [("ns3-cubic", 1, 0, 1), ("ns3-ledbat", 3, 0, 1)]
    assert {(flow.sender, flow.receiver, flow.kind) for flow in scenario.flows} == {("home", "internet", "long")}
    assert scenario.flows[0].packet + link.uplink.framing == 1502


def test_a_single_flow_has_nothing_random_but_its_losses() -> None:
    run = experiment(RANDOM_LOSS)
    assert isinstance(run, Single)
    scenario = run.scenario
    assert (scenario.paths.loss, scenario.paths.ack_loss, scenario.paths.rtt_spread) == (0.01, 0, 0)
    assert (scenario.flows[0].start, scenario.flows[0].start_spread) == (0, 0)
    link = scenario.access[0]
    assert link.uplink.rate == link.downlink.rate == 12.5e6
    assert scenario.duration == 372.5


def test_every_congestion_control_of_the_grids_has_a_file() -> None:
    for name, file in CONTROLS.items():
        flow = bottleneck(flows=f"{name}:1").scenario.flows[0]
        assert flow.cc is not None
        assert flow.cc.name == file


@pytest.mark.parametrize(("queue", "ours"), [("codel", "codel"), ("fq_codel", "fq-codel"), ("pie", "pie")])
def test_disciplines(queue: str, ours: str) -> None:
    uplink = bottleneck(queue=queue).scenario.access[0].uplink
    assert uplink.discipline == ours
    assert uplink.quantum == (1502 if queue == "fq_codel" else None)


def test_messages_calls_and_noise() -> None:
    probe = bottleneck(probe="100@1").scenario.flows[-1]
    assert probe.cc is not None
    assert (probe.cc.name, probe.message, probe.period) == ("ns3-cubic", 100, 1.0)
    call = bottleneck(voip="1").scenario.flows[-1]
    assert call.codec is not None
    assert (call.packet + 2, call.codec.period) == (62, 0.02)
    noisy = bottleneck(noise="0.02").scenario
    sources = [flow for flow in noisy.flows if flow.codec]
    assert len(sources) == NOISE_SOURCES
    load = sum((flow.packet + 2) / flow.codec.period for flow in sources if flow.codec)
    assert load == pytest.approx(0.02 * noisy.access[0].uplink.rate)
    assert len({flow.codec.period for flow in sources if flow.codec}) == NOISE_SOURCES


def test_experiments_are_told_apart_and_their_seeds_are_fixed() -> None:
    runs = [
        bottleneck(),
        bottleneck(rtt_ms=20),
        bottleneck(voip=1),
        bottleneck(noise=0.02),
        bottleneck(buffer_packets=9),
    ]
    assert len({run.label for run in runs}) == len(runs)
    assert len({run.seed(n) for run in runs for n in range(5)}) == 5 * len(runs)
    assert bottleneck().seed(1) == bottleneck().seed(1)
    assert bottleneck().seed(0) > 100  # none of the packet-level programs' own
    assert bottleneck().seed(0) != bottleneck(duration_s=2400).seed(0)


def test_tables_are_read_cell_by_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [*ROW, "queue_mean_packets"]
    lines = [",".join([*({**ROW, "seed": str(seed)}).values(), str(mean)]) for seed, mean in ((1, 4), (2, 6))]
    lines.append(",".join([*({**ROW, "buffer_packets": "50"}).values(), "9"]))
    (tmp_path / "pairs.csv").write_text("\n".join([",".join(f"{name}" for name in names), *lines]))
    flows = ["flows,queue,rate_bps,rtt_ms,buffer_packets,seed,flow,cc,share"]
    for buffer, seed in ((20, 1), (20, 2), (50, 3)):
        for flow, (cc, share) in enumerate((("cubic", 0.4), ("ledbat", 0.1), ("ledbat", 0.2), ("ledbat", 0.3))):
            flows.append(f'"cubic:1,ledbat:3",droptail,1000000,50,{buffer},{seed},{flow},{cc},{share}')
    (tmp_path / "pairs_flows.csv").write_text("\n".join(flows))
    text = (tmp_path / "pairs.csv").read_text().replace("cubic:1,ledbat:3", '"cubic:1,ledbat:3"')
    (tmp_path / "pairs.csv").write_text(text)
    (tmp_path / "manifest.toml").write_text(f'[pairs]\nns3 = "{tables.RELEASE}"\n')
    monkeypatch.setattr(tables, "FROZEN", tmp_path)
    for cached in (tables.manifest, tables.rows, frozen.cells_of):
        cached.cache_clear()
    try:
        assert frozen.tables() == ("pairs",)
        first, second = frozen.cells("pairs")
        assert not frozen.cells("voip")
    finally:
        for cached in (tables.manifest, tables.rows, frozen.cells_of):
            cached.cache_clear()
    assert first.experiment == bottleneck()
    assert list(first.figures["queue_mean_packets"]) == [4, 6]
    assert list(first.figures["share_cubic"]) == [0.4, 0.4]
    assert first.figures["share_ledbat"] == pytest.approx((0.6, 0.6))
    assert list(first.figures["largest_share"]) == [0.4, 0.4]
    assert (second.experiment.buffer, second.figures["queue_mean_packets"]) == (50, (9.0,))


def test_the_frozen_tables_are_all_understood() -> None:
    for table in frozen.tables():
        assert frozen.cells(table)
        for cell in frozen.cells(table):
            compile_link(cell.experiment.scenario)


def test_our_figures_have_the_tables_names() -> None:
    run = bottleneck(duration_s=20, warmup_s=5, probe="100@1", voip=1, buffer_packets=10)
    found = measured.measure(run, 2)
    assert {len(values) for values in found.values()} == {2}
    wanted = {q.column for q in (*checks.QUEUE, *checks.delays("probe"), *checks.delays("voip"))}
    assert wanted | {"goodput_bps", "share_cubic", "share_ledbat", "drop_fraction"} <= found.keys()
    assert found["share_cubic"][0] + found["share_ledbat"][0] == pytest.approx(1)
    assert 0 < found["queue_mean_packets"][0] <= found["queue_p99_packets"][0] <= 10
    assert 0.9 < found["utilisation"][0] <= 1.001


def test_a_ramp_without_loss_has_its_first_window_after_a_round_trip() -> None:
    run = experiment({**RANDOM_LOSS, "loss": "0", "duration_s": "3.25", "warmup_s": "0"})
    found = measured.measure(run, 1)
    after = [found[q.column][0] for q in checks.RAMP]
    assert after[0] == 10 * 1448
    assert after == sorted(after)
    assert after[-1] > 100 * after[0]


def test_ramps_whose_syn_was_lost_are_left_out() -> None:
    run = experiment({**RANDOM_LOSS, "loss": "0.3", "duration_s": "3.25", "warmup_s": "0"})
    found = measured.measure(run, 20)
    assert len(found["bytes_1.5rtt"]) == 20
    share = np.mean([value > 0 for value in found["bytes_1.5rtt"]])
    assert share > 0.4  # 0.7 if the first segment alone decides; 0.49 were a lost SYN counted
