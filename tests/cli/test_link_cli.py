"""`btflow link`: what it prints, and that every bad input is one message and exit code 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from program import Run, refused, runner

from btflow import simulate_link
from btflow.link import report
from btflow.link.options import scenario_from

SHORT = ("--flow", "cubic:2", "--flow", "ledbat@1s", "--voip", "g729:1", "--probe", "100 B@500ms", "--duration", "10 s")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line in this process."""

    in_process = runner(monkeypatch, capsys)

    def invoke(*args: str) -> tuple[int, str, str]:
        code, out, err = in_process(*args)
        said = [line for line in err.splitlines(keepends=True) if "compiling the kernels" not in line]
        return code, out, "".join(said)

    return invoke


BAD: list[tuple[tuple[str, ...], str]] = [
    ((), "model: is missing, and there is no flow; allowed: bufferbloat"),
    (("nosuch",), "model = 'nosuch': is not a name in models/links"),
    (("rao2010",), "model = 'rao2010': is a swarm, which btflow run and load take; allowed: bufferbloat"),
    (("gni",), "did you mean geni"),
    (("geni", "--rate", "1 Mbit/s"), "--rate = '1 Mbit/s': does not go with a model; allowed: --set"),
    (("geni", "--flow", "cubic"), "--flow = 'cubic': does not go with a model"),
    (("geni", "--set", "transport=x"), "transport = 'x': has the unknown 'x'; allowed: tcp, utp"),
    (("geni", "--set", "rate"), "NAME=VALUE"),
    (("geni", "--seed", "x"), "--seed = 'x'"),
    (("geni", "--out", "x.csv"), ".nc"),
    (("geni", "--plot", "x.gif"), ".html"),
    (("geni", "extra"), "extra"),
    (("--set", "rate=1 Mbit/s", "--flow", "cubic"), "does not go without a model"),
    (("--flow", "cubc"), "--flow = 'cubc': is not a name in models/congestion"),
    (("--flow", ""), "--flow = '': is empty"),
    (("--flow", ":3"), "--flow = ':3': does not have the form"),
    (("--flow", "cubic:three"), "--flow = 'cubic:three': its count 'three' does not start with a number"),
    (("--flow", "cubic:-1"), "its count '-1' is negative"),
    (("--flow", "cubic:0"), "1 to 1000 flows"),
    (("--flow", "cubic") * 1001, "are too many; allowed: 1 to 1,000"),
    (("--flow", "cubic@10"), "its start '10' has no unit"),
    (("--flow", "cubic@1h"), "is not before the end"),
    (("--flow", "cubic,size"), "which is no KEY=VALUE"),
    (("--flow", "cubic,size=1 MB,size=2 MB"), "gives size twice"),
    (("--flow", "cubic,colour=red"), "allowed: size, rate"),
    (("--flow", "cubic,size=3"), "its size '3' has no unit"),
    (("--flow", "cubic,direction=left"), "allowed: up, down"),
    (("--flow", "cubic@1s,start=2 s"), "is given twice"),
    (("--flow", "cubic,name=x", "--flow", "ledbat,name=x"), "has the name of another"),
    (("--flow", "cubic,name=a b"), "is not a name"),
    (("--voip", "g7"), "--voip = 'g7': is not a name in models/codecs"),
    (("--voip", "g729,frames=99"), "out of range"),
    (("--probe", "100 B"), "--probe = '100 B': is not a message's size"),
    (("--probe", "100@1s"), "its message '100' has no unit"),
    (("--probe", "100 B@0s"), "its period '0s' is out of range"),
    (("--flow", "cubic", "--rate", "1000"), "--rate = '1000': has no unit"),
    (("--flow", "cubic", "--rate", "1 mbps"), "--rate = '1 mbps': has the unknown unit"),
    (("--flow", "cubic", "--rate", "unlimited"), "--flow = 'cubic': passes no queue"),
    (("--flow", "cubic", "--rate", "unlimited", "--buffer", "3 packets"), "--buffer = '3 packets': is never used"),
    (("--flow", "cubic", "--buffer", "100"), "--buffer = '100': has no unit; allowed: a buffer such as"),
    (("--flow", "cubic", "--buffer", "1 B"), "--buffer = '1 B': is 1 B"),
    (("--flow", "cubic", "--reverse-rate", "0 bit/s"), "--reverse-rate = '0 bit/s': is out of range"),
    (("--flow", "cubic", "--reverse-buffer", "x"), "--reverse-buffer = 'x'"),
    (("--flow", "cubic", "--rtt", "1 h"), "--rtt = '1 h': is out of range"),
    (("--flow", "cubic", "--rtt-spread", "-1 s"), "--rtt-spread = '-1 s': is negative"),
    (("--flow", "cubic", "--loss", "90%"), "--loss = '90%': is out of range"),
    (("--flow", "cubic", "--ack-loss", "x"), "--ack-loss = 'x'"),
    (("--flow", "cubic", "--aqm", "red"), "--aqm = 'red': has the unknown 'red'; allowed: drop-tail"),
    (("--flow", "cubic", "--aqm", "codel:quantum=9 B"), "has 'quantum=9 B', whose key is unknown; allowed: codel:KEY"),
    (("--flow", "cubic", "--aqm", "pie:target=3"), "--aqm = 'pie:target=3': its target has no unit"),
    (("--flow", "cubic", "--framing", "ptm:9 B"), "--framing = 'ptm:9 B': is no framing"),
    (("--flow", "cubic", "--rate", "1 Mbit/s, 2 Mbit/s"), "'2 Mbit/s', which says no time"),
    (("--flow", "cubic", "--rtt", "1 ms, 2 ms@1s", "--fidelity", "flow"), "which flow fidelity does not know"),
    (("--flow", "cubic", "--rtt", "1 ms, 2 ms@1s", "--motion", "x.html"), "has no motion"),
    (("--flow", "cubic", "--aqm", "codle"), "has the unknown 'codle' (did you mean codel or fq-codel?)"),
    (("--flow", "cubic:0"), "--flow = 'cubic:0': makes 0 flows, which is out of range; allowed: 1 to 1000"),
    (("--flow", "cubics:3"), "--flow = 'cubics:3': its cc 'cubics' is not a name in models/congestion"),
    (("--flow", "cubic", "--access", "dsl"), "--access = 'dsl': is not a name in models/access"),
    (("--flow", "cubic", "--duration", "0 s"), "--duration = '0 s': is out of range"),
    (("--flow", "cubic", "--duration", "nan s"), "--duration = 'nan s': is not a finite number"),
    (("--flow", "cubic", "--warmup", "2 h"), "--warmup = '2 h': leaves nothing"),
    (("--flow", "cubic", "--sample", "0 s"), "--sample = '0 s': is out of range"),
    (("--flow", "cubic", "--rate", "10 Gbit/s", "--duration", "1 d"), "packets of work"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("args", "text"), BAD, ids=lambda v: " ".join(v) if isinstance(v, tuple) else "")
def test_bad_input_is_one_message_and_exit_code_2(
    run: Run, args: tuple[str, ...], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    err = refused(run, "link", *args)
    assert err.count("\n") == 1
    assert text in err
    assert list(tmp_path.iterdir()) == []


def test_several_problems_are_several_lines(run: Run) -> None:
    err = refused(run, "link", "--flow", "cubic", "--rtt", "1", "--loss", "2")
    assert [line.split()[2] for line in err.splitlines()] == ["--rtt", "--loss"]


def test_json_has_the_figures(run: Run) -> None:
    code, out, err = run("link", *SHORT, "--seed", "3", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    flows = found["flows"]
    assert [flow["name"] for flow in flows] == ["cubic-1", "cubic-2", "ledbat"]
    assert flows[0].keys() == {
        "name", "cc", "goodput_bps", "share", "retransmitted", "rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms",
    }  # fmt: skip
    assert sum(flow["share"] for flow in flows) == pytest.approx(1)
    assert sum(flow["goodput_bps"] for flow in flows) < 1e6
    percentiles = {f"p{p}_packets" for p in (10, 25, 50, 75, 90, 95, 99)}
    assert found["queue"].keys() == {"mean_packets", "mean_ms"} | percentiles
    assert found["queue"]["p99_packets"] <= 100
    assert found["utilisation"] == pytest.approx(1, abs=0.05)
    assert found["voip"][0].keys() >= {"delay_mean_ms", "delay_p50_ms", "delay_p95_ms", "jitter_ms", "loss", "mos"}
    assert found["probes"][0].keys() >= {"mean_ms", "p50_ms", "p95_ms", "p99_ms"}
    assert [queue["name"] for queue in found["queues"]] == ["home.uplink", "home.downlink"]
    assert (found["seed"], found["warmup_s"], found["bottleneck"]) == (3, 2.0, "home.uplink")
    assert found["cpu_s"] >= 0


def test_text_has_a_table_for_each_kind(run: Run) -> None:
    code, out, err = run("link", *SHORT, "--flow", "cubic,size=20 kB")
    assert (code, err) == (0, "")
    for heading in ("goodput [kbit/s]", "utilisation [%]", "MOS", "probe", "completion time [s]", "CPU time"):
        assert heading in out
    assert max(map(len, out.splitlines()[2:])) <= 120
    assert "nan" not in out


def test_models_run(run: Run) -> None:
    code, out, err = run("link", "geni", "--set", "duration=30 s", "--set", "seeds=1", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["model"] == "geni"
    assert found["parameters"]["seeds"] == "1"
    assert [flow["name"] for flow in found["flows"]] == ["iperf", "seed-a"]
    assert found["bottleneck"] == "downloader.downlink"


def test_files_are_written(run: Run, tmp_path: Path) -> None:
    result, figure = tmp_path / "x.nc", tmp_path / "x.html"
    assert run("link", *SHORT, "--out", str(result), "--plot", str(figure), "--json")[0] == 0
    with xr.open_dataset(result, engine="h5netcdf") as written:
        assert written.sizes["flow"] == 5
    assert figure.read_text().startswith("<html>") or "<!DOCTYPE html>" in figure.read_text()[:200]


def test_simulate_link_takes_the_same_options() -> None:
    options: dict[str, Any] = {"rate": "2 Mbit/s", "flows": ["cubic", "ledbat@1s"], "duration": "5 s"}
    one = simulate_link(**options, seed=4)
    other = simulate_link(scenario_from(**options), seed=4)
    xr.testing.assert_equal(one.drop_attrs(), other.drop_attrs())


def test_what_is_not_known_is_null() -> None:
    result = simulate_link(flows=["cubic", "cubic@4s,size=1 GB"], voip="g729@4.9s", duration="5 s")
    result["rtt_mean"] = np.nan * result["rtt_mean"]
    found = report.summary(result)
    json.dumps(found, allow_nan=False)
    assert found["flows"][0]["rtt_mean_ms"] is None
    assert found["completion_s"] == {"cubic.2": None}
    assert "nan" not in report.as_text(result)


def test_no_queue_no_figures() -> None:
    found = report.summary(simulate_link(flows="cubic,size=1 MB", rate="unlimited", duration="5 s"))
    assert (found["bottleneck"], found["queue"], found["utilisation"], found["queues"]) == (None, None, None, [])
    assert found["completion_s"]["cubic"] > 0


def test_list_shows_links_access_links_and_congestion_controls(run: Run) -> None:
    code, out, _ = run("list")
    assert code == 0
    for text in ("rao2010", "geni", "opnet2009", "adsl-bloated", "utp-2013", "g729"):
        assert f"  {text} " in out
    code, out, _ = run("list", "geni")
    assert code == 0
    assert "transport" in out
    assert "(tcp, utp)" in out


def test_list_finds_models_by_path(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\ntitle = "Mine"\nsource = "me"\nduration = "1 s"\n'
        '[access.home]\nbase = "adsl"\n[paths]\nrtt = "1 ms"\n[flows.f]\ncc = "cubic"\nfrom = "home"\nto = "internet"\n'
    )
    code, out, _ = run("list", str(path))
    assert (code, out.splitlines()[0]) == (0, "mine: Mine")
    assert "no such file" in refused(run, "list", str(tmp_path / "none.toml"))


def test_schema_of_a_link_model(run: Run) -> None:
    code, out, _ = run("schema", "link")
    assert code == 0
    assert "LinkPaths" in json.loads(out)["$defs"]
    assert run("schema", "nosuch")[0] == 2
