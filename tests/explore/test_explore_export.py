"""Files that the explorer gives, and what it refuses to compute."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis
import pytest
from hypothesis import given, strategies as st

import btflow
from btflow.config.catalog import names
from btflow.explore.limits import check_link, check_swarm, packets
from btflow.explore.link_state import presets as link_presets
from btflow.explore.saved import to_csv, to_toml
from btflow.explore.swarm_panel import INPUTS, PATHS, PRESETS as SWARMS, SwarmState
from btflow.explore.whatif_panel import PRESETS as WHATIFS, scenario_of, settings


@pytest.mark.parametrize("name", [*names("links"), *names()])
def test_a_model_comes_back_from_its_file(name: str, tmp_path: Path) -> None:
    linked = name in names("links")
    assert comes_back(btflow.load_link(name, rtt="70 ms") if linked else btflow.load(name, leechers=60), tmp_path)


def comes_back(scenario: btflow.Scenario | btflow.LinkScenario, folder: Path) -> bool:
    """Return whether the file that is saved of a scenario, with its first line as the page has it, is that scenario."""
    file = folder / "saved.toml"
    file.write_text(f"# The seed of the random numbers was 0.\n{to_toml(scenario)}", encoding="utf-8")
    load = btflow.load if isinstance(scenario, btflow.Scenario) else btflow.load_link
    return load(file).digest() == scenario.digest()


SIDES = [(p.entry, side) for p in WHATIFS for side in settings(p.state)]
SAVED = [(p.entry, p.state) for p in (*link_presets(), *SWARMS)] + SIDES


def test_the_scenario_of_every_preset_comes_back(tmp_path: Path) -> None:
    assert [label for label, state in SAVED if not comes_back(scenario_of(state), tmp_path)] == []


@given(
    st.builds(
        SwarmState,
        model=st.sampled_from(sorted(INPUTS)),
        leechers=st.integers(2, 99).map(str),
        file_size=st.sampled_from(["1 MB", "700 kB", "2.5 MB"]),
        utp_share=st.sampled_from(["0%", "33%", "100%"]),
        cc=st.sampled_from(["cubic", "vegas", "utp"]),
        cubic_share=st.sampled_from(["0%", "50%"]),
        buffer=st.sampled_from(["10 packets", "0.3 s", "64 kB"]),
        upload_limit=st.sampled_from(["unlimited", "50 kB/s"]),
        seed_limit=st.sampled_from(["same", "100 kB/s"]),
        paths=st.sampled_from(list(PATHS)),
        rtt=st.sampled_from(["0 ms", "70 ms", "1 s"]),
        loss=st.sampled_from(["0%", "2.5%"]),
        tso=st.sampled_from(["false", "true"]),
        stay=st.sampled_from(["forever", "random", "leave"]),
        client=st.sampled_from(["libtorrent-2", "utorrent-3.0"]),
        bt=st.sampled_from(["mainline", "utorrent"]),
    )
)
@hypothesis.settings(max_examples=60)
def test_the_scenario_of_any_swarm_comes_back(state: SwarmState) -> None:
    with TemporaryDirectory() as folder:
        assert comes_back(scenario_of(state), Path(folder))


def test_columns_as_csv() -> None:
    assert to_csv({"time [s]": [0.5, 1], "a,b": [1, "x"]}) == 'time [s],"a,b"\n0.5,1\n1,x\n'


def _link(**options: Any) -> btflow.LinkScenario:
    from btflow.link.options import scenario_from

    return scenario_from(**{"flows": "cubic:2", "rate": "1 Mbit/s", "duration": "60 s", **options})


def test_packets_are_at_least_those_that_are_sent() -> None:
    for options in ({}, {"flows": ["cubic", "ledbat:2"]}, {"voip": "g729:2"}, {"probes": "100 B@10ms"}):
        scenario = _link(**options)
        result = btflow.simulate_link(scenario)
        assert float(result["sent"].sum()) <= 1.05 * packets(scenario)


def test_what_is_allowed_is_accepted() -> None:
    check_link(_link(rate="10 Gbit/s", duration="71.6 s"))
    check_swarm(btflow.load("rao2010", leechers=300, file_size="50 MB"))
    check_swarm(btflow.load("flashcrowd", leechers=200, file_size="50 MB"))
